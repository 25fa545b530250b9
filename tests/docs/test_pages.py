"""The pages of docs: every public name, every field, and numbers computed again."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import fields
from fractions import Fraction
from math import exp
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.core.numbers import show
from crowdtally.curator.request.options import Options
from crowdtally.laws.conversion import PRIORS, odds, percent
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.answers.columns import schema_of
from crowdtally.reader.describe.words import power_of_e
from docs.render import (
    ANSWERS,
    ANSWERS_PAGE,
    COMMANDS_PAGE,
    PAGE,
    answer_tables,
    command_tables,
    rendered,
    said_of,
    tables,
)
from docs.report_fields import rendered as rendered_report
from kit.documents import ROOT

# ---- docs/api.md names everything public, and docs/cli.md's tables are those of the commands -----


TEXT = PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_code() -> None:
    assert rendered(TEXT) == TEXT, "run python tests/docs/render.py"
    for name in tables():
        assert f"<!-- table: {name} -->" in TEXT


def test_every_option_that_is_named_is_one_of_the_command() -> None:
    named = re.findall(r"^\| `\w+` \| `(--[a-z-]+)", TEXT, re.MULTILINE)
    assert len(named) == len(fields(Options))
    known = set(re.findall(r"`(--[a-z-]+)`", COMMANDS_PAGE.read_text(encoding="utf-8")))
    assert set(named) <= known


def test_nothing_is_said_twice() -> None:
    assert TEXT.count("`ct.plan` also") == TEXT.count("`ct.release` also") == 1


def test_the_tables_of_the_command_line_are_those_of_its_help() -> None:
    text, made = COMMANDS_PAGE.read_text(encoding="utf-8"), command_tables()
    assert rendered(text, made) == text, "run python tests/docs/render.py"
    for name in made:
        assert f"<!-- table: {name} -->" in text
    assert text.count("| option | meaning |") == len(made), "a table that is not made"
    assert text.count("<!-- table: ") == len(made), "a place for a table that is not made"


def test_the_fields_of_answers_are_those_of_the_code() -> None:
    text, made = ANSWERS_PAGE.read_text(encoding="utf-8"), answer_tables()
    assert rendered(text, made) == text, "run python tests/docs/render.py"
    for name in made:
        assert f"<!-- table: {name} -->" in text
    for row, _ in ANSWERS.values():
        assert set(row.__dataclass_fields__) == set(said_of(row))  # type: ignore[attr-defined]


def test_the_schemas_of_answers_are_json() -> None:
    for name, (row, many) in ANSWERS.items():
        block = answer_tables()[f"schema of {name}"].removeprefix("```json\n").removesuffix("```")
        assert json.loads(block) == schema_of(row, many=many)


@pytest.mark.parametrize("name", ct.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert f"`ct.{name}" in TEXT


@pytest.mark.parametrize(
    "verb", [ct.read, ct.release, ct.plan, ct.inspect, ct.load, ct.read_list, ct.withdraw]
)
def test_every_parameter_of_a_verb_is_there(verb: object) -> None:
    for name in inspect.signature(verb).parameters:  # type: ignore[arg-type]
        assert f"`{name}`" in TEXT, name


def test_methods_of_a_release_are_there() -> None:
    for name in dir(ct.Release):
        if not name.startswith("_"):
            assert f"`.{name}" in TEXT, name


# ---- docs/choosing-epsilon.md: its numbers are computed again ------------------------------------


PAGE_CHOOSING = (ROOT / "docs" / "choosing-epsilon.md").read_text(encoding="utf-8")
EPSILONS = [Fraction(e) for e in ("0.01", "0.1", "0.5", "1", "2", "3", "5", "8", "10")]


def beliefs() -> str:
    """The table of the page."""
    rows = []
    for epsilon in EPSILONS:
        found = [percent(odds(epsilon, prior)) for prior in PRIORS]
        found.append(percent(odds(2 * epsilon, Fraction(1, 2))))
        rows.append(f"| {show(epsilon)} | {power_of_e(epsilon)} | {' | '.join(found)} |")
    return "\n".join(rows)


def test_the_table_of_beliefs_is_right() -> None:
    assert beliefs() in PAGE_CHOOSING, f"the table is\n{beliefs()}"


def test_the_table_rounds_up_and_not_far() -> None:
    """By plain floats, apart from the package."""
    rows = re.findall(r"^\| ([\d.]+) \| [\d.,]+ \| (.*%) \|$", PAGE_CHOOSING, re.MULTILINE)
    assert len(rows) == len(EPSILONS)
    for epsilon, cells in rows:
        *three, histories = (float(cell.strip(" %")) for cell in cells.split("|"))
        true = [_at_most(p, float(epsilon)) for p in (0.01, 0.1, 0.5)]
        for shown, exact in zip([*three, histories], [*true, _at_most(0.5, 2 * float(epsilon))],
                                strict=True):  # fmt: skip
            assert exact - 1e-9 <= shown <= exact + 0.1


def _at_most(p: float, epsilon: float) -> float:
    return 100 * p * exp(epsilon) / (1 - p + p * exp(epsilon))


def test_the_noise_is_that_of_two_tables() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| ± (\d+) \|$", PAGE_CHOOSING, re.MULTILINE)
    assert len(rows) == 5
    for epsilon, width in rows:
        law = DiscreteLaplace(10 / (Fraction(epsilon) / 2))
        assert law.half_width(Fraction(19, 20)) == int(width)


def test_what_is_said_of_ten_is_right() -> None:
    assert f"the factor is {power_of_e(Fraction(10))} and more" in PAGE_CHOOSING
    assert f"may become {percent(odds(Fraction(10), Fraction(1, 100)))}." in PAGE_CHOOSING
    assert f"one in {power_of_e(Fraction(10), 10)} stays below 10%" in PAGE_CHOOSING


# ---- docs/report.md has every field of a report's JSON, and its pictures are small ---------------


DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_has_every_field() -> None:
    page = (DOCS / "report.md").read_text("utf-8")
    assert page == rendered_report(page), "run python tests/docs/report_fields.py"
    assert page.count("| `") > 40


def test_the_pictures_are_there_and_small() -> None:
    named = re.findall(r'src="(pictures/[^"]*)"', (DOCS / "report.md").read_text("utf-8"))
    assert len(named) == 3
    for name in named:
        assert 0 < (DOCS / name).stat().st_size < 150_000
