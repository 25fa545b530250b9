"""Results as text, Markdown, pictures and files."""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.lab.comparison.charts import (
    COLOURS,
    DASHES,
    INK,
    SHAPES,
    Axis,
    as_svg,
    curves,
    encoded,
    fitted,
    framed,
    styled,
)
from crowdtally.lab.comparison.summary import alone, with_error
from crowdtally.lab.methods import NOT_PRIVATE, aligned, check_apart
from crowdtally_research.recommenders.histories import DRAWN, RANDOM, RAW, WORDS
from crowdtally_research.recommenders.running import Aggregates, Facts, Found, Quality

# What was found, in words and tables: plain text for a screen, Markdown for a page.

_SURE = 2.0
"""Standard errors by which a gain must differ from 0."""
_NO_EPSILON = "no ε"


def title(metric: str, facts: Facts) -> str:
    """The metric with the length of its lists, as people write it.

    >>> from types import SimpleNamespace
    >>> title("ndcg", SimpleNamespace(length=10)), title("hit rate", SimpleNamespace(length=5))
    ('NDCG@10', 'hit rate@5')
    """
    return f"{metric.upper() if metric == 'ndcg' else metric}@{facts.length}"


def metrics_of(found: Found) -> list[str]:
    return list(dict.fromkeys(one.metric for one in found.qualities))


def recommenders_of(found: Found) -> list[str]:
    """The recommenders that look at a history."""
    return list(dict.fromkeys(one.recommender for one in found.qualities if one.history == RAW))


def popular_list(found: Found, metric: str) -> Quality:
    """The list that is the same for all."""
    return next(q for q in found.qualities if q.history == "none" and q.metric == metric)


def quality_table(found: Found, metric: str, recommender: str) -> list[list[str]]:
    """A row for each kind of history, a column for each ε; the heads first."""
    here = {
        (q.history, q.epsilon): q
        for q in found.qualities
        if q.metric == metric and q.recommender == recommender
    }
    epsilons = list(dict.fromkeys(q.epsilon for q in found.qualities if q.epsilon is not None))
    rows = [["history", _NO_EPSILON, *(f"ε = {epsilon}" for epsilon in epsilons)]]
    for history in (RAW, *DRAWN, RANDOM):
        cells = [here.get((history, epsilon)) for epsilon in (None, *epsilons)]
        shown = [with_error(q.mean, q.standard_error) if q is not None else "" for q in cells]
        rows.append([history, *shown])
    return rows


def aggregates_table(aggregates: Sequence[Aggregates]) -> list[list[str]]:
    """A row for each ε: expected, measured and rebuilt, with scales of least mean and uniform."""
    kinds = list(dict.fromkeys(one.scales for one in aggregates))
    parts = ("expected", "measured", "rebuilt")
    rows = [["ε", *(f"{kind}, {part}" for kind in kinds for part in parts)]]
    for epsilon in dict.fromkeys(one.epsilon for one in aggregates):
        row = [epsilon]
        for one in (a for a in aggregates if a.epsilon == epsilon):
            row += [alone(one.expected), with_error(one.measured, one.measured_error)]
            row += [with_error(one.rebuilt, one.rebuilt_error)]
        rows.append(row)
    return rows


def sentences(found: Found) -> Iterator[str]:
    """The answer in words, for each kind of history that keeps ε."""
    metric = metrics_of(found)[0]
    for history in DRAWN:
        for recommender in recommenders_of(found):
            here = [
                q for q in found.qualities
                if (q.history, q.recommender, q.metric) == (history, recommender, metric)
            ]  # fmt: skip
            parts = [
                f"{word} at ε = {', '.join(at)}"
                for word, sign in (("better", 1), ("worse", -1))
                if (at := [str(q.epsilon) for q in here if sign * q.gain > _SURE * q.gain_error])
            ]
            words = " and ".join(parts) or "no better and no worse at any ε"
            yield f"{history}, {recommender}: {words}."


def facts_in_words(facts: Facts) -> Iterator[str]:
    yield (
        f"{facts.people:,} people to recommend to, {facts.mean_history:.1f} items in a history and "
        f"{facts.hidden} hidden of each; {facts.public:,} other people to learn from; "
        f"{facts.items:,} items in {facts.categories:,} categories; {facts.draws} "
        f"{'draw' if facts.draws == 1 else 'draws'} at each ε."
    )
    yield (
        "ε is that of one item: a whole history of t items has t·ε, here "
        f"{facts.mean_history:.0f}·ε on average."
    )
    if facts.left_out:
        yield (
            f"Of {facts.rows:,} rows, {facts.left_out:,} have no person or an item that is not in "
            "the catalogue, and were left out."
        )


