"""What the promise does not cover."""

from __future__ import annotations

from collections.abc import Iterator

from crowdtally.core.layout import TASTES
from crowdtally.format import Published
from crowdtally.format.manifest import AUTO, DISTINCT, STATED, UNCUT
from crowdtally.reader.describing.course import assumed_lines
from crowdtally.reader.describing.protection import KEPT, SCALED
from crowdtally.reader.describing.what import counts
from crowdtally.reader.describing.whom import of_several, statement, who
from crowdtally.reader.describing.words import listed

_FEW = 3


def uncovered_lines(published: Published) -> Iterator[str]:
    """What a reader must not take as protected, or as told."""
    *hidden, besides = unprotected_lines(published)
    yield from public_lines(published)
    yield from hidden
    yield from accuracy_lines(published)
    yield besides


def unprotected_lines(published: Published) -> Iterator[str]:
    """What is not hidden by the promise."""
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
    """What was taken as public."""
    method, records = published.method, published.records
    chosen = list(_public_lists(published))
    if published.table(TASTES.name) is not None:
        chosen.append("the features of items")
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
    found = published.domain.discovered
    if found:
        value = "a value" if published.domain.lists[1:] else "an item"
        outside = (
            "" if len(found) == len(published.domain.lists) else " with values outside the lists,"
        )
        where = f"{outside} without a user or {value}"
    yield (
        f"How near a number is to the truth about {counts(published)}, beyond its noise. Rows"
        f"{where} were dropped, and how many is not told.{bounded}"
    )
