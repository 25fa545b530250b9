"""Do the work of figures, keep each part in a file, and judge the claims."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from crowdtally.curator.manifest import versions
from crowdtally.lab.methods import NOT_PRIVATE, check_own_folder, write_json
from crowdtally.lab.processes import Run, Work, run_apart
from crowdtally_research.reproducing.figure import (
    Claim,
    Data,
    Figure,
    Given,
    Judged,
    Number,
    Numbers,
    Paper,
    Part,
    Verdict,
)

# The folder of a reproduction: each part's numbers in a file of its own, whole or not at all.

MANIFEST = "reproduction.json"
"""By this file a reproduction's folder is known."""
_RUNS = "runs"
_MADE = "lookalikes"


def check_folder(path: Path) -> None:
    """Refuse, before anything is run, a place that is neither free nor a reproduction's."""
    check_own_folder(path, MANIFEST, "reproduction")


@dataclass(frozen=True)
class Folder:
    path: Path
    data: Data

    @classmethod
    def open(cls, path: Path, real: Path | None, *, quick: bool) -> Folder:
        """The folder, made where there is none."""
        check_folder(path)
        # Only its owner may read what is computed from the true records.
        path.mkdir(mode=0o700, exist_ok=True)
        if not (path / MANIFEST).is_file():
            write_json(path / MANIFEST, {"warning": NOT_PRIVATE})
        return cls(path, Data(path / _MADE, real, quick))

    def parts(self, figure: Figure) -> Sequence[Part]:
        return figure.parts(self.data, self.data.is_quick)

    def numbers(self, paper: Paper, part: Part) -> list[Number] | None:
        """The numbers of a part; None where it was not run with these data and settings."""
        try:
            content = json.loads(self._file(paper, part).read_bytes())
            if content["of"] != self._known_by(part):
                return None
            return [Number.of(one) for one in content["numbers"]]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, paper: Paper, part: Part, numbers: Sequence[Number]) -> None:
        file = self._file(paper, part)
        file.parent.mkdir(parents=True, exist_ok=True)
        every = [number.to_dict() for number in numbers]
        write_json(file, {"warning": NOT_PRIVATE, "of": self._known_by(part), "numbers": every})

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
        """What differs from other work with the same name, as JSON gives it back."""
        of = {
            "crowdtally": versions()["crowdtally"],
            "crowdtally-research": version("crowdtally-research"),
            "run": f"{part.run.__module__}.{part.run.__qualname__}",
            "arguments": dict(part.arguments),
            "data": {name: self.data.known_by(name) for name in part.datasets},
        }
        known: dict[str, Any] = json.loads(json.dumps(of))
        return known


# The result of a figure: its numbers, and each claim with its verdict.

VERDICTS: tuple[Verdict, ...] = ("agrees", "differs", "cannot be checked")


@dataclass(frozen=True)
class Result:
    paper: Paper
    figure: Figure
    numbers: Numbers
    judged: Sequence[tuple[Claim, Judged]]
    """What the paper states, and what we found."""
    data: Sequence[str]
    """Which data were taken."""
    is_real: bool
    """Whether somebody's records are in it."""

    @property
    def name(self) -> str:
        """Of its files: ``fan-jin-7``."""
        return f"{self.paper.name}-{self.figure.name}"

    @property
    def verdicts(self) -> Counter[Verdict]:
        return Counter(judged.verdict for _, judged in self.judged)


def results(folder: Folder, papers: Sequence[Paper]) -> Iterator[Result]:
    """Every figure whose work is done in the folder."""
    for paper in papers:
        for figure in paper.figures:
            numbers = folder.all_of(paper, figure)
            if numbers is not None:
                yield _result(folder, paper, figure, numbers)


def _result(folder: Folder, paper: Paper, figure: Figure, numbers: Numbers) -> Result:
    names = dict.fromkeys(name for part in folder.parts(figure) for name in part.datasets)
    judged = [(claim, _judge(claim, numbers)) for claim in figure.claims]
    return Result(
        paper, figure, numbers, judged, [folder.data.said(name) for name in names],
        any(folder.data.is_real(name) for name in names),
    )  # fmt: skip


def _judge(claim: Claim, numbers: Numbers) -> Judged:
    try:
        return claim.judge(numbers)
    except KeyError as missing:  # of a quick run, which leaves places out
        where = ", ".join(map(str, missing.args[0])) if missing.args else "some place"
        return Judged("cannot be checked", f"nothing was measured at {where}.")


# The parts of figures, run where they were not run before; the numbers of each are kept at once.

Tell = Callable[[int, int, str], None]
"""Gets the number of finished parts, that of all, and what is being done."""


def run_parts(paper: Paper, parts: Sequence[Part], folder: Folder, jobs: int, tell: Tell) -> None:
    """Run every part that is left: those of one process side by side, the others one by one.

    Nothing runs beside a part that measures time, so all of these come last.
    """
    named = {part.name: part for part in parts}
    left = [part for part in named.values() if folder.numbers(paper, part) is None]
    small = [part for part in left if not part.is_spread and not part.is_timed]
    single = sorted((part for part in left if part not in small), key=lambda one: one.is_timed)
    total = len(named)
    done = total - len(left)
    tell(done, total, paper.name)
    if len(small) > 1 and jobs > 1:
        _side_by_side(paper, small, folder, jobs, lambda new: tell(done + new, total, paper.name))
        done += len(small)
    else:
        single = [*small, *single]
    for number, part in enumerate(single, done):
        _here(paper, part, folder, jobs, partial(tell, number, total))
        tell(number + 1, total, paper.name)


def _here(paper: Paper, part: Part, folder: Folder, jobs: int, tell: Callable[[str], None]) -> None:
    own = folder.own_of(paper, part)
    tell(part.name)
    given = Given(folder.data, own, jobs if part.is_spread else 1, tell)
    folder.keep(paper, part, part.run(given, **part.arguments))


def _side_by_side(
    paper: Paper, parts: Sequence[Part], folder: Folder, jobs: int, tell: Callable[[int], None]
) -> None:
    tasks = [(part, folder.own_of(paper, part)) for part in parts]
    named = {part.name: part for part in parts}

    def keep(outcome: Mapping[str, Any]) -> None:
        numbers = [Number.of(one) for one in outcome["numbers"]]
        folder.keep(paper, named[outcome["part"]], numbers)

    with tempfile.TemporaryDirectory(prefix="crowdtally-") as private:
        work = Work("the reproduction", opened, folder.data, tasks, Path(private))
        run_apart(work, min(jobs, len(parts)), keep, tell)


@contextmanager
def opened(data: Any, settings: Mapping[str, str]) -> Iterator[Run]:
    def run(task: tuple[Part, Path]) -> Mapping[str, Any]:
        part, own = task
        numbers = part.run(Given(data, own), **part.arguments)
        return {"part": part.name, "numbers": [number.to_dict() for number in numbers]}

    yield run
