"""The laws that a release can have; a new one is one class, and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdtally.errors import InputError
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.laws.law import NoiseLaw

_LAWS: tuple[type[NoiseLaw], ...] = (DiscreteLaplace, IntervalNoise)


def knows(noise: Mapping[str, Any]) -> bool:
    """Whether a table's ``noise`` is of a law that is listed here."""
    return any(law.words == noise["law"] for law in _LAWS)


def law_of(noise: Mapping[str, Any]) -> NoiseLaw:
    """The law that a table's ``noise`` in ``release.json`` describes."""
    for law in _LAWS:
        if law.words == noise["law"]:
            return law.from_json(noise)
    raise InputError(
        f"the noise law {noise['law']!r} is not one that this version knows: install a newer one."
    )
