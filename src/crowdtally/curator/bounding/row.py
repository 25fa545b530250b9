"""Each row is one person, so there is nothing to bound. Asked for by ``--user-per-row``."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from crowdtally.values.counts import What


@dataclass(frozen=True)
class EveryRow:
    """Contract: one person is one row, or one of those that a row's weight counts: L1 = 1."""

    name: ClassVar[str] = "row"
    takes: ClassVar[frozenset[str]] = frozenset()
    choices: ClassVar[tuple[str, ...]] = ()
    keeps_records: ClassVar[bool] = False

    @property
    def limit(self) -> int:
        """One row."""
        return 1

    @property
    def l1_bound(self) -> int:
        """One cell of each table, by 1."""
        return 1

    def l2_squared(self, what: What) -> int:
        """One cell, by 1."""
        return 1

    @property
    def unit(self) -> Fraction:
        """Persons are counted."""
        return Fraction(1)

    def facts(self) -> dict[str, Any]:
        """It has no parameters."""
        return {}
