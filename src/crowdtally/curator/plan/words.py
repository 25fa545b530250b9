"""A plan in words: for a prompt, a notebook, and the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from crowdtally.core.display import one_line, paragraph
from crowdtally.core.display import table as html_table
from crowdtally.core.numbers import recorded
from crowdtally.laws.conversion import percent

Tables = Sequence[Mapping[str, Any]]

_HEADS = ("table", "columns", "cells", "ε", "noise, std", "noise interval")


def plan_line(cost: str, tables: Tables, rule: str = "") -> str:
    """The cost, and the tables with the reach of their noise; the rule where there are none yet."""
    if not tables:
        return one_line(f"<Plan {cost}: {rule} decides as it goes>")
    named = ", ".join(f"{one['table']} ({_cells(one)} cells, {_reach(one)})" for one in tables)
    return one_line(f"<Plan {cost}: {named}>")


def plan_table(tables: Tables, lines: Iterable[str]) -> str:
    """A table of the tables, and the plan's other lines below it."""
    if not tables:
        return "".join(map(paragraph, lines))
    rows = (
        (
            one["table"],
            " × ".join(one["columns"]),
            _cells(one),
            one.get("epsilon") or f"ρ {one['rho']}",
            f"{one['noise_std']:.4g}",
            _reach(one),
        )
        for one in tables
    )
    title = "Plan: nothing is spent yet"
    made = html_table(title, _HEADS, rows, total=len(tables), right=_HEADS[2:])
    rest = (line for line in lines if not line.startswith("Table "))
    return made + "".join(map(paragraph, rest))


def _reach(one: Mapping[str, Any]) -> str:
    return f"±{one['noise_interval_half_width']:.6g}"


def _cells(one: Mapping[str, Any]) -> str:
    return "not known" if one["cells"] is None else f"{one['cells']:,}"


# What ``auto`` would do, in words.

Facts = Mapping[str, Any]

_AIMS = {
    "counts": "numbers near the truth for all items",
    "top": "the order and the numbers of the largest items",
    "recommend": "what to recommend in each context",
}
_UNLIKE = "or three times as many where users have very unlike numbers of records"
_WIDEST = "10 to 100,000,000 users of 1 to 1,000 records each"


def course_lines(facts: Facts) -> Iterator[str]:
    noise = facts.get("noise", "laplace")
    what = {"laplace": "epsilon", "gaussian": "rho"}.get(noise, "epsilon and delta")
    yield (
        f"Method: auto, for {_AIMS[facts['for']]} (aim {facts['for']}). It asks up to four "
        "questions. Each follows from earlier answers, which are noisy, never from the records. "
        f"Its tables cost all of {what} together.{_paying(facts)}"
    )
    if facts["guess_users"] is None or facts["guess_records"] is None:
        yield from _unguessed(facts)
    else:
        yield from _guessed(facts)


def _paying(facts: Facts) -> str:
    if "noise" not in facts:
        return ""
    if facts["noise"] == "gaussian":
        return " The noise is Gaussian: tables are paid for in rho, which epsilon and delta buy."
    found = {None: "", "rho": " By these guesses: rho.", "epsilon": " By these guesses: epsilon."}
    return (
        " The noise is decided once the sizes are released, by the smaller expected error: Laplace "
        "noise, paid for in epsilon, or Gaussian noise, paid for in the rho that delta and what is "
        f"left of epsilon buy. Either way it is charged epsilon and delta.{found[facts['paid_in']]}"
    )


def counted_words(*, repeats: bool) -> str:
    counted = "Each user is counted once at each of their items"
    if repeats:
        counted = "All records of each user are counted"
    return (
        f"{counted}; where that is more than a table can bear, all of a user's "
        "counts are scaled down together, to a sum that the release chooses. Readers are shown "
        "estimates that make up for it, with intervals, beside the noisy counts."
    )


