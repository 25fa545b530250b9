"""What can go wrong with a ledger, by exit code.

::

    CrowdtallyError
    ├── LedgerError             1  the ledger cannot be read or written
    │   ├── MissingLedgerError  1  there is none where one was expected
    │   ├── UnknownOutcomeError 1  the connection broke: perhaps it was recorded, perhaps not
    │   ├── NotAllowedError     1  it is the officer's to do
    │   ├── DrawnBeforeError    1  noise was drawn for this request already, by another run
    │   ├── VoidedError         1  a charge was given back while its release was being made
    │   └── DamagedLedgerError  1  its content contradicts itself
    └── BudgetError
        ├── OverBudgetError     3  the charge does not fit
        └── TooMuchAtOnceError  3  a single release may not cost so much

A parameter that makes no sense (a name, a number, another privacy unit) is a ``UsageError``, 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from crowdtally.errors import BudgetError, CrowdtallyError
from crowdtally.ledger.amounts import Loss, amount, for_people, remaining_words


class LedgerError(CrowdtallyError):
    """The ledger cannot be read or written; nothing was reported as recorded."""


class MissingLedgerError(LedgerError):
    """There is no ledger where one was expected."""


class UnknownOutcomeError(LedgerError):
    """The connection broke at the commit: whether it was recorded only the ledger can tell."""


class NotAllowedError(LedgerError):
    """What was asked for is the officer's to do; nothing was changed."""


class DrawnBeforeError(LedgerError):
    """Noise was or is being drawn for this request: another draw needs another charge."""


class VoidedError(LedgerError):
    """A charge was given back while its release was being made: it must not be released."""


class DamagedLedgerError(LedgerError):
    """The content contradicts itself; nothing more is charged to it."""

    def __init__(self, message: str, entry: int | None = None, what: str = "") -> None:
        super().__init__(message)
        self.entry = entry
        """The number of the first entry concerned, where one can be named."""
        self.what = what
        """What is wrong with it, in a few words."""


class OverBudgetError(BudgetError):
    """The charge does not fit in what remains; nothing was charged."""

    def __init__(
        self, dataset: str, requested: Loss, remaining: Loss, *, either: bool = False, raise_it: str
    ) -> None:
        self.dataset = dataset
        self.requested = requested
        self.remaining = remaining
        """What is left: never negative, even where the limit was set below what was spent."""
        self.difference = (requested - remaining).at_least_zero()
        """By how much the request is too large, in ε, in δ and in ρ."""
        said = self._compared() if either else " ".join(self._lines())
        super().__init__(
            f"the privacy budget of dataset {dataset!r} does not allow this. "
            f"{said} Nothing was charged. {self._advice(either)} Whoever keeps the limits can "
            f"change them: {raise_it}"
        )

    def _lines(self) -> Iterator[str]:
        for letter, asked, left in (
            ("ε", self.requested.epsilon, self.remaining.epsilon),
            ("δ", self.requested.delta, self.remaining.delta),
        ):
            if asked > left:
                yield (
                    f"{letter}: requested {for_people(asked)}, remaining {for_people(left)}, "
                    f"difference {for_people(asked - left)}."
                )

    def _compared(self) -> str:
        """The request as a whole: its ε, δ and ρ use one room."""
        left = remaining_words(self.remaining, either=True)
        return f"Requested {amount(self.requested)}; remaining {left}."

    def _advice(self, either: bool) -> str:
        left, asked = self.remaining, self.requested
        if not left.epsilon and not left.rho:
            return "The budget is used up."
        wishes = []
        if asked.rho > left.rho or (either and asked.rho):
            most = f"Ask for ρ of at most {for_people(left.rho)}." if left.rho else "No ρ is left."
            wishes.append(most)
        if asked.epsilon > left.epsilon:
            wishes.append(f"Ask for ε of at most {for_people(left.epsilon)}.")
        if asked.delta > left.delta:
            within = (
                f"δ of at most {for_people(left.delta)}" if left.delta else "a method without δ"
            )
            wishes.append(f"Ask for {within}.")
        return " ".join(wishes)


class TooMuchAtOnceError(BudgetError):
    """The charge is more than a single release may cost; nothing was charged."""

    def __init__(self, dataset: str, requested: Loss, each: Loss) -> None:
        self.dataset = dataset
        self.requested = requested
        self.each = each
        """What a single release may cost."""
        letter, asked, most = next(
            (compared for compared in _compared(requested, each) if compared[1] > compared[2]),
            ("δ", requested.delta, each.delta),
        )
        super().__init__(
            f"a single release of dataset {dataset!r} may cost at most {letter} = "
            f"{for_people(most)}, and this one asks for {for_people(asked)}. Nothing was charged. "
            f"Ask for at most {for_people(most)}, or ask whoever keeps the limits."
        )


def _compared(requested: Loss, each: Loss) -> tuple[tuple[str, Fraction, Fraction], ...]:
    first = (
        ("ρ", requested.rho, each.rho) if each.rho else ("ε", requested.epsilon, each.epsilon)
    )  # fmt: skip
    return first, ("δ", requested.delta, each.delta)
