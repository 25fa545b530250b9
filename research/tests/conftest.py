"""What all tests of research share: chance, as in the tests of crowdtally, and a town."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit import repeatable
from kit.command import Town

repeatable.begin()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture of the test draws."""
    repeatable.of_test(item.nodeid)


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town.entered(tmp_path, monkeypatch)