def lines(found: Found) -> Iterator[str]:
    yield from facts_in_words(found.facts)
    for metric in metrics_of(found):
        base = popular_list(found, metric)
        name = title(metric, found.facts)
        yield f"\n{name} of the popular list, the same for all: " + with_error(
            base.mean, base.standard_error
        )
        for recommender in recommenders_of(found):
            yield f"\n{name}, {recommender}:"
            rows = quality_table(found, metric, recommender)
            yield from (f"  {line}" for line in aligned(rows))
    yield "\nMean absolute error of the counts of categories:"
    yield from (f"  {line}" for line in aligned(aggregates_table(found.aggregates)))
    name = title(metrics_of(found)[0], found.facts)
    yield f"\nBeside the popular list, by {name} and {_SURE:g} standard errors of the difference:"
    yield from (f"  {one}" for one in sentences(found))


def markdown(found: Found) -> str:
    parts = ["# Does a perturbed history still recommend?", *facts_in_words(found.facts)]
    parts.append(f"```sh\n{found.facts.command}\n```")
    parts.append(_table([["history", "what it is"], *([k, w] for k, w in WORDS.items())]))
    for metric in metrics_of(found):
        base, name = popular_list(found, metric), title(metric, found.facts)
        parts.append(f"## {name[0].upper()}{name[1:]}")
        parts.append(
            f"Of the popular list, the same for all: {with_error(base.mean, base.standard_error)}."
        )
        for recommender in recommenders_of(found):
            parts += [f"### {recommender}", _table(quality_table(found, metric, recommender))]
    parts += ["## Mean absolute error of the counts of categories"]
    parts += [_table(aggregates_table(found.aggregates))]
    name = title(metrics_of(found)[0], found.facts)
    parts += [f"## Beside the popular list, by {name}"]
    parts += [f"A difference is told where it is above {_SURE:g} standard errors of its own."]
    parts += ["\n".join(f"- {one}" for one in sentences(found))]
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *others = rows
    ruled = [head, ["---"] * len(head), *others]
    return "\n".join(f"| {' | '.join(row)} |" for row in ruled)


# What was found, as pictures: quality against ε, and the error of the counts against ε.

_EPSILON = "ε of one item (larger: less private)"
_WIDTH, _HEIGHT = 330, 320
_PARTS = ("noisy counts", "rebuilt history")

Values = list[dict[str, Any]]


def pictures(found: Found) -> dict[str, str]:
    """Each picture as SVG, by its name."""
    drawn = {metric.replace(" ", "-"): _quality(found, metric) for metric in metrics_of(found)}
    drawn["aggregates"] = _aggregates(found)
    return {name: as_svg(spec, name) for name, spec in drawn.items()}


def _quality(found: Found, metric: str) -> dict[str, Any]:
    """A panel for each recommender; what has no ε is a level line with its name."""
    here = [one for one in found.qualities if one.metric == metric]
    name, base = title(metric, found.facts), popular_list(found, metric)
    y = Axis(name, False, (0.0, 1.06 * max(one.mean + one.standard_error for one in here)))
    panels = []
    for recommender in recommenders_of(found):
        own = [one for one in here if one.recommender == recommender]
        level = [(one.history, one) for one in own if one.history in (RAW, RANDOM)]
        levels = [*level, (base.recommender, base)]
        lines = [one for one in own if one.epsilon is not None]
        panels.append(_panel(recommender, _points(lines), _levels(levels), DRAWN, y))
    words = f"{name[0].upper()}{name[1:]} of what was hidden, by the history that was given"
    return _whole(f"{words}; bars are ± 1 standard error", panels)


def _aggregates(found: Found) -> dict[str, Any]:
    """The errors of the noisy counts and of the rebuilt ones, with both kinds of scales."""
    kinds = list(dict.fromkeys(one.scales for one in found.aggregates))
    panels, each = [], found.aggregates
    everything = [value for one in each for value in (one.measured, one.rebuilt)]
    y = fitted(Axis("mean absolute error, items", True), everything, everything)
    for part in _PARTS:
        noisy = part == _PARTS[0]
        values = [
            _point(
                one.scales, one.epsilon, one.measured if noisy else one.rebuilt,
                one.measured_error if noisy else one.rebuilt_error,
            )
            for one in each
        ]  # fmt: skip
        panels.append(_panel(part, values, [], kinds, y))
    return _whole("Error of the counts of categories; bars are ± 1 standard error", panels)


def _points(lines: Sequence[Quality]) -> Values:
    return [_point(q.history, str(q.epsilon), q.mean, q.standard_error) for q in lines]


