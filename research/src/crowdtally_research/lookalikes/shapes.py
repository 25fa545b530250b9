"""How made-up records are spread: what the papers do not print, and how it was chosen."""

from __future__ import annotations

from dataclasses import dataclass

from crowdtally_research.lookalikes.contexts import Contexts, Demographics, NoContexts, Weekdays
from crowdtally_research.lookalikes.items import Skew

_NONE = NoContexts()
_GOWALLA = Weekdays((0.127, 0.130, 0.130, 0.134, 0.161, 0.176, 0.142))
"""Public check-ins of Gowalla, by weekday in UTC."""
_FOURSQUARE = Weekdays((0.147, 0.145, 0.141, 0.136, 0.150, 0.144, 0.137))
"""Public check-ins of Foursquare in New York, by weekday in UTC."""
_RATING = Weekdays((0.160, 0.165, 0.155, 0.145, 0.135, 0.115, 0.125))
"""Invented: no ratings with complete times were at hand."""


@dataclass(frozen=True)
class Shape:
    """The laws of a look-alike."""

    spread: float
    """Of records over users: the standard deviation of the logarithm."""
    skew: Skew
    """Of records over items."""
    returns: float | None = None
    """The chance that a record repeats an earlier one of its user; None: each item once."""
    contexts: Contexts = _NONE
    """What else a record has."""


SHAPES = {
    "gowalla": Shape(1.4, Skew(6, 0.72, 0), 0.42, _GOWALLA),
    "foursquare": Shape(1.0, Skew(6, 0.7, 0), 0.65, _FOURSQUARE),
    "netflix": Shape(1.25, Skew(150, 1.6, 0.6), None, _RATING),
    "movielens": Shape(
        1.14, Skew(67, 1.12, 0.58), None, Demographics((376, 558, 775, 949, 1538, 1844))
    ),
    "movielens-10m": Shape(1.2, Skew(100, 1.4, 0.6)),
    "transaction": Shape(0.9, Skew(23, 0.95, 0.29)),
    "document": Shape(0.5, Skew(20, 1, 0)),
    "aol": Shape(1.5, Skew(10, 1, 0)),
    "kosarak": Shape(1.4, Skew(0, 1.16, 0)),
}
"""By name. Gowalla, Foursquare, MovieLens and Kosarak were fitted to public files of the same
origin, Transaction to click streams of the same competition; the others are chosen by analogy."""
