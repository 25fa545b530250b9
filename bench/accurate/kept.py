"""Results that are kept, one line of JSON each, so that an interrupted measurement goes on.

A result is known by all that it depends on: the records, the way, ε, the sampling key and the
source. The seed methods do not depend on the parts that make estimates, so that work on these does
not throw their results away.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import crowdtally

_SOURCE = Path(crowdtally.__file__).parent
_SEEDS = ("curator", "laws", "noise", "values", "lab/baselines", "lab/metrics", "lab/rehearse.py")
_ESTIMATES = ("curator/steps/auto", "curator/planning", "curator/request")
_AUTO = ("estimation", "curator/steps/auto", "lab/estimates.py", "lab/estimates.py")

Scores = dict[str, dict[str, float]]
"""By table, by name."""


def source_of(*, auto: bool) -> str:
    """What the source of a method is known by."""
    files = [path for part in _SEEDS for path in _within(part)]
    left_out = {path for part in _ESTIMATES for path in _within(part)}
    wanted = [path for path in files if path not in left_out]
    if auto:
        wanted = files + [path for part in _AUTO for path in _within(part)]
    digest = hashlib.sha256()
    for path in sorted(set(wanted)):
        digest.update(path.read_bytes())
    for name in ("files.py", "scores.py", "ways.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()[:16]


def _within(part: str) -> list[Path]:
    place = _SOURCE / part
    return [place] if place.suffix else sorted(place.rglob("*.py"))


class Kept:
    """A folder's results."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "results.jsonl"
        self._found: dict[str, list[Scores]] = {}
        if self._path.is_file():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            told = json.loads(line)
        except ValueError:  # the last line of a measurement that was interrupted
            return
        self._found[_name(told["of"])] = told["runs"]

    def runs(self, of: Mapping[str, Any], number: int) -> list[Scores] | None:
        """So many runs of one key; None where they were not made, or not all of them."""
        found = self._found.get(_name(of), [])
        return found[:number] if len(found) >= number else None

    def keep(self, of: Mapping[str, Any], runs: list[Scores]) -> None:
        """Write them down at once."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"of": dict(of), "runs": runs}) + "\n")
        self._found[_name(of)] = runs


def _name(of: Mapping[str, Any]) -> str:
    return json.dumps(dict(of), sort_keys=True)
