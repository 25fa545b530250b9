"""A summary is released whatever the records are, and extreme parameters lose nothing."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.counts import Counts, Keeping
from crowdtally.core.integers import exact_product, exact_sum, integers, repeated
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.choices.bounds import RowTable
from crowdtally.curator.choices.dpsense_s import DPSenseSChoice
from crowdtally.curator.summaries import sparse as sampling
from crowdtally.curator.summaries.sparse import draw_sample, empty_values
from crowdtally.curator.summaries.threshold import filter_summary
from crowdtally.errors import UsageError
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from kit.draws import Seeded
from kit.publishing import made
from kit.summaries import RULES, named, priority_summary, threshold_summary

# ---- Whether a release appears is decided by public numbers, never by the records ----------------
#
# Each request below is accepted, with parameters as extreme as a person may type them. It must
# then be released from every database alike: from an empty one, from one without a record in the
# domain, from one user, and from many.


ISSUE, LONG, LONGER = (f"{whole}.{'0' * zeros}1" for whole, zeros in ((100, 19), (1, 40), (3, 960)))
"""Decimals beyond 64 bits, beyond 128, and as long as may be typed: beyond any float."""
TINY, HUGE = "1e-390", "1e300"
DAYS = 5
DOMAIN = ct.Domain(["a", "b", "c"], {"day": range(DAYS)})


def town(*rows: tuple[str, str, int]) -> pa.Table:
    names, kinds = ("user", "item", "day"), (pa.string(), pa.string(), pa.int64())
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    pairs = zip(names, columns, kinds, strict=True)
    return pa.table({name: pa.array(list(column), kind) for name, column, kind in pairs})


DATABASES = {
    "empty": town(),
    "outside": town(("u", "not listed", 0)),
    "one user": town(("u", "a", 1)),
    "many": town(*((f"u{n % 300}", "abc"[n % 3], n % DAYS) for n in range(3000))),
}

_DYADIC, _HAAR = {"transform": ct.Dyadic("day")}, {"transform": ct.Haar("day")}
_PRIORITY = {"summary": ct.Priority(2, threshold=LONGER)}
FORMS: dict[str, dict[str, Any]] = {
    "dense": {},
    "filter, largest cut": {"summary": ct.Filter(cut=2**40)},
    "filter, one cell": {"summary": ct.Filter(size=1)},
    "threshold of the issue": {"summary": ct.Threshold(ISSUE)},
    "threshold, longer": {"summary": ct.Threshold(LONGER)},
    "threshold, one side": {"summary": ct.Threshold(LONG, sides="one")},
    "threshold, tiny": {"summary": ct.Threshold(TINY)},
    "threshold, huge": {"summary": ct.Threshold(HUGE)},
    "priority, longer": _PRIORITY,
    "priority, tiny": {"summary": ct.Priority(2, threshold=TINY)},
    "filter-priority": {"summary": ct.FilterPriority(2, cut=1, threshold=LONGER)},
    "dyadic, threshold": _DYADIC | {"summary": ct.Threshold(LONGER)},
    "dyadic, filter-priority": _DYADIC | {"summary": ct.FilterPriority(2, cut=1)},
    "haar, threshold": _HAAR | {"summary": ct.Threshold(LONG)},
    "haar, priority": _HAAR | _PRIORITY,
    "sketch": {"transform": ct.Sketch(4)},
}
METHODS: dict[str, dict[str, Any]] = {
    "rank": {"method": ct.SRA(choose="rank")},
    "dpsense": {"method": ct.DPSense(3, choose="dpsense"), "count": "users"},
    "dpsense-s": {
        "method": ct.DPSenseS(3, cap=2, choose="dpsense", scalings=["1", "1.000001", "2"])
    },
    "dpsense-s, one scaling": {"method": ct.DPSenseS(3, cap=2, choose="dpsense", scalings="1")},
}
ALL, FURTHEST = "all", "furthest apart"
CHOSEN = {ALL: list(DATABASES), FURTHEST: ["empty", "many"]}
AT = [
    pytest.param(LONGER, ALL, id="a decimal"),
    pytest.param("1e20", FURTHEST, id="large"),
    pytest.param("1e20", ALL, id="large, all", marks=pytest.mark.long),
]
"""ε, and which databases: with the same code behind both, one ε goes through all of them."""


def check(folder: Path, domain: ct.Domain | None, chosen: str = ALL, **options: Any) -> None:
    """Released from every database; a refusal would raise."""
    for name in CHOSEN[chosen]:
        release = made(folder, DATABASES[name], domain, name=name, **options)
        assert release.folder == folder / name


@pytest.mark.parametrize(("epsilon", "chosen"), AT)
@pytest.mark.parametrize("form", FORMS)
def test_every_form(form: str, epsilon: str, chosen: str, tmp_path: Path) -> None:
    check(tmp_path, DOMAIN, chosen, epsilon=epsilon, **FORMS[form])


@pytest.mark.parametrize(("epsilon", "chosen"), AT)
@pytest.mark.parametrize("method", METHODS)
def test_every_method(method: str, epsilon: str, chosen: str, tmp_path: Path) -> None:
    sparse = {"summary": ct.Threshold(ISSUE)}
    check(tmp_path, DOMAIN, chosen, epsilon=epsilon, **METHODS[method], **sparse)


@pytest.mark.parametrize(
    "form", ["dense", "filter, one cell", "dyadic, filter-priority", "haar, priority", "sketch"]
)
def test_the_largest_quantities(form: str, tmp_path: Path) -> None:
    """l = C = 2^31: bounds of 2^62, and beyond 64 bits under a transform."""
    most = 2**31
    roles = {"quantity": "n", "max_quantity": most}
    for name, rows in DATABASES.items():
        bought = rows.append_column("n", pa.array([2**40] * len(rows), pa.int64()))
        release = made(
            tmp_path, bought, DOMAIN, name=name, roles=roles, epsilon="1e5", method=ct.SRA(most),
            **FORMS[form],
        )  # fmt: skip
        bounds = [table["sensitivity"] for table in release.metadata["tables"]]
        factors = {"dyadic": 4, "haar": 4, "sketch": 5}.get(form.split(",")[0], 1)
        assert max(bounds) == most**2 * factors


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("delta", ["a thirtieth", "1e-300"])
@pytest.mark.parametrize("epsilon", ["1e-9", "3.1", "1e20", HUGE])
def test_discovery(epsilon: str, delta: str, noise: str, tmp_path: Path) -> None:
    """At 1e20 the δ that is reported has 10^19 zeros, and must not be written down."""
    thirtieth = f"0.0{'3' * 960}"
    check(
        tmp_path, None, ALL if delta == "a thirtieth" else FURTHEST, method=ct.Discover("item"),
        noise=noise, epsilon=epsilon, delta=thirtieth if delta == "a thirtieth" else delta,
    )  # fmt: skip


def test_a_discovery_of_nothing_but_noise_is_refused(tmp_path: Path) -> None:
    for noise in ("laplace", "gaussian", "auto"):
        with pytest.raises(ct.UsageError, match="beyond any count"):
            check(
                tmp_path,
                None,
                method=ct.Discover("item"),
                noise=noise,
                epsilon="1e-300",
                delta="1e-300",
            )


# ---- the same below whole releases, where a chance need not be waited for ------------------------


@pytest.mark.parametrize("values", [[], [0], [0, 0], [1], [-3]])
@pytest.mark.parametrize("factor", [0, 1, 2**63 - 1, 2**63, -(2**63), 10**40])
def test_products_of_any_factor(values: list[int], factor: int) -> None:
    made_of = exact_product(np.array(values, dtype=np.int64), factor)
    assert made_of.tolist() == [value * factor for value in values]


@pytest.mark.parametrize(
    ("value", "factor"),
    [(2**40, 2**23), (2**40, 2**24), (2**62, 2), (-(2**62), 3), (3, 2**62), (7, 2**61 - 1)],
)
def test_products_at_the_limit_of_64_bits(value: int, factor: int) -> None:
    assert exact_product(np.array([0, value]), factor).tolist() == [0, value * factor]
    assert exact_product(np.array([0, value]), -factor).tolist() == [0, -value * factor]


@pytest.mark.parametrize("size", [0, 2])
@pytest.mark.parametrize("number", [0, 2**63 - 1, 2**63, 10**40])
def test_one_number_many_times(number: int, size: int) -> None:
    assert repeated(number, size).tolist() == [number] * size


@pytest.mark.parametrize("threshold", [10**20, 10**40, Fraction(ISSUE), Fraction(LONGER)])
@pytest.mark.parametrize("size", [0, 40])
def test_values_of_empty_cells(threshold: Fraction | int, size: int) -> None:
    keeping = Keeping(0, Fraction(threshold))
    values = empty_values(size, DiscreteLaplace(Fraction(10)), keeping, SystemDraws(Seeded(3)))
    assert len(values) == size
    assert all(values != 0)


@pytest.mark.parametrize("threshold", ["1/2", LONG, LONGER, TINY, "5"])
def test_priorities_of_any_threshold(threshold: str) -> None:
    """More cells than are wanted, so that their priorities are compared."""
    counts = Counts(100, np.arange(100), np.full(100, 1000), 1)
    found = priority_summary(
        counts, Epsilon.of(1), SystemDraws(Seeded(5)), size=7, threshold=Fraction(threshold)
    )
    assert len(found.cells) == 7
    assert found.threshold is not None
    assert found.threshold > 900


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_scores_where_epsilon_is_beyond_64_bits(rows: int) -> None:
    """Rows of one cell err by nothing, as no rows do."""
    publish = Epsilon.of(10**20)
    choice = DPSenseSChoice(4, 3, Epsilon.of(1), publish, 1, (Fraction(1),))
    ones = np.ones(rows, dtype=np.int64)
    scores = choice.scores(RowTable(ones, 0 * ones, ones))
    assert scores.ravel().tolist() == [-4 * choice.grid * theta for theta in (1, 2, 3)]


# ---- Extreme tables and parameters: clear errors or correct results, nothing lost ----------------


ONE = Epsilon.of(1)


def sparse(size, cells, values, l1_bound=1, signed=False):
    return Counts(size, cells, values, l1_bound, signed=signed)


def publish_all(counts, epsilon=ONE, sides="two"):
    draws = SystemDraws(Seeded(4))
    yield filter_summary(counts, epsilon, draws, cut=3, sides=sides)
    yield threshold_summary(counts, epsilon, draws, threshold=Fraction(7, 2), sides=sides)
    yield threshold_summary(counts, epsilon, draws, threshold=Fraction(9), cut=3, sides=sides)
    yield threshold_summary(counts, epsilon, draws, threshold=Fraction(2), cut=3, sides=sides)
    yield priority_summary(counts, epsilon, draws, size=3, sides=sides)
    yield priority_summary(counts, epsilon, draws, size=3, cut=2, sides=sides)


@pytest.mark.parametrize("sides", ["one", "two"])
@pytest.mark.parametrize(
    "counts",
    [
        sparse(1, [], []),
        sparse(1, [0], [5]),
        sparse(4, [], []),
        sparse(4, [0, 1, 2, 3], [9, 9, 9, 9]),
        sparse(1000, np.arange(1000), np.arange(1000)),
    ],
    ids=["N=1 empty", "N=1", "n=0", "n=N", "n=N larger"],
)
def test_small_and_full_tables(counts, sides):
    for found in publish_all(counts, sides=sides):
        assert (np.diff(found.cells) > 0).all()
        assert len(found.cells) == len(found.values) <= counts.size
        assert set(found.cells.tolist()) <= set(range(counts.size))
        weights = np.abs(found.values) if sides == "two" else found.values
        assert (weights >= max(found.keeping.cut, 1)).all()
        assert json.loads(json.dumps(found.facts()))["domain_cells"] == counts.size


@pytest.mark.parametrize(
    "size",
    [10**18, 2**61 + 1, 2**63, 2**63 + 1, 10**30, 7**400],
    ids=lambda n: f"{n.bit_length()} bits",
)
def test_large_domains_lose_nothing(size):
    """Large counts at both ends are there, exactly, among about a hundred empty cells."""
    cells = [0, 1, size // 2, size - 2, size - 1]
    values = [1000, 2000, 3000, 4000, 5000]
    cut = 1 + round(np.log(size / 100.0) if size < 10**300 else np.log(7) * 400 - np.log(100))
    counts = sparse(size, cells, [v + cut for v in values])
    found = filter_summary(counts, ONE, SystemDraws(Seeded(1)), cut=cut)
    kept = dict(zip(found.cells.tolist(), found.values.tolist(), strict=True))
    for cell, value in zip(cells, values, strict=True):
        assert abs(kept.pop(cell) - value - cut) < 60
    assert 20 < len(kept) < 300
    assert list(kept) == sorted(set(kept))
    assert min(kept) < size // 4 < size * 3 // 4 < max(kept)
    assert found.cells.dtype == (np.int64 if size <= 2**63 else object)
    assert all(isinstance(cell, int) for cell in found.cells.tolist())


def test_cells_beyond_64_bits_are_discarded_where_they_are_listed():
    size = 2**64 + 3
    cells = list(range(2**64 - 50, 2**64))
    counts = sparse(size, cells, [10**6] * 50)
    found = priority_summary(counts, ONE, SystemDraws(Seeded(2)), size=45, cut=1)
    assert len(set(found.cells.tolist())) == len(found.cells) == 45
    for cell, value in zip(found.cells.tolist(), found.values.tolist(), strict=True):
        assert (cell in cells) == (value > 10**5)


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_without_noise_the_rule_decides_alone(rule):
    """Scale 1/1000: what the rule keeps surely is kept, and what it drops surely is dropped."""
    values = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 20, -1, -5, -8, -20])
    size = 100 if rule.keeps_all or (rule.sides == "one" and rule.least == 0) else 10**15
    counts = sparse(size, np.arange(len(values)), values)
    cells, found = draw_sample(
        counts, DiscreteLaplace(Fraction(1, 1000)), rule, SystemDraws(Seeded(3))
    )
    kept = dict(zip(cells.tolist(), found.tolist(), strict=True))
    for cell, value in enumerate(values.tolist()):
        weight = abs(value) if rule.sides == "two" else value
        if cell in kept:
            assert kept[cell] == value
            assert weight >= rule.cut
        else:
            assert weight < rule.cut or (rule.threshold and weight < rule.threshold)
    if rule.least:
        assert max(kept) < len(values)


def test_listing_a_zero_changes_nothing():
    """A coefficient that happens to be 0 may be listed or not: only the draws' order differs."""
    rule, scale = Keeping(1, Fraction(7, 2)), Fraction(3)
    sums = []
    for cells in (np.arange(0, 40_000, 2), np.arange(0)):
        counts = sparse(40_000, cells, np.zeros(len(cells), dtype=np.int64))
        found, values = draw_sample(counts, DiscreteLaplace(scale), rule, SystemDraws(Seeded(5)))
        sums.append((len(found), np.abs(values).sum()))
    (first, total), (second, other) = sums
    assert abs(first - second) < 6 * (first + second) ** 0.5
    assert abs(total - other) < 6 * 10 * (first + second) ** 0.5


