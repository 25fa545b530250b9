"""Releases at a very large ε: their noise is 0 but with a probability far below 10^-100."""

from __future__ import annotations

import secrets

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct

LOUD = "100000"
FORMS = [
    {},
    {"summary": ct.Filter(size=5000)},
    {"summary": ct.Filter(cut=1, sides="one")},
    {"summary": ct.Threshold(size=5000, guess_total=100)},
    {"summary": ct.Threshold("1/2", sides="one")},
    {"summary": ct.Priority(5000)},
    {"summary": ct.FilterPriority(5000)},
    {"transform": ct.Dyadic("age")},
    {"summary": ct.Filter(size=5000), "transform": ct.Dyadic(["age", "region"])},
    {"summary": ct.Threshold(size=5000), "transform": ct.Dyadic("age")},
    {"summary": ct.Priority(5000), "transform": ct.Dyadic("age")},
    {"summary": ct.FilterPriority(5000), "transform": ct.Dyadic(["age", "region"])},
    {"transform": ct.Haar("age")},
    {"summary": ct.Filter(size=5000), "transform": ct.Haar("region")},
    {"summary": ct.Threshold(size=5000), "transform": ct.Haar("age")},
    {"summary": ct.FilterPriority(5000), "transform": ct.Haar("age")},
]
AGES, SEXES, REGIONS = list(range(20)), ["F", "M"], ["north", "south", "east", "west", "sea", "no"]


@pytest.fixture(autouse=True)
def _ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _hashes(monkeypatch):
    """One public seed of sketches for all runs; otherwise cells collide in some of them."""
    monkeypatch.setattr(secrets, "randbits", lambda bits: 7)


def people(rows: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Ages, sexes and regions; some outside the lists, some null."""
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(0, 22, rows),
        "sex": rng.choice(["F", "M", "other"], rows, p=[0.5, 0.4, 0.1]),
        "region": rng.choice([*REGIONS, "abroad"], rows, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05]),
    }


DOMAIN = {"age": AGES, "sex": SEXES, "region": REGIONS}


def table_of(columns, weights=None) -> np.ndarray:
    """The exact counts of the rows that lie within the lists, by the definition."""
    table = np.zeros([len(values) for values in DOMAIN.values()], dtype=np.int64)
    for place, row in enumerate(zip(*(columns[name].tolist() for name in DOMAIN), strict=True)):
        if all(value in DOMAIN[name] for value, name in zip(row, DOMAIN, strict=True)):
            weight = 1 if weights is None else weights[place]
            if weight is not None and weight > 0:
                codes = [DOMAIN[name].index(v) for v, name in zip(row, DOMAIN, strict=True)]
                table[tuple(codes)] += weight
    return table


def released(columns, **options) -> ct.Release:
    """A release of a table of attributes, saved and opened again."""
    records = ct.read(
        pa.table(columns), user_per_row=True, attributes=list(DOMAIN),
        weight=options.pop("weight", None),
    )  # fmt: skip
    domain = ct.Domain(attributes=DOMAIN)
    given = {"epsilon": LOUD, "dataset": "people", "output": "out"} | options
    made = ct.release(records, domain, **given, new_dataset=True)
    return ct.load(made.folder)


QUESTIONS = {
    None: lambda age, sex, region: age > -1,
    "age between 5 and 12 and sex = 'F'": lambda age, sex, region: (
        (age >= 5) & (age <= 12) & (sex == "F")
    ),
    "age <= 3 or region = 'sea'": lambda age, sex, region: (age <= 3) | (region == "sea"),
    "region between 'south' and 'west' and not age in (1, 2, 19)": lambda age, sex, region: (
        np.isin(region, ["south", "east", "west"]) & ~np.isin(age, [1, 2, 19])
    ),
}


def check_exactly(release: ct.Release, table: np.ndarray) -> None:
    axes = np.ix_(AGES, SEXES, REGIONS)
    for where, means in QUESTIONS.items():
        meant = np.broadcast_to(means(*axes), table.shape)
        answer = release.sum(where)
        assert answer.value == pytest.approx(table[meant].sum(), abs=1e-9), where
        assert answer.cells == meant.sum()
        assert answer.table == "cells"
        assert answer.counted == "users"
    assert release.point(age=7, sex="M", region="east").value == pytest.approx(table[7, 1, 2])
    assert release.prefix("age", 9, sex="F").value == pytest.approx(table[:10, 0].sum())
