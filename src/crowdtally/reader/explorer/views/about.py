"""The overview of a release, its report, and its files."""

from __future__ import annotations

from typing import Any

from crowdtally.core.numbers import show
from crowdtally.laws.conversion import odds_words
from crowdtally.reader.explorer.asked import Asked
from crowdtally.reader.explorer.opened import Opened
from crowdtally.reader.explorer.view import View, has_items
from crowdtally.reader.explorer.views import lists
from crowdtally.reader.report.charts import spread_figure
from crowdtally.web.pages import Shown, grouped, value

_FIRST = 10


def _overview(opened: Opened, asked: Asked) -> dict[str, Any]:
    published, ready = opened.source.published, opened.is_ready
    facts = opened.facts if ready else None
    listed = None
    if has_items(opened) and (facts is None or facts.top is not None):
        listed = lists.overview_list(opened, asked, _FIRST)
    return {
        "odds": odds_words(published.guarantee.epsilon),
        "delta": show(published.guarantee.delta),
        "who": "user" if published.guarantee.unit == "user" else "person",
        "report": facts,
        "whole": None if facts is None else facts.whole,
        "listed": listed,
        "notes": [] if facts is None or facts.top is None else facts.top.notes,
        "spreads": [] if facts is None else [
            spread_figure(one, facts.counted, number).numbers[0]
            for number, one in enumerate(facts.distributions)
        ],
        "sizes": [(value(one.name, 40), grouped(one.length)) for one in published.domain.lists],
        "counted": published.counted,
    }  # fmt: skip


OVERVIEW = View("", "Overview", "", _overview, early=True)


def _report(opened: Opened, asked: Asked) -> dict[str, Any]:
    return {"facts": opened.facts}


REPORT = View("report", "Privacy report", "", _report)


def _downloads(opened: Opened, asked: Asked) -> dict[str, Any]:
    published = opened.source.published
    rows, links = [], []
    for name in published.files:
        path = published.folder / name
        rows.append((name, grouped(path.stat().st_size) if path.is_file() else "missing"))
        links.append(f"files/{name}")
    return {"table": Shown("Files of the release", ("File", "Bytes"), rows, links=links)}


DOWNLOADS = View("downloads", "Downloads", "", _downloads, early=True)
