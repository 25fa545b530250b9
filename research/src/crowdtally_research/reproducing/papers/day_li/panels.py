"""What the numbers of every figure are called."""

from __future__ import annotations

from crowdtally_research.reproducing.papers.day_li.budgets import Budget

KS = (10, 20, 50, 100, 200)
"""The lengths of lists."""
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
    """The mean absolute error."""
    return f"MAE, {budget.words}"


def average_line(budget: Budget) -> str:
    """The average of the two."""
    return f"average, {budget.words}"


def auto_line(budget: Budget) -> str:
    """Ours, which has no θ to be given."""
    return f"auto, {budget.words}"


def curves(name: str) -> str:
    """Quality and error against θ."""
    return f"theta-{name}"


def averages(name: str) -> str:
    """Their average against θ."""
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
    """A column of Table 2."""
    return f"table-{column}"
