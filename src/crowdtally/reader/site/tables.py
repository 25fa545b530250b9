"""The tables of a site about its own pages and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crowdtally.reader.asking.sum import Sum
from crowdtally.reader.site.downloads import Download
from crowdtally.reader.site.places import Group, Place
from crowdtally.web.pages import NO_NUMBER, Shown, between, grouped, value


def place_words(place: Place) -> str:
    """Where a page is about: ``day = Friday``."""
    return ", ".join(f"{value(name, 40)} = {value(at, 40)}" for name, at in place.context.items())


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
