"""A release of every kind, made once; each test damages a copy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from kit.damage import answers, of_kind

Fresh = Callable[..., Path]


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a kind's release; not to be changed."""
    return cache(lambda kind: of_kind(tmp_path_factory.mktemp("made"), kind))


@pytest.fixture
def fresh(made_once: Callable[[str], Path], tmp_path: Path) -> Fresh:
    """Copies of a kind's release."""
    return lambda kind, name="release": shutil.copytree(made_once(kind), tmp_path / name)


@pytest.fixture(scope="session")
def expected(made_once: Callable[[str], Path]) -> Callable[[str], list[str]]:
    """What the whole release of a kind answers."""
    return cache(lambda kind: answers(made_once(kind)))
