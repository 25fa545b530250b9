"""When two requests are the same: by a keyed hash, since a plain one could be guessed at."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator

import numpy as np

from crowdtally.ledger import Charged
from crowdtally.person.history import History
from crowdtally.person.planning import Plan
from crowdtally.person.sharing import Popularity


def fingerprint(
    key: bytes, history: History, plan: Plan, popularity: Popularity | None = None
) -> str:
    """HMAC-SHA256 of the history as a set, the catalogue, each category's level, the popularity.

    Items of which nothing leaves are not in it: having them changes nothing at all, also
    not whether a draw is a new one.
    """
    used = [group.places for group in (*plan.groups, *plan.passed)]
    places = np.intersect1d(history.places, np.concatenate(used)).tolist()
    levels = plan.levels.each(plan.catalogue.categories, plan.epsilon)
    request = {
        "catalogue": plan.catalogue.sha256,
        "levels": list(map(str, levels)),
        "popularity": None if popularity is None else _weights(popularity),
        "items": sorted(str(plan.catalogue.items[place]) for place in places),
    }
    return hmac.new(key, json.dumps(request).encode(), "sha256").hexdigest()


def _weights(popularity: Popularity) -> list[tuple[str, str]]:
    return sorted((str(item), float(weight).hex()) for item, weight in popularity.items())


def draws_of(look_up: Callable[[str], Charged | None], mark: str) -> Iterator[Charged]:
    """All charges that were made for one request: the first draw, the second, and so on."""
    number = 1
    while (found := look_up(request_id(mark, number))) is not None:
        yield found
        number += 1


def request_id(mark: str, number: int) -> str:
    """How the ledger knows the ``number``-th draw of a request."""
    return f"{mark}-{number}"
