"""A table with its noise on, as it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.layout import KINDS, Layout
from crowdtally.core.numbers import saturating_sum, show, within_64_bits
from crowdtally.laws.base import NoiseLaw, as_counts
from crowdtally.published.table import CHOSEN

INTERVAL_LEVEL = Fraction(19, 20)
"""How likely the noise lies within ``low`` … ``high`` of a table."""
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A table with its noise on, safe to show to anyone."""

    name: str
    """Its file's name without the ending."""
    layout: Layout
    """The public cells, and the columns that name them."""
    values: NDArray[Any]
    """The noisy count of every published cell, in order, in integer units."""
    law: NoiseLaw
    """The law of the noise on them, and what one unit means as a count."""
    facts: Mapping[str, Any]
    """What else ``release.json`` says about the table."""
    cells: NDArray[Any] | None = None
    """Numbers of the published cells, ascending; None where all of the layout are published."""

    def blocks(self) -> Iterator[dict[str, NDArray[Any]]]:
        """The table's columns, a million rows at a time, sorted by cell."""
        noise = self._noise()
        reach = min(self.law.half_width(INTERVAL_LEVEL), 2**62)
        for start in range(0, max(len(self.values), 1), _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, len(self.values)))
            cells = rows if self.cells is None else self.cells[rows]
            values = within_64_bits(self.values[rows])
            yield {
                **self.layout.columns(cells),
                "count": as_counts(values, self.law.unit),
                "noise_std": np.full(len(cells), noise["std"]),
                "low": as_counts(saturating_sum(values, -reach), self.law.unit),
                "high": as_counts(saturating_sum(values, reach), self.law.unit),
            }

    def _noise(self) -> dict[str, Any]:
        width = self.law.half_width(INTERVAL_LEVEL)
        return {
            **self.law.to_json(),
            "std": self.law.std(),
            "interval_level": show(INTERVAL_LEVEL),
            "interval_half_width": as_counts(width, self.law.unit),
        }

    def description(self) -> dict[str, Any]:
        """The table's entry in ``release.json``; writing it adds ``rows`` and ``sha256``."""
        return {
            "name": self.name,
            "file": f"{self.name}.parquet",
            "columns": list(self.layout.names),
            "cells": self.layout.size,
            **self.facts,
            **({"publishing": CHOSEN} if KINDS[self.name].chosen else {}),
            "noise": self._noise(),
        }
