"""Eight processes ask at once for a budget that is enough for 137 requests of 1600."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from budget.ledger_kit import PostgresServer, drive, folder, server

__all__ = ["folder", "server"]
EXACTLY = {"granted": 137, "refused": 1463, "crashed": 0, "exact": True, "whole": True}
REPEATS = [pytest.param(3), pytest.param(20, marks=pytest.mark.long)]


@pytest.mark.parametrize("repeats", REPEATS)
def test_on_sqlite(tmp_path: Path, repeats: int) -> None:
    for repeat in range(repeats):
        path = tmp_path / f"{repeat}.sqlite"  # on a disk, not in memory: its waits are part of it
        assert json.loads(drive("crowd", path, 8, 200, 137)) == EXACTLY


@pytest.mark.parametrize("repeats", REPEATS)
def test_on_postgresql(server: PostgresServer, repeats: int) -> None:
    for _ in range(repeats):
        assert json.loads(drive("crowd", server.new_schema(), 8, 200, 137)) == EXACTLY


def test_making_the_ledger_is_a_race_too(folder: Path) -> None:
    """All processes make the same new ledger; all end up in one, and none loses its charge."""
    for repeat in range(3):
        found = json.loads(drive("birth", folder / f"{repeat}.sqlite", 8))
        assert found == {"charged": 8, "crashed": 0, "whole": True, "made by": 1}
    assert {path.suffix for path in folder.iterdir()} == {".sqlite"}


def test_making_it_on_a_server_is_a_race_too(server: PostgresServer) -> None:
    found = json.loads(drive("birth", server.new_schema(), 8))
    assert found == {"charged": 8, "crashed": 0, "whole": True, "made by": 1}
