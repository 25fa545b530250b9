"""How one person's part was bounded, and which noise hides it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import sqrt

from crowdtally.core.layout import HEAD, PAIRS, SIZES, TOTAL
from crowdtally.core.numbers import show
from crowdtally.core.privacy import in_words
from crowdtally.format import Published
from crowdtally.format.manifest import AUTO, DISTINCT, STATED, UNCUT, BoundFacts, TableFacts
from crowdtally.reader.describe.tables import counts, longer_rows
from crowdtally.reader.describe.words import amount, listed, number, several, statement, who

KEPT = {
    "sra": "chosen uniformly at random among that {who}'s own; the others were left out",
    "declared": "a bound that was meant to cut nobody; of a {who} with more, a uniform sample was "
    "kept",
    "hpa": "those of the items that rank highest in the noisy table 'popularity'; the others were "
    "left out",
}
"""How the records that are counted were chosen, by the rule that keeps records."""
SCALED = {
    "dpsense": "",
    "dpsense-s": " Published counts were then multiplied by {scaling}, to make up for what scaling "
    "down lost.",
}
"""What is said of the rules that scale rows."""
SCALED_TO = {
    "l1": "would sum to more than {most} were scaled down to that sum",
    "l2": "would have a Euclidean norm (the root of the sum of their squares) above {most} were "
    "scaled down to that norm",
}
CHOSEN = {
    "rank": "so that about as many {who}s exceed it as the noise can bear",
    "dpsense": "by the error that is to be expected",
    "histogram": "by the error that a noisy histogram of the {who}s' norms lets expect",
}
"""How a bound was chosen privately."""
MASS = "total"
"""The part that pays for the mass of what is not released."""
PARTS = {
    "choose": "the private choice of the bound",
    MASS: "the noisy mass of the items that are not released",
    "popularity": "the table 'popularity'",
    "select": "the private selection of the items",
    "measure": "how many users they have",
}
"""What a part of ε paid for; other parts are tables."""

_BOUNDED = ": what bounding left out or scaled down is not in it"


def protection_lines(published: Published) -> Iterator[str]:
    yield from bounding_lines(published)
    yield from noise_lines(published)
    yield exactness_line(published)
    yield from parts_lines(published)


def noise_lines(published: Published) -> Iterator[str]:
    """The noise of each table, and what it hides."""
    for table in published.tables:
        yield _noise(published, table)


def exactness_line(published: Published) -> str:
    """How the noise was drawn, and what its intervals leave out."""
    bounded = "" if published.method.bounding in UNCUT else _BOUNDED
    if published.auto is not None:
        bounded = ": what scaling down lost is not in it, and estimates have intervals of their own"
    return (
        "The noise was drawn exactly, from a cryptographic source. An interval covers the noise "
        f"alone{bounded}."
    )


def bounding_lines(published: Published) -> Iterator[str]:
    """What one person counts at most, and who decided it."""
    yield from _bounding(published)
    yield from _choice(published)


def _bounding(published: Published) -> Iterator[str]:
    method, person = published.method, who(published)
    if method.bounding == "row":
        yield f"Nothing was cut: one {person} counts once in each table."
        return
    if method.bounding == STATED:
        yield f"Nothing was cut. {statement(published)}"
        return
    if method.bounding == DISTINCT:
        yield (
            f"Nothing was cut: one {person} counts once in each of their cells, however many these "
            "are, and the noise covers all of them together."
        )
        return
    if published.auto is not None:
        yield from _scaled(published)
        return
    if published.domain.is_discovered:
        *_, table = published.tables
        kept = KEPT["sra"].format(who=person)
        what = "different cell" if table.axes[1:] else "different item"
        yield (f"Of each {person} at most {several(table.sensitivity, what)} were counted, {kept}.")
        return
    for bound, tables in _same_bounds(published):
        yield _bounded(published, bound, tables)
    if published.method.popularity_records is not None:
        yield (
            "The popularity was counted from at most "
            f"{several(published.method.popularity_records, 'record')} of each {person}, with "
            "noise of its own."
        )


def _scaled(published: Published) -> Iterator[str]:
    """Which tables ``auto`` bounded, and which needed no bound."""
    person = who(published)
    scaled, normed, free, others = list[str](), list[str](), list[str](), list[str]()
    for table in published.tables:
        bound = _exactly(table.sensitivity * table.law.unit)
        if table.kind.short_rows:
            others.append(
                f"A {person} whose counts sum to at most {bound} is in {table.name!r}, and nothing "
                f"was cut there. Any other is in {longer_rows(published, table.kind)!r}: nobody is "
                "in both."
            )
        elif table.kind is TOTAL:
            others.append(f"In {table.name!r} at most {bound} records of a {person} count.")
        elif table.kind is HEAD:
            free.append(repr(table.name))
        elif published.auto is not None and published.auto.by_norm(table):
            normed.append(f"{table.name!r} to {_exactly(published.auto.changed(table))}")
        elif table.kind is not SIZES:
            scaled.append(f"{table.name!r} to {bound}")
    yield (
        f"All records of a {person} count. Where a {person}'s counts would sum to more than a "
        f"bound, all of them were scaled down to that sum: {listed(scaled)}."
        if scaled
        else f"All records of a {person} count."
    )
    if normed:
        yield (
            f"Where the squares of a {person}'s counts would sum to more than a bound, all counts "
            f"were scaled down until their squares sum to it: {listed(normed)}."
        )
    yield from others
    if free:
        yield (
            f"In {listed(free)} nothing was cut: one {person} counts once in each cell, in however "
            "many, and the noise covers all cells together."
        )


def _same_bounds(published: Published) -> list[tuple[BoundFacts, list[str]]]:
    found: dict[BoundFacts, list[str]] = {}
    for name, bound in published.method.bounds.items():
        found.setdefault(bound, []).append(name)
    return list(found.items())


def _bounded(published: Published, bound: BoundFacts, tables: list[str]) -> str:
    method, person = published.method, who(published)
    where = f"In {listed([repr(name) for name in tables])}: " if len(method.bounds) > 1 else ""
    what = several(bound.bound, "record" if published.counted == "records" else "different cell")
    if published.records.quantity is not None:
        what += f" (each at most {several(published.records.most, 'time')})"
    if method.bounding in SCALED:
        scaled = "" if bound.scaling == 1 else SCALED[method.bounding]
        more = scaled.format(scaling=show(bound.scaling))
        cap = method.cap if method.cap is not None else 1
        return _started(
            f"{where}one {person} counts at most {number(cap)} in a cell, and the cells of a "
            f"{person} that {SCALED_TO[method.norm].format(most=number(bound.bound))}.{more}"
        )
    own = f"by the rule {method.bounding!r}, whose author alone knows that it is right"
    how = KEPT.get(method.bounding, own).format(who=person)
    return _started(f"{where}of each {person} at most {what} were counted, {how}.")


def _started(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _choice(published: Published) -> Iterator[str]:
    method = published.method
    if method.bounding in (*UNCUT, AUTO):
        return
    if method.chosen_by is None:
        yield "The bound was given as a public number, not taken from the records by the program."
        return
    how = CHOSEN.get(method.chosen_by, f"by {method.chosen_by!r}").format(who=who(published))
    most = number(method.largest_candidate or 0)
    yield (
        f"The bound was chosen from the records, up to {most}, {how}: by a private mechanism that "
        "is charged, so that the choice itself is protected."
    )


def _noise(published: Published, table: TableFacts) -> str:
    person, unit = who(published), table.law.unit
    most = table.sensitivity * unit
    parts = {"none": "count", "dyadic": "node", "haar": "coefficient", "sketch": "bucket"}
    each = parts[table.transform.kind]
    level = f"{float(table.interval_level):.3%}".replace(".000", "")
    half = table.interval_half_width
    reach = f"lies within ±{amount(half)}" if half else "is 0"
    changes = f"{_exactly(most)} in all, over all {each}s together"
    if table.law.bounded_by == "l2":
        distance = sqrt(table.sensitivity_squared) * float(unit)
        changes = f"a distance of {amount(distance)} (in L2), over all {each}s together"
    if table.law.per_cell:
        changes = f"1 in each {each}, in however many of them"
    return (
        f"Table {table.name!r}, {in_words(table.price)}: one {person} changes it by at most "
        f"{changes}. Each {each} has noise of standard "
        f"deviation {amount(table.noise_std)}: {level} of the time it {reach}."
    )


def _exactly(value: Fraction) -> str:
    return number(int(value)) if value.denominator == 1 else amount(float(value))


def parts_lines(published: Published) -> Iterator[str]:
    price = published.guarantee.price
    shares = {name: Fraction(share) for name, share in published.metadata["split"].items()}
    if published.auto is not None:
        also = f" and δ {show(published.guarantee.delta)}" if published.guarantee.delta else ""
        yield f"{in_words(price)}{also} was charged at once, before the first step was taken."
        return
    if len(shares) == 1:
        yield f"All of {in_words(price)} went into one table of {counts(published)}."
        return
    parts = [f"{price * share} for {part_words(published, name)}" for name, share in shares.items()]
    yield f"{in_words(price)} is the sum of its parts: {listed(parts)}."


def part_words(published: Published, name: str) -> str:
    if name == MASS and len(published.domain.lists) > 1:
        return PARTS[name].replace("items", "cells")
    if name in PARTS:
        return PARTS[name]
    # Pairs are paid for by the part that items in contexts are paid for by.
    table = PAIRS.name if published.table(name) is None else name
    return f"the table {table!r}"
