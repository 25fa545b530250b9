"""A comparison as one page for people: no script, nothing from outside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crowdtally.lab.comparing.facts import Facts
from crowdtally.lab.comparing.summary import Summary


def write_page(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write comparison.html, with its pictures in it."""
    raise NotImplementedError
