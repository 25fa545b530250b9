"""Releases of every kind: found whole, and estimates stand beside what was released."""

from __future__ import annotations

import json

import pytest

import crowdtally as ct
from kit.command import crowdtally
from kit.stored import NAMES, OPTIONS, stored

RELEASED = ("count", "noise_std", "low", "high")
"""Fields of a line that say what was released, whatever is believed."""
RANKED = [
    name
    for name in NAMES
    if "item" in OPTIONS[name] and name not in ("discovered-none", "haar-items", "sketch")
]
"""Those with a list of items."""


@pytest.mark.parametrize("name", NAMES)
def test_a_release_is_found_whole(name: str) -> None:
    ended = crowdtally("check", stored(name), "--json")
    assert ended.code == 0, ended
    assert json.loads(ended.out)["release"] == ct.load(stored(name)).metadata["id"]


@pytest.mark.parametrize("name", RANKED)
def test_estimates_stand_beside_what_was_released(name: str) -> None:
    """Every top list, asked for all of its items: no noisy count changes, and none is missing."""
    release = ct.load(stored(name))
    contexts = [
        {one["name"]: one["values"][0]} for one in release.metadata["domain"].get("contexts", ())
    ]
    for context in ({}, *contexts):
        found = release.top(999, raw=True, **context)
        released = {row["item"]: row for row in found.to_dicts()}
        believed = release.top(999, **context)
        assert len(believed) == len(released)
        for rank, row in enumerate(believed.to_dicts(), start=1):
            assert row["rank"] == rank
            raw = released[row["item"]]
            assert [row[field] for field in RELEASED] == [raw[field] for field in RELEASED]
            if row["covers"] == "the noise only":
                assert row == raw | {"rank": rank}
            else:
                assert 0 <= row["estimate_low"] <= row["median"] <= row["estimate_high"]
                assert row["estimate_low"] <= row["estimate"] <= row["estimate_high"] + 1e-9
                assert 0 <= row["chance_in_top"] <= 1
