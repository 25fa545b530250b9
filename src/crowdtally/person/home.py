"""The person's own folder: a ledger, a key and the draws. Nobody else may read it.

::

    ledger.sqlite   what was charged, and under which request
    key             32 random bytes, by which requests are recognised
    draws/          one folder for each draw; an unfinished one is called .….part

Neither the ledger nor the draws contain the history. A request is recognised by a keyed hash: who
has the ledger without the key cannot try out guesses. Who can read the whole folder can, so it is
readable by its owner alone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from crowdtally.core import files
from crowdtally.errors import CrowdtallyError, UsageError

VARIABLE = "CROWDTALLY_PERSON_STORE"
_KEY_BYTES = 32


@dataclass(frozen=True)
class Home:
    """Where one person's draws and ledger are."""

    path: Path
    """The folder; perhaps not made yet."""

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
        """The ledger's file."""
        return self.path / "ledger.sqlite"

    @property
    def draws(self) -> Path:
        """The folder of the draws."""
        return self.path / "draws"

    @property
    def key_file(self) -> Path:
        """The file of the key."""
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
        """The key by which requests are recognised."""
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
