"""Ranking and recommendation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import hypot, isfinite

from crowdtally.lab.comparison.summary import (
    Facts,
    Measure,
    Setting,
    Summary,
    can_be_released,
    error_of,
    in_words,
    measures,
    precisions_of,
    typed,
    with_error,
)
from crowdtally.lab.methods import Method, aligned

# Which settings are the best, and which cannot be told apart from them.

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
    return "1" if "1" in order else order[(len(order) - 1) // 2] if order else None


def by_size(epsilons: Iterable[str]) -> list[str]:
    """Each ε once, the smallest first.

    >>> by_size(["1", "0.1", "1/3", "1"])
    ['0.1', '1/3', '1']
    """
    return sorted(set(epsilons), key=lambda text: (Fraction(text), text))


# Which method to take, in one sentence with its reason.
#
# Only what a release can be asked for is recommended: a baseline never, as its bound was read off
# the records. Where the best cannot be told apart from a simpler method, the simpler one is
# recommended.

_SIMPLEST_FIRST = ("sra", "declared", "dpsense", "dpsense-s", "hpa")
"""Boundings by what a reader of a release must understand."""
USUAL_K = 10
"""The length of a top list by which methods are judged, or the next shorter one that there is."""
_COUNTS = {
    "items": "counts of items",
    "edges": "counts of items in contexts",
    "cells": "counts of cells",
}


@dataclass(frozen=True)
class Purpose:
    """What a release may be for."""

    words: str
    """In a sentence: "top lists"."""
    measure: Measure
    """By which methods are judged for it."""


@dataclass(frozen=True)
class Advice:
    """What to take at one ε for one purpose."""

    epsilon: str
    purpose: Purpose
    chosen: Summary
    """The setting to take, as it was measured."""
    reason: str
    options: str
    """What to type."""


@dataclass(frozen=True)
class Take:
    """A part of the recommendation: words, and the options to type."""

    words: str
    """Without a full stop."""
    options: str
    """Empty where nothing is recommended."""


def purposes(summaries: Sequence[Summary]) -> list[Purpose]:
    """What can be judged by these numbers."""
    found = measures(summaries)
    asked = []
    for table, words in _COUNTS.items():
        error = error_of(table, found)
        asked += [Purpose(words, error)] if error else []
    for table in ("items", "cells"):
        lists = precisions_of(table, found)
        usual = [one for one in lists if (one.k or 0) <= USUAL_K] or lists[:1]
        asked += [Purpose(f"top lists of {table}", usual[-1])] if usual else []
    return asked


def advise(summaries: Sequence[Summary], facts: Facts) -> list[Advice]:
    """For every ε and every purpose, what to take; nothing where no release can be asked for."""
    advice = []
    for epsilon in by_size(facts.epsilons):
        for purpose in purposes(summaries):
            numbers = of_measure(summaries, purpose.measure, epsilon)
            usable = [one for one in numbers if can_be_released(one.setting, facts)]
            if usable:
                advice.append(_advice(epsilon, purpose, numbers, usable, facts))
    return advice


def takes(summaries: Sequence[Summary], facts: Facts) -> list[Take]:
    """The recommendation at the main ε in its parts, one for each setting that is taken."""
    advice = advise(summaries, facts)
    epsilon = main_epsilon({one.epsilon for one in advice})
    groups: dict[str, list[Advice]] = {}
    for one in advice:
        if one.epsilon == epsilon:
            groups.setdefault(one.options, []).append(one)
    if not groups:
        return [Take(_nothing(summaries), "")]
    parts = [Take(_take(group), options) for options, group in groups.items()]
    return [replace(parts[0], words=f"At ε = {epsilon}, {parts[0].words}"), *parts[1:]]


def recommendation(summaries: Sequence[Summary], facts: Facts) -> str:
    """One sentence, with its reason and the options to type, at the main ε."""
    taken = takes(summaries, facts)
    parts = [f"{one.words}: {one.options}" if one.options else one.words for one in taken]
    return f"{'; '.join(parts)}."


def _advice(
    epsilon: str,
    purpose: Purpose,
    numbers: Sequence[Summary],
    usable: Sequence[Summary],
    facts: Facts,
) -> Advice:
    equals = not_worse(usable, purpose.measure)
    simplest = min(_effort(one.setting.method) for one in equals)
    chosen = next(one for one in equals if _effort(one.setting.method) == simplest)
    reason = _reason(chosen, usable, purpose.measure) + _beaten(chosen, numbers, purpose, facts)
    return Advice(epsilon, purpose, chosen, reason, typed(chosen.setting, facts))


def _effort(name: str) -> tuple[int, int]:
    """How much there is to understand: further parts first, then the bounding."""
    method = Method.of(name)
    further = (method.choice is not None, method.transform != "none", method.publishing != "dense")
    known = method.bounding in _SIMPLEST_FIRST
    place = _SIMPLEST_FIRST.index(method.bounding) if known else len(_SIMPLEST_FIRST)
    return sum(further), place


def _number(one: Summary) -> str:
    return with_error(one.mean, one.standard_error)


def _reason(chosen: Summary, usable: Sequence[Summary], measure: Measure) -> str:
    told = f"{measure.name} {_number(chosen)}"
    others = [one for one in best_of_each(usable, measure) if _method(one) != _method(chosen)]
    if not others:
        return f"{told}; no other method that can be released was compared"
    rival = others[0]
    if told_apart(chosen, rival):
        return f"{told}; next {_method(rival)}, {_number(rival)}"
    return f"{told}; {_tied(rival, chosen)}"


def _tied(rival: Summary, chosen: Summary) -> str:
    them = f"{in_words(rival.setting)}, {_number(rival)}"
    which = "as simple" if _effort(_method(rival)) == _effort(_method(chosen)) else "less simple"
    if rival.keys < 2 or chosen.keys < 2:
        return f"{them}, cannot be told apart with one sampling key, and is {which}"
    return f"{them}, cannot be told apart and is {which}"


def _method(one: Summary) -> str:
    return one.setting.method


def _beaten(chosen: Summary, numbers: Sequence[Summary], purpose: Purpose, facts: Facts) -> str:
    """Say so where something that cannot be released does better."""
    best = ranked(numbers, purpose.measure)[0]
    if can_be_released(best.setting, facts) or not told_apart(best, chosen):
        return ""
    return f"; {_method(best)}, for comparison only, has {_number(best)}"


def _take(group: Sequence[Advice]) -> str:
    reasons = [f"{one.purpose.words} ({one.reason})" for one in group]
    told = ", ".join(reasons[:-1]) + (" and " if len(reasons) > 1 else "") + reasons[-1]
    return f"take {in_words(group[0].chosen.setting)} for {told}"


def _nothing(summaries: Sequence[Summary]) -> str:
    names = sorted({one.setting.method for one in summaries})
    if not names:
        return "Nothing was measured, so nothing is recommended"
    return (
        f"Nothing is recommended: of the methods that were compared ({', '.join(names)}) none has "
        "both a number and a way to be released; compare others too, such as --methods sra,hpa"
    )


# A comparison in a few lines: of each method the bound with the smallest error.

_SHOWN = (("mae", None), ("mse", None), ("precision", 10), ("kl", None))
_HEADINGS = ("method", "best l", "MAE", "± s.e.", "MSE", "precision@10", "KL")


def lines(summaries: Sequence[Summary], facts: Facts) -> Iterator[str]:
    """A table for each ε and each table of counts, the smallest error first."""
    for epsilon in facts.epsilons:
        for table, cells in facts.cells.items():
            here = [s for s in summaries if s.table == table and s.setting.epsilon == epsilon]
            number = f"{cells:,} cell" + ("s" if cells > 1 else "")
            yield f"epsilon {epsilon}, {table} ({number}), {facts.runs} runs each:"
            yield from (f"  {line}" for line in aligned([_HEADINGS, *_rows(here, facts)]))
            yield ""
    reasons = by_reason(facts).items()
    left_out = [f"Left out: {', '.join(names)}: {words}" for words, names in reasons]
    for remark in (*left_out, *facts.notes):
        yield f"{remark}\n"


def by_reason(facts: Facts) -> dict[str, list[str]]:
    """What was left out, by its reason: many bounds of one method may have the same."""
    found: dict[str, list[str]] = {}
    for name, reason in facts.skipped.items():
        found.setdefault(reason, []).append(name)
    return found


def _rows(here: Sequence[Summary], facts: Facts) -> Iterator[tuple[str, ...]]:
    by = {(s.setting, s.metric, s.k): s for s in here}
    errors = [s for s in here if s.metric == "mae"]
    best: dict[str, Summary] = {}
    for one in sorted(errors, key=lambda s: s.mean):
        best.setdefault(one.setting.method, one)
    for method, one in best.items():
        found = [by.get((one.setting, metric, k)) for metric, k in _SHOWN]
        mae, *others = [_short_number(s.mean) if s is not None else "–" for s in found]
        yield method, _bound(one.setting, facts), mae, _short_number(one.standard_error), *others


def _bound(setting: Setting, facts: Facts) -> str:
    if setting.max_records is not None:
        return str(setting.max_records)
    return f"M={facts.largest}" if setting.method in facts.baselines else "own"


def _short_number(value: float) -> str:
    """Three digits, as people write them.

    >>> _short_number(1234.5), _short_number(0.01234), _short_number(0.0)
    ('1,230', '0.0123', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.2e}" if digits < -6 else f"{round(value, digits):,.{max(digits, 0)}f}"
