"""Statistics of whole releases: the noise they state, and the floor below which all is noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from scipy import stats

import crowdtally as ct
import kit.releases
from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.curator.request.request import make_request
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.noise.geometric import difference
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from kit.draws import Seeded
from kit.publishing import publish
from kit.releases import axes_of, empty_items
from kit.sampler_checks import SIGNIFICANCE, Verdict, draws_for_power, goodness, laplace_law
from kit.subjects import known_keys

# ---- The noise in a whole release: residuals of what lies in the folder follow the law it
#      states


ITEMS, CONTEXTS, LIMIT, KEY = 90_000, 2, 3, 2718281828
BINS, VALUES = 20, 401
SCALES = {"items": Fraction(LIMIT * 5, 2), "edges": Fraction(LIMIT * 5, 3)}
"""l/ε of each part: ε = 1, of which items get 2/5 and edges 3/5."""


@dataclass(frozen=True)
class Released:
    """Noise of each table: what was released less what was counted."""

    noise: dict[str, np.ndarray]
    stated: dict[str, Fraction]


def make(folder: Path, draws: Draws) -> Released:
    """A whole release, and the exact counts of the same sample."""
    random = np.random.default_rng(5)
    rows = 60_000
    table = pa.table(
        {
            "user": (random.pareto(1, rows) * 100).astype(np.int64),
            "item": np.minimum(random.geometric(1e-4, rows), ITEMS - 1),
            "context": random.integers(0, CONTEXTS, rows),
            "id": np.arange(rows),
        }
    )
    records = Records(table, "user", "item", {"context": None}, "id")
    domain = Domain(range(ITEMS), {"context": range(CONTEXTS)}, item="item")
    split = {"items": "2/5", "edges": "3/5"}
    request = make_request(records, domain, epsilon=1, method=ct.SRA(LIMIT), split=split)
    ledger = Ledger.open(folder / "ledger.db", create=True)
    with known_keys(KEY):
        made = publish(
            request, "town", folder / "release", ledger=ledger, draws=draws, tell=pytest.fail
        )
    with DuckDBEngine() as engine:
        prepared = prepare(engine, records, domain)
        exact = count(engine, prepared, SRA(LIMIT), key=KEY, what="records").found
    assert exact[0].values.sum() > 1000
    names = ("items", "edges")
    counts = {
        name: parquet.read_table(made.path(made.table(name)))["count"].to_numpy() for name in names
    }
    return Released(
        {name: counts[name] - bounded.dense() for name, bounded in zip(names, exact, strict=True)},
        {t["name"]: Fraction(t["noise"]["scale"]) for t in made.metadata["tables"]},
    )


def law_fit(noise: np.ndarray, scale: float) -> Verdict:
    half = VALUES // 2
    observed = np.bincount(np.clip(noise, -half, half) + half, minlength=VALUES)
    return goodness(observed, laplace_law(1 / scale, VALUES), bins=BINS)


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """The p-value of no correlation between two noises."""
    together = float(np.corrcoef(one, other)[0, 1])
    return float(2 * stats.norm.sf(abs(together) * len(one) ** 0.5))


def least_correlation(noise: dict[str, np.ndarray]) -> float:
    """An item against each of its contexts, and against the cell of the same number."""
    edges = noise["edges"].reshape(ITEMS, CONTEXTS)
    others = [*edges.T, edges.sum(axis=1), noise["edges"][:ITEMS], noise["edges"][-ITEMS:]]
    return min(correlation(noise["items"], other) for other in others)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Released:
    return make(tmp_path_factory.mktemp("released"), SystemDraws())


@pytest.mark.parametrize("name", SCALES)
def test_the_noise_has_the_stated_law(name: str, released: Released) -> None:
    assert released.stated[name] == SCALES[name]
    verdict = law_fit(released.noise[name], float(SCALES[name]))
    assert verdict.fits, str(verdict)


@pytest.mark.parametrize("off", [0.95, 1.05])
@pytest.mark.parametrize("name", SCALES)
def test_another_scale_is_rejected(name: str, off: float, released: Released) -> None:
    true, wrong = (laplace_law(1 / (float(SCALES[name]) * s), VALUES) for s in (1, off))
    assert draws_for_power(true, [wrong], BINS, 1000) <= ITEMS
    assert not law_fit(released.noise[name], float(SCALES[name]) * off).fits


def test_items_and_edges_have_noises_of_their_own(released: Released) -> None:
    p = least_correlation(released.noise)
    assert p >= SIGNIFICANCE, f"correlated noise: p = {p:.3g}"


def test_cells_next_to_each_other_have_noises_of_their_own(released: Released) -> None:
    for name, noise in released.noise.items():
        p = correlation(noise[1:], noise[:-1])
        assert p >= SIGNIFICANCE, f"{name}: p = {p:.3g}"


def test_two_releases_have_different_noise(released: Released, tmp_path: Path) -> None:
    again = make(tmp_path, SystemDraws())
    for name, noise in released.noise.items():
        p = correlation(noise, again.noise[name])
        assert p >= SIGNIFICANCE, f"{name}: p = {p:.3g}"
        assert (noise != again.noise[name]).mean() > 0.8


# ---- mutants -------------------------------------------------------------------------------------


class SharedNoise(SystemDraws):
    """The edges begin with the noise of the items."""

    def __init__(self) -> None:
        super().__init__()
        self._first = np.array([], dtype=np.int64)

    def laplace(self, scale: Fraction, size: int) -> Any:
        fresh = super().laplace(scale, size - len(self._first))
        self._first = np.concatenate([self._first, fresh])
        return self._first


class RateAsScale(SystemDraws):
    def laplace(self, scale: Fraction, size: int) -> Any:
        return difference(self.geometric, 1 / scale, size)


def test_one_shared_noise_is_caught(tmp_path: Path) -> None:
    assert least_correlation(make(tmp_path, SharedNoise()).noise) < SIGNIFICANCE


def test_a_scale_used_as_a_rate_is_caught(tmp_path: Path) -> None:
    noise = make(tmp_path, RateAsScale()).noise
    assert not law_fit(noise["items"], float(SCALES["items"])).fits


# ---- The noise floor: of 1,000 releases of nobody, at most 5% + 1.5 points show an item above
#      it
#
# The draws are seeded, so that a run repeats; with others, a share that is truly 5% would be
# above 6.5% with a probability of 2%, for each kind and question. `make test` makes 80 of each
# kind, of which at most 12 may pass: with a true share of 5% that fails with a probability of 1
# in 6,000, and the seed is fixed there too; `make test-all` makes 120 as well. Where at most 3 of
# the first 40 pass it makes no more: that fails no more often, and where the true share is 20% in
# 82.9% of cases instead of 83.6% (25%: 97.5% instead of 97.8%). Where every cell is published and
# counts are not weighted the floor is exact, and its share is 5% less what whole numbers lose:
# below 2.5% it would be too high to be of use.


MANY, MOST, LEAST = 1000, 65, 25
FEW = [pytest.param(80, 12, id="80"), pytest.param(120, 16, id="120", marks=pytest.mark.long)]
"""Releases, and in how many of them an item may be above the floor."""
FIRST, CLEAR = 40, 3
"""With so few of the first ones, a share is not too large: 80 need not all be made."""
ITEMS_FLOOR = [f"i{n}" for n in range(20)]
AXES = axes_of({"item": ITEMS_FLOOR, "day": ["Mon", "Tue", "Wed"], "hour": [9, 10]})
QUESTIONS: Mapping[str, dict[str, Any]] = {
    "overall": {}, "in a context": {"day": "Tue", "hour": 9}, "summed": {"hour": 10},
}  # fmt: skip
KINDS: Mapping[str, dict[str, Any]] = {
    "dense": {},
    "scaled": {"unit": Fraction(3, 1 << 10), "bound": 700},
    "haar": {"transform": ct.Haar("day")},
    "dyadic": {"transform": ct.Dyadic("day")},
    "dyadic items": {"transform": ct.Dyadic("item")},
    "dyadic of two": {"transform": ct.Dyadic(("day", "hour"))},
    "filter": {"summary": ct.Filter(size=8)},
    "filter, one-sided": {"summary": ct.Filter(cut=6, sides="one")},
    "threshold": {"summary": ct.Threshold("30.5")},
    "priority": {"summary": ct.Priority(12)},
    "filter-priority": {"summary": ct.FilterPriority(12, cut=10)},
    "dyadic filter": {"transform": ct.Dyadic("day"), "summary": ct.Filter(cut=13)},
    "haar threshold": {"transform": ct.Haar("day"), "summary": ct.Threshold("60")},
}
_LONG = {"dyadic items", "dyadic of two", "filter, one-sided", "dyadic filter", "haar threshold"}
"""Kinds whose parts are in quick ones: here they are long, as a thousand of each kind are."""
TRIED = [pytest.param(kind, marks=pytest.mark.long if kind in _LONG else ()) for kind in KINDS]


def passing(
    folder: Path,
    kind: str,
    releases: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    raw: bool,
    clear: int = -1,
) -> dict[str, int]:
    """In how many releases of nobody an item is above the floor, by question.

    Where at most ``clear`` of the first ones have one, no more are made.
    """
    monkeypatch.setattr(kit.releases, "DRAWS", SystemDraws(Seeded(sum(map(ord, kind)))))
    form = dict(KINDS[kind])
    more = {name: form.pop(name) for name in ("unit", "bound") if name in form}
    found = dict.fromkeys(QUESTIONS, 0)
    for number in range(releases):
        if number == FIRST and max(found.values()) <= clear:
            break
        here = folder / str(number)
        here.mkdir()
        release = empty_items(here, AXES, form, "1/10", **more)  # type: ignore[arg-type]
        for name, context in QUESTIONS.items():
            found[name] += any(row.above_floor for row in release.top(20, raw=raw, **context))
    return found


@pytest.mark.parametrize(("releases", "most"), FEW)
@pytest.mark.parametrize("kind", TRIED)
def test_rarely_does_noise_alone_pass_the_floor(
    kind: str, releases: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clear = CLEAR if releases == 2 * FIRST else -1
    found = passing(tmp_path, kind, releases, monkeypatch, raw=False, clear=clear)
    assert max(found.values()) <= most, found


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_of_a_thousand_releases_of_nobody_one_in_twenty_passes(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = passing(tmp_path, kind, MANY, monkeypatch, raw=True)  # the floor is of noisy counts
    assert max(found.values()) <= MOST, found
    if kind in ("dense", "scaled"):
        assert min(found.values()) >= LEAST, found