def _point(name: str, epsilon: str, mean: float, error: float) -> dict[str, Any]:
    place = float(Fraction(epsilon))
    return {"name": name, "x": place, "value": mean, "low": mean - error, "high": mean + error}


def _levels(levels: Sequence[tuple[str, Quality]]) -> Values:
    return [{"name": name, "value": one.mean} for name, one in levels]


def _panel(
    name: str, values: Values, levels: Values, order: Sequence[str], y: Axis
) -> dict[str, Any]:
    places = sorted({value["x"] for value in values})
    x = encoded("x", fitted(Axis(_EPSILON, True), places, places))
    x["axis"] |= {"values": places, "format": ".4~g"}
    up = encoded("value", y)
    legend = {"title": None, "orient": "bottom", "columns": 3, "labelLimit": 0, "symbolSize": 90}
    colour, dashes, shapes = (
        styled(by, "name", order, choices[: len(order)], shown)
        for by, choices, shown in (
            ("color", COLOURS, legend), ("strokeDash", DASHES, None), ("shape", SHAPES, legend),
        )
    )  # fmt: skip
    layers = [*_level_layers(levels, up), *curves(x, up, colour, dashes, shapes)]
    return {
        "title": {"text": name, "fontSize": 13, "color": INK, "anchor": "start"},
        "width": _WIDTH, "height": _HEIGHT, "data": {"values": values}, "layer": layers,
    }  # fmt: skip


def _level_layers(levels: Values, y: dict[str, Any]) -> list[dict[str, Any]]:
    """A level line with its name beside it, to the right of the panel."""
    if not levels:
        return []
    data = {"data": {"values": levels}}
    rule = {"type": "rule", "strokeWidth": 1.5, "color": "#777", "strokeDash": [3, 3]}
    text = {
        "type": "text", "align": "left", "baseline": "middle", "dx": 5, "color": INK,
        "fontSize": 12,
    }  # fmt: skip
    return [
        data | {"mark": rule, "encoding": {"y": y}},
        data | {
            "mark": text,
            "encoding": {
                "y": y, "x": {"value": _WIDTH}, "text": {"field": "name", "type": "nominal"},
            },
        },
    ]  # fmt: skip


def _whole(words: str, panels: Sequence[dict[str, Any]]) -> dict[str, Any]:
    shared = dict.fromkeys(("color", "shape", "strokeDash"), "shared")
    view = {"hconcat": list(panels), "spacing": 30, "resolve": {"scale": shared}}
    return framed(words, view, labels=12)


# What was found, as files in a new folder and as a frame. Each says that it is not private.


def as_frame(found: Found) -> Any:
    """A pandas frame of the qualities; its ``attrs`` have the rest."""
    import pandas as pd

    frame = pd.DataFrame([asdict(one) for one in found.qualities])
    frame.attrs |= {name: value for name, value in as_json(found).items() if name != "qualities"}
    return frame


def as_json(found: Found) -> dict[str, Any]:
    return {
        "warning": NOT_PRIVATE,
        "facts": asdict(found.facts),
        "qualities": [asdict(one) for one in found.qualities],
        "aggregates": [asdict(one) for one in found.aggregates],
    }


def check_folder(path: Path) -> None:
    """Refuse, before anything is read, a place that is not free."""
    check_apart(path)
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} exists, and nothing is replaced: give another folder with -o.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.absolute().parent}: make it first.")


def write(found: Found, folder: Path) -> None:
    """Write tables, pictures and the page, all of them or none."""
    files = {
        "recommend.json": json.dumps(as_json(found), ensure_ascii=False, indent=1) + "\n",
        "recommend.csv": _csv([asdict(one) for one in found.qualities]),
        "aggregates.csv": _csv([asdict(one) for one in found.aggregates]),
        "recommend.md": f"**{NOT_PRIVATE}**\n\n{markdown(found)}",
    }
    files |= {f"{name}.svg": drawn + "\n" for name, drawn in pictures(found).items()}
    part = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.part")
    try:
        part.mkdir(mode=0o700)  # what is computed from true records is nobody else's to read
        for name, text in files.items():
            (part / name).write_text(text, encoding="utf-8")
        check_folder(folder)
        os.rename(part, folder)
    except OSError as error:
        raise CrowdtallyError(
            f"{str(folder)!r} cannot be written: {error.strerror or 'unknown reason'}. "
            "Check the path, its permissions and the free space."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _csv(rows: list[dict[str, Any]]) -> str:
    told = [row | {"warning": NOT_PRIVATE} for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(told[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(told)
    return text.getvalue()
