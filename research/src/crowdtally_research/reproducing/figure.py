"""What a paper is made of: its figures, their numbers, and the data that they read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import isfinite, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from crowdtally.curator.manifest import versions
from crowdtally.lab.comparison.charts import Axis

# What a figure is made of: means over runs, each at its place.

Place = float | str
"""Where a number stands: a point of an axis, or the name of a group of bars."""


@dataclass(frozen=True)
class Number:
    panel: str
    """The name of the panel that it stands in."""
    line: str
    """Whose it is: a method, or another curve."""
    x: Place
    mean: float
    standard_error: float = 0.0
    """Of the mean; 0 where nothing was drawn at random."""
    runs: int = 1
    text: str = ""
    """What stands there in words, such as the titles of a list."""

    @classmethod
    def over(cls, panel: str, line: str, x: Place, values: Sequence[float]) -> Number:
        """The mean of independent runs.

        >>> Number.over("items", "sra", 10, [1.0, 3.0])
        Number(panel='items', line='sra', x=10, mean=2.0, standard_error=1.0, runs=2, text='')
        """
        number = len(values)
        mean = sum(values) / number
        spread = sum((value - mean) ** 2 for value in values)
        error = sqrt(spread / (number - 1) / number) if number > 1 else 0.0
        return cls(panel, line, x, mean, error, number)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Number:
        """From JSON; KeyError, TypeError or ValueError where it is damaged."""
        x = told["x"]
        if isinstance(x, bool) or not isinstance(x, str | int | float):
            raise TypeError("a place is a number or a name")
        mean, error = float(told["mean"]), float(told["standard_error"])
        if not isfinite(mean) or not isfinite(error):
            raise ValueError("a number of a figure is finite")
        words = {name: str(told[name]) for name in ("panel", "line", "text")}
        return cls(**words, x=x, mean=mean, standard_error=error, runs=int(told["runs"]))


class Numbers:
    """The numbers of a figure, to be asked by panel, line and place."""

    def __init__(self, numbers: Iterable[Number]) -> None:
        self._by_place = {(one.panel, one.line, one.x): one for one in numbers}

    def __iter__(self) -> Iterator[Number]:
        return iter(self._by_place.values())

    def __len__(self) -> int:
        return len(self._by_place)

    def at(self, panel: str, line: str, x: Place) -> Number:
        """The number at one place; KeyError where there is none."""
        return self._by_place[panel, line, x]

    def mean(self, panel: str, line: str, x: Place) -> float:
        return self.at(panel, line, x).mean

    def has(self, panel: str, line: str) -> bool:
        return any(one.panel == panel and one.line == line for one in self)

    def lines(self, panel: str) -> list[str]:
        """The lines of a panel, in the order in which they were measured."""
        return list(dict.fromkeys(one.line for one in self if one.panel == panel))

    def curve(self, panel: str, line: str) -> dict[Place, Number]:
        """A line of a panel: its numbers by their place, in the order of the axis."""
        found = [one for one in self if one.panel == panel and one.line == line]
        if all(not isinstance(one.x, str) for one in found):
            found.sort(key=lambda one: float(one.x))
        return {one.x: one for one in found}


# Where the data of an experiment come from: a real file, or a look-alike, and which it was.

_SEED = 1
_QUICK = "0.01"


@dataclass(frozen=True)
class RealFile:
    """A dataset of the folder of real files."""

    files: tuple[str, ...]
    """The names of its files, the records first."""
    words: str
    lookalike: str | None = None
    """What stands in for it where it is missing; None where its own module makes something up."""


REAL: Mapping[str, RealFile] = {
    "movielens": RealFile(
        ("ml1m_ratings.parquet", "ml1m_users.parquet", "ml1m_movies.parquet"),
        "MovieLens 1M, the paper's own file",
        "movielens",
    ),
    "movie-genres": RealFile(
        ("ml1m_movie_genres.parquet", "ml1m_ratings.parquet"), "MovieLens 1M and its genres"
    ),
    "lodes": RealFile(
        ("lodes_ri_od_2019.parquet",), "LODES, Rhode Island 2019, in place of OnTheMap"
    ),
    "adult": RealFile(("adult.parquet",), "Adult, in place of the census of incomes"),
}
"""The papers' data that exist as files, and what is taken in place of others."""


