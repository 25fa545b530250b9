"""The tables of a site, beside those that it shares with the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crowdtally.reader.asking.recommended import Recommendations
from crowdtally.reader.asking.sum import Sum
from crowdtally.reader.asking.top_list import TopList
from crowdtally.reader.report.charts import top_figure
from crowdtally.reader.report.drawing import Figure, Name
from crowdtally.reader.site.downloads import Download
from crowdtally.reader.site.places import Group, Place
from crowdtally.web.numbers import NO_NUMBER, between, chance, grouped
from crowdtally.web.pages import value
from crowdtally.web.tables import Shown


def place_words(place: Place) -> str:
    """Where a page is about: ``day = Friday``."""
    return ", ".join(f"{value(name, 40)} = {value(at, 40)}" for name, at in place.context.items())


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


def group_table(group: Group, sums: Sequence[Sum | None]) -> Shown:
    """The pages of one context, with how many there are in each."""
    counted = next((one.counted for one in sums if one is not None), "counts")
    noisy = any(one is not None and one.value is not None for one in sums)
    columns = 3 if noisy else 2
    rows = [
        (_values(place), *_sum(one)[:columns])
        for place, one in zip(group.places, sums, strict=True)
    ]
    of = _name(group)
    said = [
        f"{grouped(group.left_out)} further values have no page here; `crowdtally top` knows them."
    ] * bool(group.left_out)
    said += dict.fromkeys(one.estimate_words for one in sums if one is not None and one.assumes)
    heads = (of, f"Estimate ({counted})", "95% interval", *["Noisy sum"] * noisy)
    links = [place.file for place in group.places]
    return Shown(f"The values of {of}", heads, rows, note=" ".join(said), links=links)


@dataclass(frozen=True)
class Links:
    """Links to the first pages of a group."""

    name: str
    """Of the context, or contexts."""
    links: Sequence[tuple[str, str]]
    """Address and words of each."""
    more: bool
    """Whether there are further ones."""


def group_links(group: Group, most: int) -> Links:
    """The first pages of a group."""
    links = [(place.file, _values(place)) for place in group.places[:most]]
    return Links(_name(group), links, len(group.places) > most)


def _name(group: Group) -> str:
    return " and ".join(value(one, 40) for one in group.contexts)


def _values(place: Place) -> str:
    return ", ".join(value(at) for at in place.context.values())


def _sum(found: Sum | None) -> tuple[str, str, str]:
    if found is None:
        return (NO_NUMBER,) * 3
    within = between(found.estimate_low, found.estimate_high)
    return grouped(found.estimate), within, grouped(found.value)


def download_table(files: Sequence[Download]) -> Shown:
    """Files to download."""
    rows = [(one.path, one.words, grouped(one.size)) for one in files]
    links = [one.path for one in files]
    return Shown("Files", ("File", "What it holds", "Bytes"), rows, words=(0, 1), links=links)
