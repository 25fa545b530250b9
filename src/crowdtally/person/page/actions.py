"""What an address and a form ask for, and what the buttons do."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self
from urllib.parse import parse_qsl, urlencode

import numpy as np

from crowdtally.core.privacy import Epsilon
from crowdtally.errors import UsageError
from crowdtally.person.catalogue import Catalogue, Popularity
from crowdtally.person.device import FORMS, checked_target, hand_over, plan_of
from crowdtally.person.history import History
from crowdtally.person.levels import Level, Levels, checked
from crowdtally.person.plan import Plan, Policy
from crowdtally.person.store import Draw, Store
from crowdtally.person.words import own_counts

# What an address says: how much may be revealed, overall and of single categories.
#
# Categories stand in it by their places in the public catalogue. Nothing of a history does:
# browsers keep addresses.

POLICY = "policy"
"""Stands for an ε that a public policy finds."""
LONGEST_EPSILON = 40
"""Letters of an ε that is typed."""


@dataclass(frozen=True)
class Choice:
    """What a person chose; all of it public."""

    epsilon: str = ""
    """Exact, or ``policy``; empty where nothing is chosen yet."""
    levels: Mapping[int, str] = field(default_factory=dict)
    """The level of each category that has its own, by its place in the catalogue."""

    @classmethod
    def of(cls, epsilon: str, levels: str, categories: int) -> Self:
        """From the parameters of an address; what is wrong in it is refused."""
        return cls(typed_epsilon(epsilon), dict(_spread(levels, categories)))

    def with_levels(self, changed: Mapping[int, str]) -> Choice:
        """With other levels of some categories; an empty one is none of its own."""
        together = {**self.levels, **{place: _level(text) for place, text in changed.items()}}
        return Choice(self.epsilon, {place: text for place, text in together.items() if text})

    def named(self, categories: tuple[str, ...]) -> Levels:
        return Levels.of({categories[place]: text for place, text in self.levels.items()})

    @property
    def packed(self) -> str:
        """The levels as an address has them.

        >>> Choice("1", {7: "no", 8: "no", 9: "no", 2: "1/2", 5: "no"}).packed
        '1/2:2;no:5,7-9'
        """
        places: dict[str, list[int]] = {}
        for place, level in sorted(self.levels.items()):
            places.setdefault(level, []).append(place)
        return ";".join(f"{level}:{','.join(_runs(places[level]))}" for level in sorted(places))

    def query(self, **more: object) -> str:
        """The end of an address that says the same, and what else shall be in it."""
        pairs = [("epsilon", self.epsilon), ("levels", self.packed)]
        pairs += [(name, str(value)) for name, value in more.items() if value not in (None, "")]
        return urlencode(pairs, safe=":;,/")

    @property
    def fields(self) -> list[tuple[str, str]]:
        return [("epsilon", self.epsilon), ("levels", self.packed)]


def typed_epsilon(text: str) -> str:
    """An ε as it is kept: exact and in one spelling.

    >>> typed_epsilon(" 0.50 "), typed_epsilon("policy"), typed_epsilon("")
    ('0.5', 'policy', '')
    """
    plain = text.strip()
    if plain in ("", POLICY):
        return plain
    if len(plain) > LONGEST_EPSILON:
        raise UsageError(
            f"an epsilon has at most {LONGEST_EPSILON} letters: received {len(plain):,}."
        )
    return str(checked(Epsilon.of(plain)))


def _level(text: str) -> str:
    plain = text.strip()
    return plain if plain in ("", "no", "all") else str(Level.of(typed_epsilon(plain)))


def _spread(text: str, categories: int) -> Iterator[tuple[int, str]]:
    """The place and the level of each category that is named."""
    for part in filter(None, text.split(";")):
        level, _, places = part.partition(":")
        plain = _level(level)
        if not plain or plain == POLICY:
            raise _damaged()
        for place in _places(places, categories):
            yield place, plain


def _places(text: str, categories: int) -> Iterator[int]:
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdecimal() and len(end) < 10 for end in ends):
            raise _damaged()
        low, high = map(int, ends)
        if not low <= high < categories:
            raise _damaged()
        yield from range(low, high + 1)


def _runs(places: Iterable[int]) -> Iterator[str]:
    begun: list[int] = []
    for place in [*places, -1]:
        if begun and place != begun[-1] + 1:
            yield str(begun[0]) if len(begun) == 1 else f"{begun[0]}-{begun[-1]}"
            begun = []
        begun.append(place)


def _damaged() -> UsageError:
    return UsageError("the levels in the address are damaged: choose them anew on the first page.")


# What the pages are about: a history, its catalogue, its store, and a folder for released files.
#
# Nothing here remembers what was done: that is in the store. Plans are kept for a while, because
# a long catalogue takes its time; they are public.

_MOST_PLANS = 16


@dataclass(frozen=True, eq=False, repr=False)
class Desk:
    """One person's history, and what may be done with it."""

    history: History
    """Private: for the person's eyes, and for the store."""
    store: Store
    folder: Path
    """Where files are written when the person asks for it."""
    policy: Policy = field(default_factory=Policy)
    """Finds an ε where the person lets it."""
    start: Choice = field(default_factory=Choice)
    popularity: Popularity | None = None
    """Public weights that decide which of alike items are taken."""
    _plans: dict[str, Plan] = field(default_factory=dict)
    _planning: threading.Lock = field(default_factory=threading.Lock)

    @property
    def catalogue(self) -> Catalogue:
        return self.history.catalogue

    @cached_property
    def own(self) -> list[int]:
        """How many of the person's items each category has; private."""
        return list(own_counts(self.history).values())

    @cached_property
    def by_own(self) -> list[int]:
        """The places of the categories, those with most of the person's items first."""
        return np.argsort(-np.array(self.own), kind="stable").tolist()  # type: ignore[no-any-return]

    def plan(self, choice: Choice) -> Plan:
        """What would be done to any history under this choice; refused where nothing is chosen."""
        if not choice.epsilon:
            raise UsageError("Choose first how much one item may reveal.")
        wanted = self.policy if choice.epsilon == POLICY else choice.epsilon
        key = choice.query()
        with self._planning:  # the same plan is not made twice at once
            if key not in self._plans:
                while len(self._plans) >= _MOST_PLANS:
                    del self._plans[next(iter(self._plans))]
                levels = choice.named(self.catalogue.categories)
                self._plans[key] = plan_of(self.catalogue, wanted, levels)
            return self._plans[key]

    def draws(self, plan: Plan) -> list[Draw]:
        return self.store.stored(self.history, plan, popularity=self.popularity)

    def draw(self, plan: Plan, *, again: bool = False) -> Draw:
        """The stored draw, or a new one: charged and stored before it is returned."""
        return self.store.perturb(self.history, plan, again=again, popularity=self.popularity)

    def __repr__(self) -> str:
        return "<Desk: private>"


