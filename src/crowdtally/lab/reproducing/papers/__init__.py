"""The four papers."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from crowdtally.lab.reproducing.figure import Paper

_HOMES = ("fan_jin", "day_li", "cormode", "shen_jin")


def papers() -> tuple[Paper, ...]:
    """Every paper, with its figures."""
    there = [home for home in _HOMES if find_spec(f"{__name__}.{home}") is not None]
    return tuple(import_module(f"{__name__}.{home}").PAPER for home in there)
