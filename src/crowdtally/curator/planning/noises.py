"""Interval noise beside bounding, from public numbers: which has less noise, and what to type."""

from __future__ import annotations

from math import sqrt
from typing import Any

from crowdtally.curator.measured import AnyTable
from crowdtally.curator.request.request import Request
from crowdtally.curator.request.tables import MOST_MEASURED
from crowdtally.laws.interval import IntervalNoise, phantoms_for


def compared_noise(request: Request) -> dict[str, Any] | None:
    """For distinct users over few cells: the noise of both, and words; None for all else.

    Bounding has noise of about √2·θ/ε on a cell, for a bound of θ cells per user; interval noise
    about √((m+2)(m+3)/6)/ε on m cells, whatever users have. Phantoms make that a little less.
    """
    if not _comparable(request):
        return None
    interval = {table.name: _interval(table).std() for table in request.tables}
    if request.measured:
        return {"std": interval, "bounded_std": None, "better": None, "words": _same_as(request)}
    bounded = {table.name: table.law.std() for table in request.tables}
    better = all(interval[name] < bounded[name] for name in interval)
    words = _instead(interval, bounded, better=better)
    return {"std": interval, "bounded_std": bounded, "better": better, "words": words}


def _comparable(request: Request) -> bool:
    method = request.method
    return (
        method.what == "users"
        and request.paid.rho is None
        and request.records.user is not None
        and not method.pairs
        and bool(request.tables)
        and all(_plain(table) for table in request.tables)
    )


def _plain(table: AnyTable) -> bool:
    whole = table.transform.name == "none" and not table.publishing.leaves_out
    return whole and table.cells.size <= MOST_MEASURED


def _interval(table: AnyTable) -> IntervalNoise:
    size = table.cells.size
    return IntervalNoise(table.epsilon.value, size, phantoms_for(size))


def _instead(interval: dict[str, float], bounded: dict[str, float], *, better: bool) -> str:
    noises = ", ".join(
        f"{interval[name]:.4g} instead of {bounded[name]:.4g} in {name!r}" for name in interval
    )
    if better:
        return (
            "Less noise without any bound on users: --count users --noise interval counts every "
            f"user in all of their cells, with noise of standard deviation {noises}. Type that "
            "instead of --bounding and --max-records."
        )
    return (
        "--noise interval would count every user in all of their cells, with noise of standard "
        f"deviation {noises}: more noise, and no bias. A larger --max-records makes up for it."
        if any(interval[name] > bounded[name] for name in interval)
        else f"--noise interval would have the same noise ({noises}), and no bias."
    )


def _same_as(request: Request) -> str:
    bounds = []
    for table in request.measured:
        theta = table.law.std() * float(table.epsilon.value) / sqrt(2)
        bounds.append(f"{theta:.3g} in {table.name!r}")
    return (
        "Nobody is bounded. Bounding has as much noise at a bound of as many cells per user: "
        f"{', '.join(bounds)}. Below that it has less, and leaves out what users have beyond it."
    )
