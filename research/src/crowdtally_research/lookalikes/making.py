"""The records of a look-alike, in blocks of whole users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally_research.lookalikes.drawing import distinct, returning
from crowdtally_research.lookalikes.items import Popularity
from crowdtally_research.lookalikes.shapes import SHAPES
from crowdtally_research.lookalikes.sizes import records_per_user
from crowdtally_research.lookalikes.statistics import Statistics

_BLOCK = 2_000_000
"""Records that are made at a time; the last user of a block may exceed it."""
_TASTE = 0.4
"""By how much kinds of users differ in what they like: a deviation of the logarithm."""


class Maker:
    """Makes the records of one look-alike; the same seed makes the same."""

    def __init__(self, numbers: Statistics, seed: int) -> None:
        self.numbers = numbers
        """What holds exactly."""
        self._seed = seed
        self._shape = SHAPES[numbers.name]
        rng = np.random.default_rng([seed, 0])
        self._sizes = records_per_user(
            numbers.users, numbers.records, fewest=numbers.fewest, most=numbers.most,
            spread=self._shape.spread,
        )  # fmt: skip
        rng.shuffle(self._sizes)
        shares = self._shape.contexts.kinds
        self._kinds = rng.choice(len(shares), numbers.users, p=shares).astype(np.int8)
        self._popularity = Popularity(self._weights(rng, len(shares)))

    @property
    def contexts(self) -> Mapping[str, tuple[str, ...]]:
        """The public values of each context."""
        return self._shape.contexts.values

    def _weights(self, rng: np.random.Generator, kinds: int) -> NDArray[np.float64]:
        """A row for each kind of user; an item's number says nothing about its popularity."""
        weights = rng.permutation(self._shape.skew.weights(self.numbers.items))
        if kinds == 1:
            return weights[np.newaxis]
        rows = weights * np.exp(_TASTE * rng.standard_normal((kinds, len(weights))))
        return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float64)

    def blocks(self) -> Iterator[dict[str, NDArray[Any]]]:
        """The columns of some users' records, mixed with each other, until all had their turn."""
        ends = np.cumsum(self._sizes)
        start = number = 0
        while start < len(ends):
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + _BLOCK)) + 1
            number += 1
            yield self._block(np.random.default_rng([self._seed, number]), start, stop)
            start = stop

    def _block(self, rng: np.random.Generator, start: int, stop: int) -> dict[str, NDArray[Any]]:
        sizes = self._sizes[start:stop]
        kinds = self._kinds[start:stop].astype(np.int32)
        users, items = self._draw(rng, sizes, kinds)
        mixed = rng.permutation(len(users))
        users, items = users[mixed], items[mixed]
        codes = self._shape.contexts.codes(rng, users + np.int32(start), items, kinds[users])
        return {
            "user_id": users + np.int32(start + 1),
            "item_id": items + np.int32(1),
            **codes,
        }

    def _draw(
        self, rng: np.random.Generator, sizes: NDArray[np.int64], kinds: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        if self._shape.returns is None:
            return distinct(rng, self._popularity, sizes, kinds)
        return returning(rng, self._popularity, sizes, kinds, self._shape.returns)
