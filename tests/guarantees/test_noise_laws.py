"""Statistics of samplers: the law at its true scale, and none beside it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from crowdtally.core.counts import Sides
from crowdtally.curator.bounding.sampling import HPA, SRA
from crowdtally.laws.balls import precision
from crowdtally.laws.gaussian_tails import beyond as beyond_ball
from crowdtally.noise.gaussian import discrete_gaussian, gaussian_beyond
from crowdtally.noise.geometric import discrete_laplace, geometric
from crowdtally.noise.source import system_words
from crowdtally.records import matching
from crowdtally.records.duckdb import DuckDBEngine
from kit.rules import Columns, ManyKeys, fit, key_of, law_of_subsets, samples
from kit.sampler_checks import (
    Verdict,
    by_brackets,
    by_integrals,
    by_terms,
    draws_for_power,
    edges_of,
    fits,
    geometric_law,
    goodness,
    histogram,
    laplace_law,
    two_samples,
)

# ---- The laws of geometric and Laplace noise: the true scale fits, 2% more or less does not ------
#
# Each test draws as many numbers as it takes to reject a scale that is 2% off all but once in ten
# million times, and at least 10^6. Significance 10^-6: all of them together fail by chance about
# once in thirty thousand runs.


RATES = [Fraction(r) for r in ("0.001", "0.01", "0.05", "0.1", "0.5", "1", "3", "10")]
OFF = (Fraction(98, 100), Fraction(102, 100))


def sample(rate: Fraction, n: int, values: int, two_sided: bool) -> np.ndarray:
    def draw(k: int) -> np.ndarray:
        if two_sided:
            return discrete_laplace(1 / rate, k, system_words())
        return geometric(rate, k, system_words())

    return histogram(draw, n, values, two_sided)


@pytest.mark.parametrize("two_sided", [False, True], ids=["geometric", "laplace"])
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_the_scale_fits_and_two_percent_more_or_less_does_not(rate, two_sided):
    law = laplace_law if two_sided else geometric_law
    values = 2 * int(20 / rate) + 21
    true = law(float(rate), values)
    wrong = [law(float(rate / factor), values) for factor in OFF]
    n = draws_for_power(true, wrong, bins=40, least=10**6)

    for verdict in fits(sample(rate, n, values, two_sided), true):
        assert verdict.fits, f"rate {rate}, {n} draws: {verdict}"
    for factor in OFF:
        verdict = goodness(sample(rate / factor, n, values, two_sided), true, bins=40)
        assert not verdict.fits, f"scale times {factor} passes at rate {rate}: {verdict}"


@pytest.mark.parametrize("two_sided", [False, True], ids=["geometric", "laplace"])
def test_neighbouring_draws_are_independent(two_sided):
    """Signs of (draw − median) of neighbours and of numbers one block apart: four equal corners."""
    n = 1 << 20
    draw = discrete_laplace(Fraction(50), n, system_words())
    if not two_sided:
        draw = geometric(Fraction(1, 50), n, system_words())
    high = draw > np.median(draw)
    share = high.mean()
    for apart in (1, 1 << 16):
        first, second = high[:-apart], high[apart:]
        # Overlapping pairs are correlated; every other stretch keeps them apart.
        keep = np.arange(first.size) // apart % 2 == 0
        corners = np.bincount(2 * first[keep] + second[keep], minlength=4)
        sides = np.array([1 - share, share])
        verdict = goodness(corners, np.outer(sides, sides).ravel())
        assert verdict.fits, f"{apart} apart: {verdict}"


# ---- The law of Gaussian noise: the true variance fits, a deviation 2% more or less does not -----
#
# 10^6 draws or more at each of eight variances, and beyond cuts. Probabilities are computed in
# three ways that must agree. Significance 10^-6.


VARIANCES = [
    Fraction(v) for v in ("1/8", "3/7", "2", "100/3", "10000", "40001/2", "100000000/3", "1e12")
]
OFF_GAUSSIAN = (Fraction(98, 100) ** 2, Fraction(102, 100) ** 2)
WIDE = 1000


def probabilities(variance: Fraction, edges: np.ndarray) -> np.ndarray:
    """Of the stretches between edges, in three ways that must agree."""
    first = by_terms(variance, edges)
    second = (by_integrals if variance >= WIDE else by_brackets)(variance, edges)
    assert np.allclose(first, second, rtol=1e-6, atol=1e-11)
    with precision(96):
        beyond = [1.0, *(float(beyond_ball(variance, int(edge))) for edge in edges), 0.0]
    assert np.allclose(first, -np.diff(beyond), rtol=1e-9, atol=1e-13)
    return first


def counted(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_the_variance_fits_and_a_deviation_two_percent_off_does_not(variance: Fraction) -> None:
    edges = edges_of(variance)
    true = probabilities(variance, edges)
    quick = by_integrals if variance >= WIDE else by_terms
    wrong = [quick(variance * factor, edges) for factor in OFF_GAUSSIAN]
    n = draws_for_power(true, wrong, bins=40, least=10**6)
    drawn = discrete_gaussian(variance, n, system_words())
    for bins in (40, None):
        verdict = goodness(counted(drawn, edges), true, bins)
        assert verdict.fits, f"variance {variance}, {n} draws: {verdict}"
    for factor in OFF_GAUSSIAN:
        other = discrete_gaussian(variance * factor, n, system_words())
        verdict = goodness(counted(other, edges), true, bins=40)
        assert not verdict.fits, f"variance times {factor} passes at {variance}: {verdict}"


@pytest.mark.parametrize("variance", [Fraction("100/3"), Fraction(40001, 2)], ids=str)
def test_every_single_value_is_as_likely_as_it_should_be(variance: Fraction) -> None:
    """Also of the lowest bits, where a cell has several integers."""
    reach = int(4 * variance**0.5)
    edges = np.arange(-reach, reach + 2)
    verdict = goodness(
        counted(discrete_gaussian(variance, 10**6, system_words()), edges),
        by_terms(variance, edges),
    )
    assert verdict.fits, verdict
    drawn = discrete_gaussian(Fraction(10**12), 10**6, system_words())
    for bits in (4, 16):
        lowest = np.bincount(drawn % (1 << bits), minlength=1 << bits)
        verdict = goodness(lowest, np.full(1 << bits, 2.0**-bits))
        assert verdict.fits, f"the lowest {bits} bits: {verdict}"


BEYOND = [
    ("1/8", 1, "two"), ("3/7", 0, "one"), ("100", 25, "two"), ("100", 25, "one"), ("100", 0, "one"),
    ("100", 400, "two"), ("1e12", 3 * 10**6, "two"), ("1e12", 3 * 10**6, "one"),
    ("1e12", 4 * 10**7, "one"),
]  # fmt: skip


def given_beyond(variance: Fraction, least: int, edges: np.ndarray) -> np.ndarray:
    """Of stretches of weights from ``least`` on: every term, in floats, over the first one."""
    far = min(12 * variance**0.5, 40 * variance / max(least, 1))
    steps = np.arange(least, max(least + int(far) + 12, int(edges[-1]) + 1), dtype=np.float64)
    weights = np.exp(-(steps - least) * (steps + least) / (2 * float(variance)))
    parts = np.add.reduceat(weights, edges - least)
    return parts / weights.sum()


@pytest.mark.parametrize(("variance", "least", "sides"), BEYOND)
def test_the_law_beyond_a_cut(variance: str, least: int, sides: Sides) -> None:
    v = Fraction(variance)
    length = min(float(v) ** 0.5, float(v) / max(least, 1))  # over so much it falls
    edges = least + np.unique((length * np.linspace(0, 4, 30)).astype(np.int64))
    drawn = gaussian_beyond(v, least, sides, 10**6, system_words())
    weights = np.abs(drawn) if sides == "two" else drawn
    assert weights.min() >= least
    true = given_beyond(v, least, edges)
    verdict = goodness(counted(weights, edges)[1:], true)
    assert verdict.fits, verdict
    if len(edges) > 3:
        for factor in OFF_GAUSSIAN:
            other = np.abs(gaussian_beyond(v * factor, least, sides, 10**6, system_words()))
            assert not goodness(counted(other, edges)[1:], true).fits, f"{factor} passes"
    if sides == "two":
        signs = np.bincount((drawn > 0).astype(int), minlength=2)
        assert goodness(signs, np.array([0.5, 0.5])).fits


def test_neighbouring_draws_are_independent_gaussian() -> None:
    """Signs of neighbours, and of numbers one block apart: four equal corners."""
    drawn = discrete_gaussian(Fraction(10**8), 1 << 20, system_words())
    high = drawn > np.median(drawn)
    share = high.mean()
    for apart in (1, 1 << 16):
        first, second = high[:-apart], high[apart:]
        keep = np.arange(first.size) // apart % 2 == 0
        corners = np.bincount(2 * first[keep] + second[keep], minlength=4)
        sides = np.array([1 - share, share])
        assert goodness(corners, np.outer(sides, sides).ravel()).fits


# ---- Over random keys, what a user keeps is a uniform subset, independent between users ----------
#
# Privacy does not need this (it holds for every fixed key); the meaning of the counts does. Keys
# are the same in every run of the tests, so a verdict is the same too.


RUNS, CELLS = 20_000, 8
FOUR = [0, 1, 2, 3]
HISTORIES: dict[str, Columns] = {
    "sequential integer ids": {"user": [5] * 4, "cell": FOUR, "id": [1, 2, 3, 4]},
    "widely spaced ids": {"user": [5] * 4, "cell": FOUR, "id": [2**20, 2**30, 2**40, 2**50]},
    "text ids": {"user": [5] * 4, "cell": FOUR, "id": ["a1", "a2", "b1", ""]},
    "text users": {"user": ["me@x"] * 4, "cell": FOUR, "id": [1, 2, 3, 4]},
    "no ids": {"user": [5] * 4, "cell": FOUR},
    "no ids, repeated records": {"user": [5] * 4, "cell": [0, 0, 1, 2]},
    "no ids, one record thrice": {"user": [5] * 4, "cell": [7, 7, 7, 2]},
}


def one_user(columns: Columns, rule: Any, engine: type[ManyKeys] = ManyKeys) -> Verdict:
    """The joint law of one user's kept records."""
    (user,) = set(columns["user"])
    found = samples(columns, rule, RUNS, cells=CELLS, engine=engine)
    return fit([sample[user] for sample in found], law_of_subsets(columns["cell"], rule.limit))


