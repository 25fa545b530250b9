"""Charts: Vega-Lite specifications become SVG for a page, without a browser, network or script.

A specification uses the colours of :data:`PALETTE`. In the drawing each becomes the variable of the
page's style that has its name, so that one drawing fits light, dark and paper. Every drawing has a
title and a description for those who hear it; a table of its numbers stands beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape, unescape
from importlib.resources import files
from typing import Any

from crowdtally.core.deadline import go_on
from crowdtally.core.display import plainly
from crowdtally.errors import needs

PALETTE: Mapping[str, str] = {
    "ink": "#1b1d21",
    "soft": "#55595f",
    "line": "#d3d7dc",
    "accent": "#0b5fa5",
    "other": "#b4470a",
    "page": "#fefefe",
}
"""Colours of the light page, by the names of the style's variables."""
LONGEST = 28
_REMEMBERED = 64
_TAG = re.compile(r"<[^<>]*>")
_COLOURS = {light: f"var(--{name})" for name, light in PALETTE.items()}
_COLOUR = re.compile("|".join(map(re.escape, _COLOURS)), re.IGNORECASE)
_BROAD = 640
"""Pixels from which on a drawing takes the width of the paper."""
_LARGER, _SMALLER = 1.35, 0.7
"""How far a drawing may grow with the page, and shrink before it is scrolled."""
_WIDER = 1.4
"""Pixels that a letter of a label may be wider."""
_TEXTS = re.compile(r">([^<]*)</text>")
_ROLES = re.compile(r' (?:role|class|aria-[a-z]+|pointer-events)="[^"]*"')
"""What the parts of a drawing say of themselves: it is one picture, described as a whole."""
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


@dataclass(frozen=True)
class Chart:
    name: str
    """Letters and hyphens: its parts' ids start with it, and it is unique on a page."""
    title: str
    words: str
    """What to see in it: the description for those who do not see it."""
    spec: Mapping[str, Any]


def svg(chart: Chart, *, variables: bool = True) -> str:
    """The drawing, ready to stand in a page, in the style's variables or else in light colours."""
    needs("vl_convert", "a chart", "report")
    go_on()  # a report has a dozen drawings: stop if its client has left
    drawn = _converted(json.dumps({**chart.spec, "config": CONFIG, "background": None}))

    def tag(found: re.Match[str]) -> str:
        # Only tags are touched: text between them may be a label, whatever it looks like.
        text = _ROLES.sub("", found[0])
        text = re.sub(r'\bid="', f'id="{chart.name}-', text)
        text = text.replace("url(#", f"url(#{chart.name}-")
        return _COLOUR.sub(lambda m: _COLOURS[m[0].lower()], text) if variables else text

    return _headed(chart, _TAG.sub(tag, drawn))


@lru_cache(_REMEMBERED)
def _converted(spec: str) -> str:
    """The drawing of a specification; a server is asked for the same ones again and again."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec))


def drawing(chart: Chart) -> str:
    """The drawing as a file of its own, which has its colours with it, light and dark."""
    inside, start = svg(chart), "</desc>"
    place = inside.index(start) + len(start)
    return f"{inside[:place]}<style>{_colours()}</style>{inside[place:]}"


@cache
def _colours() -> str:
    style = files("crowdtally.web").joinpath("static", "style.css").read_text(encoding="utf-8")
    light = style[style.index(":root") : style.index("}") + 1]
    dark = style[style.index("@media") : style.index("}\n}") + 3]
    return f"{light} {dark} text {{ font-family: Arial, Helvetica, sans-serif; }}"


def _headed(chart: Chart, drawn: str) -> str:
    start = drawn.index(">") + 1
    size = _SIZE.search(drawn[:start])
    if size is None:
        raise ValueError("a drawing without a size")
    # A reader's font may be wider than the one that the drawing was measured with.
    spare = _WIDER * max((len(unescape(one)) for one in _TEXTS.findall(drawn)), default=0)
    wide, high = float(size[1]) + 1.5 * spare, float(size[2])
    box = f'viewBox="{-spare:.0f} 0 {wide:.0f} {high:.0f}"'
    broad = ' class="broad"' if wide > _BROAD else ""
    width = f' style="max-width:{_LARGER * wide:.0f}px;min-width:{_SMALLER * wide:.0f}px"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img"{broad} {box}{width} '
        f'aria-labelledby="{chart.name}-title {chart.name}-desc">'
        f'<title id="{chart.name}-title">{escape(chart.title)}</title>'
        f'<desc id="{chart.name}-desc">{escape(chart.words)}</desc>{drawn[start:]}'
    )


def label(text: object, longest: int = LONGEST) -> str:
    r"""A value from data as a drawing shows it: on one line, a long one cut.

    >>> label("x" * 100) == "x" * 27 + "…", label("two\nlines")
    (True, "'two\\nlines'")
    """
    plain = plainly(str(text)[: longest + 1])
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


_TEXT = {
    "labelColor": PALETTE["ink"],
    "titleColor": PALETTE["soft"],
    "labelFontSize": 13,
    "titleFontSize": 13,
    "titleFontWeight": "normal",
}
CONFIG: Mapping[str, Any] = {
    "font": "sans-serif",
    "aria": False,
    "axis": {
        **_TEXT,
        "labelLimit": 220,
        "gridColor": PALETTE["line"],
        "domainColor": PALETTE["soft"],
        "tickColor": PALETTE["soft"],
    },
    "legend": _TEXT,
    "header": _TEXT,
    "view": {"stroke": None},
}
