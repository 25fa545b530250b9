"""What ``auto`` did, step by step, and what an estimate from it assumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from crowdtally.core.layout import BINS, EDGES, HEAD, HEAD_ROWS, SPLIT_HEAD, TASTES
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.format import Published
from crowdtally.format.manifest import AutoFacts, Guarantee, StepFacts
from crowdtally.reader.describing.whom import who
from crowdtally.reader.describing.words import amount, listed, number

AIMS = {
    "counts": "numbers that are near the truth for all items",
    "top": "the order and the numbers of the largest items",
    "recommend": "what to recommend in each context, for which numbers may be a little farther off",
}
"""What a release is for, in words."""
IN_CONTEXT = (EDGES, SPLIT_HEAD, TASTES, HEAD_ROWS)
"""Tables that say how contexts differ, not only how large they are."""


def course_lines(published: Published) -> Iterator[str]:
    """The steps with their share and why, and what was left; nothing where a method was named."""
    auto = published.auto
    if auto is None:
        return
    yield (
        f"No method was named, so the release measured its own way, for "
        f"{AIMS.get(auto.purpose, auto.purpose)} (--for {auto.purpose})."
    )
    for place, step in enumerate(auto.steps, start=1):
        yield _step(place, step, auto.share(step, published.guarantee.epsilon))
    yield _total(auto, published.guarantee)
    yield (
        "Which steps were taken, with which share and which bound, was decided by public facts and "
        "by what earlier steps had released, never by the records. So the decisions cost nothing: "
        "whatever came out on the way, the shares add up to at most "
        f"{'ε' if auto.rho is None else 'ε and δ'} (adaptive composition)."
    )


def _step(place: int, step: StepFacts, part: Fraction) -> str:
    why = step.why.rstrip(".")
    if not step.is_taken:
        return f"Step {place}, {step.name!r}, not taken: {why}."
    sign = "ρ" if step.paid_in == Rho.field else "ε"
    return f"Step {place}, {step.name!r}, {share(part)} of {sign}: {why}{_decided(step.facts)}."


def share(part: Fraction) -> str:
    """A share of ε, for people.

    >>> share(Fraction(3, 100)), share(Fraction(1, 3)), share(Fraction(1, 5000))
    ('3%', '33.3%', '0.02%')
    """
    return f"{amount(float(100 * part))}%"


def _decided(facts: Mapping[str, Any]) -> str:
    """What was decided for a step, as far as it is a word or a number."""
    plain = [
        f"{name.replace('_', ' ')} {number(value) if isinstance(value, int) else value}"
        for name, value in facts.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    return f" ({', '.join(plain)})" if plain else ""


def _total(auto: AutoFacts, promised: Guarantee) -> str:
    sign, whole = ("ε", promised.epsilon) if auto.rho is None else ("ρ", auto.rho)
    pure = auto.spent(Epsilon.field)
    turned = ""
    if auto.rho is not None and pure:
        turned = (
            f" Once the sizes were released, Gaussian noise was expected to be nearer: the other "
            f"ε {show(promised.epsilon - pure)} and δ {show(promised.delta)} bought ρ "
            f"{show(auto.rho)} of zero-concentrated differential privacy."
        )
    spent = show(whole - auto.unspent)
    if not auto.unspent:
        return f"Together they spent all of {sign} {spent}.{turned}"
    return (
        f"Together they spent {sign} {spent} of the {show(whole)} that was charged. The rest, "
        f"{show(auto.unspent)}, is not given back.{turned}"
    )


def assumed_lines(published: Published) -> Iterator[str]:
    """What an estimate from a release of ``auto`` assumes, and what nothing promises."""
    auto = published.auto
    if auto is None:
        return
    yield from _calibration(published, auto)
    yield from _contexts(published, auto)


def _calibration(published: Published, auto: AutoFacts) -> Iterator[str]:
    names = {table.name for table in published.tables}
    measured = [repr(kind.name) for kind in (BINS, HEAD, SPLIT_HEAD) if kind.name in names]
    if not published.method.bounds:
        return
    if measured:
        yield (
            "What estimates assume. Scaling rows down lost a part of the counts; estimates put it "
            f"back by {listed(measured)}, which were measured almost without a bound. That assumes "
            "that what was lost follows an item's popularity smoothly: an item of unusual "
            f"{who(published)}s can be farther off than its interval says."
        )
    else:
        yield (
            "What estimates assume. Scaling rows down lost a part of the counts, by the released "
            "sizes so little that it was not measured item by item: estimates put back a share of "
            "it that is the same for all."
        )
    if auto.repeats and names & {HEAD.name, SPLIT_HEAD.name}:
        yield (
            "The largest items were measured in users, not in records. Estimates of their records "
            "may stay a fifth to two fifths too low."
        )


def _contexts(published: Published, auto: AutoFacts) -> Iterator[str]:
    contexts = [repr(one.name) for one in published.domain.contexts]
    if not contexts:
        return
    person = who(published)
    if auto.context_per_user:
        yield (
            f"Each {person} was counted with one value of {listed(contexts)}, drawn from that "
            f"{person}'s own at random, in all tables. Of a {person} with several values the "
            "others are not shown."
        )
    if not any(published.table(kind.name) for kind in IN_CONTEXT):
        yield (
            "Each context has the overall ranking: only the totals of the contexts were measured, "
            "because there were too few people in each, or the release was for something else."
        )
    yield (
        "Shares of contexts lean towards those of people with few records, because long rows were "
        "scaled down more."
    )
