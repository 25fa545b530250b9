"""Answers and folders as texts, without what differs between two runs that are equal."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_YEAR = r"20(?:2[5-9]|3\d)"
"""Years of runs; the records that are counted are older."""
_CLOCK = r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\+00:00| UTC|Z)?"
_MASKS = (
    (re.compile(rf"\b{_YEAR}-\d\d-\d\d(?:(?:T| |, ){_CLOCK})?"), "<time>"),
    (re.compile(rf"\b\d{{1,2}} (?:{_MONTHS}) {_YEAR}(?:, {_CLOCK})?"), "<time>"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), r"\1:<port>"),
    (re.compile(r'("versions\\?": ?)\{[^}]*\}'), r"\1<versions>"),
    (re.compile(r'(\\?"(?:crowdtally|duckdb)\\?": ?)\\?"\d[\w.]*\\?"'), r"\1<version>"),
    (re.compile(r"\b(crowdtally|duckdb|numpy|python|Python) \d+\.[\d.]*\d"), r"\1 <version>"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:s|seconds|minutes)\b"), "<duration>"),
)
_HASH = re.compile(
    r'(?P<kept>"sha256": ?"[0-9a-f]{64}"(?=,\s*"size"))'  # of a public list: the same everywhere
    r"|(?<![0-9a-zA-Z#])[0-9a-f]{16,128}(?![0-9a-zA-Z])"
)
_ENTRY = re.compile(r"\b(\d+)-[0-9a-f]{8}\b")
_LONG_FLOAT = re.compile(r"-?\d+\.\d+(e[+-]?\d+)?")
_DIGITS = 9
"""Significant digits of floats: the last ones may differ between processors."""
_SPACES = re.compile(r"(?<=\S) {2,}")


class Mask:
    """Takes out what differs: paths, times, ports, versions, random names."""

    def __init__(self, places: dict[str, str]) -> None:
        """Texts such as the scene's folder, and what stands for each."""
        self._places = sorted(places.items(), key=lambda one: -len(one[0]))

    def __call__(self, text: str) -> str:
        """The text without them."""
        text = "\n".join(map(self._placed, text.split("\n")))
        for pattern, put in _MASKS:
            text = pattern.sub(put, text)
        text = _without_hashes(text)
        return _LONG_FLOAT.sub(_rounded, text)

    def _placed(self, line: str) -> str:
        """A path's length decides how far columns are apart: where one was, that is left out."""
        placed = line
        for place, name in self._places:
            placed = placed.replace(place, name)
        return line if placed == line else _SPACES.sub(" ", placed)


def _without_hashes(text: str) -> str:
    """Each hash and random id by its number, so that equal ones stay equal."""
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        if found["kept"] or found[0].isdigit():
            return found[0]
        return f"<id {numbers.setdefault(found[0], len(numbers) + 1)}>"

    return _ENTRY.sub(r"<entry \1>", _HASH.sub(number, text))


def _rounded(found: re.Match[str]) -> str:
    digits = sum(sign.isdigit() for sign in found[0].split("e")[0].lstrip("-0."))
    return found[0] if digits <= _DIGITS else f"{float(found[0]):.{_DIGITS}g}"


def short(text: str) -> str:
    """Sixteen digits of a text's hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def folder_text(folder: Path) -> str:
    """Every file below a folder: its name and what it says."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "\n".join(
        f"==== {path.relative_to(folder).as_posix()}\n{file_text(path)}" for path in files
    )


def file_text(path: Path) -> str:
    """What a file says: decoded where equal contents can have different bytes."""
    decode = _DECODED.get(path.suffix)
    return decode(path) if decode else path.read_text(encoding="utf-8", errors="backslashreplace")


def _parquet(path: Path) -> str:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    told = table.schema.metadata or {}
    footer = {key.decode(): value.decode() for key, value in sorted(told.items())}
    columns = [f"{field.name}: {field.type}" for field in table.schema]
    rows = (json.dumps(list(row.values()), default=str) for row in table.to_pylist())
    return "\n".join([json.dumps(footer), *columns, *rows])


def _sheet(path: Path) -> str:
    from openpyxl import load_workbook  # type: ignore[import-untyped,unused-ignore]

    return "\n".join(
        f"{sheet.title}: {json.dumps([cell.value for cell in row], default=str)}"
        for sheet in load_workbook(path)
        for row in sheet.iter_rows()
    )


def _picture(path: Path) -> str:
    return "a picture"  # its bytes are another library's


_DECODED: dict[str, Callable[[Path], str]] = {
    ".parquet": _parquet,
    ".xlsx": _sheet,
    ".png": _picture,
    ".pdf": _picture,
    ".sqlite": _picture,
}


def json_text(told: Any) -> str:
    """Plain data, with sorted keys and whatever else as it shows itself."""
    return json.dumps(told, indent=1, sort_keys=True, default=str, ensure_ascii=False)


def numbers_of(values: Any) -> Iterator[str]:
    """Numbers one on each line, floats as far as processors agree."""
    for value in values:
        yield f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


def said(*lines: object) -> None:
    """Print what is not an answer of the oracle."""
    print(*lines, file=sys.stderr, flush=True)
