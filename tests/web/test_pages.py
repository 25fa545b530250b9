"""Pages: every value is escaped, what is missing is an error, the style stands inside."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from crowdtally.web import pages
from crowdtally.web.pages import THIN, Shown, between, grouped, percent

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
