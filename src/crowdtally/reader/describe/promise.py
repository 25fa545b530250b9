"""The guarantee: ε as odds, and what it does not cover."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from crowdtally.core.numbers import show
from crowdtally.format import Published
from crowdtally.format.manifest import AUTO, DISTINCT, STATED, UNCUT
from crowdtally.laws.conversion import PRIORS, epsilon_of, odds, percent, rounded_up
from crowdtally.reader.describe.protection import KEPT, SCALED
from crowdtally.reader.describe.tables import assumed_lines, counts
from crowdtally.reader.describe.words import (
    WRITTEN,
    listed,
    number,
    of_several,
    power_of_e,
    statement,
    who,
)

_DELTAS = (Fraction(1, 10**6), Fraction(1, 10**12))
"""δ whose ε are shown beside that of the release's δ."""
LARGE = 10
"""An ε above which a remark says how little it still promises."""


def promise_lines(published: Published) -> Iterator[str]:
    promised, person = published.guarantee, who(published)
    epsilon = promised.epsilon
    yield (
        f"ε is {show(epsilon)}. Whatever comes out, the odds that a given {person} is in the data "
        f"grow by at most a factor of e^{_power(epsilon)} ≈ {power_of_e(epsilon)}, also for "
        "somebody who knows everything about all others."
    )
    moves = listed([f"{percent(prior)} → {at_most(epsilon, prior)}" for prior in PRIORS])
    yield f"A belief that the {person} is in the data, before and at most after: {moves}."
    yield (
        f"Between two guesses at what the {person}'s records say, both with the {person} in the "
        f"data, the factor is at most e^{_power(2 * epsilon)} ≈ {power_of_e(2 * epsilon)}: 50% "
        f"can become {at_most(2 * epsilon, Fraction(1, 2))} at most."
    )
    if promised.delta:
        yield _delta(published)
        if promised.rho is not None:
            yield _other_pairs(promised.rho)
    else:
        yield "There is no exception (δ is 0): it holds for every outcome."


def remark_lines(published: Published) -> Iterator[str]:
    """What a large ε still promises; nothing where it is not large."""
    epsilon = published.guarantee.epsilon
    if epsilon <= LARGE:
        return
    first = at_most(epsilon, Fraction(1, 100))
    yield (
        f"ε is above {LARGE}. A factor of {power_of_e(epsilon)} lets a belief of 1% become "
        f"{first}: for somebody who had any suspicion at all, that is hardly more than no promise."
    )
    if epsilon <= WRITTEN:
        outside = " outside the exception above" if published.guarantee.delta else ""
        yield (
            f"What is left: no outcome{outside} is proof, and a belief that starts at "
            f"one in {power_of_e(epsilon, 10)} stays below 10%."
        )
    yield (
        "These are worst cases over all outcomes and all that others may know. A usual reader may "
        "learn far less, but nothing promises that."
    )


def _power(epsilon: Fraction) -> str:
    text = show(epsilon)
    return text if text.isdigit() else f"({text})"


def at_most(epsilon: Fraction, prior: Fraction) -> str:
    found = odds(epsilon, prior)
    return "almost 100%" if found == 1 else percent(found)


def _delta(published: Published) -> str:
    delta, person = published.guarantee.delta, who(published)
    rare = f"δ, at most {show(delta)}"
    if delta.numerator == 1:
        rare += f" (one in {number(delta.denominator)})"
    if published.domain.is_discovered:
        what = "an item" if len(published.domain.lists) == 1 else "a cell"
        event = "" if published.guarantee.rho is None else "among such events are those "
        return (
            f"But for a probability of {rare}: {event}that {what} which nobody but this {person} "
            "has is released. In that event a reader sees that somebody has it, and nothing is "
            "promised."
        )
    return f"But for a probability of {rare}, in which nothing is promised."


