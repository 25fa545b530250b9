"""What is true when a run fails: one message for each stage of the ledger's protocol.

::

    reading     not charged                                  nothing was drawn or released
    reserving   the charge may not have been made            nothing was drawn or released
    starting    charged                                      nothing was drawn or released
    making      charged                                      nothing was released; void is possible
    marking     charged, unless it was voided meanwhile      nothing was released
    placing     charged and marked: it cannot be voided      in place only if the rename was done

The unfinished folder is removed before a message is made, because the message says whether it is.
Only after the mark, and with a request id, it is left: the same request gives it its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from crowdtally.curator.repeat import is_in_place
from crowdtally.errors import CrowdtallyError
from crowdtally.format import Staged
from crowdtally.ledger import (
    DrawnBeforeError,
    LedgerError,
    Reservation,
    UnknownOutcomeError,
    VoidedError,
)


@contextmanager
def reading() -> Iterator[None]:
    """A failure before the charge: its own words say what to mend."""
    try:
        yield
    except CrowdtallyError:
        raise
    except Exception as error:  # its own words may quote a record
        raise CrowdtallyError(
            f"an unforeseen failure ({type(error).__name__}) while the records were read; --debug "
            "shows where. Nothing was charged, no noise was drawn and nothing was released."
        ) from error


@contextmanager
def reserving() -> Iterator[None]:
    """A failure while charging: perhaps charged where the connection broke, else not."""
    try:
        yield
    except UnknownOutcomeError as error:
        raise UnknownOutcomeError(
            f"{error} No noise was drawn and nothing was released. A charge that was recorded "
            "counts as spent until `crowdtally ledger void` gives it back."
        ) from error
    except DrawnBeforeError:
        raise  # by another run of the same request: its words say so
    except LedgerError as error:
        raise type(error)(f"{error} No noise was drawn and nothing was released.") from error


def starting(
    reservation: Reservation, staged: Staged, request_id: str | None
) -> AbstractContextManager[None]:
    """A failure between the charge and the entry that precedes the first draw."""
    stands = f"No noise was drawn. The charge stands (entry {reservation.id}): "
    gives_back = f"`{reservation.void}` gives it back."
    if request_id is None:
        return _saying(f"{stands}{gives_back}", staged)
    return _saying(
        f"{stands}running again with the same request id continues it without another charge, "
        f"while `crowdtally ledger show` lists it as reserved; else {gives_back}",
        staged,
        drawn=(
            "This run drew nothing, charged nothing more, and stops. Run again with the same "
            "request id: once the other run has ended, that shows its release."
        ),
        voided=_once_more(request_id),
    )


def making(
    reservation: Reservation, staged: Staged, request_id: str | None
) -> AbstractContextManager[None]:
    """A failure while noise is drawn or the release is written: charged, nothing released."""
    return _saying(
        f"The charge stands (entry {reservation.id}), because noise may have been drawn; if you "
        f"are certain that nothing left this machine, `{reservation.void}` gives it back. "
        f"{_once_more(request_id)}",
        staged,
    )


def marking(
    reservation: Reservation, staged: Staged, request_id: str | None
) -> AbstractContextManager[None]:
    """A failure to mark the release as published: charged unless voided, nothing released."""
    return _saying(
        f"The charge stands (entry {reservation.id}): while `crowdtally ledger show` lists it as "
        f"drawing, `{reservation.void}` gives it back; if it is listed as published, nothing can. "
        f"{_once_more(request_id)}",
        staged,
        voided=_once_more(request_id),
    )


@contextmanager
def placing(
    reservation: Reservation, staged: Staged, target: Path, sha256: str, request_id: str | None
) -> Iterator[None]:
    """A failure to give the folder its name, after the mark: charged for good.

    It is none where another run of the same request gave the folder its name first.
    """
    staged.awaited = request_id is not None
    said = _saying(
        f"The ledger lists it as published already (entry {reservation.id}): the charge stands and "
        "cannot be voided.",
        staged,
    )
    with said:
        try:
            yield
        except CrowdtallyError:
            if staged.in_place or not is_in_place(target, sha256):
                raise


@contextmanager
def _saying(
    words: str,
    staged: Staged,
    *,
    drawn: str | None = None,
    voided: str = "Run again to charge and release.",
) -> Iterator[None]:
    """With any failure: remove the folder, then say what is true now."""
    try:
        yield
    except CrowdtallyError as error:
        if staged.in_place:
            raise  # its own words say so
        if isinstance(error, DrawnBeforeError) and drawn is not None:
            staged.discard()  # what the other run released is not this folder's to say
            raise DrawnBeforeError(f"{error} {drawn}") from error
        more = voided if isinstance(error, VoidedError) else words
        raise type(error)(f"{error} {_removed(staged)} {more}") from error
    except Exception as error:  # its own words may quote a record
        raise CrowdtallyError(
            f"an unforeseen failure ({type(error).__name__}); --debug shows where. "
            f"{_removed(staged)} {words}"
        ) from error


def _removed(staged: Staged) -> str:
    if staged.in_place:
        return "The release is whole and in place."
    if staged.awaited and staged.path.exists():
        return (
            f"The release lies whole in {staged.path}: mend this, and run again with the same "
            "request id, which gives it its name."
        )
    if staged.discard():
        return "Nothing was released: the unfinished folder was removed."
    return (
        f"The unfinished folder {staged.path} could not be removed: delete it, and let nobody see "
        "it before."
    )


def _once_more(request_id: str | None) -> str:
    new = "" if request_id is None else " with a new request id"
    return f"Run again{new} to charge and release."
