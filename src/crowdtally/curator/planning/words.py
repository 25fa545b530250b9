"""A plan in words, for the command line and for whoever prints one in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crowdtally.core.numbers import recorded
from crowdtally.curator.planning.course_words import course_lines
from crowdtally.laws.conversion import percent

Facts = Mapping[str, Any]
"""What ``Plan.as_dict`` says, or a part of it."""


def first_lines(facts: Facts) -> Iterator[str]:
    """What comes before all else: what ε was found, and what will be noise."""
    if facts["accuracy"] is not None:
        yield from _accuracy(facts)
    if facts["delta_warning"] is not None:
        yield facts["delta_warning"]
    for table in facts["tables"]:
        if table["will_be_noise"]:
            yield (
                f"This will be noise: spread evenly over the {table['cells_counted']} cells of the "
                f"table {table['table']!r} the guessed total is {table['guessed_per_cell']:.3g} "
                f"each, and the noise floor is {table['noise_floor']:.10g}. Only what counts more "
                "than that will be told apart from noise."
            )


def _accuracy(facts: Facts) -> Iterator[str]:
    found, delta = facts["accuracy"], facts["delta"]
    yield (
        f"For 95% of the noise in {found['of']} within ±{found['half_width']} type --epsilon "
        f"{facts['epsilon']}: the smallest of four digits (it reaches ±{found['reached']:.10g})."
    )
    first, *others = (
        (percent(recorded(one["belief"])), percent(recorded(one["at_most"])))
        for one in found["odds"]
    )
    more = "".join(f", one of {belief} at most {most}" for belief, most in others)
    but = "" if delta == "0" else f", but for a probability of {delta}"
    yield (
        "As odds: whatever somebody believes about one person, a belief of "
        f"{first[0]} can become at most {first[1]}{more}{but}."
    )


def _standing(table: Facts) -> str:
    over, cells = table["noise_floor_over"], table["cells_counted"]
    return (
        f"  A count above {table['noise_floor']:.10g} is told apart from noise (the noise floor of "
        f"a list of {over}); evenly spread over {cells} cells, such counts take "
        f"{table['stands_out_from_total']} in all."
    )


def lines(facts: Facts) -> Iterator[str]:
    """The plan's facts, a line each."""
    if facts["auto"] is not None:
        yield from course_lines(facts["auto"])
    else:
        shares = (f"{name} {share}" for name, share in facts["split"].items())
        yield f"Split: {', '.join(shares)}."
    for table in facts["tables"]:
        yield _table(table)
        if table["noise_floor"] is not None:
            yield _standing(table)
        if table["summary"]:
            yield _summary(table["summary"])
        if "threshold" in table:
            yield _threshold(table)
    yield f"Counted: {facts['what_counts']}"
    yield from _other_noise(facts)
    if facts["advice"] is not None:
        yield _advice(facts["advice"])
    if facts["trade_off"] is not None:
        yield _trade(facts["trade_off"], facts["max_records"])
    for words in facts["unknown"]:
        yield f"Not known: {words}."


def _other_noise(facts: Facts) -> Iterator[str]:
    """What other noise would be like."""
    if facts["prices"] is not None:
        yield facts["prices"]["words"]
    if facts["delta_unspent"] is not None:
        yield facts["delta_unspent"]
    if facts["interval_noise"] is not None:
        yield facts["interval_noise"]["words"]


def _table(table: Facts) -> str:
    cells = "cells not known" if table["cells"] is None else f"{table['cells']} cells"
    noise = f"sensitivity {table['sensitivity']}, noise scale {table['noise_scale']}"
    if table["noise_scale"] is None:
        noise = f"sensitivity {table['sensitivity']} in each cell, {table['noise']} noise"
    if "distance" in table:
        noise = f"sensitivity {table['distance']:.4g} in L2, {table['noise']} noise"
    return (
        f"Table {table['table']} ({' × '.join(table['columns'])}): {cells}, "
        f"{_price(table)}, {noise} "
        f"(standard deviation {table['noise_std']:.4g}; 95% of the "
        f"noise within ±{table['noise_interval_half_width']:.10g})."
    )


def _price(table: Facts) -> str:
    return f"rho {table['rho']}" if "rho" in table else f"epsilon {table['epsilon']}"


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


def _threshold(table: Mapping[str, Any]) -> str:
    """From where on a cell without a public list is released."""
    what = "Items" if len(table["columns"]) == 1 else "Cells"
    return (
        f"  {what} are released whose noisy number of users is at least {table['threshold']}: one "
        f"that only one user has appears with a small probability, delta {table['delta']} in all."
    )
