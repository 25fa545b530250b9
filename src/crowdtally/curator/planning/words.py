"""A plan in words, for the command line and for whoever prints one in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Facts = Mapping[str, Any]
"""What ``Plan.as_dict`` says, or a part of it."""


def lines(facts: Facts) -> Iterator[str]:
    """The plan's facts, a line each."""
    yield "Split: " + ", ".join(f"{name} {share}" for name, share in facts["split"].items()) + "."
    for table in facts["tables"]:
        yield _table(table)
        if table["summary"]:
            yield _summary(table["summary"])
    if facts["advice"] is not None:
        yield _advice(facts["advice"])
    if "threshold" in facts:
        yield f"Items are released whose noisy number of users is at least {facts['threshold']}."
    if facts["trade_off"] is not None:
        yield _trade(facts["trade_off"], facts["max_records"])
    for words in facts["unknown"]:
        yield f"Not known: {words}."


def _table(table: Facts) -> str:
    cells = "cells not known" if table["cells"] is None else f"{table['cells']} cells"
    return (
        f"Table {table['table']} ({' × '.join(table['columns'])}): {cells}, "
        f"epsilon {table['epsilon']}, sensitivity {table['sensitivity']}, noise scale "
        f"{table['noise_scale']} (standard deviation {table['noise_std']:.4g}; 95% of the "
        f"noise within ±{table['noise_interval_half_width']:.10g})."
    )


def _trade(trade: Facts, limit: int) -> str:
    return (
        f"If each user had {trade['records_per_user']} records, at random over the items, "
        f"{trade['kept_share']:.1%} would be counted at --max-records {limit}: an item's count "
        f"would miss about {trade['rmse_from_bounding']:.4g} from bounding and "
        f"{trade['rmse_from_noise']:.4g} from noise; the least total error is at --max-records "
        f"{trade['best_max_records']}."
    )


def _summary(summary: Facts) -> str:
    cut = f"cut {summary['cut']:.6g}" if summary["cut"] else "no cut"
    tau = f", threshold {summary['threshold']:.6g}" if summary["threshold"] else ""
    size = f", at most {summary['size_at_most']} published" if summary["size_at_most"] else ""
    return (
        f"  {summary['publishing']}, {summary['sides']}-sided: {cut}{tau}; empty cells kept by "
        f"chance {summary['cells_from_noise_alone']:.4g} on average{size}."
    )


def _advice(advice: Facts) -> str:
    errors = ", ".join(f"{name} {error:.4g}" for name, error in advice["errors"].items())
    lost = ""
    if advice["cut_loses_at_most"] is not None:
        most = f"{advice['cut_loses_at_most']:.4g}"
        lost = f" Of the guessed total it holds {most}, of which a cut may lose half, or all."
    return (
        f"A sum over {advice['query_cells']} cells of the table {advice['table']!r} has, from "
        f"noise and sampling of empty cells, an error of about: {errors} (summaries of "
        f"{advice['size']} cells).{lost} For it choose {advice['options']}: {advice['why']}."
    )
