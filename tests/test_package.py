"""What the package must carry besides its code."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def test_types_are_shipped_as_the_metadata_say() -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    assert "Typing :: Typed" in project["project"]["classifiers"]
    assert files("crowdtally").joinpath("py.typed").is_file()
