"""Section 4's other way to limit a row: θ of its ones, drawn at random, instead of all, scaled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import hypot

import numpy as np

from crowdtally.curator.bounding.dpsense import DPSense
from crowdtally.lab.estimates import estimate
from crowdtally.lab.metrics import mae
from crowdtally.lab.rehearsing import Rehearsal
from crowdtally_research.reproducing.numbers import Number
from crowdtally_research.reproducing.papers.day_li import panels
from crowdtally_research.reproducing.papers.day_li.bench import Bench, Floats, reading
from crowdtally_research.reproducing.papers.day_li.budgets import LARGE
from crowdtally_research.reproducing.papers.day_li.dpsense import Scaling

_SEED = 1
_PUBLISHED = Fraction(9, 10)
"""The share of ε that DPSense publishes its counts with."""


def sampling_numbers(bench: Bench, title: str, runs: int) -> Iterator[Number]:
    """The error of sampling over that of scaling, at the θ of the best quality, at ε = ln 3."""
    scaling = Scaling.of(bench, LARGE.epsilon)
    rule = DPSense(scaling.best)
    counts = bench.rows.scaled(rule)
    scaled = _error(bench, [scaling.published(rule, counts) for _ in range(runs)])
    sampled = _error(bench, list(_sampled(bench, rule.theta, runs)))
    ratio = sampled.mean / scaled.mean
    spread = hypot(sampled.standard_error / sampled.mean, scaled.standard_error / scaled.mean)
    yield replace(sampled, x=title, mean=ratio, standard_error=ratio * spread)


def _sampled(bench: Bench, limit: int, runs: int) -> Iterator[Floats]:
    """One sample of every row, and fresh noise for each run."""
    epsilon = LARGE.epsilon * _PUBLISHED
    request = bench.request(epsilon, bounding="sra", max_records=limit)
    with reading(bench.records, bench.domain) as records:
        rehearsal = Rehearsal(request, records.engine, records.prepared)
        halfway = rehearsal.halfway(_SEED, bench.draws)
    for _ in range(runs):
        yield estimate(rehearsal.finish(halfway, bench.draws).tables[0])


def _error(bench: Bench, estimates: list[Floats]) -> Number:
    errors = [mae(bench.rows.truth, np.maximum(one, 0)) for one in estimates]
    return Number.over(panels.SAMPLING, panels.error_line(LARGE), "", errors)
