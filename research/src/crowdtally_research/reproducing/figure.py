"""What a paper, a figure of it, and the work behind a figure are.

The work is cut into parts. A part's numbers are kept when it is done, so that an interrupted run
goes on; figures that need the same part share it. A part is a plain function of plain arguments,
which a process of its own can run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.numbers import Number, Numbers

AUTO = "auto"
"""Our own method, one more line in every figure."""
Verdict = Literal["agrees", "differs", "cannot be checked"]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Given:
    """What a part may use beside its arguments."""

    data: Data
    """The real files, or their look-alikes."""
    folder: Path
    """For what it keeps of its own, so that it can go on in the middle; it may not exist yet."""
    jobs: int = 1
    """How many processes it may start: one, unless it is ``spread``."""
    tell: Tell = lambda _: None
    """Is told what is being done."""


@dataclass(frozen=True)
class Part:
    """A piece of work."""

    name: str
    """Of its file, and unlike every other part of the paper: small letters, digits, - and dots."""
    run: Callable[..., Sequence[Number]]
    """A function of a module: (given, **arguments) → its numbers."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """As JSON can say them; other arguments are other work, which is run anew."""
    datasets: tuple[str, ...] = ()
    """What it reads: other data are other work."""
    is_spread: bool = False
    """Whether it uses all processors itself; else it is one of several that run at a time."""
    is_timed: bool = False
    """Whether it measures time, so that nothing may run beside it."""


@dataclass(frozen=True)
class Panel:
    """One drawing of a figure."""

    name: str
    """What its numbers call it."""
    title: str
    """Above it: which data, which table."""
    x: Axis
    """What the horizontal axis shows; its title alone for bars."""
    y: Axis
    """What was measured, with its unit."""
    is_bars: bool = False
    """Whether places are names, and numbers are bars beside each other."""


@dataclass(frozen=True)
class Judged:
    """What was found of a claim."""

    verdict: Verdict
    """Whether it holds here."""
    found: str
    """What we measured, in words and numbers."""


@dataclass(frozen=True)
class Claim:
    """One thing that a paper states."""

    words: str
    """What it states; between quotation marks where these are its own words."""
    judge: Callable[[Numbers], Judged]
    """Holds it against our numbers."""


@dataclass(frozen=True)
class Figure:
    """A figure or a table of a paper."""

    name: str
    """As it is typed: ``7``, ``table5``."""
    title: str
    """What it is about."""
    setting: str
    """With which data and parameters the paper made it, and we."""
    see: str
    """What to see in the picture."""
    panels: tuple[Panel, ...]
    """Its drawings."""
    claims: tuple[Claim, ...]
    """What the paper states of it."""
    parts: Callable[[Data, bool], Sequence[Part]]
    """(data, whether it is only tried quickly) → the work."""
    notes: tuple[str, ...] = ()
    """What else a reader must know: where our setting is not the paper's, and why."""


@dataclass(frozen=True)
class Paper:
    """One of the four papers."""

    name: str
    """As it is typed: ``fan-jin``."""
    title: str
    """Authors, title, venue and year."""
    figures: tuple[Figure, ...]
    """In the paper's order."""
