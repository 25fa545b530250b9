"""What the package must carry besides its code, and what it may be installed with."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
RESEARCH = tomllib.loads((ROOT / "research" / "pyproject.toml").read_text("utf-8"))
ADVISORIES = tomllib.loads((Path(__file__).parent / "advisories.toml").read_text("utf-8"))


@pytest.mark.parametrize("told", [PROJECT, RESEARCH], ids=lambda told: told["project"]["name"])
def test_types_are_shipped_as_the_metadata_say(told: dict[str, Any]) -> None:
    assert "Typing :: Typed" in told["project"]["classifiers"]
    package = told["project"]["name"].replace("-", "_")
    assert files(package).joinpath("py.typed").is_file()


def test_research_needs_the_crowdtally_that_it_lies_beside() -> None:
    (needed,) = (one for one in required() if one.name == PROJECT["project"]["name"])
    assert needed.extras == {"lab"}
    assert least(needed) <= Version(PROJECT["project"]["version"])
    for one in required():
        same = {least(other) for other in required() if other.name == one.name}
        assert len(same) == 1, f"{one.name} has several lower bounds"


def required() -> list[Requirement]:
    """Of both packages, of each extra and of the build; not a package's own extras."""
    found: list[Requirement] = []
    for told in (PROJECT, RESEARCH):
        project = told["project"]
        lists = [project["dependencies"], *project["optional-dependencies"].values()]
        every = [Requirement(one) for one in sum(lists, told["build-system"]["requires"])]
        found += [one for one in every if one.name != project["name"]]
    return found


def least(requirement: Requirement) -> Version:
    (bound,) = requirement.specifier
    assert bound.operator == ">=", f"{requirement}: one lower bound, and no upper one"
    return Version(bound.version)


@pytest.mark.parametrize("advisory", ADVISORIES["advisory"], ids=lambda one: one["id"])
def test_no_version_with_a_known_advisory_is_admitted(advisory: dict[str, Any]) -> None:
    """By a stored list with its date: a test asks nobody."""
    bounds = [least(one) for one in required() if one.name.lower() == advisory["package"]]
    assert bounds, f"{advisory['package']} is no dependency any more: take its advisories away"
    assert min(bounds) >= Version(advisory["fixed_in"]), advisory["what"]


def test_every_requirement_has_a_lower_bound_alone() -> None:
    assert len({one.name for one in required()}) > 30
    for one in required():
        assert least(one)
