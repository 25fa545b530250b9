"""Tables of lists that the site and the explorer show, beside those that are the report's."""

from __future__ import annotations

from dataclasses import replace

from crowdtally.reader.asking.recommended import Recommendations
from crowdtally.reader.asking.top_list import TopList
from crowdtally.reader.report.charts import top_figure
from crowdtally.reader.report.drawing import Figure, Name
from crowdtally.web.pages import NO_NUMBER, Shown, between, chance, grouped, value


def top_picture(found: TopList, name: Name, where: str) -> Figure | None:
    """The largest items as a picture with its numbers."""
    figure = top_figure(found, name)
    if figure is None or not where:
        return figure
    return replace(figure, chart=replace(figure.chart, title=f"{figure.chart.title}, {where}"))


def further(found: TopList, first: int, name: Name, where: str) -> Shown | None:
    """The items after the ``first`` ones; None where there are none."""
    noisy = any(row.count is not None for row in found.rows)
    rows = [
        (
            value(name(row.item)),
            grouped(row.rank),
            grouped(row.estimate),
            between(row.estimate_low, row.estimate_high),
            *[grouped(row.count)] * noisy,
            "above" if row.above_floor else "not above",
        )
        for row in found.rows[first:]
    ]
    if not rows:
        return None
    heads = (
        "Item", "Rank", f"Estimate ({found.counted})", "95% interval", *["Noisy count"] * noisy,
        "Noise floor",
    )  # fmt: skip
    places = f"Places {grouped(first + 1)} to {grouped(first + len(rows))}"
    return Shown(f"{places}{f', {where}' if where else ''}", heads, rows)


def special_numbers(found: Recommendations, name: Name, where: str) -> Shown | None:
    """What is believed special there, with how sure that is; None where nothing is."""
    special = [row for row in found.rows if row.lift is not None and row.lift > 1]
    noisy = any(row.count is not None for row in special)
    rows = [
        (
            value(name(row.item)),
            str(row.rank),
            times(row.lift),
            interval(row.lift_low, row.lift_high),
            chance(row.chance_special),
            grouped(row.estimate),
            *[grouped(row.count)] * noisy,
        )
        for row in special
    ]
    if not rows:
        return None
    heads = (
        "Item", "Rank", "Lift", "95% interval of the lift", "Chance to be special",
        f"Estimate there ({found.counted})", *["Noisy count there"] * noisy,
    )  # fmt: skip
    return Shown(f"What is special, {where}", heads, rows)


def times(lift: float | None) -> str:
    """A lift to a hundredth.

    >>> times(1.234), times(None)
    ('1.23', '–')
    """
    return NO_NUMBER if lift is None else f"{lift:.2f}"


def interval(low: float | None, high: float | None) -> str:
    """The interval of a lift."""
    return NO_NUMBER if low is None or high is None else f"{times(low)} to {times(high)}"
