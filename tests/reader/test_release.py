"""Releases of every kind are found whole, answer by their law, and say if they are withdrawn."""

from __future__ import annotations

import json
import logging
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.domain import Axis
from crowdtally.core.layout import grid
from crowdtally.format import NoisyTable, staging
from crowdtally.format.withdrawal import FILE, write_note
from crowdtally.laws.gaussian import GaussianNoise
from kit.command import crowdtally
from kit.draws import SilentDraws
from kit.publishing import made, visits
from kit.releases import redrawn
from kit.stored import NAMES, OPTIONS, stored

# ---- Releases of every kind: found whole, and estimates stand beside what was released -----------


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


# ---- Answers from tables with Gaussian noise: every question asks the law and gets an answer -----
#
# The counts and their noise are known here: ordinary tables are written with this law instead of
# theirs, and the check against what was paid is switched off, which refuses such a release.


LAW = GaussianNoise(Fraction(150))
ITEMS, DAYS = [f"item {number}" for number in range(12)], ["Tue", "Mon", "Sun"]
COUNTS = np.outer(1000 // np.arange(1, 13), [5, 3, 1])


@pytest.fixture
def paid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GaussianNoise, "disagreement", lambda *_: None)


def released(folder: Path, name: str = "gaussian", cut: int | None = None, seed: int = 1) -> Any:
    axes = [Axis.of("item", ITEMS), Axis.of("day", DAYS)]
    domain = ct.Domain(axes[0], {"day": axes[1]})
    rows = visits({("item 0", "Tue"): 1}, "day")
    ordinary = made(
        folder, rows, domain, name=f"ordinary {name}", method=ct.SRA(4), draws=SilentDraws()
    )
    rng, tables = np.random.default_rng(seed), []
    for facts in ordinary.metadata["tables"]:
        whole = facts["name"] == "edges"
        flat = COUNTS.ravel() if whole else COUNTS.sum(axis=1)
        flat = flat + np.rint(rng.normal(0, 150**0.5, len(flat))).astype(np.int64)
        more = {key: facts[key] for key in ("epsilon", "sensitivity", "publishing", "transform")}
        kept = None
        if cut is not None:
            kept = np.flatnonzero(np.abs(flat) >= cut)
            more |= {
                "publishing": "filter", "cut": cut, "domain_cells": len(flat),
                "published_cells": len(kept), "sides": "two", "sampling_threshold": None,
                "estimating_threshold": None, "size": None, "short": False, "consistency": "none",
            }  # fmt: skip
        values = flat if kept is None else flat[kept]
        over = axes if whole else axes[:1]
        tables.append(NoisyTable(facts["name"], grid(over), values, LAW, more, kept))
    told = redrawn(ordinary, tables)
    with staging(folder / name) as staged:
        staged.write(told, tables)
        staged.commit()
    return ct.load(folder / name)


@pytest.mark.usefixtures("paid")
@pytest.mark.parametrize("cut", [None, 40])
def test_sums_lists_and_recommendations(tmp_path: Path, cut: int | None) -> None:
    release = released(tmp_path, cut=cut)
    found = release.sum("item = 'item 0' and day = 'Tue'")
    assert found.standard_error == pytest.approx(LAW.std())
    assert abs(found.value - 5000) < 8 * LAW.std()
    several = release.sum("day = 'Mon'")
    assert several.standard_error > LAW.std()
    if cut is None:
        assert several.high - several.value == LAW.half_width(Fraction(19, 20), 12)
    for raw in (False, True):
        top = release.top(3, raw=raw)
        assert [row.item for row in top] == ITEMS[:3]
    assert [row.item for row in release.top(2, day="Sun")] == ITEMS[:2]
    assert len(release.recommend(day="Mon")) > 0


@pytest.mark.usefixtures("paid")
def test_reports_and_changes(tmp_path: Path) -> None:
    first, second = released(tmp_path), released(tmp_path, "second", seed=2)
    first.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "item 0" in text
    assert ct.changes(first, second) is not None


