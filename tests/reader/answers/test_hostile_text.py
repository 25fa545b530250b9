"""Text that hides what a spreadsheet runs, or that no file can hold."""

from __future__ import annotations

import csv
import io
import re

import pytest

import crowdtally as ct
from crowdtally.reader.answers.files import as_text
from kit.answered import top_list

RUNS = "=+-@|%"
HIDDEN = [
    "",
    " ",
    "'",
    "\x00",
    "\x0b",
    "\x1b",
    "\xa0",
    "\xad",
    "\u061c",
    "\u200b",
    "\u2066",
    "\ufeff",
]
FORMS = {"=": "＝﹦⁼", "+": "＋﹢", "-": "－﹣", "@": "＠﹫", "%": "％﹪", "|": "｜"}
CALC = "=cmd|' /C calc'!A0"


def given_back(text: str) -> str:
    """What a reader does to get the text: one apostrophe off each part."""
    parts = re.split(r"(?<=[;\t\r\n])", text)
    return "".join(
        part[1:] if part.startswith("'") and as_text(part[1:]) == part else part for part in parts
    )


@pytest.mark.parametrize("before", HIDDEN)
def test_what_runs_is_seen_behind_what_is_not(before: str) -> None:
    for sign in RUNS:
        for letter in (sign, *FORMS[sign]):
            text = f"{before}{letter}1"
            assert as_text(text) == f"'{text}"
            assert given_back(as_text(text)) == text


@pytest.mark.parametrize("separator", [";", "\t", "\n", "\r", "\r\n", ";;", "; "])
def test_no_cell_runs_where_other_separators_tell_them_apart(separator: str) -> None:
    label = f"a{separator}{CALC}{separator}b"
    text = top_list([1]).with_labels({1: label}).to_csv()
    for delimiter in ";\t":
        for line in text.splitlines():  # quotes within a cell do not count there
            for cell in line.split(delimiter):
                assert cell.lstrip('" \x00')[:1] not in ("=", "+", "@", "|", "%"), cell
    _, row = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert given_back(row[2]) == label


@pytest.mark.parametrize(
    "text", ["7-Up", "a; b", "two\n\nlines", "'tis", "a;b=c", "", "'", ";", "x\t", "a,=b", "½"]
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert as_text(text) == text


def test_no_two_texts_become_one() -> None:
    parts = ["", "'", "''", " ", "=", "a", ";", "\t", "\n"]
    texts = {f"{a}{b}{c}{d}" for a in parts for b in parts for c in parts for d in parts}
    assert len({as_text(text) for text in texts}) == len(texts)


def test_half_a_letter_is_no_label() -> None:
    with pytest.raises(ct.InputError, match="not text in Unicode, of 1 item of the release"):
        top_list(["a", "b"]).with_labels({"a": "A", "b": "\ud800"})
