"""Which settings are the best, and which cannot be told apart from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from math import hypot, isfinite

from crowdtally.lab.compared.measures import Measure
from crowdtally.lab.compared.summary import Summary

LUCK = 0.001
"""How often chance alone may make a given one of two alike methods look the better one: rarely,
because the best of many is compared with all others."""


def of_measure(
    summaries: Iterable[Summary], measure: Measure, epsilon: str | None = None
) -> list[Summary]:
    """The numbers of one measure, at one ε or at all, that could be computed."""
    return [
        one
        for one in summaries
        if Measure.of(one) == measure
        and epsilon in (None, one.setting.epsilon)
        and isfinite(one.mean)
    ]


def ranked(summaries: Iterable[Summary], measure: Measure) -> list[Summary]:
    """The best first; what is equal by its method's name and its bound."""
    sign = 1 if measure.lower_is_better else -1

    def place(one: Summary) -> tuple[float, str, int]:
        return sign * one.mean, one.setting.method, one.setting.max_records or 0

    return sorted(summaries, key=place)


def best_of_each(summaries: Iterable[Summary], measure: Measure) -> list[Summary]:
    """Each method at the bound that serves it best; the best method first."""
    best: dict[str, Summary] = {}
    for one in ranked(summaries, measure):
        best.setdefault(one.setting.method, one)
    return list(best.values())


def told_apart(one: Summary, other: Summary) -> bool:
    """Whether two means differ by more than chance explains.

    Their standard errors are added as if the two were independent. Without a standard error, as
    with one key, nothing is told apart.
    """
    error = hypot(one.standard_error, other.standard_error)
    return isfinite(error) and abs(one.mean - other.mean) > apart(one.keys, other.keys) * error


@cache
def apart(keys: int, others: int) -> float:
    """How many standard errors of a difference tell two means apart: more where keys are few.

    >>> round(apart(5, 5), 1), round(apart(2, 2), 1), round(apart(1000, 1000), 1)
    (4.5, 22.3, 3.1)
    """
    from scipy.special import stdtrit

    return float(stdtrit(max(keys + others - 2, 1), 1 - LUCK))


def not_worse(summaries: Sequence[Summary], measure: Measure) -> list[Summary]:
    """The best, and all that cannot be told apart from it; the best first."""
    order = ranked(summaries, measure)
    return [one for one in order if not told_apart(order[0], one)]


def main_epsilon(epsilons: Iterable[str]) -> str | None:
    """The ε of pictures that show one: 1, or the middle one.

    >>> main_epsilon(["0.1", "1", "10"]), main_epsilon(["1/3", "0.1", "3"]), main_epsilon([])
    ('1', '1/3', None)
    """
    order = by_size(epsilons)
    if "1" in order:
        return "1"
    return order[(len(order) - 1) // 2] if order else None


def by_size(epsilons: Iterable[str]) -> list[str]:
    """Each ε once, the smallest first.

    >>> by_size(["1", "0.1", "1/3", "1"])
    ['0.1', '1/3', '1']
    """
    return sorted(set(epsilons), key=lambda text: (Fraction(text), text))
