"""What a comparison found, as rows: what its tables, pictures and recommendation are made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """One way to spend ε on the records."""

    method: str
    """Its name: a method of :mod:`crowdtally.lab.methods` or a baseline."""
    epsilon: str
    """The whole ε, exact, as text."""
    max_records: int | None = None
    """The bound per user, or the largest one to choose from; None where the method has none."""


@dataclass(frozen=True)
class Measured:
    """One number of one run."""

    setting: Setting
    """What was run."""
    key: int
    """Which draw of the sampling key, and of all that is released before the last step."""
    noise: int
    """Which draw of the last step's noise, with that key."""
    table: str
    """``items``, ``edges`` or ``cells``."""
    metric: str
    """A metric of :mod:`crowdtally.lab.metrics`."""
    k: int | None
    """The length of a list, for metrics of top lists."""
    value: float
    """The number."""


@dataclass(frozen=True)
class Summary:
    """One number of one setting: its mean over all runs, and how far that may be off."""

    setting: Setting
    """What was run."""
    table: str
    """``items``, ``edges`` or ``cells``."""
    metric: str
    """A metric of :mod:`crowdtally.lab.metrics`."""
    k: int | None
    """The length of a list, for metrics of top lists."""
    mean: float
    """Over all runs."""
    standard_error: float
    """Of the mean, from the means of the keys: runs with one key are not independent."""
    keys: int
    """How many keys were drawn."""
    runs: int
    """How many runs there were in all."""
