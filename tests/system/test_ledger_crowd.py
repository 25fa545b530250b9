"""Eight processes ask at once for a budget that is enough for 137 requests of 1600.

They go on to draw, publish and withdraw, give charges back, or repeat each other's requests.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from budget.ledger_kit import PostgresServer, drive, folder, location, server

__all__ = ["folder", "location", "server"]
EXACTLY = {
    "standing": 137, "asked": 1600, "crashed": 0, "told": True, "exact": True, "whole": True,
}  # fmt: skip
REPEATS = [pytest.param(1), pytest.param(20, marks=pytest.mark.long)]


def crowded(location: object, deeds: str) -> None:
    """What comes of 8 × 200 requests; ``told`` is whether every process was told what is so."""
    found = json.loads(drive("crowd", location, 8, 200, 137, deeds))
    refused = found.pop("refused")
    assert found == EXACTLY
    if deeds == "forward":
        assert refused == 1463
    elif deeds == "giving-back":
        assert 1000 < refused < 1463, "what was given back was granted again"
    else:
        assert refused == (200 - 137) * 8


@pytest.mark.parametrize("repeats", REPEATS)
def test_on_sqlite(tmp_path: Path, repeats: int) -> None:
    for repeat in range(repeats):
        # On a disk, not in memory: its waits are part of it.
        crowded(tmp_path / f"{repeat}.sqlite", "forward")


@pytest.mark.parametrize("repeats", REPEATS)
def test_on_postgresql(server: PostgresServer, repeats: int) -> None:
    for _ in range(repeats):
        crowded(server.new_schema(), "forward")


@pytest.mark.parametrize("deeds", ["giving-back", "retrying"])
def test_voids_and_retries(location: str, deeds: str) -> None:
    crowded(location, deeds)


def test_making_the_ledger_is_a_race_too(folder: Path) -> None:
    """All processes make the same new ledger; all end up in one, and none loses its charge."""
    for repeat in range(3):
        found = json.loads(drive("birth", folder / f"{repeat}.sqlite", 8))
        assert found == {"charged": 8, "published": 8, "crashed": 0, "whole": True, "made by": 1}
    assert {path.suffix for path in folder.iterdir()} == {".sqlite"}


def test_making_it_on_a_server_is_a_race_too(server: PostgresServer) -> None:
    found = json.loads(drive("birth", server.new_schema(), 8))
    assert found == {"charged": 8, "published": 8, "crashed": 0, "whole": True, "made by": 1}
