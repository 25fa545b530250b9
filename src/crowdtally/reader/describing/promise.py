"""ε as odds: what a belief about one person can become, whatever is released."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from crowdtally.core.numbers import show
from crowdtally.format import Published
from crowdtally.laws.conversion import PRIORS, epsilon_of, odds, percent, rounded_up
from crowdtally.reader.describing.whom import who
from crowdtally.reader.describing.words import WRITTEN, listed, number, power_of_e

_DELTAS = (Fraction(1, 10**6), Fraction(1, 10**12))
"""δ whose ε are told beside the one that was asked for."""
LARGE = 10
"""An ε above which a remark says how little it still promises."""


def promise_lines(published: Published) -> Iterator[str]:
    """What a reader can learn about one person at most."""
    promised, person = published.guarantee, who(published)
    epsilon = promised.epsilon
    yield (
        f"ε is {show(epsilon)}. Whatever comes out, the odds that a given {person} is in the data "
        f"grow by at most a factor of e^{_power(epsilon)} ≈ {power_of_e(epsilon)}, also for "
        "somebody who knows everything about all others."
    )
    yield f"A belief that the {person} is in the data, before and at most after: {_moves(epsilon)}."
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
        yield (
            f"What is left: no outcome{_outside(published)} is proof, and a belief that starts at "
            f"one in {power_of_e(epsilon, 10)} stays below 10%."
        )
    yield (
        "These are worst cases over all outcomes and all that others may know. A usual reader may "
        "learn far less, but nothing promises that."
    )


def _outside(published: Published) -> str:
    return " outside the exception above" if published.guarantee.delta else ""


def _power(epsilon: Fraction) -> str:
    text = show(epsilon)
    return text if text.isdigit() else f"({text})"


def _moves(epsilon: Fraction) -> str:
    return listed([f"{percent(prior)} → {at_most(epsilon, prior)}" for prior in PRIORS])


def at_most(epsilon: Fraction, prior: Fraction) -> str:
    """The most that a belief can become, in words."""
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