def _unguessed(facts: Facts) -> Iterator[str]:
    of = {None: "epsilon, or all but the first of rho", "rho": "rho"}
    told = of[facts["paid_in"]] if "paid_in" in facts else "epsilon"
    yield f"  Over {_WIDEST}, its tables take of {told}:"
    for number, step in enumerate(facts["steps"], start=1):
        low, high = (_percent(step[end]) for end in ("share_from", "share_to"))
        yield f"  {number}. {step['name']}: {low if low == high else f'{low} to {high}'}"
    yield (
        f"  Under about {facts['unreliable_below_users']} users (1000/epsilon), {_UNLIKE}, "
        "the lengths of users' rows are hardly known, and estimates are rough."
    )


def _guessed(facts: Facts) -> Iterator[str]:
    users, least = facts["guess_users"], facts["unreliable_below_users"]
    if users < least or not facts["sizes_reliable"]:
        yield (
            f"  Too few users: under about {least} (1000/epsilon), {_UNLIKE}, the lengths of "
            "users' rows are hardly known. The release then scales every row to a sum of 8, and "
            "estimates are rough: raise --epsilon, or name a method, such as "
            "--method sra:max-records=10."
        )
    yield (
        f"  If {users} users had {facts['guess_records']} records, spread over users and items as "
        "is usual (log-normal, Zipf), it would release these tables:"
    )
    for number, step in enumerate(facts["steps"], start=1):
        yield f"  {number}. {step['name']}{_step(step)}"
    if facts["expected_error"] is not None:
        yield _error(facts["expected_error"])


def _step(step: Facts) -> str:
    if "share" not in step:
        return f": {_percent(step['share_from'])}"
    bound = f" (bound {step['theta']})" if "theta" in step else ""
    return f", {_percent(step['share'])}: {step['why']}{bound}"


def _error(error: Facts) -> str:
    said = f"  Expected error: an item's estimate would be off by about {_amount(error['rmse'])}"
    if error["rmse_top"] is None:
        return f"{said} (root mean square over all items)."
    return (
        f"{said} (root mean square over all items), and those of the {error['top']} largest, about "
        f"{_amount(error['largest'])} each, by about {_amount(error['rmse_top'])}."
    )


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _percent(share: str) -> str:
    return f"{float(100 * recorded(share)):.3g}%"


def first_lines(facts: Facts) -> Iterator[str]:
    """The ε that was found, and the tables that will be noise."""
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
    if facts["prices"] is not None:
        yield facts["prices"]["words"]
    if facts["delta_unspent"] is not None:
        yield facts["delta_unspent"]
    if facts["interval_noise"] is not None:
        yield facts["interval_noise"]["words"]


def _table(table: Facts) -> str:
    cells = "cells not known" if table["cells"] is None else f"{table['cells']} cells"
    price = f"rho {table['rho']}" if "rho" in table else f"epsilon {table['epsilon']}"
    noise = f"sensitivity {table['sensitivity']}, noise scale {table['noise_scale']}"
    if table["noise_scale"] is None:
        noise = f"sensitivity {table['sensitivity']} in each cell, {table['noise']} noise"
    if "distance" in table:
        noise = f"sensitivity {table['distance']:.4g} in L2, {table['noise']} noise"
    return (
        f"Table {table['table']} ({' × '.join(table['columns'])}): {cells}, "
        f"{price}, {noise} "
        f"(standard deviation {table['noise_std']:.4g}; 95% of the "
        f"noise within ±{table['noise_interval_half_width']:.10g})."
    )


def _trade(trade: Facts, limit: int) -> str:
    return (
        f"If each user had {trade['records_per_user']} records, at random over the items, "
        f"{trade['kept_share']:.1%} would be counted at a bound of {limit}: an item's count "
        f"would miss about {trade['rmse_from_bounding']:.4g} from bounding and "
        f"{trade['rmse_from_noise']:.4g} from noise; the least total error is at a bound of "
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
    what = "Items" if len(table["columns"]) == 1 else "Cells"
    return (
        f"  {what} are released whose noisy number of users is at least {table['threshold']}: one "
        f"that only one user has appears with a small probability, delta {table['delta']} in all."
    )
