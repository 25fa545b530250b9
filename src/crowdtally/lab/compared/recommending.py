"""Which method to take, in one sentence with its reason.

Only what a release can be asked for is recommended: a baseline never, as its bound was read off the
records. Where the best cannot be told apart from a simpler method, the simpler one is recommended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crowdtally.lab.compared.facts import Facts
from crowdtally.lab.compared.measures import Measure, error_of, measures, precisions_of
from crowdtally.lab.compared.ranking import (
    best_of_each,
    by_size,
    main_epsilon,
    not_worse,
    of_measure,
    ranked,
    told_apart,
)
from crowdtally.lab.compared.releasable import can_be_released, in_words, typed
from crowdtally.lab.compared.rounding import with_error
from crowdtally.lab.compared.summary import Summary
from crowdtally.lab.methods import Method

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
    """At which ε."""
    purpose: Purpose
    """For what."""
    chosen: Summary
    """The setting to take, as it was measured."""
    reason: str
    """Why, in words."""
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
    parts = [f"{one.words}: {one.options}" if one.options else one.words
             for one in takes(summaries, facts)]  # fmt: skip
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