def two_users(columns: Columns, engine: type[ManyKeys] = ManyKeys) -> Verdict:
    """The joint law of what two users with equal histories keep."""
    both = {name: [*values, *values] for name, values in columns.items()}
    both["user"] = [5] * 4 + [6] * 4
    found = samples(both, SRA(2), RUNS, cells=CELLS, engine=engine)
    law = law_of_subsets(columns["cell"], 2)
    joint = {(one, other): law[one] * law[other] for one in law for other in law}
    return fit([(sample[5], sample[6]) for sample in found], joint)


@pytest.mark.parametrize("name", HISTORIES)
def test_many_keys_at_once_are_many_runs_of_one(name: str) -> None:
    """The kit's short cut keeps what a release with that key keeps."""
    columns, rule = HISTORIES[name], SRA(2)
    found = samples(columns, rule, 5, cells=CELLS)
    with DuckDBEngine() as engine:
        engine._connection.register("alone", pa.table(dict(columns)))
        for run, sample in enumerate(found):
            kept = rule.keep(
                engine, engine.table("alone"), cells=CELLS, key=key_of(run), what="records"
            )
            cells = sorted(engine.columns(kept.rows)["cell"].tolist())
            assert list(sample.values()) == [tuple(cells)]


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("name", HISTORIES)
def test_a_uniform_subset_is_kept(name: str, limit: int) -> None:
    verdict = one_user(HISTORIES[name], SRA(limit))
    assert verdict.fits, str(verdict)


