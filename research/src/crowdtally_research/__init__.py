"""The research behind Crowdtally: look-alikes, trials of recommenders, and the papers' figures.

::

    lookalikes     made-up records with the statistics that papers print
    recommenders   do perturbed histories still recommend?
    reproducing    makes the figures of four papers, and holds the papers' claims against them

Each has its command in ``command.py``, which ``crowdtally lab`` finds by its entry point.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES: dict[str, str] = {
    "lookalike": "lookalikes.writing",
    "recommend": "recommenders.experiment",
    "reproduce": "reproducing.reproduction",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crowdtally_research' has no attribute {name!r}")
    from crowdtally.errors import check_libraries

    check_libraries()
    value = getattr(import_module(f"crowdtally_research.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
