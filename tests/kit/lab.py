"""What the lab's tests share: visits, a comparison made of formulas, simulated mechanisms."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from math import exp, nan
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import crowdtally as ct
from crowdtally.core.records import Records
from crowdtally.curator.request.request import make_subject
from crowdtally.lab.auditing.certify import Certificate, certify
from crowdtally.lab.auditing.observe import ABSENT, Matrix, Runs
from crowdtally.lab.comparison.records import Held, hold
from crowdtally.lab.comparison.summary import Facts, Setting, Summary
from crowdtally.records.duckdb import DuckDBEngine

# ---- Visits of a hamlet, to compare methods on ---------------------------------------------------


PLACES = ["bar", "cafe", "park", "pier", "zoo"]
DAYS = ["Mon", "Tue"]
NAMES = ["sra", "hpa", "declared", "sra+rank", "lpa", "gs"]
"""Methods of every kind: with one step, with several, and baselines."""


def write_visits(path: Path, more: int = 0) -> Path:
    """Visits of 11 people, of whom one made 40 and the others a few each."""
    users = [user for user in range(10) for _ in range(user + 1)] + [99] * (40 + more)
    pyarrow.parquet.write_table(
        pa.table(
            {
                "who": [f"visitor-{user}" for user in users],
                "place": [PLACES[(place * place) % 5] for place in range(len(users))],
                "day": [DAYS[place % 2] for place in range(len(users))],
            }
        ),
        path,
    )
    return path


def declared(visits: object) -> Records:
    """The roles of their columns."""
    return ct.read(visits, user="who", item="place", contexts=["day"])


def held_in(folder: Path, records: Records, domain: ct.Domain) -> Held:
    """The records as a comparison holds them."""
    with DuckDBEngine() as engine:
        return hold(make_subject(records, domain), folder, engine)


# ---- A comparison that nobody ran: numbers that look like real ones, by formulas -----------------


METHODS = ("sra", "hpa", "dpsense", "dpsense+rank")
BASELINES = ("lpa", "gs")
LARGEST = 2314

FACTS = Facts(
    source="visits.parquet",
    count="records",
    records=1_000_209,
    users=6_040,
    items=3_883,
    cells={"items": 3_883, "edges": 27_181},
    largest=LARGEST,
    epsilons=("0.1", "1", "10"),
    runs=20,
    keys=5,
    started=datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
    finished=datetime(2026, 3, 1, 9, 31, 40, tzinfo=UTC),
    command="crowdtally lab compare visits.parquet --user u --item place -o compared",
    versions={"crowdtally": "0.1.0", "Python": "3.12.3"},
    contexts={"weekday": 7},
    baselines=frozenset(BASELINES),
    skipped={"sra/haar": "the domain has no ordered attribute"},
)


def summary(
    method: str,
    mean: float,
    error: float = 1.0,
    *,
    bound: int | None = 10,
    epsilon: str = "1",
    table: str = "items",
    metric: str = "mae",
    k: int | None = None,
    keys: int = 5,
) -> Summary:
    """One number."""
    setting = Setting(method, epsilon, bound)
    return Summary(setting, table, metric, k, mean, error, keys, keys * 4)


def compared(
    methods: Sequence[str] = METHODS,
    *,
    baselines: Sequence[str] = BASELINES,
    epsilons: Sequence[str] = FACTS.epsilons,
    bounds: Sequence[int] = (3, 10, 30, 100),
    tables: Sequence[str] = ("items", "edges"),
    ks: Sequence[int] = (10, 20, 50, 100),
    missing: bool = False,
) -> tuple[list[Summary], Facts]:
    """Noise that grows with the bound, bias that falls with it, and a skill for each method."""
    draw = random.Random(7)
    summaries = []
    for place, method in enumerate([*methods, *baselines]):
        own = (None,) if method in baselines else tuple(bounds)
        skill = 1 + 0.15 * place
        for epsilon in epsilons:
            for bound in own:
                for table in tables:
                    setting = Setting(method, epsilon, bound)
                    summaries += _numbers(setting, table, skill, ks, draw)
    if missing:
        summaries = [
            replace(one, mean=nan, standard_error=nan) if index % 11 == 3 else one
            for index, one in enumerate(summaries)
        ]
    facts = replace(FACTS, epsilons=tuple(epsilons), baselines=frozenset(baselines))
    return summaries, facts


def _numbers(
    setting: Setting, table: str, skill: float, ks: Sequence[int], draw: random.Random
) -> list[Summary]:
    bound = setting.max_records or LARGEST
    share = 1.0 if table == "items" else 1 / 7
    noise = 2 * bound / float(Fraction(setting.epsilon)) * skill
    bias = 250 * exp(-bound / 60) * share * skill
    mae = noise + bias

    def one(metric: str, k: int | None, mean: float) -> Summary:
        wobble = 1 + draw.gauss(0, 0.01)
        return Summary(
            setting, table, metric, k, mean * wobble, mean * draw.uniform(0.004, 0.02), 5, 20
        )

    found = [one("mae", None, mae), one("mse", None, 2 * mae**2), one("kl", None, mae / 500)]
    for k in ks:
        hit = exp(-mae / 900) * (1 - 0.1 * draw.random()) / (1 + k / 2000)
        found.append(one("precision", k, min(max(hit, k / 3_883), 0.98)))
    return found


# ---- Made-up mechanisms with a known loss, drawn by numpy: quick stand-ins for real releases -----


Mechanism = Callable[[np.random.Generator, int, bool], Matrix]
"""From the number of runs, and whether the user is there."""


def laplace(rng: np.random.Generator, scale: float, shape: Any) -> Any:
    """Discrete Laplace noise."""
    p = -np.expm1(-1 / scale)
    return rng.geometric(p, shape) - rng.geometric(p, shape)


def dense(changes: list[int], scale: float, base: int = 20) -> Mechanism:
    """Every cell, of which the user changes these."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> Matrix:
        exact = base + there * np.array(changes)
        return np.asarray(exact + laplace(rng, scale, (runs, len(changes))), dtype=np.int64)

    return draw


