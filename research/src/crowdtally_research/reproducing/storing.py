"""The folder of a reproduction: each part's numbers in a file of its own, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crowdtally.curator.describe import versions
from crowdtally.lab.outputs import NOT_PRIVATE, check_own_folder, write_json
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Figure, Paper, Part
from crowdtally_research.reproducing.numbers import Number, Numbers

MANIFEST = "reproduction.json"
"""By this file a reproduction's folder is known."""
_RUNS = "runs"
_MADE = "lookalikes"


def check_folder(path: Path) -> None:
    """Refuse, before anything is run, a place that is no reproduction's and not free."""
    check_own_folder(path, MANIFEST, "reproduction")


@dataclass(frozen=True)
class Folder:
    """A reproduction's own folder."""

    path: Path
    """Where it is."""
    data: Data
    """What its parts read."""

    @classmethod
    def open(cls, path: Path, real: Path | None, *, quick: bool) -> Folder:
        """The folder, made where there is none."""
        check_folder(path)
        # What is computed from the true records is nobody else's to read.
        path.mkdir(mode=0o700, exist_ok=True)
        if not (path / MANIFEST).is_file():
            write_json(path / MANIFEST, {"warning": NOT_PRIVATE})
        return cls(path, Data(path / _MADE, real, quick))

    def parts(self, figure: Figure) -> Sequence[Part]:
        """The work of a figure."""
        return figure.parts(self.data, self.data.is_quick)

    def numbers(self, paper: Paper, part: Part) -> list[Number] | None:
        """What a part measured; None where that was not done, or with other data or settings."""
        try:
            told = json.loads(self._file(paper, part).read_bytes())
            if told["of"] != self._known_by(part):
                return None
            return [Number.of(one) for one in told["numbers"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, paper: Paper, part: Part, numbers: Sequence[Number]) -> None:
        """Keep what a part measured."""
        file = self._file(paper, part)
        file.parent.mkdir(parents=True, exist_ok=True)
        told = [number.to_dict() for number in numbers]
        write_json(file, {"warning": NOT_PRIVATE, "of": self._known_by(part), "numbers": told})

    def own_of(self, paper: Paper, part: Part) -> Path:
        """Where a part may keep what it needs to go on in its middle."""
        file = self._file(paper, part)
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.with_suffix("")

    def all_of(self, paper: Paper, figure: Figure) -> Numbers | None:
        """The numbers of a figure; None where some of its work is not done."""
        found: list[Number] = []
        for part in self.parts(figure):
            numbers = self.numbers(paper, part)
            if numbers is None:
                return None
            found += numbers
        shown = {panel.name for panel in figure.panels}
        return Numbers(one for one in found if one.panel in shown)

    def _file(self, paper: Paper, part: Part) -> Path:
        quick = "quick-" if self.data.is_quick else ""
        return self.path / _RUNS / paper.name / f"{quick}{part.name}.json"

    def _known_by(self, part: Part) -> dict[str, Any]:
        """What tells this work from other work with the same name, as JSON gives it back."""
        of = {
            "crowdtally": versions()["crowdtally"],
            "crowdtally-research": version("crowdtally-research"),
            "run": f"{part.run.__module__}.{part.run.__qualname__}",
            "arguments": dict(part.arguments),
            "data": {name: self.data.known_by(name) for name in part.datasets},
        }
        known: dict[str, Any] = json.loads(json.dumps(of))
        return known
