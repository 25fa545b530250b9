"""The person's own folder, and messages of failures."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from crowdtally.core import files
from crowdtally.errors import CrowdtallyError, StoppedError, UsageError
from crowdtally.ledger import (
    DrawnBeforeError,
    LedgerError,
    Reservation,
    UnknownOutcomeError,
    VoidedError,
)
from crowdtally.person.draws import Unfinished

# The person's own folder: a ledger, a key and the draws. Nobody else may read it.
#
# ::
#
#     ledger.sqlite   what was charged, and under which request
#     key             32 random bytes, by which requests are recognised
#     draws/          one folder for each draw; an unfinished one is called .….part
#
# Neither the ledger nor the draws contain the history. A request is recognised by a keyed hash:
# who has the ledger without the key cannot try out guesses. Who can read the whole folder can, so
# it is readable by its owner alone.

VARIABLE = "CROWDTALLY_PERSON_STORE"
_KEY_BYTES = 32


@dataclass(frozen=True)
class Home:
    path: Path

    @classmethod
    def of(cls, location: str | os.PathLike[str] | None = None) -> Home:
        """What was named here, else by $CROWDTALLY_PERSON_STORE, else in the user's data folder."""
        named = location if location is not None else os.environ.get(VARIABLE) or None
        if named is None:
            from platformdirs import user_data_path

            return cls(user_data_path("crowdtally", appauthor=False) / "person")
        text = os.fspath(named)
        if not text.strip() or "\0" in text:
            raise UsageError("the store's name is empty: give a folder, --store DIR.")
        return cls(Path(text).expanduser().absolute())

    @property
    def ledger(self) -> Path:
        return self.path / "ledger.sqlite"

    @property
    def draws(self) -> Path:
        return self.path / "draws"

    @property
    def key_file(self) -> Path:
        return self.path / "key"

    @property
    def is_made(self) -> bool:
        """Whether something was ever charged here."""
        return self.ledger.exists()

    def make(self) -> None:
        """Make the folder and its key, if they are not there; another process may do so too.

        The key comes before the ledger: a ledger without its key has lost it.
        """
        self.require_ours()
        try:
            for folder in (self.path, self.draws):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self.key_file.exists():
                self._write_key()
        except OSError as error:
            raise _unusable(self.path, error) from error

    def require_ours(self) -> None:
        """Refuse a folder that is somebody else's, or has lost its key; changes nothing."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise UsageError(f"the store {str(self.path)!r} is not a folder: name another one.")
        try:
            names = {entry.name for entry in self.path.iterdir()}
        except OSError as error:
            raise _unusable(self.path, error) from error
        if self.key_file.name in names:
            return
        if self.ledger.name in names:
            raise CrowdtallyError(
                f"the store {str(self.path)!r} has lost its key, {self.key_file.name!r}: requests "
                "made before cannot be recognised. Put the file back from a backup, or begin a "
                "new store, --store DIR; what was released before stays released. Nothing was "
                "charged or released."
            )
        if any(not name.startswith((".key-", self.draws.name)) for name in names):
            raise UsageError(
                f"{str(self.path)!r} is a folder with other things in it, and no store: name a "
                "new or an empty folder, --store DIR."
            )

    def key(self) -> bytes:
        try:
            key = self.key_file.read_bytes()
        except OSError as error:
            raise _unusable(self.key_file, error) from error
        if len(key) != _KEY_BYTES:
            raise CrowdtallyError(
                f"{str(self.key_file)!r} is damaged: it should have {_KEY_BYTES} bytes. Put it "
                "back from a backup, or begin a new store, --store DIR. Nothing was charged or "
                "released."
            )
        return key

    def exposed(self) -> str | None:
        """A sentence where others on this computer can look into the folder; else None."""
        if files.WINDOWS or not self.path.exists() or not self.path.stat().st_mode & 0o077:
            return None
        return (
            f"Other accounts of this computer can look into {str(self.path)!r}: "
            f"chmod 700 {self.path} ends that."
        )

    def _write_key(self) -> None:
        """Written under another name, then linked into place: whole or not there; once."""
        handle, name = tempfile.mkstemp(prefix=".key-", dir=self.path)  # of mode 0600
        draft = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            files.flush(draft)
            with contextlib.suppress(FileExistsError):  # another process was first: its key counts
                os.link(draft, self.key_file)
        finally:
            draft.unlink(missing_ok=True)
        files.flush(self.path)


def _unusable(path: Path, error: OSError) -> CrowdtallyError:
    return CrowdtallyError(
        f"{str(path)!r} cannot be used: {error.strerror or 'unknown reason'}. Check the path, its "
        "permissions and the free space, or name another store, --store DIR. Nothing was charged "
        "or released."
    )


# What is true when a run fails: one message for each stage, as ``curator/failures.py`` has them.
#
# ::
#
#     reserving   perhaps charged where the disk did not answer, else not    nothing was drawn
#     starting    charged; the same command takes the charge up              nothing was drawn
#     drawing     charged; another draw is charged anew                      nothing was shown
#     marking     charged; perhaps marked                                    nothing was shown
#     placing     charged and marked; the same command shows the draw        nothing was shown

_AGAIN = "--again draws anew, and is charged anew."


@contextmanager
def reserving() -> Iterator[None]:
    try:
        yield
    except DrawnBeforeError as error:
        raise _other_run(error) from error
    except UnknownOutcomeError as error:
        raise UnknownOutcomeError(
            f"{error} Nothing was drawn or released. Run the same command again: a charge that "
            "was recorded is taken up."
        ) from error
    except LedgerError as error:
        raise type(error)(f"{error} Nothing was drawn or released.") from error


def starting(reserved: Reservation) -> AbstractContextManager[None]:
    return _saying(
        f"Nothing was drawn or released. The charge stands (entry {reserved.id}): run the same "
        "command again, which goes on without another charge.",
        raced=True,
    )


def drawing(reserved: Reservation) -> AbstractContextManager[None]:
    return _saying(
        f"Nothing was shown or released. The charge stands (entry {reserved.id}), because noise "
        f"may have been drawn: {_AGAIN} If you are certain that nothing was seen, "
        f"`{reserved.void}` gives the charge back."
    )


@contextmanager
def marking(reserved: Reservation, draft: Unfinished) -> Iterator[None]:
    """A failure to mark the draw as paid for and whole.

    An interruption may come just after the mark: so the draw is kept from just before it.
    """
    said = _saying(
        f"Nothing was shown or released. The charge stands (entry {reserved.id}). Run the same "
        f"command again: it shows the draw if it was recorded as whole. Else {_AGAIN}"
    )
    draft.marked = True
    try:
        with said:
            yield
    except VoidedError:
        draft.marked = False  # given back meanwhile: nothing of it may stay
        raise


def placing(reserved: Reservation) -> AbstractContextManager[None]:
    return _saying(
        f"The draw is paid for and whole (entry {reserved.id}): mend this, and run the same "
        "command again, which shows it. Nothing more is charged."
    )


def _other_run(error: DrawnBeforeError) -> DrawnBeforeError:
    return DrawnBeforeError(
        "another run of the same request draws at this moment, or has just done so: this one "
        "stops, has drawn nothing and charged nothing more. Run the same command again: once the "
        "other run has ended, it shows that draw."
    )


@contextmanager
def _saying(words: str, *, raced: bool = False) -> Iterator[None]:
    """Add to any failure what is true now; ``raced``: another run may draw at this moment."""
    try:
        yield
    except CrowdtallyError as error:
        if raced and isinstance(error, DrawnBeforeError):
            raise _other_run(error) from error
        raise type(error)(f"{error} {words}") from error
    except KeyboardInterrupt as error:
        raise StoppedError(f"interrupted. {words}") from error
    except OSError as error:
        raise CrowdtallyError(
            f"{error.strerror or 'the disk reports an error'}. {words}"
        ) from error
    except Exception as error:  # its own words may quote an item
        raise CrowdtallyError(
            f"an unforeseen failure ({type(error).__name__}); --debug shows where. {words}"
        ) from error
