"""docs/api.md names everything public, and docs/cli.md's tables are those of the commands."""

from __future__ import annotations

import inspect
import json
import re

import pytest

import crowdtally as ct
from crowdtally.curator.request.options import declared
from crowdtally.reader.answers.columns import schema_of
from docs.answer_tables import ANSWERS, answer_tables, said_of
from docs.render import ANSWERS_PAGE, COMMANDS_PAGE, PAGE, command_tables, rendered, tables

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_code() -> None:
    assert rendered(TEXT) == TEXT, "run python tests/docs/render.py"
    for name in tables():
        assert f"<!-- table: {name} -->" in TEXT


def test_every_option_that_is_named_is_one_of_the_command() -> None:
    named = re.findall(r"^\| `\w+` \| `(--[a-z-]+)", TEXT, re.MULTILINE)
    assert len(named) == len(declared())
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
        assert name in declared() or f"`{name}`" in TEXT, name


def test_methods_of_a_release_are_there() -> None:
    for name in dir(ct.Release):
        if not name.startswith("_"):
            assert f"`.{name}" in TEXT, name
