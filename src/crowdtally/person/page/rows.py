"""The categories in a list, for the person's eyes: own counts, noise, and what was drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.person.history import History
from crowdtally.person.listing import own_counts
from crowdtally.person.page.choice import Choice
from crowdtally.person.page.desk import Desk
from crowdtally.person.perturbing import Perturbed, counted
from crowdtally.person.planning import USUAL, Plan
from crowdtally.web.pages import Shown, between, grouped, value

PER_PAGE = 20
LEVEL_WORDS = {"no": "no release", "all": "all release"}


@dataclass(frozen=True)
class Row:
    """One category."""

    place: int
    """In the catalogue."""
    name: str
    """As it is shown."""
    items: int
    """How many items of the catalogue have it."""
    own: int
    """How many of the person's items have it."""
    level: str
    """``no``, ``all`` or an ε; empty where it goes by the overall choice."""
    counted: int | None = None
    """How many of these are counted with noise; None where nothing is."""
    deviation: float | None = None
    """The standard deviation of the noise."""
    width: int | None = None
    """Noise of at most this in 95 of 100 draws."""
    noisy: int | None = None
    """The count with its noise, once drawn."""
    leaves: int | None = None
    """How many items of the list that may leave have the category."""

    @property
    def level_words(self) -> str:
        """The level for people."""
        return LEVEL_WORDS.get(self.level, self.level) or "as overall"


@dataclass(frozen=True)
class Listed:
    """A page of the list."""

    rows: Sequence[Row]
    """Of this page."""
    many: int
    """Rows of all pages."""
    page: int
    """Which one this is, from 1."""
    pages: int
    """How many there are."""


def listed(places: Sequence[int], desk: Desk, sought: str, page: int) -> tuple[list[int], int, int]:
    """The places of a page of those categories that have a text in their names; page, pages."""
    names, part = desk.catalogue.categories, sought.casefold()
    found = [place for place in places if part in names[place].casefold()]
    pages = max(-(-len(found) // PER_PAGE), 1)
    here = min(max(page, 1), pages)
    return found[(here - 1) * PER_PAGE : here * PER_PAGE], here, pages


def rows(
    desk: Desk, choice: Choice, places: Sequence[int], plan: Plan | None, made: Perturbed | None
) -> list[Row]:
    """Some categories; without a plan their own counts alone, without a draw no noisy ones."""
    catalogue = desk.catalogue
    noise = {} if plan is None else {place: n for n, place in enumerate(plan.measured)}
    exact = () if plan is None else counted(desk.history, plan)
    left = None if made is None else own_counts(History.of(made.items, catalogue))
    found = []
    for place in places:
        name = catalogue.categories[place]
        more: dict[str, Any] = {} if left is None else {"leaves": left[name]}
        if plan is not None and place in noise:
            number = noise[place]
            law = DiscreteLaplace(plan.scales[number])
            more |= {
                "counted": exact[number],
                "deviation": law.std(),
                "width": law.half_width(USUAL),
                "noisy": None if made is None else made.noisy.values[number],
            }
        found.append(
            Row(place, value(name), int(catalogue.sizes[place]), desk.own[place],
                choice.levels.get(place, ""), **more)
        )  # fmt: skip
    return found


def table(found: Sequence[Row], *, planned: bool, number: int | None) -> Shown:
    """The rows as a table; after a draw with the noisy counts of it."""
    partly = any(row.counted is not None and row.counted != row.own for row in found)
    heads, cells = ["Category", "Yours"], [[row.name, grouped(row.own)] for row in found]

    def column(head: str, of: Any) -> None:
        heads.append(head)
        for cell, row in zip(cells, found, strict=True):
            cell.append(of(row))

    if planned:
        if partly:
            column("Of these counted", lambda row: grouped(row.counted))
        if number is not None:
            column(f"With noise (draw\N{NO-BREAK SPACE}{number})", lambda row: grouped(row.noisy))
            column("In the list that may leave", lambda row: grouped(row.leaves))
        column("Noise: standard deviation", lambda row: grouped(row.deviation))
        column("Noise: mostly at most ±", lambda row: grouped(row.width))
        if number is None:
            column("So a noisy count mostly lies in", _reach)
        column("Level", lambda row: row.level_words)
    note = (
        "“Mostly” is 95 of 100 draws. A noisy count can be negative. "
        + (
            "Not all of your items are counted with noise: those of “no release” leave "
            "no trace anywhere, and those of “all release” leave as they are."
            if partly
            else ""
        )
        if planned
        else "Once you choose, the noise on each count stands beside it."
    )
    caption = "Your categories, for your eyes only" + (
        "" if not planned else ", beside the noise" if number is None else ", beside the draw"
    )
    return Shown(caption, heads, cells, words=(0,), note=note)


def _reach(row: Row) -> str:
    if row.counted is None or row.width is None:
        return grouped(None)
    return between(row.counted - row.width, row.counted + row.width)


@cache
def presets() -> tuple[str, ...]:
    """The ε that a list offers for a category; others are typed."""
    return ("0.1", "0.2", "0.5", "1", "2", "3")
