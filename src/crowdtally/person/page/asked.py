"""What an address asks for, read strictly: what nobody declared is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl

from crowdtally.errors import UsageError
from crowdtally.person.page.choice import Choice
from crowdtally.person.page.desk import Desk

LONGEST = 200
"""Letters of a text that categories are sought by, and of the name of a file."""
_KNOWN = ("epsilon", "levels", "draw", "file", "q", "page", "sort")
SORTS = ("yours", "name")
_MOST = 10**6


@dataclass(frozen=True)
class Asked:
    """A page that is asked for."""

    choice: Choice
    """How much may be revealed."""
    draw: int | None = None
    """Which draw of this choice is looked at."""
    file: str = ""
    """The name of the file that was just written."""
    sought: str = ""
    """What the names of the categories shall contain."""
    page: int = 1
    """Of the list of categories."""
    sort: str = SORTS[0]
    """Its order."""

    @classmethod
    def of(cls, query: str, desk: Desk) -> Self:
        """From the end of an address; without a choice in it the first one is meant."""
        given = once(_pairs(query), _KNOWN)
        many = len(desk.catalogue.categories)
        chosen = "epsilon" in given or "levels" in given
        choice = Choice.of(given.get("epsilon", ""), given.get("levels", ""), many)
        sort = given.get("sort", "") or SORTS[0]
        if sort not in SORTS:
            raise UsageError("categories are sorted by yours or by name.")
        return cls(
            choice if chosen else desk.start,
            whole(given["draw"], "a draw") if given.get("draw") else None,
            given.get("file", "")[:LONGEST],
            given.get("q", "")[:LONGEST],
            whole(given.get("page", "") or "1", "a page"),
            sort,
        )

    def query(self, **changed: object) -> str:
        """The same page as the end of an address, with some of it changed."""
        sort = self.sort if self.sort != SORTS[0] else None
        page = self.page if self.page > 1 else None
        asked: dict[str, object] = {"draw": self.draw, "q": self.sought, "page": page, "sort": sort}
        return self.choice.query(**(asked | changed))


def once(pairs: Sequence[tuple[str, str]], known: Sequence[str]) -> dict[str, str]:
    """Each parameter by its name; a strange one, or one that is given twice, is refused."""
    found = dict(pairs)
    if len(found) < len(pairs) or not found.keys() <= set(known):
        raise UsageError("the address or the form is damaged: begin again on the first page.")
    return found


def whole(text: str, what: str, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if not (text.isascii() and text.isdecimal() and len(text) < 8 and least <= int(text) <= _MOST):
        raise UsageError(f"{what} has a whole number from {least} on.")
    return int(text)


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=len(_KNOWN))
    except ValueError:
        raise UsageError("the address is damaged: begin again on the first page.") from None
