"""The charts of a report, each with the table of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from crowdtally.reader.asking.top_list import TopList
from crowdtally.reader.estimating.believed import TRUE
from crowdtally.reader.report.answers import Distribution
from crowdtally.reader.report.drawing import LONGEST, Figure, Name, amount, chart_of, drawn, names
from crowdtally.reader.report.facts import Facts
from crowdtally.reader.report.heat_map import heat_figure
from crowdtally.reader.report.spent import Step
from crowdtally.web.charts import PALETTE, Chart, label
from crowdtally.web.pages import Shown, between, chance, grouped, percent, value

_INK, _SOFT, _ACCENT, _OTHER = (PALETTE[name] for name in ("ink", "soft", "accent", "other"))


def steps_chart(steps: Sequence[Step]) -> Chart | None:
    """What each step took of ε; None where there is one. The table of steps has its numbers."""
    taken = [one for one in steps if one.share > 0]
    if len(taken) < 2:
        return None
    rows = [{"step": f"{one.place}. {label(one.name)}", "share": one.share} for one in taken]
    marks = {
        "encoding": {
            "y": names("step"),
            "x": {"field": "share", "type": "quantitative", "title": "Share of ε",
                  "axis": {"format": ".0%", "tickCount": 5}},
        },
        "layer": [
            {"mark": {"type": "bar", "color": _ACCENT, "height": 12}},
            {"mark": {"type": "text", "align": "left", "dx": 4, "color": _INK},
             "encoding": {"text": {"field": "share", "type": "quantitative", "format": ".3~p"}}},
        ],
    }  # fmt: skip
    words = "How ε was shared between the steps, in their order. Longer bars: less noise there."
    return chart_of("steps", "Share of ε by step", words, rows, marks)


def top_figure(found: TopList, name: Name) -> Figure | None:
    """The largest items with their intervals, noisy counts and the noise floor."""
    if not found.rows:
        return None
    rows = [
        {
            "item": f"{row.rank}. {label(drawn(row.item, name), LONGEST)}",
            "estimate": row.estimate,
            "low": row.estimate if row.estimate_low is None else row.estimate_low,
            "high": row.estimate if row.estimate_high is None else row.estimate_high,
            "noisy": row.count,
        }
        for row in found.rows
    ]
    x = amount(found.counted)
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "rule", "color": _ACCENT, "strokeWidth": 3, "opacity": 0.55},
         "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}}},
        {"mark": {"type": "point", "filled": True, "color": _ACCENT, "size": 55, "opacity": 1},
         "encoding": {"x": {"field": "estimate", **x}}},
        {"mark": {"type": "tick", "color": _OTHER, "thickness": 2, "height": 13},
         "encoding": {"x": {"field": "noisy", **x}}},
    ]  # fmt: skip
    floor = ""
    if found.floor is not None:
        layers.append({
            "data": {"values": [{"floor": found.floor}]},
            "mark": {"type": "rule", "color": _INK, "strokeDash": [4, 3], "strokeWidth": 1.5},
            "encoding": {"x": {"field": "floor", **x}, "y": {}},
        })  # fmt: skip
        floor = (
            f" Dashed line: the noise floor, {grouped(found.floor)}, below which a count cannot "
            "be told apart from noise."
        )
    shared = {"encoding": {"y": names("item")}, "layer": layers}
    words = f"Dot: what is believed. Bar: its 95% interval.{_stroke(found)}{floor}"
    chart = chart_of("top", f"The {len(rows)} largest items", words, rows, shared)
    return Figure(chart, (top_numbers(found, name),), noise_warning(found.rows, "items"))


def noise_warning(rows: Sequence[Any], what: str) -> str:
    """What is said of a list in which nothing is above the noise floor."""
    if not rows or any(row.above_floor for row in rows):
        return ""
    return f"None of these {what} is told apart from noise: their order is mostly chance."


def _stroke(found: TopList) -> str:
    """What the noisy counts are, and why they can lie far from what is believed."""
    if all(row.count is None for row in found.rows):
        return ""
    apart = any(
        row.covers == TRUE
        and row.count is not None
        and not (row.estimate_low or 0) <= row.count <= (row.estimate_high or inf)
        for row in found.rows
    )
    why = (
        " It counts only what bounding kept of each user; dots put back what that left out."
        if apart
        else ""
    )
    return f" Upright stroke: the noisy count as released.{why}"


def top_numbers(found: TopList, name: Name, where: str = "") -> Shown:
    """A list of items with all that is known of each."""
    noisy = any(row.count is not None for row in found.rows)
    told = any(row.chance_in_top is not None for row in found.rows)
    rows = [
        (
            value(name(row.item)),
            grouped(row.rank),
            grouped(row.estimate),
            between(row.estimate_low, row.estimate_high),
            *[chance(row.chance_in_top)] * told,
            *[grouped(row.count), grouped(row.noise_std)][: 2 * noisy],
            "above" if row.above_floor else "not above",
        )
        for row in found.rows
    ]
    heads = (
        "Item", "Rank", f"Estimate ({found.counted})", "95% interval",
        *[f"Chance to be in the top {found.k or len(rows)}"] * told,
        *["Noisy count", "Typical noise"][: 2 * noisy], "Noise floor",
    )  # fmt: skip
    return Shown(f"The largest items{where}", heads, rows)


def spread_figure(found: Distribution, counted: str, number: int) -> Figure:
    """How counts are spread over the values of a context."""
    total = sum(max(one.estimate, 0.0) for one in found.values)
    rows = [
        {
            "value": f"{place}. {label(one.value, LONGEST)}" if _unlike(found) else
            label(one.value, LONGEST),
            "estimate": one.estimate,
            "low": one.estimate if one.low is None else one.low,
            "high": one.estimate if one.high is None else one.high,
        }
        for place, one in enumerate(found.values, start=1)
    ]  # fmt: skip
    x = amount(counted)
    marks = {
        "encoding": {"y": names("value")},
        "layer": [
            {"mark": {"type": "bar", "color": _ACCENT, "height": 12, "opacity": 0.75},
             "encoding": {"x": {"field": "estimate", **x}}},
            {"mark": {"type": "rule", "color": _INK, "strokeWidth": 1.5},
             "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}}},
        ],
    }  # fmt: skip
    name = value(found.name)
    left = f" {grouped(found.left_out)} further values are not shown." if found.left_out else ""
    words = f"Bar: what is believed. Thin line: its 95% interval.{left}"
    numbers = Shown(
        f"Counts by {name}",
        (name, f"Estimate ({counted})", "95% interval", "Share of those shown", "Noisy sum"),
        [
            (value(one.value), grouped(one.estimate), between(one.low, one.high),
             percent(max(one.estimate, 0.0) / total if total else None), grouped(one.noisy))
            for one in found.values
        ],
    )  # fmt: skip
    return Figure(chart_of(f"spread-{number}", f"Counts by {name}", words, rows, marks), (numbers,))


def _unlike(found: Distribution) -> bool:
    """Whether cut labels would be the same text for two values."""
    shown = [label(one.value, LONGEST) for one in found.values]
    return len(set(shown)) < len(shown)


def figures(facts: Facts, name: Name) -> dict[str, list[Figure]]:
    """All of them, by the part of the report that they stand in."""
    top = None if facts.top is None else top_figure(facts.top, name)
    return {
        "top": [] if top is None else [top],
        "spread": [
            spread_figure(one, facts.counted, n) for n, one in enumerate(facts.distributions)
        ],
        "heat": [
            heat_figure(one, facts.counted, n, name, facts.top)
            for n, one in enumerate(facts.heat_maps)
        ],
    }
