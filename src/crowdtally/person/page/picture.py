"""A page of the list as a drawing: own counts, how far noise reaches, and what was drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crowdtally.person.page.rows import Row
from crowdtally.web.charts import PALETTE, Chart, label

_WIDTH, _STEP, _LONGEST = 300, 22, 22
_ACCENT, _OTHER, _SOFT = PALETTE["accent"], PALETTE["other"], PALETTE["soft"]


def picture(found: Sequence[Row], number: int | None) -> Chart | None:
    """The measured categories among these; None where there is none."""
    shown = [row for row in found if row.counted is not None and row.width is not None]
    if not shown:
        return None
    values = [
        {
            "category": f"{label(row.name, _LONGEST)}{' ' * place}",  # cut names may be alike
            "own": row.counted,
            "low": (row.counted or 0) - (row.width or 0),
            "high": (row.counted or 0) + (row.width or 0),
            "noisy": row.noisy,
        }
        for place, row in enumerate(shown)
    ]
    x: dict[str, Any] = {
        "type": "quantitative", "title": "Number of items",
        "axis": {"tickCount": 4, "format": "~s",
                 "labelExpr": "datum.value == 0 ? '0' : datum.label"},
    }  # fmt: skip
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "rule", "color": _SOFT, "strokeWidth": 3, "opacity": 0.55},
         "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}}},
        {"mark": {"type": "point", "filled": True, "color": _ACCENT, "size": 60, "opacity": 1},
         "encoding": {"x": {"field": "own", **x}}},
    ]  # fmt: skip
    said = "Blue dots: your own counts. Grey lines: where the noisy counts lie in 95 of 100 draws."
    if number is not None:
        layers.append({
            "mark": {"type": "point", "shape": "diamond", "filled": False, "color": _OTHER,
                     "size": 130, "strokeWidth": 2.5, "opacity": 1},
            "encoding": {"x": {"field": "noisy", **x}},
        })  # fmt: skip
        said += f" Orange diamonds: the noisy counts of draw {number}."
    rows = {"field": "category", "type": "nominal", "sort": None, "title": None,
            "axis": {"ticks": False, "domain": False, "labelPadding": 6}}  # fmt: skip
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": values},
        "width": _WIDTH,
        "height": {"step": _STEP},
        "encoding": {"y": rows},
        "layer": layers,
    }
    title = "Your counts and their noise" if number is None else "Your counts and the draw"
    return Chart("categories", title, f"{said} The table below has the same numbers.", spec)
