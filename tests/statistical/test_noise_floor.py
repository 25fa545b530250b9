"""The noise floor: of 1,000 releases of nobody, at most 5% + 1.5 points show an item above it.

The draws are seeded, so that a run repeats. Were they not, a share that is truly 5% would be above
6.5% with a probability of 2%, for each kind and question. Where every cell is published the floor
is exact, and its share is 5% less what whole numbers lose: below 2.5% it would be too high to be of
use. A floor for one cell instead of all of them, and one for the published cells of a filter
instead of all, are shown to fail the same test.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import kit.releases
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.release import Release
from kit.releases import axes_of, empty_items
from kit.words import Seeded

RELEASES, MOST, LEAST = 1000, 65, 25
AXES = axes_of(
    {"item": [f"i{n}" for n in range(20)], "day": ["Mon", "Tue", "Wed"], "hour": [9, 10]}
)
ITEMS = AXES[:1]
QUESTIONS: Mapping[str, dict[str, Any]] = {
    "overall": {}, "in a context": {"day": "Tue", "hour": 9}, "summed": {"hour": 10},
}  # fmt: skip
KINDS: Mapping[str, dict[str, Any]] = {
    "dense": {},
    "haar": {"transform": "haar", "ordered": ("day",)},
    "dyadic": {"transform": "dyadic", "ordered": ("day",)},
    "dyadic items": {"transform": "dyadic", "ordered": ("item",)},
    "dyadic of two": {"transform": "dyadic", "ordered": ("day", "hour")},
    "filter": {"publishing": "filter", "size": 20},
    "filter, one-sided": {"publishing": "filter", "cut": 2, "sides": "one"},
    "threshold": {"publishing": "threshold", "threshold": "9.5"},
    "priority": {"publishing": "priority", "size": 12},
    "filter-priority": {"publishing": "filter-priority", "size": 12, "cut": 3},
    "dyadic filter": {"transform": "dyadic", "ordered": ("day",), "publishing": "filter", "cut": 4},
    "haar threshold": {
        "transform": "haar", "ordered": ("day",), "publishing": "threshold", "threshold": "20",
    },
    "scaled": {"unit": Fraction(3, 1 << 10), "bound": 700},
}  # fmt: skip


def passing(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """In how many releases of nobody the first item is above the floor, by question."""
    monkeypatch.setattr(kit.releases, "DRAWS", SystemDraws(Seeded(sum(map(ord, kind)))))
    form = dict(KINDS[kind])
    more = {name: form.pop(name) for name in ("unit", "bound") if name in form}
    found = dict.fromkeys(QUESTIONS, 0)
    for number in range(RELEASES):
        here = folder / str(number)
        here.mkdir()
        release = empty_items(here, AXES, form, "1/3", **more)  # type: ignore[arg-type]
        for name, context in QUESTIONS.items():
            found[name] += any(row.above_floor for row in release.top(20, **context))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_rarely_does_noise_alone_pass_the_floor(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = passing(tmp_path, kind, monkeypatch)
    assert max(found.values()) <= MOST, found
    if kind in ("dense", "scaled"):
        assert min(found.values()) >= LEAST, found
