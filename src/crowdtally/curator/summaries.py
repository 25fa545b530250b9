"""What a sparse summary is expected to look like, and which one fits a question's size."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

from crowdtally import laws
from crowdtally.curator.form import PUBLISHINGS, Form
from crowdtally.curator.publishing.sizes import expected_size
from crowdtally.curator.request import Request
from crowdtally.curator.steps.shape import form_keeping, form_layout
from crowdtally.tails import empty_cell


def planned_summary(
    form: Form, cells: int, scale: Fraction, unit: Fraction
) -> dict[str, Any] | None:
    """κ, τ and the expected size of a table's summary; None where every cell is published."""
    if form.is_dense:
        return None
    keeping = form_keeping(form, cells, scale, unit)
    threshold = keeping.threshold
    noise_cells = expected_size(cells, scale, keeping)
    wanted = form.size if "priority" in form.publishing else None
    return {
        "publishing": form.publishing,
        "sides": form.sides,
        "cut": float(keeping.cut * unit),
        "threshold": None if threshold is None else float(threshold * unit),
        "cells_from_noise_alone": noise_cells,
        "size_at_most": wanted,
    }


def subset_errors(
    cells: int, size: int, scale: Fraction, unit: Fraction, query: int
) -> dict[str, float]:
    """Expected error of a sum over ``query`` empty cells, by publishing: noise and sampling.

    What a cut loses of small true counts is not in it: nobody knows that beforehand.
    """
    errors = {"dense": sqrt(query) * laws.laplace_std(scale) * float(unit)}
    for publishing in PUBLISHINGS[1:]:
        keeping = form_keeping(Form(publishing, size=size), cells, scale, unit)
        spread = empty_cell(scale, keeping).variance
        errors[publishing] = sqrt(query * spread) * float(unit)
    return errors


def advice(request: Request, query: int | None) -> dict[str, Any] | None:
    """For a question of ``query`` cells: each publishing's expected error, and one to choose."""
    size = request.form.size
    if query is None or size is None or request.domain is None:
        return None
    name, layout = list(request.layouts().items())[-1]
    cells = form_layout(request.form, layout).size
    bound, unit = request.sensitivity(name)
    scale = bound / request.table_epsilon(name).value
    errors = subset_errors(cells, size, scale, unit, min(query, cells))
    choice, why = _choice(cells, size, query)
    return {"table": name, "query_cells": query, "errors": errors, "choose": choice, "why": why}


def _choice(cells: int, size: int, query: int) -> tuple[str, str]:
    if cells <= max(size, 10_000_000):
        return "dense", "all cells fit: nothing needs to be left out"
    # Sums over many cells need unbiased samples; a cut drops the many small counts.
    if query > cells // max(size, 1):
        return (
            "priority",
            "sums over so many cells must not lose the small counts, so no cut: a sample stands "
            "for what it leaves out",
        )
    return (
        "filter-priority",
        "in sums over few cells the noise of empty cells would drown the counts: the cut removes "
        "most of it, and the size stays as wanted",
    )
