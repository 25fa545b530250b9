"""What is in the drawings; that they are readable was looked at."""

from __future__ import annotations

import re
from math import isnan
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from crowdtally.lab.comparison.charts import (
    COLOURS,
    OWN,
    WARNING,
    Picture,
    as_svg,
    pictures,
    write_pictures,
)
from kit.lab import FACTS, METHODS, compared, summary

TWENTY = [
    f"{bounding}{form}"
    for bounding in ("sra", "hpa", "declared", "dpsense", "dpsense-s", "sra+rank")
    for form in ("", "/filter", "/priority")
]


@pytest.fixture(scope="module")
def drawn() -> dict[str, tuple[Picture, str]]:
    return {one.name: (one, one.svg()) for one in pictures(*compared())}


def texts(svg: str) -> list[str]:
    """All words of a drawing, as a reader of it finds them."""
    return [found for text in ElementTree.fromstring(svg).iter() if (found := text.text)]


def panels(spec: Any) -> list[Any]:
    return list(spec.get("vconcat", [spec]))


def values(panel: Any) -> list[dict[str, Any]]:
    return list(panel["data"]["values"])


def test_there_is_a_picture_of_each_kind_for_each_table(drawn: dict[str, Any]) -> None:
    assert list(drawn) == [
        f"{table}-{kind}"
        for table in ("items", "edges")
        for kind in ("error-against-epsilon", "error-against-bound", "precision-against-k")
    ]


@pytest.mark.parametrize(
    ("kind", "titles"),
    [
        (
            "error-against-epsilon",
            ("ε of the whole release (larger: less private)", "Mean absolute error (records)"),
        ),
        (
            "error-against-bound",
            (
                "Most records of one user that count (max-records)",
                "Mean absolute error (records)",
            ),
        ),
        (
            "precision-against-k",
            ("K, the length of the list", "Share of the true top K found (1 is all)"),
        ),
    ],
)
def test_axes_and_every_method_are_named(
    drawn: dict[str, tuple[Picture, str]], kind: str, titles: tuple[str, str]
) -> None:
    for table in ("items", "edges"):
        words = texts(drawn[f"{table}-{kind}"][1])
        for wanted in (*titles, *METHODS, "lpa (comparison only)", "gs (comparison only)", WARNING):
            assert wanted in words, wanted


def test_the_best_method_is_first_and_keeps_its_colour(drawn: dict[str, Any]) -> None:
    """In the made-up numbers each method is worse than the one before it."""
    for name in ("items-error-against-epsilon", "items-error-against-bound"):
        picture, _ = drawn[name]
        assert [line.name for line in picture.lines][:4] == list(METHODS)
    for picture, _ in drawn.values():
        (_, _, points) = picture.spec["layer"]
        scale = points["encoding"]["color"]["scale"]
        assert dict(zip(scale["domain"], scale["range"], strict=True))["sra"] == COLOURS[0]


def test_points_and_bars_are_the_numbers(drawn: dict[str, tuple[Picture, str]]) -> None:
    summaries, _ = compared()
    picture, _ = drawn["items-error-against-epsilon"]
    for point in values(picture.spec):
        method, epsilon = point["method"].split(" ")[0], f"{point['x']:g}"
        found = [
            one for one in summaries
            if one.setting.method == method and one.setting.epsilon == epsilon
            and (one.table, one.metric) == ("items", "mae")
        ]  # fmt: skip
        best = min(found, key=lambda one: one.mean)
        assert point["value"] == best.mean
        assert point["low"] == pytest.approx(best.mean - best.standard_error)
        assert point["high"] == pytest.approx(best.mean + best.standard_error)


def test_a_method_of_one_bound_is_a_line_without_points(drawn: dict[str, Any]) -> None:
    picture, _ = drawn["items-error-against-bound"]
    flat = [point for point in values(picture.spec) if not point["measured"]]
    assert {(p["method"], p["x"]) for p in flat} == {
        (f"{m} (comparison only)", x) for m in ("lpa", "gs") for x in (3.0, 100.0)
    }
    heads = [column.head for column in picture.columns]
    assert heads == ["at most 3", "at most 10", "at most 30", "at most 100", OWN]
    rows = {line.name: line.numbers for line in picture.lines}
    assert rows["lpa (comparison only)"][:4] == (None,) * 4


def test_inner_names_are_the_pictures_own() -> None:
    """Two drawings on a page must not point at each other's clips."""
    mark = {"type": "point", "clip": True}
    encoding = {"x": {"field": "x", "type": "quantitative"}}
    svg = as_svg({"data": {"values": [{"x": 1}]}, "mark": mark, "encoding": encoding}, "one")
    names = re.findall(r'\bid="([^"]+)"', svg)
    assert names
    assert all(name.startswith("one-") for name in names)
    assert set(re.findall(r"url\(#([^)]+)\)", svg)) == set(names)


