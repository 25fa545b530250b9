"""What is true when a run fails: one message for each stage of the ledger's protocol.

::

    reading     not charged                                  nothing was drawn or released
    reserving   the charge may not have been made            nothing was drawn or released
    making      charged                                      nothing was released; void is possible
    marking     charged, unless it was voided meanwhile      nothing was released
    placing     charged and marked: it cannot be voided      in place only if the rename was done

The unfinished folder is removed before a message is made, because the message says whether it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from crowdtally.budget import LedgerError, Reservation, UnknownOutcomeError, VoidedError
from crowdtally.errors import CrowdtallyError
from crowdtally.published import Staged


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
    except LedgerError as error:
        raise type(error)(f"{error} No noise was drawn and nothing was released.") from error


def making(reservation: Reservation, staged: Staged) -> AbstractContextManager[None]:
    """A failure while noise is drawn or the release is written: charged, nothing released."""
    return _saying(
        f"The charge stands (entry {reservation.id}), because noise may have been drawn; if you "
        f"are certain that nothing left this machine, {_void(reservation)} gives it back.",
        staged,
    )


def marking(reservation: Reservation, staged: Staged) -> AbstractContextManager[None]:
    """A failure to mark the release as published: charged unless voided, nothing released."""
    return _saying(
        f"The charge stands (entry {reservation.id}): while `crowdtally ledger show` lists it as "
        f"reserved, {_void(reservation)} gives it back; if it is listed as published, nothing can.",
        staged,
    )


def placing(reservation: Reservation, staged: Staged) -> AbstractContextManager[None]:
    """A failure to give the folder its name, after the mark: charged for good."""
    return _saying(
        f"The ledger lists it as published already (entry {reservation.id}): the charge stands and "
        "cannot be voided.",
        staged,
    )


@contextmanager
def _saying(words: str, staged: Staged) -> Iterator[None]:
    """With any failure: remove the folder, then say what is true now."""
    try:
        yield
    except CrowdtallyError as error:
        if staged.in_place:
            raise  # its own words say so
        more = "Run again to charge and release." if isinstance(error, VoidedError) else words
        raise type(error)(f"{error} {_removed(staged)} {more}") from error
    except Exception as error:  # its own words may quote a record
        raise CrowdtallyError(
            f"an unforeseen failure ({type(error).__name__}); --debug shows where. "
            f"{_removed(staged)} {words}"
        ) from error


def _removed(staged: Staged) -> str:
    if staged.in_place:
        return "The release is whole and in place."
    if staged.discard():
        return "Nothing was released: the unfinished folder was removed."
    return (
        f"The unfinished folder {staged.path} could not be removed: delete it, and let nobody see "
        "it before."
    )


def _void(reservation: Reservation) -> str:
    return f"`crowdtally ledger void {reservation.id} --reason TEXT`"
