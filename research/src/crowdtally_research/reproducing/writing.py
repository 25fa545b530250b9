"""Reproductions as pictures, a page and tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crowdtally.curator.manifest import versions
from crowdtally.lab.comparison.charts import (
    COLOURS,
    SHAPES,
    WARNING,
    Axis,
    as_svg,
    curves,
    encoded,
    fitted,
    framed,
    styled,
)
from crowdtally.lab.comparison.summary import NO_NUMBER, alone, with_error
from crowdtally.lab.methods import NOT_PRIVATE, write_json, write_text
from crowdtally_research.reproducing.figure import Figure, Number, Numbers, Panel, Place
from crowdtally_research.reproducing.results import MANIFEST, VERDICTS, Result

# A figure as one picture: its panels side by side, with one legend for all of them.

MADE_UP = "Computed from made-up records"
"""Above a picture that no real person is in."""
_COLOURS = (*COLOURS, "#999999", "#7A4FBF")
_SHAPES = (*SHAPES, "triangle-left", "circle")
_WIDTH = 330
_HEIGHT = 230
_ABREAST = 3
_FEW = 9
"""So many places have each a label of their own."""
_LETTERS = 34
"""So many letters of names have room side by side below a panel."""


def picture(figure: Figure, numbers: Numbers, name: str, *, is_real: bool) -> str:
    """The figure as SVG.

    Args:
        figure: what is drawn.
        numbers: its numbers.
        name: what its inner names start with.
        is_real: whether somebody's records are in it.
    """
    lines = list(dict.fromkeys(one.line for one in numbers))
    drawn = [_panel(panel, numbers, lines) for panel in figure.panels]
    abreast = 2 if len(drawn) in (2, 4) else _ABREAST
    view = {
        "concat": drawn, "columns": abreast, "spacing": {"row": 30, "column": 40},
        "resolve": {"scale": {"xOffset": "independent"}},  # each panel has bars of its own
    }  # fmt: skip
    warning = WARNING if is_real else MADE_UP
    return as_svg(framed(figure.title, view, warning=warning), name)


def _panel(panel: Panel, numbers: Numbers, lines: Sequence[str]) -> dict[str, Any]:
    own = [one for one in numbers if one.panel == panel.name]
    y = _fitted(panel, own)
    draw = _bars if panel.is_bars else _lines
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "title": {"text": panel.title, "fontSize": 12, "anchor": "start", "fontWeight": "normal"},
        "data": {"values": [_value(one, y) for one in own]},
        "layer": draw(panel, own, y, lines),
    }


def _fitted(panel: Panel, own: Iterable[Number]) -> Axis:
    """The axis with room for all numbers; one that is not by ratios begins at 0 with bars."""
    lows = [max(n.mean - n.standard_error, n.mean / 2) if n.mean > 0 else n.mean for n in own]
    highs = [n.mean + n.standard_error for n in own]
    y = fitted(panel.y, lows or [0.0], highs or [1.0])
    if panel.y.domain is not None or y.is_log or min(lows, default=0.0) < 0:
        return y
    return replace(y, domain=(0.0, max(highs, default=1.0) * 1.05 or 1.0))


def _value(one: Number, y: Axis) -> dict[str, Any]:
    assert y.domain is not None
    bottom, top = y.domain
    return {
        "line": one.line,
        "x": one.x,
        "value": one.mean,
        "low": max(one.mean - one.standard_error, bottom),
        "high": min(one.mean + one.standard_error, top),
    }


def _styled(
    by: str, lines: Sequence[str], choices: Sequence[Any], legend: object
) -> dict[str, Any]:
    chosen = [choices[place % len(choices)] for place in range(len(lines))]
    return styled(by, "line", lines, chosen, legend)


def _legend(lines: Sequence[str]) -> dict[str, Any]:
    return {
        "title": None, "orient": "bottom", "labelLimit": 0, "symbolSize": 90,
        "columns": min(len(lines), 6), "symbolStrokeWidth": 0,
    }  # fmt: skip


def _lines(panel: Panel, own: Sequence[Number], y: Axis, lines: Sequence[str]) -> list[Any]:
    places = sorted({float(one.x) for one in own})
    across = encoded("x", fitted(panel.x, places or [0.0], places or [1.0]))
    across["axis"] |= {"format": ",.6~g", "labelOverlap": "greedy", "labelSeparation": 4}
    if len(places) <= _FEW:
        across["axis"] |= {"values": places}
    colour = _styled("color", lines, _COLOURS, _legend(lines))
    shapes = _styled("shape", lines, _SHAPES, _legend(lines))
    return curves(across, encoded("value", y), colour, {}, shapes, size=45)


def _bars(panel: Panel, own: Sequence[Number], y: Axis, lines: Sequence[str]) -> list[Any]:
    """Bars beside each other; where the axis is by ratios, which has no 0, points."""
    order = [str(one) for one in dict.fromkeys(number.x for number in own)]
    present = [line for line in lines if any(one.line == line for one in own)]
    # Names that would run into each other are written aslant.
    angle = -20 if sum(map(len, order)) > _LETTERS else 0
    title = {"title": panel.x.title, "labelAngle": angle, "labelLimit": 0}
    across = {
        "x": {"field": "x", "type": "nominal", "sort": order, "axis": title},
        "xOffset": {"field": "line", "type": "nominal", "sort": present,
                    "scale": {"domain": present}},
    }  # fmt: skip
    up = encoded("value", y)
    colour = _styled("color", lines, _COLOURS, _legend(lines))
    ends = across | {"y": up | {"field": "low"}, "y2": {"field": "high"}}
    if y.is_log:
        mark = {"type": "point", "filled": True, "size": 60, "opacity": 1}
        shown = across | {"y": up} | colour | _styled("shape", lines, _SHAPES, _legend(lines))
        return [{"mark": {"type": "rule"}, "encoding": ends | colour},
                {"mark": mark, "encoding": shown}]  # fmt: skip
    return [
        {"mark": {"type": "bar"}, "encoding": across | {"y": up} | colour},
        {"mark": {"type": "rule", "color": "#222"}, "encoding": ends},
    ]


# A reproduction as files: a page in Markdown, its pictures, and every number.

PAGE = "reproduction.md"
_NUMBERS = "numbers.csv"
_PICTURES = "pictures"
_QUICK = (
    "**This was a quick try**: a hundredth of the data and two runs. It shows that everything "
    "works; its verdicts mean little."
)
_PUBLIC_DATA = (
    "**NOT PRIVATE: this was computed from true records**, of files that are public for research. "
    "No ε covers it."
)
_OPENING = (
    "Each table and figure of four papers, in our numbers, beside what the paper states. A result "
    "*agrees* or *differs* with the paper's words; it *cannot be checked* where the text does not "
    "say enough. `auto` is our own method, one more line. The numbers are means ± one standard "
    "error over runs of the real steps of a release, with exact noise. `crowdtally lab reproduce` "
    "wrote this page."
)


def write(folder: Path, found: Sequence[Result], *, quick: bool) -> None:
    """Write the page, the pictures, the numbers and the verdicts."""
    (folder / _PICTURES).mkdir(exist_ok=True)
    for one in found:
        drawn = picture(one.figure, one.numbers, one.name, is_real=one.is_real)
        write_text(folder / _picture(one), f"{drawn}\n")
    write_text(folder / _NUMBERS, _csv(found))
    write_text(folder / PAGE, page(found, quick=quick))
    write_json(folder / MANIFEST, {"warning": NOT_PRIVATE, "versions": versions(),
                                   "quick": quick, "figures": as_json(found)})  # fmt: skip


def as_json(found: Sequence[Result]) -> list[dict[str, object]]:
    """Every figure with its claims and its numbers."""
    return [
        {
            "paper": one.paper.name,
            "figure": one.figure.name,
            "title": one.figure.title,
            "data": list(one.data),
            "claims": [
                {"states": claim.words, "verdict": judged.verdict, "found": judged.found}
                for claim, judged in one.judged
            ],
            "numbers": [number.to_dict() for number in one.numbers],
        }
        for one in found
    ]


def page(found: Sequence[Result], *, quick: bool) -> str:
    blocks = ["# The papers' results, reproduced", _OPENING]
    if quick:
        blocks.append(_QUICK)
    if any(one.is_real for one in found):
        blocks.append(_PUBLIC_DATA)
    blocks.append(_overview(found))
    for paper in dict.fromkeys(one.paper.name for one in found):
        own = [one for one in found if one.paper.name == paper]
        blocks.append(f"## {own[0].paper.title}")
        for one in own:
            blocks += _figure(one)
    return "\n\n".join(blocks) + "\n"


def heading(one: Result) -> str:
    """What a figure is called: ``Figure 7: …``; where the paper gives no number, its title."""
    name, title = one.figure.name, one.figure.title
    if name[:1].isdigit():
        return f"Figure {name}: {title}"
    table = name.removeprefix("table")
    return f"Table {table}: {title}" if table.isdigit() else f"{title} ({name})"


def _overview(found: Sequence[Result]) -> str:
    rows = [
        (one.paper.name, heading(one), *(str(one.verdicts[verdict]) for verdict in VERDICTS))
        for one in found
    ]
    totals = [str(sum(one.verdicts[verdict] for one in found)) for verdict in VERDICTS]
    return _table(
        ("paper", "figure", *VERDICTS),
        [*rows, ("all", f"{len(found)} tables and figures", *totals)],
    )


def _figure(one: Result) -> Iterator[str]:
    figure = one.figure
    yield f"### {heading(one)}"
    yield f"{figure.setting} Data: {'; '.join(one.data) or 'made up for this figure'}."
    yield f"![{figure.title}]({_picture(one).as_posix()})"
    yield f"*{figure.see}*"
    rows = [(claim.words, judged.found, f"*{judged.verdict}*") for claim, judged in one.judged]
    yield _table(("the paper states", "we found", "result"), rows)
    yield from (f"Note: {note}" for note in figure.notes)
    numbers = "\n\n".join(_numbers(panel, one.numbers) for panel in figure.panels)
    yield f"<details><summary>The numbers</summary>\n\n{numbers}\n\n</details>"


def _numbers(panel: Panel, numbers: Numbers) -> str:
    lines = numbers.lines(panel.name)
    places = _places(panel, numbers)
    if any(one.text for one in numbers if one.panel == panel.name):
        rows = [(_shown(x), *(_text(panel, numbers, line, x) for line in lines)) for x in places]
        return f"{panel.title}\n\n{_table((panel.x.title, *lines), rows)}"
    rows = [(line, *(_mean(panel, numbers, line, x) for x in places)) for line in lines]
    corner = f"{panel.y.title}, by {panel.x.title}"
    return f"{panel.title}\n\n{_table((corner, *map(_shown, places)), rows)}"


def _places(panel: Panel, numbers: Numbers) -> list[Place]:
    places = list(dict.fromkeys(one.x for one in numbers if one.panel == panel.name))
    return places if any(isinstance(x, str) for x in places) else sorted(places, key=float)


def _shown(x: Place) -> str:
    return x if isinstance(x, str) else alone(float(x))


def _mean(panel: Panel, numbers: Numbers, line: str, x: Place) -> str:
    found = numbers.curve(panel.name, line).get(x)
    if found is None:
        return NO_NUMBER
    return with_error(found.mean, found.standard_error) if found.runs > 1 else alone(found.mean)


def _text(panel: Panel, numbers: Numbers, line: str, x: Place) -> str:
    found = numbers.curve(panel.name, line).get(x)
    return NO_NUMBER if found is None else found.text or alone(found.mean)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    shown = [[_cell(text) for text in row] for row in (heads, *rows)]
    first, *rest = (f"| {' | '.join(row)} |" for row in shown)
    return "\n".join((first, "|" + "---|" * len(heads), *rest))


def _cell(text: str) -> str:
    """A text that stays in its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def _picture(one: Result) -> Path:
    return Path(_PICTURES) / f"{one.name}.svg"


def _csv(found: Sequence[Result]) -> str:
    text = io.StringIO()
    heads = ("paper", "figure", "panel", "line", "x", "mean", "standard_error", "runs", "text")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*heads, "warning"))
    for one in found:
        for number in one.numbers:
            told = number.to_dict()
            row = (one.paper.name, one.figure.name, *(told[head] for head in heads[2:]))
            writer.writerow((*row, NOT_PRIVATE))
    return text.getvalue()