# What an address asks for, read strictly: what nobody declared is refused.

LONGEST_TEXT = 200
"""Letters of a text that categories are sought by, and of the name of a file."""
_KNOWN = ("epsilon", "levels", "draw", "file", "q", "page", "sort")
SORTS = ("yours", "name")
_MOST_PAGES = 10**6


@dataclass(frozen=True)
class Asked:
    choice: Choice
    draw: int | None = None
    """Which draw of this choice is looked at."""
    file: str = ""
    """The name of the file that was just written."""
    sought: str = ""
    """What the names of the categories shall contain."""
    page: int = 1
    sort: str = SORTS[0]

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
            given.get("file", "")[:LONGEST_TEXT],
            given.get("q", "")[:LONGEST_TEXT],
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
    is_whole = text.isascii() and text.isdecimal() and len(text) < 8
    if not is_whole or not least <= int(text) <= _MOST_PAGES:
        raise UsageError(f"{what} has a whole number from {least} on.")
    return int(text)


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=len(_KNOWN))
    except ValueError:
        raise UsageError("the address is damaged: begin again on the first page.") from None


# What the buttons do. Each is done to its end, one after the other: see
# ``web/serving/finishing``.
#
# A button that is pressed twice does its work once: the store returns the draw that is there,
# another draw is only made for who saw the last one, and a file of the same content is the file.

_LONGEST = 100
_FORBIDDEN = frozenset('/\\:*?"<>|')
"""What is part of a path somewhere, or no part of a name."""
_USUAL = "perturbed"


@dataclass(frozen=True, eq=False)
class Deeds:
    desk: Desk

    def draw(self, choice: Choice) -> Draw:
        """The draw of this choice: charged and stored before it is returned, or the stored one."""
        return self.desk.draw(self.desk.plan(choice))

    def draw_again(self, choice: Choice, seen: int) -> Draw:
        """Another draw of this choice, charged anew.

        The person had ``seen`` so many draws: one made since is what the same button asked for.
        """
        plan = self.desk.plan(choice)
        stored = self.desk.draws(plan)
        if len(stored) > seen:
            return stored[-1]
        return self.desk.draw(plan, again=True)

    def release(self, choice: Choice, number: int, name: str) -> Path:
        """Write the items of a draw to a new file in the folder."""
        plan = self.desk.plan(choice)
        found = which(self.desk.draws(plan), number)
        if found is None:
            raise UsageError("there is no such draw: nothing was written.")
        path = self.desk.folder / checked_name(name)
        if not _is_written(path, found, plan):
            hand_over(found.perturbed, plan, checked_target(path))
        return path


def which(stored: list[Draw], number: int | None) -> Draw | None:
    return next((draw for draw in stored if number in (None, draw.number)), None)


def checked_name(name: str) -> str:
    """The name of a file in the folder: no path leads out of it."""
    plain = name.strip()
    is_name = plain and plain.isprintable() and not plain.startswith(".")
    if not is_name or len(plain) > _LONGEST or _FORBIDDEN & set(plain):
        raise UsageError(
            "the file needs a plain name in the folder, such as perturbed.csv: at most "
            f"{_LONGEST} letters, no folder, no dot at its beginning. Nothing was written."
        )
    return plain


def free_name(folder: Path) -> str:
    taken = set(os.listdir(folder)) if folder.is_dir() else set()
    number = 1
    while (name := f"{_USUAL}{'' if number == 1 else f'-{number}'}.csv") in taken:
        number += 1
    return name


def _is_written(path: Path, draw: Draw, plan: Plan) -> bool:
    """Whether the same button has just written this file."""
    form = FORMS.get(path.suffix.lower())
    if form is None or path.is_symlink() or not path.is_file():
        return False
    try:
        return path.read_bytes() == form(draw.perturbed, plan).encode()
    except OSError:
        return False
