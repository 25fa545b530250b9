"""A new transform, publishing or rule is one class and one line: the rest follows by itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.registry import Entry, Registry
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger import Ledger
from kit.toys import Rounded, SmallestCells, Tripled

HERE = "kit.toys"
ITEMS = ["a", "b", "c"]
USERS = 3000
ROWS = pa.table(
    {"who": [user for user in range(USERS) for _ in ITEMS], "item": ITEMS * USERS}
)  # everybody has each item once


@contextmanager
def line(registry: Registry, name: str, home: str) -> Iterator[None]:
    """One line more in a registry."""
    registry[name] = Entry(home, "a toy")
    try:
        yield
    finally:
        del registry[name]


def release(folder: Path, **options: Any) -> ct.Release:
    return ct.release(
        ct.read(ROWS, user="who", item="item"), ct.Domain(ITEMS), output=folder / "out",
        ledger=folder / "ledger.sqlite", dataset="toys", **{"epsilon": 10} | options,
        new_dataset=True,
    )  # fmt: skip


def bounds(folder: Path) -> list[int]:
    """The L1 bounds that the ledger was told."""
    with Ledger.open(folder / "ledger.sqlite", create=True) as ledger:
        (charged,) = ledger.charges()
    return [part.parameters["l1_bound"] for part in charged.charge.parts]


def test_a_transform(tmp_path: Path) -> None:
    with line(TRANSFORMS, "tripled", f"{HERE}:Tripled"):
        plan = ct.plan(
            ct.read(ROWS, user="who", item="item"), ct.Domain(ITEMS), epsilon=10, method=ct.SRA(3),
            transform=Tripled(),
        )  # fmt: skip
        made = release(tmp_path, transform=Tripled(), method=ct.SRA(3))
    assert plan.as_dict()["tables"][0]["sensitivity"] == "9"
    assert bounds(tmp_path) == [9]
    assert made.metadata["tables"][0]["sensitivity"] == 9
    assert all(abs(row.count - 3 * USERS) < 100 for row in made.top(3))


def test_a_transform_that_understates_its_bound_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger was told 3; the counts say 9."""
    monkeypatch.setattr(Tripled, "factor", lambda *_: 1)
    with line(TRANSFORMS, "tripled", f"{HERE}:Tripled"), pytest.raises(CrowdtallyError) as caught:
        release(tmp_path, transform=Tripled(), method=ct.SRA(3))
    assert "was charged for 3 cells of bound 3·1, and was handed 3 cells of bound 9·1" in str(
        caught.value
    )
    assert not (tmp_path / "out").exists()


def test_a_publishing(tmp_path: Path) -> None:
    with line(PUBLISHINGS, "rounded", f"{HERE}:Rounded"):
        made = release(tmp_path, summary=Rounded(), method=ct.SRA(3))
    assert [row[1] % 10 for row in made.table("items").fetchall()] == [0, 0, 0]


def test_a_rule(tmp_path: Path) -> None:
    made = release(tmp_path, method=SmallestCells(2))
    counts = {row.item: row.count for row in made.top(3)}
    assert counts["a"] == pytest.approx(USERS, abs=50)
    assert counts["b"] == pytest.approx(USERS, abs=50)
    assert counts["c"] == pytest.approx(0, abs=50)
    assert bounds(tmp_path) == [2]
    assert made.metadata["method"]["bounding"] == "smallest cells (not a rule of Crowdtally's)"
    assert "was not checked" in made.metadata["guarantee"]["words"]


def test_a_rule_sees_cells_and_quantities_as_one(tmp_path: Path) -> None:
    """What it keeps counts as often as it says: at most 2 records of at most 3 each."""
    bought = ROWS.append_column("n", [[2, 9, 1] * USERS])
    made = ct.release(
        ct.read(bought, user="who", item="item", quantity="n", max_quantity=3), ct.Domain(ITEMS),
        epsilon=100, method=SmallestCells(2), output=tmp_path / "out",
        ledger=tmp_path / "ledger.sqlite", dataset="toys", new_dataset=True,
    )  # fmt: skip
    counts = {row.item: row.count for row in made.top(3)}
    assert counts["a"] == pytest.approx(2 * USERS, abs=50)
    assert counts["b"] == pytest.approx(3 * USERS, abs=50)
    assert counts["c"] == pytest.approx(0, abs=50)
    assert bounds(tmp_path) == [6]


class OneMore(SRA):
    """It overrides how records are kept, and so it is no rule of ours."""

    name = "one more"

    def keep(self, engine: Any, rows: Any, **given: Any) -> Any:
        return SRA(self.limit + 1).keep(engine, rows, **given)


def test_a_subclass_of_ours_is_a_rule_of_ones_own(tmp_path: Path) -> None:
    made = release(tmp_path, method=OneMore(1))
    assert made.metadata["method"]["bounding"] == "one more (not a rule of Crowdtally's)"
    assert sum(row.count for row in made.top(3)) == pytest.approx(USERS, abs=100)


def test_a_rule_that_keeps_too_much_is_cut(tmp_path: Path) -> None:
    made = release(tmp_path, method=SmallestCells(1, greedy=True))
    assert sum(row.count for row in made.top(3)) == pytest.approx(USERS, abs=100)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": object()}, "has a name, a limit"),
        ({"method": SmallestCells(0)}, "must be a whole number"),
        ({"method": SmallestCells}, "the class SmallestCells, without brackets"),
        ({"method": "sra"}, "the text 'sra'"),
        ({"method": SmallestCells(101), "pairs": True}, "at most 100 records"),
    ],
)
def test_what_a_rule_of_ones_own_cannot_have(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        release(tmp_path, **options)


def test_the_help_lists_a_new_line() -> None:
    script = (
        "from crowdtally.curator.transforms import TRANSFORMS as registry\n"
        "from crowdtally.core.registry import Entry\n"
        "registry['tripled'] = Entry('kit.toys:Tripled', 'a toy')\n"
        "from crowdtally.cli import app\n"
        "app(['release', '--transform', 'help'])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines()[-1].split() == ["tripled", "a", "toy"]
