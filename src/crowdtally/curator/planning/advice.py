"""What a sparse summary is expected to look like, and which one fits a question's size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import hypot, sqrt
from typing import Any

from crowdtally.curator.measured import AnyTable
from crowdtally.curator.publishing import PUBLISHINGS
from crowdtally.curator.publishing.publishing import Publishing
from crowdtally.curator.request.options import completed
from crowdtally.curator.request.request import Request
from crowdtally.curator.table import Table
from crowdtally.laws.base import Combination

_USUAL_SIZE = 100_000
"""The size of a summary where none was asked for."""
_FITTING = 10_000_000
"""Cells up to which publishing all of them is not too many."""
_WEIGHED = {
    "dense": "the noise of so many cells is less than what a sample or a cut would add",
    "priority": "a cut would lose more of the small counts than a sample, which stands for what it "
    "leaves out, is off by",
    "filter-priority": "the noise of empty cells would drown the counts, and a sample of it is "
    "worse: the cut removes most of it, for the loss of the small counts",
}
_UNWEIGHED = {
    True: ("dense", "all cells fit, so nothing needs to be left out"),
    False: (
        "filter-priority",
        "not all cells fit, and a sample without a cut is mostly noise of empty cells",
    ),
}


def planned_summary(table: AnyTable) -> dict[str, Any] | None:
    """κ, τ and the expected size of a table's summary; None where every cell is published."""
    if not table.publishing.leaves_out:
        return None
    threshold = table.keeping.threshold
    return {
        "publishing": table.publishing.name,
        "sides": table.publishing.sides,
        "cut": float(table.keeping.cut * table.unit),
        "threshold": None if threshold is None else float(threshold * table.unit),
        "cells_from_noise_alone": table.expected_empty,
        "size_at_most": table.publishing.wanted,
    }


def sum_errors(table: Table, size: int, query: int, total: int = 0) -> dict[str, float]:
    """Expected error of a sum over ``query`` empty cells, by publishing: noise and sampling.

    What a cut loses of small true counts is not in it.
    """
    errors = {}
    for name in PUBLISHINGS:
        publishing = _summary_of(name, size, total)
        squares = table.transform.squares(table.cells, query, dense=not publishing.leaves_out)
        published = replace(table, publishing=publishing)
        if not publishing.leaves_out:
            errors[name] = table.law.std(Combination(squares, squares))
            continue
        spread = table.law.empty_cell(published.keeping).variance
        errors[name] = sqrt(squares * spread) * float(table.unit)
    return errors


def _summary_of(name: str, size: int, total: int) -> Publishing:
    made: Publishing = PUBLISHINGS.load(name).of(completed({"size": size, "guess_total": total}))
    return made


def advice(request: Request, query: int | None) -> dict[str, Any] | None:
    """For a question of ``query`` cells: each publishing's expected error, and one to choose."""
    if query is None or not request.bounded:
        return None
    table = request.bounded[-1]
    cells = table.layout.size
    size = table.publishing.size or min(cells, _USUAL_SIZE)
    asked, total = min(query, table.cells.size), request.guess_total
    errors = sum_errors(table, size, asked, total)
    # A question that is no fuller than the table has this much: a cut can lose no more.
    lost = float(total * Fraction(asked, table.cells.size)) if total else None
    choice, why = _choice(errors, lost, fits=cells <= max(size, _FITTING))
    return {
        "table": table.name,
        "query_cells": query,
        "size": size,
        "errors": errors,
        "cut_loses_at_most": lost,
        "choose": choice,
        "options": _options(choice, size),
        "why": why,
    }


def _options(choice: str, size: int) -> str:
    """What to type for it."""
    sized = f" --size {size}" if PUBLISHINGS.load(choice).leaves_out else ""
    return f"--publishing {choice}{sized}"


def _choice(errors: Mapping[str, float], lost: float | None, *, fits: bool) -> tuple[str, str]:
    """The least error among what has the wanted size, or every cell where that is not too many.

    Where two are alike the one that leaves nothing out comes first.
    """
    if lost is None:
        choice, why = _UNWEIGHED[fits]
        return choice, f"{why} (with --guess-total N, what a cut may lose is weighed too)"
    weighed = {"dense": errors["dense"]} if fits else {}
    weighed |= {
        "priority": errors["priority"],
        # Between nothing and all of it: half is nearest to what was measured (docs/sparse.md).
        "filter-priority": hypot(errors["filter-priority"], lost / 2),
    }
    least = min(weighed.values())
    choice = next(name for name, error in weighed.items() if error <= least * _ALIKE)
    return choice, _WEIGHED[choice]


_ALIKE = 1.001
"""Errors nearer than this to the least one are not told apart."""
