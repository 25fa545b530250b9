"""Make the tables and figures of the papers. Not private."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdtally.curator.request.wording import python_words
from crowdtally.errors import UsageError, check_libraries, closest
from crowdtally.lab.comparison.plan import jobs_of
from crowdtally.lab.methods import NOT_PRIVATE
from crowdtally_research.reproducing.figure import Figure, Paper
from crowdtally_research.reproducing.papers import papers
from crowdtally_research.reproducing.results import (
    Folder,
    Result,
    Tell,
    check_folder,
    results,
    run_parts,
)
from crowdtally_research.reproducing.writing import as_json, write

FOLDER = "CROWDTALLY_DATA"
"""The variable that names the folder of real files."""
_KINDS = ("figure", "fig")

Asked = Sequence[tuple[Paper, Sequence[Figure]]]
"""Papers, each with the figures that are wanted of it."""


@dataclass(frozen=True)
class Question:
    """What is to be reproduced: all of it is checked before anything is run."""

    asked: Asked
    real: Path | None
    """The folder of real files; None for look-alikes throughout."""
    quick: bool
    """Whether a hundredth of the data and two runs are enough."""
    jobs: int

    @classmethod
    def of(
        cls,
        paper: str | None,
        figure: str | None,
        *,
        data: str | os.PathLike[str] | None = None,
        quick: bool = False,
        jobs: object = None,
    ) -> Question:
        """From what a person gave; without a paper all figures of all papers are meant."""
        return cls(asked_for(paper, figure), real_files(data), quick, jobs_of(jobs))


def reproduce(
    paper: str | None = None,
    figure: str | None = None,
    *,
    output: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    quick: bool = False,
    jobs: int | None = None,
) -> Any:
    """Make the tables and figures of the papers, as a pandas frame. Not private.

    Args:
        paper: ``fan-jin``, ``day-li``, ``cormode`` or ``shen-jin``; by default all of them.
        figure: a figure of the paper, such as ``7``; by default all of them.
        output: a folder that keeps every finished part, and gets the page, the pictures and the
            numbers. The same call with the same folder goes on where it was interrupted.
        data: the folder of real files; by default what ``$CROWDTALLY_DATA`` names. What is missing
            there is replaced by a look-alike, and said.
        quick: try it on a hundredth of the data with two runs.
        jobs: processes; by default as many as there are cores.

    Returns:
        A frame with a row for each number; its ``attrs`` have the ``warning`` and the ``figures``
        with each claim of the paper, the verdict, and what was found.
    """
    import pandas as pd

    with python_words():
        check_libraries()
        question = Question.of(paper, figure, data=data, quick=quick, jobs=jobs)
        folder = Path(output)
        check_folder(folder)
        found = reproduced(question, folder)
    rows = [
        {"paper": one.paper.name, "figure": one.figure.name, **number.to_dict()}
        for one in found
        for number in one.numbers
    ]
    frame = pd.DataFrame(rows)
    frame.attrs |= {"warning": NOT_PRIVATE, "figures": as_json(found)}
    return frame


def reproduced(
    question: Question,
    path: Path,
    *,
    tell: Tell = lambda done, total, words: None,
    stage: Callable[[str], None] = lambda _: None,
) -> list[Result]:
    """Run what was not run before, and write the page of all that the folder has.

    Args:
        question: what is wanted.
        path: the folder.
        tell: is told how far a paper has come.
        stage: is told what comes next.

    Returns:
        The figures that were asked for.
    """
    folder = Folder.open(path, question.real, quick=question.quick)
    for paper, figures in question.asked:
        parts = [part for figure in figures for part in folder.parts(figure)]
        run_parts(paper, parts, folder, question.jobs, tell)
    stage("drawing the pictures")
    found = list(results(folder, papers()))
    write(path, found, quick=question.quick)
    wanted = {(paper.name, figure.name) for paper, figures in question.asked for figure in figures}
    return [one for one in found if (one.paper.name, one.figure.name) in wanted]


def asked_for(paper: str | None, figure: str | None) -> Asked:
    """The papers and figures that were named; what does not exist is refused with what does."""
    known = {one.name: one for one in papers()}
    if paper is None:
        return [(one, one.figures) for one in known.values()]
    if paper not in known:
        near = closest(paper, list(known))
        meant = f" Did you mean {near}?" if near else ""
        raise UsageError(f"no paper is called {paper!r}.{meant} There are:\n{listing()}")
    return [(known[paper], _figures(known[paper], figure))]


def _figures(paper: Paper, figure: str | None) -> Sequence[Figure]:
    if figure is None:
        return paper.figures
    name = "".join(letter for letter in figure.lower() if letter.isalnum() or letter == "-")
    for kind in _KINDS:
        name = name.removeprefix(kind)
    # One panel of a figure, such as 5(a), is made with the others.
    names = {name, name.rstrip("abcde")} if name[:1].isdigit() else {name}
    found = [one for one in paper.figures if one.name in names]
    if not found:
        raise UsageError(f"{paper.name} has no figure {figure!r} here. It has:\n{_listed(paper)}")
    return found


def listing() -> str:
    """Every paper with its figures, a line each."""
    return "\n".join(f"{paper.name}: {paper.title}\n{_listed(paper)}" for paper in papers())


def _listed(paper: Paper) -> str:
    width = max(len(one.name) for one in paper.figures)
    return "\n".join(f"  {one.name:<{width}}  {one.title}" for one in paper.figures)


def real_files(data: str | os.PathLike[str] | None) -> Path | None:
    """The folder of real files: what was given, or what the variable names, if it is there."""
    if data is not None:
        folder = Path(data)
        if not folder.is_dir():
            raise UsageError(
                f"--data is the folder of real files: {str(folder)!r} is none. Leave it out to run "
                "on look-alikes."
            )
        return folder
    named = os.environ.get(FOLDER)
    return Path(named) if named and Path(named).is_dir() else None
