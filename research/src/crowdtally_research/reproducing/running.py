"""The parts of figures, run where they were not run before; what each came to is kept at once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from crowdtally.lab.apart.running import Run, Work, run_apart
from crowdtally_research.reproducing.figure import Given, Paper, Part
from crowdtally_research.reproducing.numbers import Number
from crowdtally_research.reproducing.storing import Folder

Tell = Callable[[int, int, str], None]
"""Is told how many parts are done, how many there are, and what is being done."""


def run_parts(paper: Paper, parts: Sequence[Part], folder: Folder, jobs: int, tell: Tell) -> None:
    """Run every part that is left: those of one process side by side, the others one by one.

    A part that measures time has the machine for itself, so all of these come last.
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

    def keep(told: Mapping[str, Any]) -> None:
        numbers = [Number.of(one) for one in told["numbers"]]
        folder.keep(paper, named[told["part"]], numbers)

    with tempfile.TemporaryDirectory(prefix="crowdtally-") as private:
        work = Work("the reproduction", opened, folder.data, tasks, Path(private))
        run_apart(work, min(jobs, len(parts)), keep, tell)


@contextmanager
def opened(data: Any, settings: Mapping[str, str]) -> Iterator[Run]:
    """What runs parts in a process."""

    def run(task: tuple[Part, Path]) -> Mapping[str, Any]:
        part, own = task
        numbers = part.run(Given(data, own), **part.arguments)
        return {"part": part.name, "numbers": [number.to_dict() for number in numbers]}

    yield run
