"""Means over runs, the best of the others, and what misses its target."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from accurate.kept import Scores
from accurate.scores import HIGHER
from accurate.ways import Way


@dataclass(frozen=True)
class Mean:
    """One score of one way: its mean, and how far that may be off."""

    value: float
    """Over all runs."""
    error: float
    """The standard error, from the means of the sampling keys: runs with one key are alike."""

    @classmethod
    def of(cls, by_key: Iterable[Iterable[float]]) -> Mean:
        """From the runs of each key."""
        means = [fmean(values) for values in by_key]
        if len(means) < 2 or not all(map(math.isfinite, means)):  # values beyond all floats
            return cls(fmean(means), math.nan)
        return cls(fmean(means), stdev(means) / math.sqrt(len(means)))

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.error:.2g}"


@dataclass(frozen=True)
class Line:
    """All scores of one way on one table of one file."""

    subject: str
    """The file, its contexts and what is counted."""
    table: str
    """``items`` or ``edges``."""
    epsilon: str
    """Of the whole release."""
    way: Way
    """What was run."""
    kind: str
    """``auto``, ``paper`` or ``hindsight``."""
    scores: Mapping[str, Mean]
    """By name."""
    runs: int
    """How many runs they are of."""


def line_of(
    subject: str, table: str, epsilon: str, way: Way, kind: str, runs: list[list[Scores]]
) -> Line:
    """Averaged over runs, which come by sampling key."""
    names = runs[0][0][table]
    scores = {name: Mean.of([run[table][name] for run in key] for key in runs) for name in names}
    return Line(subject, table, epsilon, way, kind, scores, sum(map(len, runs)))


def better(name: str, first: float, second: float) -> bool:
    """Whether the first score is better."""
    return first > second if name in HIGHER else first < second


def best(lines: Iterable[Line], name: str) -> Line | None:
    """The way with the best score."""
    found: Line | None = None
    for line in lines:
        if found is None or better(name, line.scores[name].value, found.scores[name].value):
            found = line
    return found


@dataclass(frozen=True)
class Ratio:
    """A score of ``auto`` over the best of others."""

    value: float
    """The ratio."""
    error: float
    """Its standard error."""

    @classmethod
    def of(cls, ours: Mean, theirs: Mean) -> Ratio:
        """Errors of both, relative ones added in squares."""
        value = ours.value / theirs.value if theirs.value else math.inf
        parts = (ours.error / ours.value if ours.value else 0, theirs.error / theirs.value)
        return cls(value, abs(value) * math.sqrt(sum(part**2 for part in parts)))

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.error:.2g}"


@dataclass(frozen=True)
class Verdict:
    """One target, and whether it is met."""

    target: str
    """In words."""
    wanted: float
    """The number that was to be reached."""
    found: float
    """What was measured."""
    error: float
    """How far that may be off."""
    met: bool
    """Whether it is reached, within two standard errors where the target allows for them."""
    reason: str = ""
    """Why it is missed, where that is known."""

    @property
    def because(self) -> str:
        """The reason, to follow what was wanted."""
        return f", because {self.reason}" if self.reason else ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "target": self.target, "wanted": self.wanted, "found": round(self.found, 4),
            "standard_error": round(self.error, 4) if math.isfinite(self.error) else None,
            "reason": self.reason or None,
        }  # fmt: skip


def at_most(target: str, wanted: float, found: Ratio | Mean, *, slack: float = 2) -> Verdict:
    """A target from above, with so many standard errors of slack."""
    room = slack * found.error if math.isfinite(found.error) else 0
    return Verdict(target, wanted, found.value, found.error, found.value - room <= wanted)


def at_least(target: str, wanted: float, found: Ratio | Mean, *, slack: float = 2) -> Verdict:
    """A target from below."""
    room = slack * found.error if math.isfinite(found.error) else 0
    return Verdict(target, wanted, found.value, found.error, found.value + room >= wanted)
