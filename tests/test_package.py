"""What the package must carry besides its code, and what it may be installed with."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
ADVISORIES = tomllib.loads((Path(__file__).parent / "advisories.toml").read_text("utf-8"))


def test_types_are_shipped_as_the_metadata_say() -> None:
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]
    assert files("crowdtally").joinpath("py.typed").is_file()


def required() -> list[Requirement]:
    """Of the package, of each extra and of the build; not the package's own extras."""
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    every = [Requirement(one) for one in sum(lists, PROJECT["build-system"]["requires"])]
    return [one for one in every if one.name != project["name"]]


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