def test_counts_and_noise_beyond_64_bits_do_not_wrap():
    counts = sparse(3, [0, 1, 2], [2**63 - 1, -(2**63), 10**40])
    found = threshold_summary(
        counts, Epsilon.of("1e-25"), SystemDraws(Seeded(6)), threshold=Fraction(10**39, 7)
    )
    assert found.values.dtype == object
    assert abs(found.values[-1] - 10**40) < 10**28
    assert exact_sum(np.array([2**62]), np.array([2**62])).tolist() == [2**63]
    assert exact_sum(np.array([5]), 7).tolist() == [12]
    assert exact_product(np.array([2**40, -3]), 2**40).tolist() == [2**80, -3 * 2**40]


def test_a_cut_beyond_the_threshold_is_the_filter():
    counts = sparse(10**6, [5], [100])
    draws = [SystemDraws(Seeded(7)) for _ in range(2)]
    sampled = threshold_summary(counts, ONE, draws[0], threshold=Fraction(9, 2), cut=5)
    filtered = filter_summary(counts, ONE, draws[1], cut=5)
    assert sampled.cells.tolist() == filtered.cells.tolist()
    assert sampled.values.tolist() == filtered.values.tolist()


def test_two_sided_cut_zero_is_dense():
    found = filter_summary(sparse(50, [3], [9]), ONE, SystemDraws(), cut=0)
    assert found.publishing == "dense"
    assert found.cells.tolist() == list(range(50))
    assert 0 in found.values.tolist()


