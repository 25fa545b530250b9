"""Whose data it is, and what is protected together."""

from __future__ import annotations

from collections.abc import Iterator

from crowdtally.format import Published
from crowdtally.reader.describing.words import listed, number

_WHO = {"user": "user"}


def who(published: Published) -> str:
    """Who is protected, in a word."""
    return _WHO.get(published.guarantee.unit, "person")


def whom_lines(published: Published) -> Iterator[str]:
    """The unit of protection, and what is not together in it."""
    yield _unit(published)
    yield f"Compared are {published.guarantee.neighbours}."


def of_several(published: Published) -> str:
    """What k of them together lose at most, as a multiple of what one does."""
    promised = published.guarantee
    if promised.rho is not None:
        unknown = ", and more than k times δ" if published.domain.is_discovered else ""
        return f"k² times ρ{unknown}"
    if promised.delta:
        return "k times ε, and k·e^((k−1)ε) times δ"
    return "k times ε"


def statement(published: Published) -> str:
    """What the publisher states about rows without an id, in a sentence; nothing where none is."""
    records = published.records
    if records.bounded_to is None:
        return ""
    one = records.bounded_to == 1
    once = ", and no two of them in one cell," if records.cells_once else ""
    return (
        f"That nobody has more than {number(records.bounded_to)} {'row' if one else 'rows'}{once} "
        "is the publisher's statement: the program cannot check it, and all of the promise rests "
        "on it."
    )


def _unit(published: Published) -> str:
    promised, records = published.guarantee, published.records
    columns = [repr(name) for name in records.user] if records else [repr(promised.column)]
    several = of_several(published)
    alone = "Somebody with several ids is several users, each protected for itself"
    many = f"{alone}: k ids, {several}"
    match promised.unit:
        case "user" if len(columns) > 1:
            return (
                f"Users. Rows that agree in {listed(columns)} are one user's, and all of "
                f"them are protected together. {many}."
            )
        case "user":
            return (
                f"Users. Rows with one value of {listed(columns)} are one user's, and all of "
                f"them are protected together. {many}."
            )
        case "same-person":
            return (
                f"Persons. A table of the curator's says which values of {listed(columns)} "
                "are one person's ids, and all records of a person, under all of them, are "
                "protected together. The release does not show that table: it is as good as "
                "whoever made it."
            )
        case "bounded-elsewhere":
            return (
                "Persons, with all of their rows together. No column says whose a row is. "
                f"{statement(published)} Whoever has k times as many rows has {several}."
            )
        case "row":
            return (
                "Persons, each of them one row. Whoever has several rows is protected for "
                f"each of them alone: k rows, {several}."
            )
        case "person":
            return (
                f"Persons. A row stands for as many of them as its weight {promised.column!r} "
                "says, and one person of them is protected. Whoever is in several rows is "
                "protected for each of them alone."
            )
    return f"Units of the kind {promised.unit!r}."
