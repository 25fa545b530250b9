"""Estimates follow from the release alone, for Haar too, and kept ones are never trusted."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import astuple
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.hierarchy import range_weights
from crowdtally.errors import UsageError
from crowdtally.format import load
from crowdtally.laws.base import Combination
from crowdtally.laws.laplace import DiscreteLaplace, of_variance
from crowdtally.reader.estimates import cache as store
from crowdtally.reader.estimates.cell_sums import Believed
from crowdtally.reader.estimates.contexts import InContexts, consistent_items, shrink
from crowdtally.reader.estimates.estimator import LEVEL, ReleaseView, same_records
from kit.draws import SilentDraws
from kit.publishing import GivenNoise, made, visits
from kit.stored import stored

# ---- What is believed follows from the release alone, and is right as often as it says -----------


ITEMS = [f"i{n:03}" for n in range(300)]
DAYS = ["Mon", "Tue", "Sat"]


def laplace(size: int, scale: float, seed: int) -> list[int]:
    return np.rint(np.random.default_rng(seed).laplace(0, scale, size)).astype(int).tolist()


def truth(size: int = 300) -> np.ndarray:
    """A few large counts and a long tail, as popularity is."""
    return np.rint(400 / np.arange(1, size + 1)).astype(int)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> ct.Release:
    """300 items without contexts, each record a user's own."""
    draws = GivenNoise(laplace(300, 5, 1))
    rows = visits(dict(zip(ITEMS, truth().tolist(), strict=True)))
    folder = tmp_path_factory.mktemp("places")
    return made(folder, rows, ct.Domain(ITEMS), draws=draws, epsilon="1/5", method=ct.SRA(1))


def estimator_of(release: ct.Release) -> ReleaseView:
    return ReleaseView(load(release.folder))


def answers(folder: Path, **context: object) -> str:
    release = ct.load(folder)
    first = next(iter(release.top(1))).item
    lists = [release.top(20, **context).to_json(), release.top(5).to_json()]
    sums = [release.sum().to_json(), release.sum(place=first).to_json()]
    return json.dumps([lists, sums])


