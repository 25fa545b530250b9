"""What is true when a run fails: one message for each stage, as ``curator/failures.py`` has them.

::

    reserving   perhaps charged where the disk did not answer, else not    nothing was drawn
    starting    charged; the same command takes the charge up              nothing was drawn
    drawing     charged; another draw is charged anew                      nothing was shown
    marking     charged; perhaps marked                                    nothing was shown
    placing     charged and marked; the same command shows the draw        nothing was shown
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from crowdtally.errors import CrowdtallyError, StoppedError
from crowdtally.ledger import (
    DrawnBeforeError,
    LedgerError,
    Reservation,
    UnknownOutcomeError,
    VoidedError,
)
from crowdtally.person.drawn import Unfinished

_AGAIN = "--again draws anew, and is charged anew."


@contextmanager
def reserving() -> Iterator[None]:
    """A failure while charging."""
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


@contextmanager
def starting(reserved: Reservation) -> Iterator[None]:
    """A failure between the charge and the entry that precedes the first draw."""
    said = _saying(
        f"Nothing was drawn or released. The charge stands (entry {reserved.id}): run the same "
        "command again, which goes on without another charge."
    )
    with said:
        try:
            yield
        except DrawnBeforeError as error:
            raise _Told(_other_run(error)) from error


def drawing(reserved: Reservation) -> AbstractContextManager[None]:
    """A failure while noise is drawn or the draw is written."""
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
    """A failure to give the draw its name, after the mark."""
    return _saying(
        f"The draw is paid for and whole (entry {reserved.id}): mend this, and run the same "
        "command again, which shows it. Nothing more is charged."
    )


class _Told(Exception):
    """A failure whose words are complete."""

    def __init__(self, error: CrowdtallyError) -> None:
        super().__init__(str(error))
        self.error = error


def _other_run(error: DrawnBeforeError) -> DrawnBeforeError:
    return DrawnBeforeError(
        "another run of the same request draws at this moment, or has just done so: this one "
        "stops, has drawn nothing and charged nothing more. Run the same command again: once the "
        "other run has ended, it shows that draw."
    )


@contextmanager
def _saying(words: str) -> Iterator[None]:
    """With any failure, say what is true now."""
    try:
        yield
    except _Told as told:
        raise told.error from told.__cause__
    except CrowdtallyError as error:
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
