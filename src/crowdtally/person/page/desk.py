"""What the pages are about: a history, its catalogue, its store, and a folder for released files.

Nothing here remembers what was done: that is in the store. Plans are kept for a while, because a
long catalogue takes its time; they are public.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.device import plan_of
from crowdtally.person.history import History
from crowdtally.person.listing import own_counts
from crowdtally.person.page.choice import POLICY, Choice
from crowdtally.person.planning import Plan
from crowdtally.person.quantify import Policy
from crowdtally.person.sharing import Popularity
from crowdtally.person.store import Draw, Store

_MOST = 16
"""Plans that are kept."""


@dataclass(frozen=True, eq=False, repr=False)
class Desk:
    """One person's history, and what may be done with it."""

    history: History
    """Private: for the person's eyes, and for the store."""
    store: Store
    """Where draws are charged and kept."""
    folder: Path
    """Where files are written when the person asks for it."""
    policy: Policy = field(default_factory=Policy)
    """Finds an ε where the person lets it."""
    start: Choice = field(default_factory=Choice)
    """What is chosen at first."""
    popularity: Popularity | None = None
    """Public weights that decide which of alike items are taken."""
    _plans: dict[str, Plan] = field(default_factory=dict)
    _planning: threading.Lock = field(default_factory=threading.Lock)

    @property
    def catalogue(self) -> Catalogue:
        """The public items and their categories."""
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
        """What would be done to any history under this choice.

        Raises:
            UsageError: nothing is chosen yet, or the levels contradict each other.
        """
        if not choice.epsilon:
            raise UsageError("Choose first how much one item may reveal.")
        wanted = self.policy if choice.epsilon == POLICY else choice.epsilon
        key = choice.query()
        with self._planning:  # the same plan is not made twice at once
            if key not in self._plans:
                while len(self._plans) >= _MOST:
                    del self._plans[next(iter(self._plans))]
                levels = choice.named(self.catalogue.categories)
                self._plans[key] = plan_of(self.catalogue, wanted, levels)
            return self._plans[key]

    def draws(self, plan: Plan) -> list[Draw]:
        """The draws that are stored already; changes nothing."""
        return self.store.stored(self.history, plan, popularity=self.popularity)

    def draw(self, plan: Plan, *, again: bool = False) -> Draw:
        """The stored draw, or a new one: charged and stored before it is returned."""
        return self.store.perturb(self.history, plan, again=again, popularity=self.popularity)

    def __repr__(self) -> str:
        return "<Desk: private>"