def _other_pairs(rho: Fraction) -> str:
    """Of zCDP: each δ has its ε, and all of them hold at once."""
    pairs = [
        f"δ {show(delta)} with ε {show(rounded_up(epsilon_of(rho, delta)))}" for delta in _DELTAS
    ]
    return (
        f"Both follow from zero-concentrated differential privacy (zCDP) with ρ {show(rho)}, and "
        f"so do others, all at once: {listed(pairs)}."
    )


def beliefs(epsilon: Fraction) -> list[dict[str, str]]:
    """The same for programs: beliefs, and what each becomes at most, rounded up."""
    return [
        {"before": show(prior), "after_at_most": show(odds(epsilon, prior))} for prior in PRIORS
    ]


_FEW = 3


def uncovered_lines(published: Published) -> Iterator[str]:
    """What is not protected, and what is not reported."""
    *hidden, besides = unprotected_lines(published)
    yield from public_lines(published)
    yield from hidden
    yield from accuracy_lines(published)
    yield besides


def unprotected_lines(published: Published) -> Iterator[str]:
    person = who(published)
    yield (
        f"What the crowd shows. That many do something is what the release is for; if it says "
        f"something about a {person} who is not in the data, it was not learnt from that {person}."
    )
    yield (
        f"What several people share. One {person} is protected at a time: a family or a group of "
        f"k has {of_several(published)}, and a fact that follows from others' records is not "
        "hidden."
    )
    yield from _rule(published)
    yield (
        "That there is a release, when it was made and how long that took, and what whoever made "
        "it saw or told besides. Releases of copies of the records, under another name, are "
        "added up apart."
    )


def accuracy_lines(published: Published) -> Iterator[str]:
    """How far numbers may be from the truth, beyond their noise, and what estimates assume."""
    yield from _left_out(published)
    yield from assumed_lines(published)


def public_lines(published: Published) -> Iterator[str]:
    method, records = published.method, published.records
    chosen = list(_public_lists(published))
    if method.bounding not in (*UNCUT, AUTO) and method.chosen_by is None:
        chosen.append("the bound")
    if records.where is not None:
        chosen.append("the condition")
    if records.quantity is not None:
        chosen.append("the most that a record counts")
    chosen.append("all other parameters")
    text = listed(chosen)
    yield (
        f"{text[0].upper()}{text[1:]}: they were taken as public. If somebody chose one of them by "
        "looking at the records, what the choice shows is not covered."
    )


def _public_lists(published: Published) -> Iterator[str]:
    """The lists, in words; nothing where all values were discovered."""
    names = [repr(one.name) for one in published.domain.lists if not one.is_discovered]
    if len(names) > _FEW:
        yield f"the {len(names)} lists of values"
    elif names:
        yield f"the {'lists' if names[1:] else 'list'} of {listed(names)}"


def _rule(published: Published) -> Iterator[str]:
    rule = published.method.bounding
    if rule == STATED:
        yield f"A wrong statement about the rows. {statement(published)}"
    if rule not in KEPT and rule not in SCALED and rule not in (*UNCUT, AUTO):
        yield (
            f"The bounding rule {rule!r}: that it looks at each {who(published)}'s own records "
            "alone was not checked, and the whole promise rests on it."
        )


def _left_out(published: Published) -> Iterator[str]:
    users = published.guarantee.unit in ("user", "same-person")
    without = ", or without a user," if users else ""
    cut = users and published.method.bounding not in (DISTINCT, AUTO)
    bounded = " How many records bounding left out is not told either." if cut else ""
    where = f" with values outside the lists{without}"
    found, lists = published.domain.discovered, published.domain.lists
    if found:
        value = "a value" if lists[1:] else "an item"
        outside = "" if len(found) == len(lists) else " with values outside the lists,"
        where = f"{outside} without a user or {value}"
    yield (
        f"How near a number is to the truth about {counts(published)}, beyond its noise. Rows"
        f"{where} were dropped, and how many is not told.{bounded}"
    )
