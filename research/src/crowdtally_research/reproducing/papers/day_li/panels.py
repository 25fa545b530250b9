"""The budgets and panels of all figures, and how claims are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crowdtally.core.privacy import Epsilon
from crowdtally.lab.comparison.summary import alone
from crowdtally_research.reproducing.figure import Judged, Number, Verdict

# The two ε of the paper, and what numbers at each of them are called.


@dataclass(frozen=True)
class Budget:
    """An ε that is no rational: it is rounded down, so that no more is spent than was meant."""

    words: str
    """As the paper writes it."""
    name: str
    """In the name of a panel."""
    value: str
    """The rational that is spent."""

    @property
    def epsilon(self) -> Epsilon:
        return Epsilon.of(self.value)


SMALL = Budget("ln 1.5", "ln1.5", "0.4054")
LARGE = Budget("ln 3", "ln3", "1.0986")
BUDGETS: Sequence[Budget] = (SMALL, LARGE)


# What the numbers of every figure are called.

KS = (10, 20, 50, 100, 200)
HALF = "half the mean column count"
OPTIMUM, GAP, GAP_KEPT = "optimum", "gap", "gap-kept"
REGRET, SAMPLING = "regret", "sampling"
SCALINGS, BIAS = "scalings", "bias"
BEST = "best score"
FULL = ", full size"


def quality_line(budget: Budget) -> str:
    """The quality by equation 3."""
    return f"quality, {budget.words}"


def error_line(budget: Budget) -> str:
    return f"MAE, {budget.words}"


def average_line(budget: Budget) -> str:
    return f"average, {budget.words}"


def auto_line(budget: Budget) -> str:
    """Ours, which has no θ to be given."""
    return f"auto, {budget.words}"


def curves(name: str) -> str:
    return f"theta-{name}"


def averages(name: str) -> str:
    return f"average-{name}"


def over_all(metric: str, budget: Budget) -> str:
    """An error of all columns, by data set."""
    return f"{metric}-{budget.name}"


def on_top(metric: str, name: str, budget: Budget) -> str:
    """An error of the top k columns, by k."""
    return f"{metric}-{name}-{budget.name}"


def bias(budget: Budget) -> str:
    """The mean error with its sign, by data set."""
    return f"{BIAS}-{budget.name}"


def scalings(budget: Budget) -> str:
    """What DPSense-S multiplies counts by, by data set."""
    return f"{SCALINGS}-{budget.name}"


def table(column: str) -> str:
    return f"table-{column}"


# What the claims of all figures are judged with.

ERRORS = 2.0
"""Standard errors of a difference within which two means are called equal."""


def judged(holds: bool, found: str) -> Judged:
    """Whether it holds here."""
    verdict: Verdict = "agrees" if holds else "differs"
    return Judged(verdict, found)


def mostly(holds: Mapping[str, bool]) -> bool:
    """Whether something holds on two of three data sets: what the paper calls a tendency."""
    return 3 * sum(holds.values()) >= 2 * len(holds)


def listed(values: Mapping[str, float], unit: str = "") -> str:
    """A number for each data set: ``Netflix 1.2, AOL 3``."""
    return ", ".join(f"{name} {short(value)}{unit}" for name, value in values.items())


def short(value: float) -> str:
    return alone(float(f"{value:.3g}"))


def less(one: Number, other: Number) -> bool:
    """Whether a mean is below another by more than chance makes likely."""
    spread: float = (one.standard_error**2 + other.standard_error**2) ** 0.5
    return other.mean - one.mean > ERRORS * spread