def test_estimates_follow_from_the_release_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records and the ledger deleted; another folder, locale, time zone and cache."""
    whole = stored("sra-two-contexts")
    before = answers(whole)
    shutil.copytree(whole, tmp_path / "else where" / "copy")
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo", "CROWDTALLY_CACHE": "",
        "CROWDTALLY_LEDGER": str(tmp_path / "none.sqlite"), "HOME": str(tmp_path / "nobody"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert answers(Path("else where") / "copy") == before


def test_estimates_are_the_same_once_the_records_are_gone(tmp_path: Path) -> None:
    rows = visits({("zoo", "Mon"): 40, ("mill", "Tue"): 7}, "day")
    domain = ct.Domain(["zoo", "mill", "quay"], {"day": DAYS})
    release = made(tmp_path, rows, domain, draws=SilentDraws(), method=ct.SRA(2), epsilon=1)
    before = [release.top(3).to_json(), release.top(3, day="Mon").to_json()]
    for path in tmp_path.iterdir():
        if path != release.folder:
            os.unlink(path)
    again = ct.load(release.folder)
    assert [again.top(3).to_json(), again.top(3, day="Mon").to_json()] == before


def test_one_table_keeps_its_order(places: ct.Release) -> None:
    """Empirical Bayes alone is monotone: ranks are those of the noisy counts."""
    believed, raw = places.top(300), places.top(300, raw=True)
    assert [row.item for row in believed] == [row.item for row in raw]
    for field in ("estimate", "median", "estimate_low", "estimate_high"):
        values = [getattr(row, field) for row in believed]
        assert all(np.diff(values) <= 1e-9), field


def test_estimates_are_nearer_than_noisy_counts_and_intervals_hold(places: ct.Release) -> None:
    true = dict(zip(ITEMS, truth().tolist(), strict=True))
    rows = places.top(300)
    off = {
        name: np.mean([(getattr(row, name) - true[row.item]) ** 2 for row in rows])
        for name in ("estimate", "count")
    }
    assert off["estimate"] < off["count"] / 2
    covered = np.mean([row.estimate_low <= true[row.item] <= row.estimate_high for row in rows])
    assert covered >= 0.92
    assert {row.covers for row in rows} == {"the bounded counts"}
    assert "cannot be known from this release" in rows.estimate_words


def test_chances_add_up_and_follow_the_ranks(places: ct.Release) -> None:
    chances = {
        row.item: row.chance_in_top for row in places.top(300)
    }  # of 300 out of 300: all are in
    assert set(chances.values()) == {1.0}
    ten = [row.chance_in_top for row in places.top(10)]
    assert ten[0] > 0.99
    assert all(np.diff(ten) <= 1e-9)
    assert sum(ten) <= 10


@pytest.mark.parametrize("size", [5, 300])
def test_all_noise_and_all_signal(tmp_path: Path, size: int) -> None:
    domain = ct.Domain(ITEMS[:size])
    nobody = made(
        tmp_path, visits({"-": 1}), domain, draws=GivenNoise(laplace(size, 50, 2)),
        epsilon="1/50", method=ct.SRA(1), name="nobody",
    )  # fmt: skip
    rows = nobody.top(size)
    assert all(0 <= row.estimate < 250 for row in rows)
    assert all(row.estimate_low < 50 for row in rows if row.count < 50)
    certain = made(
        tmp_path, visits(dict.fromkeys(ITEMS[:size], 9)), domain, draws=SilentDraws(),
        epsilon=50, method=ct.SRA(1), name="certain",
    )  # fmt: skip
    for row in certain.top(size):
        assert row.estimate == pytest.approx(9, abs=1e-6)
        assert (row.estimate_low, row.estimate_high) == (9, 9)


def test_each_row_a_person_is_estimated_as_it_is() -> None:
    """Nothing was bounded there, so the interval is of the true counts."""
    for row in ct.load(stored("user-per-row")).top(3):
        assert row.covers == "the true counts"


# ---- items and contexts -------------------------------------------------------------------------


def test_items_and_contexts_are_combined_where_they_count_the_same_records() -> None:
    def same(name: str) -> bool:
        published = load(stored(name))
        items, edges = published.table("items"), published.table("edges")
        assert items is not None
        assert edges is not None
        return same_records(published, items, edges)

    assert same("sra-one-context")
    assert same("hpa")
    assert not same("sra-count-users")  # a user may have an item in two contexts
    assert not same("dpsense-users")  # each table scales rows by itself
    assert not same("dyadic-context")


def test_contexts_add_up_to_their_items(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    cells = {
        (item, day): int(n)
        for item, mean in zip(ITEMS, truth().tolist(), strict=True)
        for day, n in zip(DAYS, rng.poisson([mean / 2, mean / 4, mean / 4]), strict=True)
    }
    draws = GivenNoise(laplace(300, 10, 4), laplace(900, 10, 5))
    domain = ct.Domain(ITEMS, {"day": DAYS})
    release = made(
        tmp_path, visits(cells, "day"), domain, draws=draws, epsilon="1/5", method=ct.SRA(1)
    )
    overall = {row.item: row for row in release.top(300)}
    by_day = [{row.item: row for row in release.top(300, day=day)} for day in DAYS]
    for item, row in overall.items():
        assert sum(one[item].estimate for one in by_day) == pytest.approx(row.estimate)
    pairs = [
        (row, cells[item, day])
        for day, found in zip(DAYS, by_day, strict=True)
        for item, row in found.items()
    ]
    off = [np.mean([(getattr(r, n) - t) ** 2 for r, t in pairs]) for n in ("estimate", "count")]
    assert off[0] < off[1] / 3
    covered = np.mean([r.estimate_low <= t <= r.estimate_high for r, t in pairs])
    assert covered >= 0.9
    one = release.sum(item="i000", day="Mon")
    assert one.estimate == pytest.approx(by_day[0]["i000"].estimate)
    assert one.value == by_day[0]["i000"].count


def test_shrunk_cells_believe_large_differences_and_not_noise() -> None:
    rng, items, days = np.random.default_rng(6), 400, 4
    mean = np.full(items, 100.0)
    believed = Believed(mean, mean, mean, mean, np.full(items, 1.0), np.full(items, 1.0))
    alike = np.full((items, days), 25.0)
    noisy = alike + rng.laplace(0, 5, alike.shape)
    found = shrink(believed, noisy, 50.0)
    assert np.abs(found.mean - 25).mean() < 0.2 * np.abs(noisy - 25).mean()
    apart = rng.dirichlet(np.ones(days), items) * 100
    found = shrink(believed, apart + rng.laplace(0, 1, apart.shape), 2.0)
    assert np.abs(found.mean - apart).mean() < 1.5
    assert found.mean.sum(axis=1) == pytest.approx(mean)


def test_least_squares_leave_the_variance_they_state() -> None:
    rng, runs, h = np.random.default_rng(7), 20_000, 3
    items, contexts = rng.normal(0, 2, runs), rng.normal(0, 1, (runs, h))
    made_ = consistent_items(items, 4.0, contexts, 1.0)
    assert made_.items.var() == pytest.approx(made_.item_variance, rel=0.05)
    law = of_variance(12.0, Fraction(1))
    assert law.std() ** 2 == pytest.approx(12.0, rel=0.01)


# ---- sums ----------------------------------------------------------------------------------------


def test_sums_of_estimates(places: ct.Release) -> None:
    rows = {row.item: row for row in places.top(300)}
    point = places.point(item="i000")
    row = rows["i000"]
    assert (point.estimate, point.estimate_low) == (row.estimate, row.estimate_low)
    assert point.estimate_error == row.standard_error
    whole = places.sum()
    assert whole.estimate == pytest.approx(sum(row.estimate for row in rows.values()))
    assert whole.estimate_error >= whole.standard_error  # no better known than the noisy sum
    assert abs(whole.estimate - truth().sum()) < 3 * whole.estimate_error
    most = places.sum(item=ITEMS[:299])
    assert most.estimate_error >= 0.9 * most.standard_error  # and nearly so with nearly all of it
    few = places.sum(item=ITEMS[:5])
    assert few.estimate_error < few.standard_error * 1.5
    assert few.estimate_low < truth()[:5].sum() < few.estimate_high
    lines = str(whole).splitlines()
    assert "95% interval of the bounded counts" in lines[0]
    assert lines[1].startswith("noisy sum ")


@pytest.mark.parametrize("items", [1, 2, 300])
@pytest.mark.parametrize("days", [(True, False, False), (True, False, True), (True, True, True)])
def test_a_sum_of_all_items_is_that_of_each_of_them(
    tmp_path: Path, items: int, days: tuple[bool, ...]
) -> None:
    listed, rng = ITEMS[:items], np.random.default_rng(3)
    cells = {(item, day): int(rng.poisson(40)) for item in listed for day in DAYS}
    draws = GivenNoise(laplace(items, 10, 4), laplace(3 * items, 10, 5))
    domain = ct.Domain(listed, {"day": DAYS})
    rows = visits(cells, "day")
    release = made(tmp_path, rows, domain, draws=draws, epsilon="1/5", method=ct.SRA(1))
    estimator, contexts = estimator_of(release), np.array(days)
    quick = estimator.total_in_contexts(contexts, None)
    one_by_one = estimator.total_in_contexts(contexts, np.ones(items, dtype=np.bool_))
    assert quick is not None
    assert one_by_one is not None
    assert astuple(quick) == pytest.approx(astuple(one_by_one), rel=1e-12)


def test_sums_of_all_users_have_the_noise_of_all_their_cells_together(tmp_path: Path) -> None:
    """The interval of a sum is that of the noise: errors are not counted twice."""
    rows = visits({(item, day): 40 for item in ITEMS[:6] for day in DAYS}, "day")
    domain = ct.Domain(ITEMS[:6], {"day": DAYS})
    release = made(tmp_path, rows, domain, epsilon=1, count="users", noise="interval")
    for answer in (release.sum(), release.sum(day="Mon")):
        assert (answer.estimate_low, answer.estimate_high) == (answer.low, answer.high)
        assert answer.estimate == answer.value
        assert "nobody was left out" in str(answer)


def test_a_sum_of_nothing_is_known(tmp_path: Path) -> None:
    found = InContexts(np.zeros((2, 3)), np.ones((2, 3)))
    domain = ct.Domain(ITEMS[:2], {"day": DAYS})
    rows = visits({("i000", "Mon"): 1}, "day")
    estimator = estimator_of(made(tmp_path, rows, domain, draws=SilentDraws(), method=ct.SRA(1)))
    vars(estimator)["_edges"] = found
    for items in (None, np.array([True, True])):
        total = estimator.total_in_contexts(np.array([True, False, True]), items)
        assert total is not None
        assert astuple(total) == (0.0, 0.0, 0.0, 0.0)


def test_what_has_no_cells_of_its_own_is_told_by_its_noise() -> None:
    for name in ("sketch", "haar-items", "pairs"):
        found: Any = ct.load(stored(name)).sum()
        if found.table == "items" and name == "pairs":
            continue
        assert (found.estimate, found.covers) == (found.value, "the noise only")
        assert found.estimate_low <= found.value <= found.estimate_high


def test_a_context_that_is_called_raw(tmp_path: Path) -> None:
    domain = ct.Domain(["zoo"], {"raw": ["yes", "no"]})
    rows = visits({("zoo", "yes"): 3}, "raw")
    release = made(tmp_path, rows, domain, draws=SilentDraws(), method=ct.SRA(1))
    assert release.top(1, raw="yes")[0].count == 3
    assert release.top(1, raw=True)[0].covers == "the noise only"
    with pytest.raises(ct.UsageError, match="no context 'raw'"):
        ct.load(stored("sra-one-context")).top(1, raw="yes")


def test_the_level_is_that_of_the_tables() -> None:
    assert load(stored("sra-items")).tables[0].interval_level == LEVEL


# ---- Answers from Haar coefficients --------------------------------------------------------------


def haar(size: int) -> np.ndarray:
    """Coefficients × values: the total, then left − right of every node of a heap, root first."""
    rows = [np.ones(size)]
    width = size
    while width > 1:
        half = np.repeat([1.0, -1.0], width // 2)
        rows += [np.kron(unit, half) for unit in np.eye(size // width)]
        width //= 2
    return np.array(rows)


def test_weights_are_those_of_the_inverse():
    """Each coefficient's weight in a range is what the inverse matrix gives it."""
    for levels in range(5):
        size = 1 << levels
        columns = np.linalg.inv(haar(size)).T
        for low in range(size):
            for high in range(low + 1, size + 1):
                wanted = columns[:, low:high].sum(axis=1)
                weights = range_weights(levels, low, high)
                found = [weights.get(c, 0.0) for c in range(size)]
                assert np.allclose(found, wanted, rtol=0, atol=1e-12)
                assert len(weights) <= 2 * levels + 1


