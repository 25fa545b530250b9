"""What the columns of a case would be without noise, and the noise that is claimed for them.

The claimed law's own likelihood ratio is the sharpest event against a release that keeps its claim;
faults are found by what is learned without it. It sharpens the search, and certifies nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.request.request import Request
from crowdtally.curator.summaries.base import Dense
from crowdtally.curator.table import Table
from crowdtally.format import NoisyTable
from crowdtally.lab.auditing.features import Column, Columns
from crowdtally.lab.auditing.fitting import Expected
from crowdtally.lab.rehearsing import Rehearsal
from crowdtally.laws.balls import Rate
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws

Tables = Mapping[str, NoisyTable]


class _NoNoise(SystemDraws):
    """Counts as they are. For the lab's eyes."""

    def geometric(self, rate: Rate | Fraction, size: int) -> NDArray[Any]:
        """Nothing is added."""
        return np.zeros(size, dtype=np.int64)

    def gaussian(self, variance: Fraction, size: int) -> NDArray[Any]:
        """Nothing is added."""
        return np.zeros(size, dtype=np.int64)

    def interval(self, rate: Fraction, size: int) -> NDArray[Any]:
        """Nothing is added here either."""
        return np.zeros(size, dtype=np.int64)


def is_expected(request: Request) -> bool:
    """Whether counts and noise can be known: not where a bound, or items, are yet to be found."""
    found = request.method.choose is not None or isinstance(request.method.rule, Auto)
    return not found and request.discovery is None


def every_cell(request: Request) -> Request:
    """The same request with every cell published, so that each is seen."""
    tables = tuple(
        replace(table, publishing=Dense()) if isinstance(table, Table) else table
        for table in request.tables
    )
    return replace(request, tables=tables)


def exactly(rehearsal: Rehearsal) -> Tables:
    """Every table without noise, for the first sampling key."""
    return {table.name: table for table in rehearsal.run(0, _NoNoise()).tables}


def expected_of(columns: Columns, with_user: Tables, without: Tables) -> Expected:
    """For each column of a cell its two exact values, and its scale; NaN for other columns."""
    return Expected(
        _values(columns, with_user),
        _values(columns, without),
        np.array([_scale(column, without) for column in columns.columns]),
    )


def _values(columns: Columns, tables: Tables) -> NDArray[np.float64]:
    return np.array([_value(column, tables) for column in columns.columns])


def _value(column: Column, tables: Tables) -> float:
    return float(tables[column.part].values[column.key]) if column.kind == "cell" else np.nan


def _scale(column: Column, tables: Tables) -> float:
    law = tables[column.part].law if column.kind == "cell" else None
    return float(law.scale) if isinstance(law, DiscreteLaplace) else np.nan
