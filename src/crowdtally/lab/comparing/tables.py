"""A comparison as tables: CSV for a spreadsheet, JSON, Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crowdtally.lab.comparing.facts import Facts
from crowdtally.lab.comparing.summary import Summary


def as_frame(summaries: Sequence[Summary]) -> Any:
    """A pandas frame with a row for each summary, in their order."""
    raise NotImplementedError


def write_tables(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write comparison.csv, comparison.json and comparison.parquet."""
    raise NotImplementedError