def test_a_release_that_pays_by_epsilon_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ct.InputError, match="no epsilon without a delta pays for"):
        released(tmp_path)


# ---- Every reader says first that a release was withdrawn, in words that nothing obeys -----------


TIME = "2026-11-17T08:00:00+00:00"
EVIL = "<script>alert(1)</script>\x1b[2J\n\x9b2J\u202e"
SHOWN = repr(EVIL)
VERBS = [("top",), ("sum",), ("describe",), ("report", "--json"), ("check",)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A stored release, withdrawn for a reason that would like to run."""
    copy = shutil.copytree(stored("sra-one-context"), tmp_path / "release")
    write_note(copy, ct.load(copy).metadata["id"], TIME, EVIL)
    return copy


def is_harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("verb", VERBS)
def test_it_is_the_first_thing_on_stderr(verb: tuple[str, ...], folder: Path) -> None:
    whole = stored("sra-one-context")
    for more in ((), ("--json",)):
        ended = crowdtally(*verb, folder, *more)
        assert ended.code == 0, str(ended)
        first = f"withdrawn on 2026-11-17: {SHOWN} (the release {str(folder)!r})"
        assert ended.err.splitlines()[0] == first
        assert is_harmless(ended.err)
        assert is_harmless(ended.out)
        before = crowdtally(*verb, whole, *more)
        assert (before.code, before.err) == (0, "")
        if verb[0] in ("top", "sum"):
            assert ended.out == before.out, "its answers stay what they were"


@pytest.mark.parametrize("verb", VERBS[:3])
def test_a_damaged_note_is_not_ignored(verb: tuple[str, ...], folder: Path) -> None:
    (folder / FILE).write_bytes(b"\x1b[2J")
    ended = crowdtally(*verb, folder)
    assert ended.code == 0, str(ended)
    assert ended.err.startswith("marked as withdrawn, but the note that says when and why is dam")


def test_a_description_begins_with_it(folder: Path) -> None:
    found = ct.load(folder).describe()
    assert [section.name for section in found.sections][:2] == ["withdrawal", "what"]
    assert str(found).splitlines()[0] == "Withdrawn"
    assert f"This release was withdrawn on 2026-11-17: {SHOWN}." in found.sections[0].lines
    assert "its charge stays" in found.sections[0].lines[1]
    told = json.loads(found.to_json())
    assert told["withdrawn"] == {"time": TIME, "reason": EVIL, "damage": None}
    before = json.loads(ct.load(stored("sra-one-context")).describe().to_json())
    assert before["withdrawn"] is None
    assert "withdrawal" not in before
    (folder / FILE).write_bytes(b"{}")
    torn = json.loads(ct.load(folder).describe().to_json())
    assert torn["withdrawn"]["damage"] == "withdrawn.json: it lacks 'schema'"


def test_a_reason_that_ends_with_a_stop_gets_no_second_one(folder: Path) -> None:
    write_note(folder, ct.load(folder).metadata["id"], TIME, "A slip.")
    assert ct.load(folder).describe().sections[0].lines[0].endswith(": A slip.")


def test_in_python(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="crowdtally"):
        release = ct.load(folder)
    (told,) = caplog.messages
    assert told.startswith(f"withdrawn on 2026-11-17: {SHOWN}")
    assert release.withdrawn is not None
    assert (release.withdrawn.time, release.withdrawn.reason) == (TIME, EVIL)
    assert repr(release).startswith("<Release withdrawn on 2026-11-17: '<script>")
    assert repr(release).isprintable()
    html = release._repr_html_()
    assert html.index("This release was withdrawn on 2026-11-17") < html.index("<table")
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert html.isprintable()
    for shown in (html, release.describe()._repr_html_()):
        assert "<script" not in shown


def test_releases_without_a_note_are_shown_as_before(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="crowdtally"):
        release = ct.load(stored("sra-one-context"))
    assert caplog.messages == []
    assert release.withdrawn is None
    assert "ithdrawn" not in repr(release) + release._repr_html_() + str(release.describe())