def test_long_ranges_have_small_errors():
    """Weights are at most 1/2 below the total, so the variance grows with the levels alone."""
    law, levels = DiscreteLaplace(Fraction(21)), 20
    weights = range_weights(levels, 12345, 987654).values()
    error = law.std(Combination(sum(w * w for w in weights), sum(weights)))
    assert error == pytest.approx(law.std() * sum(w * w for w in weights) ** 0.5)
    assert error < law.std() * (levels / 2 + 1) ** 0.5


@pytest.mark.parametrize(("low", "high"), [(0, 0), (-1, 2), (3, 2), (0, 9)])
def test_ranges_that_are_none(low, high):
    with pytest.raises(UsageError, match="range"):
        range_weights(3, low, high)


# ---- Kept estimates: the same as computed ones, never trusted, never in the way ------------------


LONG = stored("long-list")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "LEAST", 1000)
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def asked(folder: Path = LONG) -> str:
    return ct.load(folder).top(5).to_json()


def kept(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def test_what_is_kept_answers_as_what_is_computed(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asked()
    assert kept(cache).stat().st_mode & 0o077 == 0
    with monkeypatch.context() as patched:
        patched.setattr("crowdtally.reader.estimates.estimator.estimate_items", _fails)
        assert asked() == first  # nothing is computed
        patched.setenv(store.VARIABLE, "")
        with pytest.raises(RuntimeError):
            asked()


def _fails(*_: object) -> None:
    raise RuntimeError("computed")


def test_files_that_cannot_be_believed_are_computed_anew(cache: Path) -> None:
    first = asked()
    file = kept(cache)
    whole = file.read_bytes()
    numbers = np.frombuffer(whole[32:], dtype="<f8").copy()

    def sealed(changed: np.ndarray) -> bytes:
        payload = changed.astype("<f8").tobytes()
        return hashlib.sha256(payload).digest() + payload

    nan, negative, odd = numbers.copy(), numbers.copy(), numbers.copy()
    nan[5], negative[5], odd[0] = np.nan, -1.0, 0.5
    for wrong in (
        b"", b"\x80\x04cos\nsystem\n", whole[:-8], whole + b"\0" * 8,
        whole[:72] + bytes([whole[72] ^ 1]) + whole[73:],
        sealed(nan), sealed(negative), sealed(odd),
    ):  # fmt: skip
        file.write_bytes(wrong)
        assert asked() == first
        assert file.read_bytes() == whole  # and kept again


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="no such links")
def test_what_others_may_have_written_is_not_read(cache: Path, tmp_path: Path) -> None:
    asked()
    file = kept(cache)
    cells = ct.load(LONG).metadata["tables"][0]["cells"]
    assert store._read(file, cells) is not None
    file.chmod(0o666)
    assert store._read(file, cells) is None
    file.chmod(0o600)
    shutil.move(file, tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert store._read(file, cells) is None
    file.unlink()
    os.mkfifo(file)
    assert store._read(file, cells) is None


def test_another_release_and_another_estimator_have_files_of_their_own(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = load(LONG)
    first = store._path(published)
    monkeypatch.setattr(store, "_estimator", lambda: "another")
    assert store._path(published) != first


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LEAST", 1000)
    (tmp_path / "file").write_text("")
    for where in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        monkeypatch.setenv(store.VARIABLE, str(where))
        assert asked()
    assert (tmp_path / "file").read_text() == ""


def test_nothing_is_kept_in_the_release_nor_where_it_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LEAST", 1000)
    monkeypatch.setenv(store.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    shutil.copytree(LONG, tmp_path / "release")
    before = sorted(path.name for path in (tmp_path / "release").iterdir())
    assert asked(tmp_path / "release")
    assert sorted(path.name for path in (tmp_path / "release").iterdir()) == before
    assert not (tmp_path / "home").exists()


def test_older_files_make_room(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing else in the folder does, whatever it is called."""
    cache.mkdir()
    newer, older, foreign = (cache / f"{name}.estimates" for name in ("a" * 64, "b" * 64, "mine"))
    for age, file in enumerate((newer, older, foreign)):
        file.write_bytes(b"0" * 1000)
        os.utime(file, (1_000_000 - age, 1_000_000 - age))
    size = 32 + 8 * (2 + 6 * 10_001)
    monkeypatch.setattr(store, "MOST_BYTES", size + 1500)
    asked()
    assert newer.exists()
    assert not older.exists()
    assert foreign.exists()
