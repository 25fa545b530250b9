"""Eight processes ask at once for a budget that is enough for 41 requests of 480.

`make test-all` also has them ask 1600 times for 137. They go on to draw, publish and withdraw, give
charges back, or repeat each other's requests.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from budget.ledger_kit import PostgresServer, drive_at_once, folder, location, server

__all__ = ["folder", "location", "server"]
SIZES = pytest.mark.parametrize(
    ("requests", "fits", "repeats"),
    [
        pytest.param(60, 41, 1, id="1"),
        pytest.param(200, 137, 20, id="20", marks=pytest.mark.long),
    ],
)
PROCESSES = 8


def crowded(location: object, deeds: str, requests: int, fits: int) -> None:
    """What comes of 8 × ``requests``; ``told`` is whether every process was told what is so."""
    found = json.loads(drive_at_once("crowd", location, PROCESSES, requests, fits, deeds))
    refused, asked = found.pop("refused"), PROCESSES * requests
    assert found == {
        "standing": fits, "asked": asked, "crashed": 0, "told": True, "exact": True, "whole": True,
    }  # fmt: skip
    if deeds == "forward":
        assert refused == asked - fits
    elif deeds == "giving-back":
        least = asked - fits - asked // 10  # one request in ten is given back if it is granted
        assert least <= refused < asked - fits, "what was given back was granted again"
    else:
        assert refused == (requests - fits) * PROCESSES


@SIZES
def test_on_sqlite(tmp_path: Path, requests: int, fits: int, repeats: int) -> None:
    for repeat in range(repeats):
        # On a disk, not in memory: its waits are part of it.
        crowded(tmp_path / f"{repeat}.sqlite", "forward", requests, fits)


@SIZES
def test_on_postgresql(server: PostgresServer, requests: int, fits: int, repeats: int) -> None:
    for _ in range(repeats):
        crowded(server.new_schema(), "forward", requests, fits)


@pytest.mark.parametrize(
    ("requests", "fits"), [(60, 41), pytest.param(200, 137, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("deeds", ["giving-back", "retrying"])
def test_voids_and_retries(location: str, deeds: str, requests: int, fits: int) -> None:
    crowded(location, deeds, requests, fits)


@pytest.mark.parametrize("repeats", [1, pytest.param(3, marks=pytest.mark.long)])
def test_making_the_ledger_is_a_race_too(folder: Path, repeats: int) -> None:
    """All processes make the same new ledger; all end up in one, and none loses its charge."""
    for repeat in range(repeats):
        found = json.loads(drive_at_once("birth", folder / f"{repeat}.sqlite", 8))
        assert found == {"charged": 8, "published": 8, "crashed": 0, "whole": True, "made by": 1}
    assert {path.suffix for path in folder.iterdir()} == {".sqlite"}


def test_making_it_on_a_server_is_a_race_too(server: PostgresServer) -> None:
    found = json.loads(drive_at_once("birth", server.new_schema(), 8))
    assert found == {"charged": 8, "published": 8, "crashed": 0, "whole": True, "made by": 1}
