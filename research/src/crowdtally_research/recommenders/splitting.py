"""People to learn from, and others to recommend to: nobody is both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdtally.errors import InputError

FEWEST_PUBLIC = 10
"""People that a recommender learns from, at least."""


@dataclass(frozen=True, eq=False)
class Split:
    """Public people, and held-out ones with some of their items hidden."""

    public: Any
    """Who had what, a row for each public person: recommenders and priors see nothing else."""
    histories: Any
    """What the held-out people had, a row for each, without what is hidden."""
    hidden: Any
    """What of theirs is hidden, and should be recommended."""

    @property
    def people(self) -> int:
        """How many are held out."""
        return int(self.histories.shape[0])


def split(visits: Any, people: int, hidden: int, seed: int) -> Split:
    """Hold out some people, and hide some items of each; the same seed does the same.

    Only who had at least twice as many items as are hidden is held out, so that a history is left.

    Args:
        visits: a sparse matrix of ones, a row for each person and a column for each item.
        people: how many to hold out.
        hidden: how many items of each to hide.
        seed: decides who and what.
    """
    generator = np.random.default_rng(seed)
    lengths = np.diff(visits.indptr)
    able = np.flatnonzero(lengths >= 2 * hidden)
    _check(len(able), int((lengths > 0).sum()), people, hidden)
    held_out = np.sort(generator.choice(able, people, replace=False))
    others = np.setdiff1d(np.flatnonzero(lengths > 0), held_out)
    theirs = visits[held_out]
    apart = theirs.copy()
    apart.data[:] = 0
    for start, end in zip(theirs.indptr[:-1], theirs.indptr[1:], strict=True):
        apart.data[generator.choice(np.arange(start, end), hidden, replace=False)] = 1
    histories = theirs - apart
    for matrix in (histories, apart):
        matrix.eliminate_zeros()
    return Split(visits[others], histories, apart)


def _check(able: int, everybody: int, people: int, hidden: int) -> None:
    """Refuse where too few are left, with what would do."""
    if able < people or everybody - people < FEWEST_PUBLIC:
        most = min(able, everybody - FEWEST_PUBLIC)
        instead = f"--people {most} or fewer" if most > 0 else "records of more people"
        raise InputError(
            f"the records have too few people: of {everybody:,}, {able:,} have the {2 * hidden} "
            f"items of the catalogue that are needed to hide {hidden}, and {FEWEST_PUBLIC} must be "
            f"left to learn from, but --people {people} are to be held out. Give {instead}, or "
            "a smaller --hidden."
        )
