"""Which methods are the best, and which one to take.

Only what a release can be asked for is recommended: a baseline never, as its bound was read off
the records. Where chance explains the difference between the best and a simpler method, the simpler
one is recommended.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import hypot, isfinite

from crowdtally.lab.comparison.summary import (
    TABLES,
    Facts,
    Measure,
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

LUCK = 0.001
"""The probability with which chance may make a given one of two equal methods look better: small,
because the best of many is compared with all others."""


def of_measure(
    summaries: Iterable[Summary], measure: Measure, epsilon: str | None = None
) -> list[Summary]:
    """The numbers of one measure, at one ε or at all, that could be computed."""
    return [
        one for one in summaries
        if Measure.of(one) == measure and epsilon in (None, one.setting.epsilon)
        and isfinite(one.mean)
    ]  # fmt: skip


def ranked(summaries: Iterable[Summary], measure: Measure) -> list[Summary]:
    """The best first; equal ones by name and bound."""
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


def differ(one: Summary, other: Summary) -> bool:
    """Whether two means differ by more than chance explains, as if they were independent.

    Without a standard error, as with one key, they do not.
    """
    error = hypot(one.standard_error, other.standard_error)
    return isfinite(error) and abs(one.mean - other.mean) > needed(one.keys, other.keys) * error


@cache
def needed(keys: int, others: int) -> float:
    """How many standard errors two means must differ by: more where keys are few.

    >>> round(needed(5, 5), 1), round(needed(2, 2), 1), round(needed(1000, 1000), 1)
    (4.5, 22.3, 3.1)
    """
    from scipy.special import stdtrit

    return float(stdtrit(max(keys + others - 2, 1), 1 - LUCK))


def not_worse(summaries: Sequence[Summary], measure: Measure) -> list[Summary]:
    """The best, and all that do not differ from it by more than chance; the best first."""
    order = ranked(summaries, measure)
    return [one for one in order if not differ(order[0], one)]


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

_SIMPLEST_FIRST = ("sra", "declared", "dpsense", "dpsense-s", "hpa")
"""Boundings by how much a reader of a release must understand."""
USUAL_K = 10
"""Methods are judged by top lists of this length, or of the next shorter one that there is."""


@dataclass(frozen=True)
class Advice:
    """A setting to take at one ε for one purpose."""

    epsilon: str
    purpose: str
    """In a sentence: "top lists"."""
    chosen: Summary
    reason: str
    options: str


def purposes(summaries: Sequence[Summary]) -> dict[str, Measure]:
    """What a release may be for, and the measure that judges methods for it."""
    known = measures(summaries)
    asked = {f"counts of {words}": error_of(table, known) for table, words in TABLES.items()}
    for table in ("items", "cells"):
        lists = precisions_of(table, known)
        usual = [one for one in lists if (one.k or 0) <= USUAL_K] or lists[:1]
        asked[f"top lists of {table}"] = usual[-1] if usual else None
    return {words: measure for words, measure in asked.items() if measure is not None}


def advise(summaries: Sequence[Summary], facts: Facts) -> list[Advice]:
    """Advice for every ε and every purpose; none where no release can be asked for."""
    advice = []
    for epsilon in by_size(facts.epsilons):
        for purpose, measure in purposes(summaries).items():
            numbers = of_measure(summaries, measure, epsilon)
            usable = [one for one in numbers if can_be_released(one.setting, facts)]
            if not usable:
                continue
            chosen = min(not_worse(usable, measure), key=_effort)  # the best of the simplest
            reason = _reason(chosen, usable, measure)
            best = ranked(numbers, measure)[0]
            if not can_be_released(best.setting, facts) and differ(best, chosen):
                reason += f"; {_method(best)}, for comparison only, has {_number(best)}"
            options = typed(chosen.setting, facts)
            advice.append(Advice(epsilon, purpose, chosen, reason, options))
    return advice


def takes(summaries: Sequence[Summary], facts: Facts) -> list[tuple[str, str]]:
    """The recommendation at the main ε: for each setting the words, and the options to type."""
    advice = advise(summaries, facts)
    epsilon = main_epsilon({one.epsilon for one in advice})
    groups: dict[str, list[Advice]] = {}
    for one in advice:
        if one.epsilon == epsilon:
            groups.setdefault(one.options, []).append(one)
    if not groups:
        return [(_nothing(summaries), "")]
    (words, options), *others = ((_take(group), options) for options, group in groups.items())
    return [(f"At ε = {epsilon}, {words}", options), *others]


def recommendation(summaries: Sequence[Summary], facts: Facts) -> str:
    """One sentence, with its reason and the options to type, at the main ε."""
    taken = takes(summaries, facts)
    return f"{'; '.join(': '.join(filter(None, part)) for part in taken)}."


def _effort(one: Summary) -> tuple[int, int]:
    """How much there is to understand: further parts first, then the bounding."""
    method = Method.of(_method(one))
    further = (method.choice is not None, method.transform != "none", method.publishing != "dense")
    place = [*_SIMPLEST_FIRST, method.bounding].index(method.bounding)
    return sum(further), place


def _number(one: Summary) -> str:
    return with_error(one.mean, one.standard_error)


def _reason(chosen: Summary, usable: Sequence[Summary], measure: Measure) -> str:
    words = f"{measure.name} {_number(chosen)}"
    others = [one for one in best_of_each(usable, measure) if _method(one) != _method(chosen)]
    if not others:
        return f"{words}; no other method that can be released was compared"
    rival = others[0]
    if differ(chosen, rival):
        return f"{words}; next {_method(rival)}, {_number(rival)}"
    why = " with one sampling key," if min(rival.keys, chosen.keys) < 2 else ""
    which = "as simple" if _effort(rival) == _effort(chosen) else "less simple"
    return (
        f"{words}; {in_words(rival.setting)}, {_number(rival)}, cannot be told apart{why} and is "
        f"{which}"
    )


def _method(one: Summary) -> str:
    return one.setting.method


def _take(group: Sequence[Advice]) -> str:
    *reasons, last = (f"{one.purpose} ({one.reason})" for one in group)
    words = f"{', '.join(reasons)} and {last}" if reasons else last
    return f"take {in_words(group[0].chosen.setting)} for {words}"


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
    names: dict[str, list[str]] = {}
    for name, reason in facts.skipped.items():
        names.setdefault(reason, []).append(name)
    return names


def _rows(here: Sequence[Summary], facts: Facts) -> Iterator[tuple[str, ...]]:
    means = {(s.setting, s.metric, s.k): s.mean for s in here}
    best: dict[str, Summary] = {}
    for one in sorted((s for s in here if s.metric == "mae"), key=lambda s: s.mean):
        best.setdefault(one.setting.method, one)
    for method, one in best.items():
        own = f"M={facts.largest}" if method in facts.baselines else "own"
        bound = own if one.setting.max_records is None else str(one.setting.max_records)
        shown = (means.get((one.setting, metric, k), math.nan) for metric, k in _SHOWN)
        mae, *others = map(_short_number, shown)
        yield method, bound, mae, _short_number(one.standard_error), *others


def _short_number(value: float) -> str:
    """Three digits, as people write them.

    >>> _short_number(1234.5), _short_number(0.01234), _short_number(0.0)
    ('1,230', '0.0123', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.2e}" if digits < -6 else f"{round(value, digits):,.{max(digits, 0)}f}"