@dataclass(frozen=True)
class Data:
    """The folder of real files, and the folder where look-alikes are made."""

    made: Path
    """Where look-alikes lie: made when first asked for."""
    real: Path | None = None
    """The folder of real files; None where there is none."""
    is_quick: bool = False
    """Whether look-alikes are a hundredth of their size."""

    def is_real(self, name: str) -> bool:
        """Whether all files of a dataset are there."""
        if self.real is None or name not in REAL:
            return False
        return all((self.real / file).is_file() for file in REAL[name].files)

    def files(self, name: str) -> tuple[Path, ...]:
        if self.real is None:
            raise FileNotFoundError(name)
        return tuple(self.real / file for file in REAL[name].files)

    def lookalike(self, name: str, scale: str = "1") -> Path:
        """The records of a look-alike, made where there are none yet; its items lie beside it."""
        path = self.made / f"{name}-{self._scale(scale)}.parquet"
        if not path.is_file():
            self.made.mkdir(parents=True, exist_ok=True)
            _make(name, path, self._scale(scale))
        return path

    def said(self, name: str) -> str:
        """Which data were taken, for a reader."""
        if self.is_real(name):
            return REAL[name].words
        if name in REAL and REAL[name].lookalike is None:
            return f"made-up data, because {' and '.join(REAL[name].files)} is missing"
        scale = f" at {_QUICK} of its size" if self.is_quick else ""
        why = f", because {REAL[name].files[0]} is missing" if name in REAL else ""
        return f"the look-alike `{name}`{scale}{why}"

    def known_by(self, name: str) -> str:
        """What tells these data from others: the hash of the files, or how they were made."""
        if self.is_real(name):
            return self._hashes[name]
        made = "quick" if self.is_quick else "whole"
        return f"made {name} {made} {_SEED} {versions()['crowdtally']}"

    def _scale(self, scale: str) -> str:
        return _QUICK if self.is_quick else scale

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return {name: _hash(self.files(name)) for name in REAL if self.is_real(name)}


def _make(name: str, path: Path, scale: str) -> None:
    """Make a look-alike; two processes that do so at once end with one, which is whole."""
    from crowdtally_research.lookalikes.writing import plan, write

    with TemporaryDirectory(dir=path.parent, prefix=".made-") as folder:
        planned = plan(name, Path(folder) / path.name, scale, _SEED)
        write(planned)
        os.replace(planned.items, path.with_name(planned.items.name))
        os.replace(planned.records, path)  # last: it says that both are there


def _hash(paths: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


# What a paper, a figure of it, and the work behind a figure are.
#
# The work is cut into parts. A part's numbers are kept when it is done, so that an interrupted run
# goes on; figures that need the same part share it. A part is a plain function of plain arguments,
# which a process of its own can run.

AUTO = "auto"
"""Our own method, one more line in every figure."""
Verdict = Literal["agrees", "differs", "cannot be checked"]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Given:
    """What a part may use beside its arguments."""

    data: Data
    folder: Path
    """For what it keeps of its own, so that it can go on in the middle; it may not exist yet."""
    jobs: int = 1
    """How many processes it may start: one, unless it is ``spread``."""
    tell: Tell = lambda _: None


@dataclass(frozen=True)
class Part:
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
    name: str
    title: str
    """Above it: which data, which table."""
    x: Axis
    """What the horizontal axis shows; its title alone for bars."""
    y: Axis
    is_bars: bool = False
    """Whether places are names, and numbers are bars beside each other."""


@dataclass(frozen=True)
class Judged:
    verdict: Verdict
    """Whether it holds here."""
    found: str
    """What we measured, in words and numbers."""


@dataclass(frozen=True)
class Claim:
    words: str
    """What it states; between quotation marks where these are its own words."""
    judge: Callable[[Numbers], Judged]


@dataclass(frozen=True)
class Figure:
    """A figure or a table of a paper."""

    name: str
    """As it is typed: ``7``, ``table5``."""
    title: str
    setting: str
    """With which data and parameters the paper made it, and we."""
    see: str
    panels: tuple[Panel, ...]
    claims: tuple[Claim, ...]
    parts: Callable[[Data, bool], Sequence[Part]]
    """(data, whether it is only tried quickly) → the work."""
    notes: tuple[str, ...] = ()
    """What else a reader must know: where our setting is not the paper's, and why."""


@dataclass(frozen=True)
class Paper:
    name: str
    """As it is typed: ``fan-jin``."""
    title: str
    """Authors, title, venue and year."""
    figures: tuple[Figure, ...]
    """In the paper's order."""
