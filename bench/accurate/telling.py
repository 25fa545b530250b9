"""Tables for people: on the screen, and in the page ``docs/accuracy.md``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from accurate.judging import Line, Verdict, best
from accurate.targets import Found


@dataclass(frozen=True)
class Marks:
    """Where tables stand in a page."""

    begin: str
    """Before them."""
    end: str
    """After them."""


MEASURED = Marks("<!-- measured: begin -->", "<!-- measured: end -->")
_ITEMS = ("mse", "kl", "mae", "median relative error", "precision@10",
          "error of the true top ten", "error of the listed ten")  # fmt: skip
_EDGES = ("mse", "kl", "mae", "precision@10", "ndcg@10", "lift rank", "special@10")
_KINDS = {"paper": "best at the papers' settings", "hindsight": "best with hindsight"}


def tables(lines: Sequence[Line]) -> Iterator[str]:
    """Every line that was measured, as text."""
    for epsilon in dict.fromkeys(line.epsilon for line in lines):
        for table, names in (("items", _ITEMS), ("edges", _EDGES)):
            found = Found(lines, epsilon)
            for subject in found.subjects(table):
                yield f"\nε = {epsilon}, {subject}: {_called(table)}"
                yield "  ".join([f"{'':34}", *(f"{name:>25}" for name in names)])
                for kind in ("auto", "paper", "hindsight"):
                    for line in found.of(subject, table, kind):
                        yield _row(line, names)


def _row(line: Line, names: Sequence[str]) -> str:
    called = f"{line.way}, {line.kind}" if line.kind != "auto" else str(line.way)
    return "  ".join([f"{called:34}", *(f"{line.scores[name]!s:>25}" for name in names)])


def _called(table: str) -> str:
    return "items" if table == "items" else "items in context"


def markdown(lines: Sequence[Line], verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The same as tables of a page: ``auto`` beside the best of the others."""
    for epsilon in dict.fromkeys(line.epsilon for line in lines):
        found = Found(lines, epsilon)
        runs = max(line.runs for line in lines)
        yield f"### ε = {epsilon}, {runs} runs"
        yield ""
        for table, names in (("items", _ITEMS), ("edges", _EDGES)):
            if found.subjects(table):
                yield from _page_table(found, table, names)
    missed = [verdict for verdict in verdicts if not verdict.met]
    yield f"Targets at ε = 1: {len(verdicts)}, missed: {len(missed)}."
    yield ""
    for verdict in missed:
        yield (
            f"- missed: {verdict.target}: {verdict.found:.3f} ± {verdict.error:.2g}, wanted "
            f"{verdict.wanted:.3f}{verdict.because}"
        )


def _page_table(found: Found, table: str, names: Sequence[str]) -> Iterator[str]:
    yield f"| {_called(table)} | way | {' | '.join(names)} |"
    yield f"|---|---|{'---|' * len(names)}"
    for subject in found.subjects(table):
        for line in found.of(subject, table, "auto"):
            cells = [str(line.scores[name]) for name in names]
            yield f"| {subject} | `{line.way}` | {' | '.join(cells)} |"
        for kind, words in _KINDS.items():
            others = found.of(subject, table, kind)
            if others:
                cells = [_best(others, name) for name in names]
                yield f"| | {words} | {' | '.join(cells)} |"
    yield ""


def _best(others: Sequence[Line], name: str) -> str:
    line = best(others, name)
    return f"{line.scores[name]} ({line.way})" if line is not None else ""


def write(page: Path, measured: Sequence[str], marks: Marks = MEASURED) -> None:
    """Put the tables between the two marks of a page."""
    text, begin, end = page.read_text(encoding="utf-8"), marks.begin, marks.end
    if begin not in text or end not in text:
        raise SystemExit(f"{page} has no marks {begin} and {end}: nothing was written.")
    before, rest = text.split(begin, 1)
    after = rest.split(end, 1)[1]
    inner = "\n".join(measured).strip()
    page.write_text(f"{before}{begin}\n\n{inner}\n\n{end}{after}", encoding="utf-8")
