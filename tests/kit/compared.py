"""A comparison that nobody ran: numbers that look like real ones, by formulas."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from math import exp, nan

from crowdtally.lab.comparison.summary import Facts, Setting, Summary

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