def test_one_sided_cut_zero_keeps_zeros_and_nothing_below():
    found = filter_summary(sparse(1000, [], []), ONE, SystemDraws(Seeded(8)), cut=0, sides="one")
    assert found.values.min() == 0
    assert 650 < len(found.cells) < 810  # 1/(1+α) = 0.731


def test_more_cells_than_fit_are_refused_before_anything_is_drawn():
    for size, cut in [(10**18, 1), (10**9, 0), (10**40, 30)]:
        with pytest.raises(UsageError, match="raise the cut"):
            filter_summary(sparse(size, [], []), ONE, None, cut=cut)
    with pytest.raises(UsageError, match="smaller size"):
        priority_summary(sparse(10**18, [], []), ONE, None, size=10**9)


def test_signed_counts_are_refused_one_sided():
    counts = sparse(8, [1], [-4], signed=True)
    for make in (
        lambda: filter_summary(counts, ONE, None, cut=2, sides="one"),
        lambda: threshold_summary(counts, ONE, None, threshold=Fraction(2), sides="one"),
        lambda: priority_summary(counts, ONE, None, size=2, sides="one"),
    ):
        with pytest.raises(UsageError, match="two-sided"):
            make()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cut": -1}, "cut must be"),
        ({"cut": 1.5}, "cut must be"),
        ({"cut": True}, "cut must be"),
        ({"cut": 2**63}, "cut must be"),
        ({"threshold": Fraction(0)}, "greater than 0"),
        ({"threshold": Fraction(-3)}, "greater than 0"),
        ({"threshold": 2.5}, "must be a Fraction"),
        ({"sides": "both"}, "'one' or 'two'"),
    ],
)
def test_rules_that_are_none(arguments, words):
    with pytest.raises(UsageError, match=words):
        Keeping(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, [], []), "number of cells"),
        ((-1, [], []), "number of cells"),
        ((True, [], []), "number of cells"),
        ((5, [0], [1], 0), "L1 bound"),
        ((5, [0], [1], 1.0), "L1 bound"),
        ((5, [1, 1], [1, 1]), "each once"),
        ((5, [2, 1], [1, 1]), "ascending"),
        ((5, [5], [1]), "outside the domain"),
        ((5, [-1], [1]), "outside the domain"),
        ((5, [1], [1, 2]), "one count"),
        ((5, [1.0], [1]), "must be integers"),
        ((5, [1], [0.5]), "must be integers"),
        ((10**30, [10**29], [Fraction(1, 2)]), "must be integers"),
    ],
)
def test_tables_that_are_none(arguments, words):
    with pytest.raises(UsageError, match=words) as refused:
        Counts(*arguments, **({} if len(arguments) > 3 else {"l1_bound": 1}))
    assert "[" not in str(refused.value)  # no cell and no count in the message


def test_integers_take_the_smallest_kind_that_holds_them():
    assert integers([1, 2]).dtype == np.int64
    assert integers(np.array([1, 2], dtype=np.uint8)).dtype == np.int64
    assert integers(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [2**64 - 1]
    assert integers(np.array([3, 4], dtype=object)).dtype == np.int64
    assert integers([]).dtype == np.int64


def test_mutant_merging_by_arrival_would_show(monkeypatch):
    """The order of cells is checked on a table where it could differ."""
    counts = sparse(100, [90, 95], [50, 50])
    found = filter_summary(counts, ONE, SystemDraws(Seeded(9)), cut=1)
    assert (np.diff(found.cells) > 0).all()
    monkeypatch.setattr(
        sampling, "_merged", lambda c, v, e, n: (np.concatenate([c, e]), np.concatenate([v, n]))
    )
    found = filter_summary(counts, ONE, SystemDraws(Seeded(9)), cut=1)
    assert not (np.diff(found.cells) > 0).all()
