"""What was found of a figure: its numbers, and each claim with its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crowdtally_research.reproducing.figure import Claim, Figure, Judged, Paper, Verdict
from crowdtally_research.reproducing.numbers import Numbers
from crowdtally_research.reproducing.storing import Folder

VERDICTS: tuple[Verdict, ...] = ("agrees", "differs", "cannot be checked")


@dataclass(frozen=True)
class Result:
    """One figure, reproduced."""

    paper: Paper
    """Whose it is."""
    figure: Figure
    """What it is."""
    numbers: Numbers
    """What was measured."""
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
        """How many claims got each verdict."""
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