def cut(mechanism: Mechanism, least: int) -> Mechanism:
    """Only what is at least so much, and the number of it."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> Matrix:
        noisy = mechanism(rng, runs, there)
        kept = noisy >= least
        return np.column_stack([np.where(kept, noisy, ABSENT), kept.sum(axis=1)])

    return draw


def shared(items: int, contexts: int, scale: float) -> Mechanism:
    """Two tables that were given the same noise; the user has two contexts of the first item."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> Matrix:
        noise = laplace(rng, scale, (runs, items * contexts))
        edges = np.zeros(items * contexts, dtype=np.int64)
        edges[:2] = there
        totals = edges.reshape(items, contexts).sum(axis=1)
        return np.column_stack([30 + totals + noise[:, :items], 10 + edges + noise])

    return draw


def chooser(rate: float, candidates: int = 8) -> Mechanism:
    """The exponential mechanism, its scores moved by 1: the first up, all others down."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> Matrix:
        scores = np.where(np.arange(candidates) == 0, 1.0, -1.0) * there
        weights = np.exp(rate * scores)
        return rng.choice(candidates, (runs, 1), p=weights / weights.sum()).astype(np.int64)

    return draw


def discovery(threshold: int, scale: float, own: int) -> Mechanism:
    """One item of many users, and ``own`` items that only the user has."""

    def draw(rng: np.random.Generator, runs: int, there: bool) -> Matrix:
        counts = np.array([30] + [int(there)] * own)
        noisy = counts + laplace(rng, scale, (runs, 1 + own))
        return np.where((counts > 0) & (noisy >= threshold), noisy, ABSENT).astype(np.int64)

    return draw


def audited(
    mechanism: Mechanism, runs: int, *, seed: int = 1, training: int | None = None, **asked: Any
) -> Certificate:
    """The certificate of so many runs a side, and as many to learn from unless told."""
    rng = np.random.default_rng(seed)
    learned, held_out = (
        Runs(mechanism(rng, size, True), mechanism(rng, size, False))
        for size in (training or runs, runs)
    )
    names = tuple(f"cell {place}" for place in range(held_out.without.shape[1]))
    return certify(learned, held_out, names, **{"claim": 1.0, "alpha": 1e-6, **asked})
