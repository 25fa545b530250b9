"""The K items that most users have: selected one after another, then measured.

Contract. Relation: all records of one user added or removed. Precondition: the scores are exact
numbers of *distinct* users, so that adding a user raises every score by 0 or 1 and lowers none.
Output law: K draws without replacement, each with Pr[i] ∝ exp(ε_i·score_i) among the items that are
left, those that nobody has included. This is K·ε_i-differentially private, and K·ε_i²/8-zCDP; no
factor ½ is needed, because all scores move the same way. The proof is in ``top_items.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.counts import Memberships
from crowdtally.core.privacy import Epsilon
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class TopItems:
    """How many items are selected, and what each draw costs."""

    items: int
    """K."""
    each: Epsilon
    """ε_i: the parameter of each draw."""

    def select(self, users: Memberships, draws: Draws) -> NDArray[np.int64]:
        """The places of the selected items, ascending: in which order they were drawn is not said.

        Args:
            users: distinct users of every item of the public list.
            draws: where the choices come from.
        """
        left, rate = np.arange(users.size), self.each.value
        chosen = []
        for _ in range(self.items):
            place = draws.choose(users.values[left], rate)
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return np.sort(np.array(chosen, dtype=np.int64))
