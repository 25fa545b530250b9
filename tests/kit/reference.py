"""What a crowd's tables must hold, by plain Python: no engine, no cell numbers, no SQL."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from crowdtally.core.counts import What
from crowdtally.curator.bounding.scaling import GRID
from kit.crowd import CONTEXTS, LISTED, Histories, Tally
from kit.histories import Row

_LISTED = frozenset(LISTED)


def histories(rows: Sequence[Row]) -> Histories:
    """Each user's records that can be counted, by cell."""
    found: Histories = defaultdict(Counter)
    for user, item, context, _ in rows:
        if user is not None and item in _LISTED and context in range(CONTEXTS):
            found[user][item, context] += 1
    return found


def available(own: Histories, what: What) -> Histories:
    """What a rule may choose from: all records, or each cell once."""
    if what == "records":
        return own
    return {user: Counter(dict.fromkeys(cells, 1)) for user, cells in own.items()}


def of_items(own: Histories, what: What = "records") -> Histories:
    """The same by item alone; a user who met one in two contexts is one user of it."""
    found: Histories = defaultdict(Counter)
    for user, cells in own.items():
        for (item, *_), times in cells.items():
            found[user][item,] += times
    return available(found, what)


def of_pairs(own: Histories, what: What) -> Histories:
    """Each user's unordered pairs of records (or of cells) of different items."""
    found: Histories = defaultdict(Counter)
    for user, met in of_items(own, what).items():
        for (one, n), (other, m) in combinations(sorted(met.items()), 2):
            found[user][one[0], other[0]] += n * m
    return found


def scaled(own: Histories, theta: int, cap: int) -> Histories:
    """Each user's row after DPSense, in units of 1/g."""
    found: Histories = {}
    for user, cells in own.items():
        row = {cell: min(times, cap) for cell, times in cells.items()}
        total = sum(row.values())
        found[user] = Counter({cell: _weight(x, total, theta) for cell, x in row.items()})
    return found


def _weight(amount: int, row_sum: int, theta: int) -> int:
    return GRID * amount if row_sum <= theta else GRID * theta * amount // row_sum


def total(own: Histories) -> Tally:
    """The table: all users' rows added up."""
    summed: Tally = Counter()
    for cells in own.values():
        summed.update(cells)
    return Counter({cell: value for cell, value in summed.items() if value})


def row_sums(own: Histories, cap: int) -> dict[object, int]:
    """Each user's row sum, each cell capped."""
    return {user: sum(min(n, cap) for n in cells.values()) for user, cells in own.items()}


def largest(own: Mapping[object, Tally]) -> int:
    """The most that one user has."""
    return max(cells.total() for cells in own.values())