def test_a_uniform_subset_of_many_records_is_kept() -> None:
    columns = {"user": [5] * 10, "cell": list(range(10)), "id": list(range(10))}
    found = samples(columns, SRA(3), RUNS, cells=16)
    verdict = fit([sample[5] for sample in found], law_of_subsets(range(10), 3))
    assert verdict.fits, str(verdict)


def test_a_uniform_subset_of_the_distinct_cells_is_kept() -> None:
    columns = {"user": [5] * 6, "cell": [0, 0, 0, 1, 2, 2]}
    found = samples(columns, SRA(2), RUNS, cells=CELLS, what="users")
    verdict = fit([sample[5] for sample in found], law_of_subsets([0, 1, 2], 2))
    assert verdict.fits, str(verdict)


def test_a_uniform_subset_in_a_domain_too_wide_to_pack() -> None:
    columns = {"user": [5] * 4, "cell": [0, 1, 2**40, 2**40 + 1]}
    found = samples(columns, SRA(2), RUNS, cells=2**41)
    verdict = fit([sample[5] for sample in found], law_of_subsets(columns["cell"], 2))
    assert verdict.fits, str(verdict)


@pytest.mark.parametrize("name", ["sequential integer ids", "no ids"])
def test_two_users_keep_independently(name: str) -> None:
    verdict = two_users(HISTORIES[name])
    assert verdict.fits, str(verdict)


