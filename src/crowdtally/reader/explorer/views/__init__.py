"""The views of a release, in the order of the menu."""

from __future__ import annotations

from crowdtally.reader.explorer.view import View
from crowdtally.reader.explorer.views.about import DOWNLOADS, OVERVIEW, REPORT
from crowdtally.reader.explorer.views.items import ITEM, SEARCH
from crowdtally.reader.explorer.views.lists import RECOMMEND, TOP
from crowdtally.reader.explorer.views.sums import MAP, SUM

VIEWS: tuple[View, ...] = (
    OVERVIEW, TOP, SEARCH, RECOMMEND, MAP, SUM, ITEM, REPORT, DOWNLOADS,
)  # fmt: skip
"""All of them."""
HIDDEN = frozenset([ITEM.name])
"""Those that other pages lead to, and no menu."""
