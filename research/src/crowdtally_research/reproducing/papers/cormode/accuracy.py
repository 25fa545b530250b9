"""Sums over random subsets of cells: how far off they are after each way to publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from crowdtally.curator.publishing.publishing import Publishing
from crowdtally.lab.estimates import estimate
from crowdtally_research.reproducing.figure import AUTO
from crowdtally_research.reproducing.numbers import Number, Place
from crowdtally_research.reproducing.papers.cormode.persons import NOISES, auto_estimates
from crowdtally_research.reproducing.papers.cormode.queries import Subsets, relative
from crowdtally_research.reproducing.papers.cormode.sparse import Floats, Sparse
from crowdtally_research.reproducing.papers.cormode.ways import published

Ways = Mapping[str, Publishing]
Make = Callable[[int], Sparse]
"""From a seed: the table of one run."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of one method."""

    errors: dict[int, list[float]]
    """By the size of the subsets, the relative error of each run, in percent."""
    published: list[int] = field(default_factory=list)
    """How many values each run published."""

    @classmethod
    def nothing(cls, sizes: Sequence[int]) -> Seen:
        """Before the first run."""
        return cls({size: [] for size in sizes})


def errors_of(ways: Ways, make: Make, sizes: Sequence[int], runs: int) -> dict[str, Seen]:
    """The errors of every way, each run with data and queries of its own."""
    seen = {name: Seen.nothing(sizes) for name in ways}
    for run in range(runs):
        sparse = make(run)
        asked = Asked(sparse, sizes, run)
        for name, publishing in ways.items():
            noisy = published(sparse, publishing)
            asked.add(seen[name], estimate(noisy))
            seen[name].published.append(len(noisy.values))
    return seen


def errors_of_auto(make: Make, sizes: Sequence[int], runs: int) -> dict[str, Seen]:
    """The same of ``auto``: five runs on the same persons, then others."""
    seen = Seen.nothing(sizes)
    for seed, number in batches(runs):
        sparse = make(seed)
        asked = Asked(sparse, sizes, seed)
        for found in auto_estimates(sparse, number):
            asked.add(seen, found)
    return {AUTO: seen}


def batches(runs: int) -> Iterator[tuple[int, int]]:
    """Seeds of data, and how many runs each has.

    >>> list(batches(12))
    [(0, 5), (1, 5), (2, 2)]
    """
    for seed, first in enumerate(range(0, runs, NOISES)):
        yield seed, min(NOISES, runs - first)


class Asked:
    """The queries of one run, with their true answers."""

    def __init__(self, sparse: Sparse, sizes: Sequence[int], seed: int) -> None:
        self._subsets = Subsets.drawn(sparse.size, sizes, seed)
        self._truth = self._subsets.sums(sparse.truth)

    def add(self, seen: Seen, found: Floats) -> None:
        """Note how far off the estimates are."""
        for size, error in relative(self._subsets.sums(found), self._truth).items():
            seen.errors[size].append(error)


def as_curves(
    panel: str, seen: Mapping[str, Seen], place: Callable[[int], Place] = int
) -> list[Number]:
    """Errors against the size of the subsets, a line for each method."""
    return [
        Number.over(panel, name, place(size), values)
        for name, one in seen.items()
        for size, values in one.errors.items()
    ]


def level(panel: str, line: str, values: Sequence[float], places: Sequence[Place]) -> list[Number]:
    """A line that is the same everywhere: what it shows does not depend on the axis."""
    return [Number.over(panel, line, place, values) for place in places]
