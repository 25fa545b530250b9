"""Public catalogues to perturb histories of: the papers' example, and random ones from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np

from crowdtally.person.catalogue import Catalogue

PRINTED = {
    "item 1": ["1", "2", "3"],
    "item 2": ["1", "3", "4"],
    "item 3": ["1", "5"],
    "item 4": ["1", "3"],
    "item 5": ["1", "2"],
}
"""The running example of EpicRec: 5 items, 5 categories."""


def printed() -> Catalogue:
    return Catalogue.of(PRINTED)


def random_catalogue(seed: int, items: int = 40, categories: int = 8, most: int = 4) -> Catalogue:
    """Items with 1 to ``most`` categories, some categories much more frequent than others."""
    generator = np.random.default_rng(seed)
    weights = 1 / np.arange(1, categories + 1)
    names = [f"c{number:03}" for number in range(categories)]
    return Catalogue.of(
        {
            f"i{number}": generator.choice(
                names,
                size=generator.integers(1, min(most, categories) + 1),
                replace=False,
                p=weights / weights.sum(),
            ).tolist()
            for number in range(items)
        }
    )


def histories(catalogue: Catalogue) -> Iterator[tuple[str | int, ...]]:
    """Every history of a tiny catalogue."""
    items = catalogue.items
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))
