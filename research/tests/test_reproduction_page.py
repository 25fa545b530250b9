"""The page of the papers' results: every figure, every claim, and no empty row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crowdtally_research.reproducing.figure import Figure, Paper
from crowdtally_research.reproducing.papers import papers
from crowdtally_research.reproducing.results import VERDICTS

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "reproduction.md").read_text(encoding="utf-8")
FIGURES = [(paper, figure) for paper in papers() for figure in paper.figures]


def _rows() -> list[list[str]]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


@pytest.mark.parametrize(("paper", "figure"), FIGURES, ids=lambda one: one.name)
def test_every_figure_is_on_the_page_with_all_that_the_paper_states(
    paper: Paper, figure: Figure
) -> None:
    assert f"## {paper.title}" in PAGE
    name = f"{paper.name}-{figure.name}.svg"
    assert f"![{figure.title}](pictures/{name})" in PAGE
    assert (DOCS / "pictures" / name).is_file()
    judged = {row[0]: row[2] for row in _rows() if len(row) == 3}
    for claim in figure.claims:
        assert judged[_cell(claim.words)].strip("*") in VERDICTS, claim.words


def test_no_row_is_empty() -> None:
    for row in _rows():
        assert all(row), row
    assert "nothing was measured" not in PAGE
    assert "quick try" not in PAGE
