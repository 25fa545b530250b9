"""docs/api.md names everything that is public, with its tables as the code has them."""

from __future__ import annotations

import inspect

import pytest

import crowdtally as ct
from crowdtally.curator.request.options import declared
from docs.render import PAGE, rendered, tables

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_tables_are_those_of_the_code() -> None:
    assert rendered(TEXT) == TEXT, "run python tests/docs/render.py"
    for name in tables():
        assert f"<!-- table: {name} -->" in TEXT


@pytest.mark.parametrize("name", ct.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert f"`ct.{name}" in TEXT


@pytest.mark.parametrize("verb", [ct.read, ct.release, ct.plan, ct.load, ct.read_list])
def test_every_parameter_of_a_verb_is_there(verb: object) -> None:
    for name in inspect.signature(verb).parameters:  # type: ignore[arg-type]
        assert name in declared() or f"`{name}`" in TEXT, name


def test_methods_of_a_release_are_there() -> None:
    for name in dir(ct.Release):
        if not name.startswith("_"):
            assert f"`.{name}" in TEXT, name
