"""Conditions on labels and categories: a public catalogue says which items they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis
from crowdtally.reader.answers.columns import LABELS
from crowdtally.reader.answers.labels import Labels
from crowdtally.reader.axes import Axes
from crowdtally.reader.condition import Among, Condition, Every, Some, every, some
from crowdtally.reader.lookup import AxisLookup
from crowdtally.reader.stated import Stated

_NONE = -1
"""The position of an item's label that the catalogue leaves empty."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """A release's lists, and beside them those of what its items are called."""

    item: AxisLookup
    """The items."""
    lists: Mapping[str, AxisLookup]
    """Every column that a condition may name; a column of the release wins over a label's."""
    positions: Mapping[str, NDArray[np.int64]]
    """Where each item's label stands in the list of labels, and likewise its category."""

    @classmethod
    def of(cls, labels: Labels, axes: Axes) -> Labelled:
        """The lists of a release with these labels."""
        item, *_ = axes.by_name.values()
        lists, positions = dict(axes.by_name), dict[str, NDArray[np.int64]]()
        for name, by_item in zip(LABELS, (labels.labels, labels.categories), strict=True):
            if by_item is None or name in lists:
                continue
            called = [by_item[one] for one in item.axis.values.tolist()]
            distinct = sorted({one for one in called if one is not None})
            if not distinct:
                continue
            places = {value: place for place, value in enumerate(distinct)}
            lists[name] = AxisLookup.of(Axis.of(name, distinct))
            positions[name] = np.array(
                [_NONE if one is None else places[one] for one in called], dtype=np.int64
            )
        return cls(item, lists, positions)

    def on_items(self, stated: Stated) -> Stated:
        """The same condition, in which items stand for what they are called."""
        own = {self.item.name if name in self.positions else name for name in stated.named}
        return Stated(self._condition(stated.condition), frozenset(own))

    def _condition(self, condition: Condition) -> Condition:
        match condition:
            case Among(axis, mask) if axis in self.positions:
                # An item without a label is neither one nor another: the place after the last.
                meant = np.append(mask, False)[self.positions[axis]]
                return every([Among(self.item.name, meant)])
            case Every(parts):
                return every(map(self._condition, parts))
            case Some(parts):
                return some(map(self._condition, parts))
        return condition
