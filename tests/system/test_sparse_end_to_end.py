"""From records to sums: every publishing and transform, through ``ct.release`` and ``ct.load``.

At a very large ε the noise is 0 but with a probability far below 10^-100, so that what is wrong is
not hidden by it. How noise and sampling behave is in ``tests/reader/test_sums.py``.
"""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from kit.loud import (
    DOMAIN,
    FORMS,
    LOUD,
    _hashes,
    _ledger,
    check_exactly,
    people,
    released,
    table_of,
)

__all__ = ["_hashes", "_ledger"]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
def test_a_mid_size_table_without_noise_is_exact(form):
    columns = people(3000)
    check_exactly(released(columns, **form), table_of(columns))


@pytest.mark.parametrize("form", FORMS[1::5], ids=lambda form: "-".join(map(str, form.values())))
def test_a_tiny_table_without_noise_is_exact(form):
    columns = {
        "age": np.array([3, 3, 19]),
        "sex": np.array(["F", "F", "M"]),
        "region": np.array(["no", "no", "north"]),
    }
    check_exactly(released(columns, **form), table_of(columns))


@pytest.mark.usefixtures("_hashes")
def test_a_sketch_of_many_buckets_is_nearly_exact():
    """Cells share buckets; with 2^14 of them few do, and the mean of five rows evens them out."""
    columns = people(300)
    release = released(columns, transform="sketch", buckets=2**14)
    table = table_of(columns)
    answer = release.sum("age < 10 and sex = 'F'")
    assert answer.value == pytest.approx(table[:10, 0].sum(), abs=3)
    assert answer.standard_error < 3
    assert "hashes" in answer.unbiased_for


def test_noise_is_as_stated():
    """At ε = 1 a sum over 40 cells is off by a few standard errors at most, and says how many."""
    columns = people(3000)
    release = released(columns, epsilon=1, publishing="priority", size=100)
    answer = release.sum("region = 'north'")
    assert answer.cells == 40
    assert abs(answer.value - table_of(columns)[:, :, 0].sum()) < 8 * answer.standard_error
    assert answer.standard_error > 40**0.5


# ---- who stands for whom ------------------------------------------------------------------------


def test_weights_say_how_many_persons_a_row_stands_for(caplog):
    columns = people(400)
    weights = [None, 0, -3, 1000, *([5] * 396)]
    caplog.set_level(logging.WARNING)
    release = released(columns | {"w": pa.array(weights, pa.int64())}, weight="w")
    table = table_of(columns, weights)
    check_exactly(release, table)
    assert "stands for as many persons as its weight says" in str(release.metadata["guarantee"])
    within = [all(columns[n][i] in DOMAIN[n] for n in DOMAIN) for i in range(400)]
    kept = sum(inside and i > 2 for i, inside in enumerate(within))
    told = " ".join(record.getMessage() for record in caplog.records)
    assert f"{400 - kept} with a value outside the lists or without a weight" in told


def test_each_row_is_one_person_and_the_release_says_so():
    guarantee = released(people(20), publishing="filter", size=50).metadata["guarantee"]
    assert guarantee["unit"] == {"kind": "row", "column": None}
    assert "each row is one person" in guarantee["words"]


# ---- domains of all sizes -----------------------------------------------------------------------


@pytest.mark.usefixtures("_hashes")
@pytest.mark.parametrize(
    "form",
    [
        {"publishing": "threshold", "size": 1000},
        {"publishing": "filter-priority", "size": 1000},
        {"publishing": "filter-priority", "size": 1000, "transform": "dyadic", "ordered": "a0,a39"},
        {"publishing": "filter", "size": 1000, "transform": "haar", "ordered": "a0"},
        {"transform": "sketch", "buckets": 4096},
    ],
    ids=lambda form: "-".join(map(str, form.values())),
)
def test_forty_attributes(form):
    """4^40 cells are more than 2^63: nothing wraps round, and r is exact."""
    names = [f"a{i}" for i in range(40)]
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 4, (30, 40))
    columns = {name: rows[:, place] for place, name in enumerate(names)}
    records = ct.read(pa.table(columns), user_per_row=True, attributes=names)
    domain = ct.Domain(attributes={name: range(4) for name in names})
    release = ct.release(records, domain, epsilon=LOUD, dataset="forty", **form, new_dataset=True)
    point = release.point(**{name: int(rows[0, place]) for place, name in enumerate(names)})
    assert point.cells == 1
    assert point.value == pytest.approx(1, abs=0.6)
    if form.get("transform") == "sketch":
        with pytest.raises(ct.UsageError, match="one by one"):
            release.sum("a0 = 0")
        return
    answer = release.sum("a0 between 1 and 2 and a39 != 3 and a5 = 0")
    wanted = np.isin(rows[:, 0], [1, 2]) & (rows[:, 39] != 3) & (rows[:, 5] == 0)
    assert answer.cells == 2 * 3 * 4**37
    assert answer.value == pytest.approx(wanted.sum())
    either = release.sum("a0 = 0 or a1 = 0")
    assert either.cells == 4**40 - 9 * 4**38
    assert either.value == pytest.approx(((rows[:, 0] == 0) | (rows[:, 1] == 0)).sum())


@pytest.mark.parametrize(
    "form",
    [
        *(FORMS[number] for number in (0, 1, 4, 6)),
        {"transform": "dyadic", "ordered": "a"},
        {"transform": "haar", "ordered": "a"},
        {"transform": "sketch", "buckets": 1},
    ],
    ids=lambda form: "-".join(map(str, form.values())),
)
def test_a_domain_of_one_cell(form):
    records = ct.read(pa.table({"a": ["x"] * 7}), user_per_row=True, attributes=["a"])
    domain = ct.Domain(attributes={"a": ["x"]})
    release = ct.release(records, domain, epsilon=LOUD, dataset="one", **form, new_dataset=True)
    answer = release.point(a="x")
    assert (answer.value, answer.cells) == (7, 1)
    assert release.sum().value == 7


@pytest.mark.parametrize("publishing", ["filter", "threshold", "priority", "filter-priority"])
def test_a_table_without_an_empty_cell(publishing):
    columns = {"a": np.repeat(np.arange(50), np.arange(1, 51))}
    records = ct.read(pa.table(columns), user_per_row=True, attributes=["a"])
    domain = ct.Domain(attributes={"a": range(50)})
    release = ct.release(
        records,
        domain,
        epsilon=LOUD,
        dataset="full",
        publishing=publishing,
        size=50,
        new_dataset=True,
    )
    assert release.sum("a < 10").value == 55
    assert release.sum().value == 1275
