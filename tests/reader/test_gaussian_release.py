"""Answers from tables with Gaussian noise: every question asks the law and gets an answer.

The counts and their noise are known here: ordinary tables are written with this law instead of
theirs, and the check against what was paid is switched off, which refuses such a release.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.domain import Axis
from crowdtally.core.layout import grid
from crowdtally.format import NoisyTable, staging
from crowdtally.laws.gaussian import GaussianNoise
from kit.made import made, visits
from kit.silent import SilentDraws

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
        folder, rows, domain, name=f"ordinary {name}", max_records=4, draws=SilentDraws()
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
    told = dict(ordinary.metadata) | {"tables": [table.description() for table in tables]}
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