def test_many_users_under_one_key() -> None:
    """The same law over users, which is what the counts of one release rest on."""
    users = np.repeat(np.arange(RUNS), 4)
    columns = {"user": users.tolist(), "cell": FOUR * RUNS, "id": list(range(4 * RUNS))}
    (sample,) = samples(columns, SRA(2), 1, cells=CELLS)
    verdict = fit(list(sample.values()), law_of_subsets(FOUR, 2))
    assert verdict.fits, str(verdict)


def test_items_of_equal_popularity_are_taken_uniformly() -> None:
    """Item 3 ranks first, the others are equal: one of them goes with it."""
    popularity = np.array([4, 4, 4, 9, 0, 0, 0, 0], dtype=np.int64)
    found = samples(HISTORIES["no ids"], HPA(2, popularity=popularity), RUNS, cells=CELLS)
    verdict = fit([sample[5] for sample in found], dict.fromkeys([(0, 3), (1, 3), (2, 3)], 1 / 3))
    assert verdict.fits, str(verdict)


# ---- mutants: the same tests must reject them ----------------------------------------------------


class NotMixedAgain(ManyKeys):
    """DuckDB's hash of several columns ends in an exclusive-or with the key."""

    def __init__(self, users: str) -> None:
        super().__init__(users)
        self._connection.execute(
            "CREATE OR REPLACE MACRO crowdtally_mix(x) AS CAST(x >> 1 AS BIGINT)"
        )


class WithoutTheUser(ManyKeys):
    """Every user keeps the same items."""

    def mixed(self, key: ibis.Value, columns: Sequence[ibis.Value]) -> ibis.Value:
        return matching.duckdb_hash(key, columns[1:])


class WithoutTheKey(ManyKeys):
    def mixed(self, key: ibis.Value, columns: Sequence[ibis.Value]) -> ibis.Value:
        return matching.duckdb_hash(0, columns)


class FewBits(ManyKeys):
    """Ties are common, and broken by the cell."""

    def mixed(self, key: ibis.Value, columns: Sequence[ibis.Value]) -> ibis.Value:
        return (super().mixed(key, columns) >> 60) * 2**60


@pytest.mark.parametrize("name", ["sequential integer ids", "widely spaced ids", "text ids"])
def test_a_hash_that_is_not_mixed_again_is_rejected(name: str) -> None:
    assert not one_user(HISTORIES[name], SRA(2), NotMixedAgain).fits


@pytest.mark.parametrize("name", ["sequential integer ids", "no ids"])
def test_a_hash_without_the_user_is_rejected(name: str) -> None:
    assert one_user(HISTORIES[name], SRA(2), WithoutTheUser).fits
    assert not two_users(HISTORIES[name], WithoutTheUser).fits


@pytest.mark.parametrize("engine", [WithoutTheKey, FewBits])
def test_other_poor_hashes_are_rejected(engine: type[ManyKeys]) -> None:
    assert not one_user(HISTORIES["no ids"], SRA(2), engine).fits


# ---- Our integer Laplace and Gaussian noise and OpenDP's come from one law -----------------------


DRAWS = 50_000


def opendp_laplace(scale: float, n: int) -> np.ndarray:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return np.array(dp.m.make_laplace(*space, scale=scale)([0] * n))


@pytest.mark.parametrize("scale", [1, 10, 100])
def test_two_samples_of_one_law(scale):
    theirs = opendp_laplace(float(scale), DRAWS)
    verdict = two_samples(discrete_laplace(Fraction(scale), DRAWS, system_words()), theirs)
    assert verdict.fits, f"scale {scale}: {verdict}"
    fifth_more = discrete_laplace(Fraction(scale) * Fraction(6, 5), DRAWS, system_words())
    assert not two_samples(fifth_more, theirs).fits, "a fifth more passes too"


def opendp_gaussian(scale: float, n: int) -> np.ndarray:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    return np.array(dp.m.make_gaussian(*space, scale=scale)([0] * n))


@pytest.mark.parametrize("scale", [1, 10, 300])
def test_two_samples_of_one_gaussian_law(scale):
    """OpenDP asks for the deviation, ours for the variance."""
    theirs = opendp_gaussian(float(scale), DRAWS)
    ours = discrete_gaussian(Fraction(scale) ** 2, DRAWS, system_words())
    verdict = two_samples(ours, theirs)
    assert verdict.fits, f"scale {scale}: {verdict}"
    fifth_more = discrete_gaussian((Fraction(scale) * Fraction(6, 5)) ** 2, DRAWS, system_words())
    assert not two_samples(fifth_more, theirs).fits, "a fifth more passes too"
