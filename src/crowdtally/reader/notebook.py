"""A release as a notebook shows it."""

from __future__ import annotations

from crowdtally.core.display import paragraph, table
from crowdtally.core.numbers import show
from crowdtally.core.privacy import in_words
from crowdtally.format import Published

_HEADS = ("table", "columns", "cells", "rows", "ε", "noise, std", "noise interval")


def release_table(published: Published) -> str:
    """What is promised, and what each table holds; its counts are what questions are for.

    First of all, that it was withdrawn.
    """
    promised, tables = published.guarantee, published.tables
    delta = f", δ {show(promised.delta)}" if promised.delta else ""
    rows = (
        (
            one.name,
            " × ".join(one.axes),
            f"{one.cells:,}",
            f"{one.published_cells:,}",
            in_words(one.price),
            f"{one.noise_std:.4g}",
            f"±{one.interval_half_width:.6g}",
        )
        for one in tables
    )
    caption = f"Release: ε {show(promised.epsilon)}{delta}, counts of {published.counted}"
    made = table(caption, _HEADS, rows, total=len(tables), right=_HEADS[2:])
    asked = "Ask it: .top(10), .sum(…), .table(…); .describe() says in words what it is."
    note = published.withdrawn
    first = "" if note is None else paragraph(f"This release was {note}")
    return first + made + paragraph(published.promise) + paragraph(asked)
