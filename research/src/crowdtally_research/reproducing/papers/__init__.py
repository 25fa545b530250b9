"""The four papers."""

from __future__ import annotations

from importlib import import_module

from crowdtally_research.reproducing.figure import Paper

_HOMES = ("fan_jin", "day_li", "cormode", "shen_jin")


def papers() -> tuple[Paper, ...]:
    return tuple(import_module(f"{__name__}.{home}").PAPER for home in _HOMES)
