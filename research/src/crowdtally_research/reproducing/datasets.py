"""Where the data of an experiment come from: a real file, or a look-alike, and which it was."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from crowdtally.curator.describe import versions

_SEED = 1
_QUICK = "0.01"


@dataclass(frozen=True)
class RealFile:
    """A dataset of the folder of real files."""

    files: tuple[str, ...]
    """The names of its files, the records first."""
    words: str
    """What it is."""
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
        """The files of a real dataset."""
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
