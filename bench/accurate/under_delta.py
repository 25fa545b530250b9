"""What a δ buys: ``auto`` at (ε, δ) beside ``auto`` at the same ε alone, on every file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from accurate.judging import Line, Ratio, Verdict, at_most
from accurate.telling import Marks
from accurate.ways import Way

MARKS = Marks("<!-- under delta: begin -->", "<!-- under delta: end -->")
"""Where the table stands in the page."""
_THIRD = 1 / 3
_JUDGED = ("MovieLens", "MovieLens, alone")
"""Files on which the item MSE must be at most a third."""
_SCORES = ("mse", "kl", "precision@10", "error of the true top ten")


def ways(delta: str) -> list[Way]:
    """Both, for counts of all items."""
    return [Way("auto", aim="counts"), Way("auto", aim="counts", delta=delta)]


def pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    """Of each file and ε the items without and with a δ."""
    items = [line for line in lines if line.table == "items"]
    for pure in (line for line in items if line.way.delta is None):
        for other in items:
            same = (other.subject, other.epsilon) == (pure.subject, pure.epsilon)
            if same and other.way.delta is not None:
                yield pure, other


def verdicts(lines: Sequence[Line]) -> Iterator[Verdict]:
    """The one target that there is, at ε = 1."""
    for pure, other in pairs(lines):
        if pure.subject in _JUDGED and pure.epsilon == "1":
            ratio = Ratio.of(other.scores["mse"], pure.scores["mse"])
            words = f"{pure.subject}: item mse at (1, {other.way.delta}) over that at 1"
            yield at_most(words, _THIRD, ratio, slack=0)


def tables(lines: Sequence[Line]) -> Iterator[str]:
    """As a table of a page: each score of both, and the ratios of the errors."""
    runs = max((line.runs for line in lines), default=0)
    heads = [part for name in _SCORES for part in (f"{name}, ε alone", f"{name}, with δ")]
    yield f"{runs} runs each."
    yield ""
    yield f"| items | ε | mse ratio | kl ratio | {' | '.join(heads)} |"
    yield f"|---|---|---|---|{'---|' * len(heads)}"
    for pure, other in pairs(lines):
        ratios = [str(Ratio.of(other.scores[name], pure.scores[name])) for name in ("mse", "kl")]
        cells = [str(line.scores[name]) for name in _SCORES for line in (pure, other)]
        yield f"| {pure.subject} | {pure.epsilon} | {' | '.join([*ratios, *cells])} |"