def test_twenty_methods_are_shown_in_panels_of_seven() -> None:
    for picture in pictures(*compared(TWENTY, tables=("items",))):
        sizes = [len({value["method"] for value in values(one)}) for one in panels(picture.spec)]
        assert sizes == [7, 7, 6]
        for panel in panels(picture.spec):
            for layer in panel["layer"]:
                colours = layer["encoding"]["color"]["scale"]["range"]
                assert len(set(colours)) == len(colours)
        assert len(picture.lines) == 20
    assert set(TWENTY) <= set(texts(picture.svg()))


def test_a_method_that_is_best_at_one_bound_comes_before_one_that_is_never_bad() -> None:
    """Whoever releases takes the best bound: the others do not count."""
    numbers = [summary("sra", mean, bound=bound) for bound, mean in ((1, 90), (10, 5), (100, 80))]
    (_, picture) = pictures([*numbers, summary("sra+rank", 20, bound=100)], FACTS)
    assert [line.name for line in picture.lines] == ["sra", "sra+rank"]


def test_the_first_methods_look_the_same_whatever_is_beside_them() -> None:
    """The eighth has no colour of its own: it takes a free one, and the others keep theirs."""
    numbers = [
        summary(method, 10 + place if place != 7 else 1, epsilon=epsilon)
        for place, method in enumerate(TWENTY[:8])
        for epsilon in ("1", "2")
    ]
    (picture,) = pictures(numbers, FACTS)
    first = panels(picture.spec)[0]["layer"][0]["encoding"]["color"]["scale"]
    looks = dict(zip(first["domain"], first["range"], strict=True))
    assert first["domain"][0] == TWENTY[7]
    assert [looks[method] for method in TWENTY[:6]] == list(COLOURS[:6])
    assert looks[TWENTY[7]] == COLOURS[6]


def test_one_epsilon_one_bound_one_length_are_dots() -> None:
    made = pictures(*compared(epsilons=("2",), bounds=(10,), ks=(5,), tables=("items",)))
    assert [one.title for one in made] == [
        "Error of counts of items, at ε = 2", "Top 5 of items, at ε = 2",
    ]  # fmt: skip
    words = texts(made[0].svg())
    for wanted in ("sra (10)", "lpa (comparison only)", "Mean absolute error (records)"):
        assert wanted in words
    assert [mark["mark"]["type"] for mark in made[0].spec["layer"]] == ["rule", "point"]


def test_missing_numbers_are_left_out_of_drawing_and_kept_in_the_table() -> None:
    made = pictures(*compared(missing=True, bounds=(10,)))
    holes = [cell for one in made for line in one.lines for cell in line.numbers if cell is None]
    assert holes
    shown = [value for one in made for panel in panels(one.spec) for value in values(panel)]
    assert not any(isnan(value["value"]) for value in shown)
    assert pictures([], FACTS) == []
    assert pictures([summary("sra", float("nan"))], FACTS) == []


@pytest.mark.parametrize("means", [(0.0, 5.0), (0.0, 0.0), (7.0, 7.0), (-1.0, 1.0), (1e-9, 1e12)])
def test_any_numbers_can_be_drawn(means: tuple[float, float]) -> None:
    numbers = [
        summary(method, mean, 3.0, epsilon=epsilon)
        for method, mean in zip(("sra", "hpa"), means, strict=True)
        for epsilon in ("1/3", "2")
    ]
    (picture,) = pictures(numbers, FACTS)
    scale = picture.spec["layer"][0]["encoding"]["y"]["scale"]
    assert scale["domain"][0] < scale["domain"][1]
    assert (scale["type"] == "log") == (means == (1e-9, 1e12))
    assert {"sra", "hpa"} <= set(texts(picture.svg()))


def test_a_name_cannot_become_markup() -> None:
    evil = '<script>alert(1)</script>"><image href="http://x.example/"/>'
    numbers = [summary(evil, 5.0 + i, epsilon=e) for i, e in enumerate(("1", "2"))]
    (picture,) = pictures([*numbers, summary("sra", 9)], FACTS)
    tags = {tag.tag.rpartition("}")[2] for tag in ElementTree.fromstring(picture.svg()).iter()}
    assert tags <= {"svg", "g", "path", "line", "text", "rect", "defs", "clipPath"}
    assert f"{evil} (comparison only)" in texts(picture.svg())


def test_pictures_are_files_of_their_own(tmp_path: Path) -> None:
    summaries, facts = compared(tables=("items",), ks=())
    write_pictures(tmp_path, summaries, facts)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["items-error-against-bound.svg", "items-error-against-epsilon.svg"]
    for name in names:
        assert WARNING in texts((tmp_path / name).read_text(encoding="utf-8"))


def test_pictures_of_an_earlier_question_go(tmp_path: Path) -> None:
    """They would lie beside a page that does not show them."""
    (tmp_path / "my-own.svg").write_text("<svg/>")
    write_pictures(tmp_path, *compared(tables=("items",), ks=()))
    write_pictures(tmp_path, [summary("sra", 9)], FACTS)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["items-error-against-epsilon.svg", "my-own.svg"]
