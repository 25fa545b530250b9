"""The pages of research: commands, options, its map, and every figure and claim."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crowdtally_research.reproducing.figure import Figure, Paper
from crowdtally_research.reproducing.papers import papers
from crowdtally_research.reproducing.results import VERDICTS
from docs.render import RESEARCH, RESEARCH_DOCS, rendered, research_tables
from kit.command import COMMANDS, PLUGGED

# ---- The pages of research: its commands and options, and its map --------------------------------


RESEARCH_ROOT = Path(__file__).parents[1]


def test_every_command_of_research_is_plugged_in_and_has_its_page() -> None:
    assert {f"crowdtally {name}" for name in RESEARCH} == PLUGGED


@pytest.mark.parametrize("name", RESEARCH)
def test_every_option_is_on_the_page_of_its_command(name: str) -> None:
    page = RESEARCH_DOCS / RESEARCH[name]
    text = page.read_text(encoding="utf-8")
    assert f"\n## crowdtally {name}\n" in text
    assert rendered(text, research_tables()[page]) == text, "run python tests/docs/render.py"
    section = text.partition(f"\n## crowdtally {name}\n")[2]
    command = COMMANDS[f"crowdtally {name}"]
    flags = {flag for p in command.params if p.param_type_name == "option" for flag in p.opts}
    for flag in flags - {"--debug"}:
        assert f"`{flag}`" in section, f"{page.name} does not explain {flag}"
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", section)) <= flags


def test_everything_on_the_map_exists() -> None:
    text = (RESEARCH_ROOT / "README.md").read_text(encoding="utf-8")
    known = {path.name for path in RESEARCH_ROOT.rglob("*")}
    named = set(re.findall(r"`(?:[\w]+/)*([\w]+(?:\.py|/))`", text))
    assert len(named) > 10
    assert {name.rstrip("/") for name in named} - known == set()


# ---- The page of the papers' results: every figure, every claim, and no empty row ----------------


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
