"""docs/report.md has every field of a report's JSON, and its pictures are small."""

from __future__ import annotations

import re
from pathlib import Path

from docs.report_fields import rendered

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_has_every_field() -> None:
    page = (DOCS / "report.md").read_text("utf-8")
    assert page == rendered(page), "run python tests/docs/report_fields.py"
    assert page.count("| `") > 40


def test_the_pictures_are_there_and_small() -> None:
    named = re.findall(r'src="(pictures/[^"]*)"', (DOCS / "report.md").read_text("utf-8"))
    assert len(named) == 3
    for name in named:
        assert 0 < (DOCS / name).stat().st_size < 150_000
