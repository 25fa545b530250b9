"""YAML with comments: whatever a text holds, a reader of YAML gets that text back."""

from __future__ import annotations

import pytest
import yaml as reading

from crowdtally.reader.export import Bullets, Entry, Number, quoted, yaml

TEXTS = [
    "", " ", "plain", "# no comment", "a: b", "- a", "yes", "null", "1.5", "~", "!!python/none x",
    "&a *b", "%x", "@x", "`x`", "{a: b}", "[a]", "'", '"', "\\", "\\n", "two\nlines", "\ttab",
    "a\x00b\x1b[2J\x7f", "\x85\u2028\u2029\ufeff", "\u202eright to left", "😀 \U000e0041", "---",
    "word " * 60, "#" * 200, "a" * 10**5, "two  spaces " * 30, ": " * 90, "- x\n- y " * 20,
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(TEXTS)))
def test_a_text_is_read_back_as_it_was(place: int) -> None:
    text = TEXTS[place].strip(" ") if len(TEXTS[place]) > 80 else TEXTS[place]
    written = yaml([Entry("outer", (Entry("key", text, "why"), Entry("next", "end")))], "top")
    assert reading.safe_load(written) == {"outer": {"key": text, "next": "end"}}
    assert reading.safe_load(quoted(text)) == text
    assert all(letter.isprintable() or letter == "\n" for letter in written)


def test_numbers_lists_points_and_comments() -> None:
    entries = [
        Entry("number", Number("1.0e-9")),
        Entry("names", ["a: b", "# c"]),
        Entry("points", Bullets(("one # two", "three: four\n\x1bfive"))),
        Entry("missing", None, "CURATOR: add it " * 20),
        Entry("last", "x"),
    ]
    written = yaml(entries, "what it is")
    assert reading.safe_load(written) == {
        "number": 1e-9, "names": ["a: b", "# c"],
        "points": "- one # two\n- three: four \N{REPLACEMENT CHARACTER}five", "last": "x",
    }  # fmt: skip
    lines = written.splitlines()
    assert lines[:2] == ["# what it is", ""]
    assert "# missing:" in lines
    assert max(map(len, lines)) <= 92
