"""The laws that a release can have; a new one is one class, and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdtally.errors import InputError, UsageError
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace

_LAWS: tuple[type[NoiseLaw], ...] = (DiscreteLaplace, IntervalNoise, GaussianNoise)


def fault_of(noise: Mapping[str, Any]) -> str | None:
    """Why a table's ``noise`` cannot be read as that of a law listed here, in words, or None."""
    for law in _LAWS:
        if law.words == noise["law"]:
            try:
                law.from_json(noise)
            except (KeyError, UsageError):
                return "has noise whose numbers are not those of its law"
            return None
    return "has noise of a law that is unknown here"


def law_of(noise: Mapping[str, Any]) -> NoiseLaw:
    """The law that a table's ``noise`` in ``release.json`` describes."""
    for law in _LAWS:
        if law.words == noise["law"]:
            return law.from_json(noise)
    raise InputError(
        f"the noise law {noise['law']!r} is not one that this version knows: install a newer one."
    )
