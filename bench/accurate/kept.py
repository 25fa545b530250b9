"""Runs that are kept, one line of JSON each, so that an interrupted measurement goes on.

Runs are known by all that they depend on: the records, the way, ε, the sampling key and the source.
The seed methods do not depend on most of the source, so that work on ``auto`` keeps their runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import crowdtally

Run = dict[str, dict[str, float]]
"""The scores of one run, by table, by name."""

_PACKAGE, _BENCH = Path(crowdtally.__file__).parent, Path(__file__).parent
_SEEDS = ("curator/bounding", "curator/choices", "curator/counting", "laws", "noise")


def source_of(kind: str) -> str:
    """What the source of a kind of ways is known by."""
    parts = ("",) if kind == "auto" else _SEEDS
    files = [path for part in parts for path in sorted((_PACKAGE / part).rglob("*.py"))]
    files += [_BENCH / name for name in ("files.py", "running.py", "scores.py", "ways.py")]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Kept:
    """A folder's runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "runs.jsonl"
        self._found: dict[str, list[Run]] = {}
        lines = self._path.read_text("utf-8").splitlines() if self._path.is_file() else []
        for line in lines:
            try:
                read = json.loads(line)
            except ValueError:  # the last line of a measurement that was interrupted
                continue
            self._found[_name(read["of"])] = read["runs"]

    def runs(self, of: Mapping[str, Any]) -> list[Run] | None:
        """The runs of one key; None where they were not made."""
        return self._found.get(_name(of))

    def keep(self, of: Mapping[str, Any], runs: list[Run]) -> None:
        """Write them down at once."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"of": dict(of), "runs": runs}) + "\n")
        self._found[_name(of)] = runs


def _name(of: Mapping[str, Any]) -> str:
    return json.dumps(dict(of), sort_keys=True)
