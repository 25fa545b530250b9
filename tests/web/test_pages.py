"""Pages, charts and numerals: escaped, whole, and nothing from outside."""

from __future__ import annotations

import re
import sys
import threading
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from crowdtally import errors
from crowdtally.errors import UsageError
from crowdtally.web import pages
from crowdtally.web.charts import PALETTE, Chart, label, svg
from crowdtally.web.pages import (
    PLAIN,
    THIN,
    Shown,
    between,
    current,
    grouped,
    of_reader,
    percent,
    sentence,
    style,
    written_as,
)

# ---- Pages: every value is escaped, what is missing is an error, the style stands inside ---------


EVIL = "<script>alert('1,000')</script>"


@pytest.fixture
def templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of a page's own."""
    (tmp_path / "a_page").mkdir()
    (tmp_path / "a_page" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "a_page", raising=False)  # of another test
    pages._environment.cache_clear()
    return tmp_path / "a_page"


def test_values_are_escaped_and_the_style_is_not(templates: Path) -> None:
    (templates / "own.html").write_text(
        '{% extends "base.html" %}{% import "parts.html" as parts %}'
        "{% block content %}{{ parts.table(shown) }}{{ said | sentence }}{% endblock %}"
    )
    shown = Shown(EVIL, ("a", "b"), [(EVIL, "1")], note=EVIL)
    made = pages.rendered("a_page", "own.html", title=EVIL, shown=shown, said=EVIL)
    assert "<script" not in made
    assert made.count("&lt;script&gt;") == 7  # title, heading, caption, its region, row, note, said
    assert '"Segoe UI"' in made
    assert '<th scope="col" class="words">a</th>' in made
    assert '<th scope="row" class="words"><bdi>' in made
    linked = pages.rendered(
        "a_page", "own.html", title="t", shown=shown, said="", stylesheet="style.css"
    )
    assert '<link rel="stylesheet" href="style.css">' in linked
    assert "<style>" not in linked


def test_a_fact_that_is_missing_is_an_error(templates: Path) -> None:
    from jinja2 import TemplateNotFound, UndefinedError

    (templates / "own.html").write_text("{{ nothing }}")
    with pytest.raises(UndefinedError):
        pages.rendered("a_page", "own.html", title="t")
    with pytest.raises(TemplateNotFound):
        pages.rendered("a_page", "other.html", title="t")


def test_thousands_are_apart_but_not_within_quotes() -> None:
    said = "a user's 1,234,567 cells of '1,000' and `x > 1,000`, 3,5 and ε 2 = 1,000."
    assert pages.sentence(said).replace(THIN, "_").replace("\N{NO-BREAK SPACE}", "~") == (
        "a user's 1_234_567 cells of '1,000' and `x > 1,000`, 3,5 and ε~2~=~1_000."
    )


def test_a_hostile_sentence_takes_no_time() -> None:
    evil = "\\'" * 500_000
    assert pages.sentence(evil) == evil


def test_numbers() -> None:
    assert [grouped(x).replace(THIN, "_") for x in (0, 0.0, 5, 99.96, 1234.5, 1e15)] == [
        "0", "0", "5", "100", "1_234", "1_000_000_000_000_000",
    ]  # fmt: skip
    assert grouped(float("inf")) == "–"
    assert between(1.0, None) == "–"
    assert percent(0.994) == "over 99%"


def _luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _mixed(over: str, page: str, share: float) -> str:
    pairs = ((int(over[n : n + 2], 16), int(page[n : n + 2], 16)) for n in (1, 3, 5))
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
def test_colours_can_be_read(which: int) -> None:
    from crowdtally.reader.report.charts import DARKEST

    found = re.findall(r":root \{([^}]*)\}", pages.style())[which]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", found))
    for text in ("ink", "soft", "accent", "other"):
        assert _contrast(colours[text], colours["page"]) >= 4.5, text
    assert _contrast(colours["ink"], colours["tint"]) >= 4.5
    assert _contrast(colours["warn"], colours["warn-page"]) >= 4.5
    filled = _mixed(colours["accent"], colours["page"], DARKEST)
    assert _contrast(colours["ink"], filled) >= 4.5, "a number in a heat map"


def test_a_time_is_told_in_utc_and_what_is_none_as_it_is() -> None:
    assert pages.moment("2026-11-17T23:42:52-02:00") == "2026-11-18, 01:42 UTC"
    for text in ("2026-11-17T18:42:52", "", "<b>", "0001-01-01T00:00:00+23:00"):
        assert pages.moment(text) == pages.value(text)


# ---- Drawings: texts stay texts, colours follow the page, and nothing comes from outside ---------


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


# ---- Numbers as a reader writes them, whatever a browser says of its languages -------------------


NUMBER = "1234567.5"


@pytest.mark.parametrize(
    ("accepted", "written"),
    [
        ("de", "1.234.567,5"),
        ("de-DE,de;q=0.9,en;q=0.8", "1.234.567,5"),
        ("de-CH", "1’234’567.5"),
        ("fr", f"1{THIN}234{THIN}567,5"),
        ("en-US", "1,234,567.5"),
        ("en-IN", "12,34,567.5"),
        ("hi-IN", "12,34,567.5"),
        ("en;q=0.5, de", "1.234.567,5"),
        ("xx-YY, de;q=0.1", "1.234.567,5"),
        ("*", f"1{THIN}234{THIN}567.5"),
        ("", f"1{THIN}234{THIN}567.5"),
    ],
)
def test_as_the_first_language_that_is_known(accepted: str, written: str) -> None:
    assert of_reader(accepted).written(NUMBER) == written


@pytest.mark.parametrize(
    "accepted",
    [
        ";", ",,,", "q=1", ";q=", "de;q=nan", "de;q=-1", "de;q=0", "../../../etc/passwd", "\x00",
        "a" * 100_000, "-", "_", "de_DE@euro;q=oops", "ü", "en-" * 1000, "💥", "de;q=1;x;y=oops",
        "root-", "C", "1", "en-US-x-private-" + "y" * 90,
    ],
)  # fmt: skip
def test_nonsense_is_plain_or_a_language(accepted: str) -> None:
    found = of_reader(accepted)
    assert found.written("12.5") in ("12.5", "12,5")
    assert found.written("-12") == "-12"


def test_arabic_readers_get_digits_that_the_page_has() -> None:
    assert of_reader("ar-EG").written("1234").replace(",", "") == "1234"


def test_signs_and_short_numbers_stay() -> None:
    german = of_reader("de")
    assert [german.written(one) for one in ("0", "-1", "−999", "-1000", "−1234.25")] == [
        "0", "-1", "−999", "-1.000", "−1.234,25",
    ]  # fmt: skip


def test_pages_write_all_numbers_alike() -> None:
    with written_as(of_reader("de")):
        assert grouped(1234567) == "1.234.567"
        assert between(1000, 2000) == "1.000 to 2.000"
        assert sentence("1,234 users of '1,234'") == "1.234 users of '1,234'"
    assert current() is PLAIN


def test_one_reader_does_not_change_anothers_numbers() -> None:
    seen = []
    with written_as(of_reader("de")):
        other = threading.Thread(target=lambda: seen.append(current()))
        other.start()
        other.join()
    assert seen == [PLAIN]
