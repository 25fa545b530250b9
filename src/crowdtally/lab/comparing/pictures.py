"""A comparison as pictures: error against ε, error against the bound, precision against K."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crowdtally.lab.comparing.facts import Facts
from crowdtally.lab.comparing.summary import Summary


def write_pictures(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write each picture as an SVG file."""
    raise NotImplementedError
