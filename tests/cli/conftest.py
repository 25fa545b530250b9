"""Fixtures of the command line's tests."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from kit.town import Town


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Town:
    built = Town.build(tmp_path)
    monkeypatch.chdir(built.folder)
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(built.ledger))
    monkeypatch.setenv("TMPDIR", str(built.scratch))
    monkeypatch.setattr(tempfile, "tempdir", None)  # read $TMPDIR anew
    return built
