"""Drawings: texts stay texts, colours follow the page, and nothing comes from outside."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from crowdtally import errors
from crowdtally.errors import UsageError
from crowdtally.web.charts import PALETTE, Chart, label, svg
from crowdtally.web.pages import style

HOSTILE = ["<script>alert(1)</script>", 'id="mine" #1b1d21', "</svg>&amp;", "url(#x)", 'class="a"']


def chart(values: list[str], name: str = "shown") -> Chart:
    spec: dict[str, Any] = {
        "data": {"values": [{"a": one, "b": n + 1} for n, one in enumerate(values)]},
        "mark": {"type": "bar", "color": PALETTE["accent"], "clip": True},
        "encoding": {"y": {"field": "a", "type": "nominal", "sort": None},
                     "x": {"field": "b", "type": "quantitative"}},
    }  # fmt: skip
    return Chart(name, "A <title>", 'What "it" shows & <b>', spec)


@pytest.fixture(scope="module")
def drawn() -> str:
    return svg(chart(HOSTILE))


def test_labels_are_text_as_they_are(drawn: str) -> None:
    root = ET.fromstring(drawn)
    texts = ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("}text")]
    assert set(HOSTILE) <= set(texts)
    kinds = {one.tag.partition("}")[2] for one in root.iter()}
    assert kinds <= {
        "svg",
        "title",
        "desc",
        "g",
        "path",
        "line",
        "text",
        "defs",
        "clipPath",
        "rect",
    }


def test_it_is_described_once_for_those_who_hear_it(drawn: str) -> None:
    root = ET.fromstring(drawn)
    title, words = (root.find(f"{{http://www.w3.org/2000/svg}}{one}") for one in ("title", "desc"))
    assert title is not None and title.text == "A <title>"  # noqa: PT018
    assert words is not None and words.text == 'What "it" shows & <b>'  # noqa: PT018
    assert root.get("aria-labelledby") == f"{title.get('id')} {words.get('id')}"
    inner = [one for one in root.iter() if one is not root]
    assert not [one for one in inner if "role" in one.attrib or "aria-label" in one.attrib]


def test_every_colour_is_a_variable_of_the_style(drawn: str) -> None:
    tags = " ".join(re.findall(r"<[^<>]*>", drawn))
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb\(", tags)
    used = set(re.findall(r"var\(--(\w+)\)", tags))
    assert {"ink", "soft", "line", "accent"} <= used <= set(PALETTE)
    for name, light in PALETTE.items():
        assert f"--{name}: {light};" in style().partition("@media")[0], "light is as it was drawn"
    fixed = " ".join(re.findall(r"<[^<>]*>", svg(chart(["a"]), variables=False)))
    assert "var(" not in fixed
    assert PALETTE["accent"] in fixed


def test_names_within_drawings_do_not_meet() -> None:
    first, second = (svg(chart(["a", "b"], name)) for name in ("one", "two"))
    ids = [set(re.findall(r'\bid="([^"]*)"', one)) for one in (first, second)]
    assert all(ids)
    assert not ids[0] & ids[1]
    for drawing, own in ((first, ids[0]), (second, ids[1])):
        assert set(re.findall(r"url\(#([^)]*)\)", drawing)) <= own


def test_a_label_is_short_and_cannot_break_a_line() -> None:
    assert label("x" * 100_000) == "x" * 27 + "…"
    assert label("\u202egpj.exe") == r"'\u202egpj.exe'"
    assert label("ok") == "ok"


def test_what_is_missing_is_named_with_what_to_type() -> None:
    with pytest.raises(UsageError, match=r"pip install 'crowdtally\[pdf\]'"):
        errors.needs("no_such_package", "a report as PDF", "pdf")
