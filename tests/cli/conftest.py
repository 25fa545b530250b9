"""Fixtures of the command line's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.command import Town


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    return Town.entered(tmp_path, monkeypatch)
