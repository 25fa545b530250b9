"""What a comparison was made of, for the people who read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Facts:
    """The records, the runs and the program of a comparison. It knows the truth: not private."""

    source: str
    """Where the records came from, as its user named it, without a password."""
    count: str
    """What was counted: ``records`` or ``users``."""
    records: int
    """Records within the public lists."""
    users: int
    """Users with such a record."""
    items: int
    """Items of the public list."""
    cells: Mapping[str, int]
    """Cells of each table that was compared, by its name: ``items``, ``edges`` or ``cells``."""
    largest: int
    """M: the most that one user contributes, read off the records; the bound of the baselines."""
    epsilons: tuple[str, ...]
    """Each whole ε, exact, as text, in the order in which they were asked for."""
    runs: int
    """Runs of each setting."""
    keys: int
    """Sampling keys among them."""
    started: datetime
    """When the first run began, with its time zone."""
    finished: datetime
    """When the last one ended."""
    command: str
    """What makes the comparison again, in one line of the command line or of Python."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of crowdtally, of Python and of the libraries that matter, by name."""
    contexts: Mapping[str, int] = field(default_factory=dict)
    """Values of each context, by the name of its column; empty where there is none."""
    baselines: frozenset[str] = frozenset()
    """Methods that are here for comparison only: no release can be asked for them."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What a release needs beside its method and bound, by method: ``{"dpsense": "--cap 5"}``."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Why a method was left out, by its name."""
    notes: tuple[str, ...] = ()
    """Whatever else a reader must know, a sentence each."""
