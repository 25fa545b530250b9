"""Which rows fall out is settled before the charge: told, refused by a share, or asked about."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.api import surroundings
from crowdtally.curator.publish import publish
from crowdtally.curator.request.request import make_request
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Ledger
from crowdtally.records.engine import Dropped

ROWS = pa.table(
    {"who": ["a", "b", "c", None, "d", "e", "f", "g"], "item": ["x", "x", "x", "x", *"yyzz"]}
)


class Curator:
    """Somebody who answers, and remembers what was asked and told, and what was charged then."""

    def __init__(self, folder: Path, answer: bool = True) -> None:
        self.folder, self.answer = folder, answer
        self.asked: list[str] = []
        self.told: list[str] = []
        self.stages: list[str] = []
        self.ledger = Ledger.open(folder / "ledger.sqlite", create=True)

    def confirm(self, question: str) -> bool:
        assert self.ledger.charges() == [], "asked after the charge"
        self.asked.append(question)
        return self.answer

    def release(self, items: list[str], **options: Any) -> Any:
        records = ct.read(ROWS, user="who", item="item")
        request = make_request(
            records, ct.Domain(items), epsilon=1, **({"method": ct.SRA(10)} | options)
        )
        outside, _ = surroundings(
            request.sources, output=self.folder / "out", ledger=self.ledger, dataset="town",
            new_dataset=True,
            tell=self.told.append, confirm=self.confirm, stage=self.stages.append,
        )  # fmt: skip
        return publish(request, outside)


def test_most_rows_dropped_is_asked_about_before_the_charge(tmp_path: Path) -> None:
    curator = Curator(tmp_path)
    curator.release(["z", "w"])  # 2 of 8 are left
    (question,) = curator.asked
    assert "Of 8 rows, 6 would be dropped" in question
    assert "\n  6 because of item 'item'\n  1 because of user 'who'" in question
    assert "Charge epsilon 1" in question
    assert "No row matches" not in question
    assert len(curator.ledger.charges()) == 1


def test_no_for_an_answer_charges_and_leaves_nothing(tmp_path: Path) -> None:
    curator = Curator(tmp_path, answer=False)
    with pytest.raises(CrowdtallyError, match="nothing was charged") as caught:
        curator.release(["w"])
    assert type(caught.value) is CrowdtallyError  # exit code 1
    assert "No row matches the list of 'item'" in curator.asked[0]
    assert "Nothing would be left but noise." in curator.asked[0]
    assert curator.ledger.charges() == []
    assert [path.name for path in tmp_path.iterdir() if "ledger" not in path.name] == []
    assert curator.stages == ["reading and counting"]


def test_half_is_not_more_than_half(tmp_path: Path) -> None:
    curator = Curator(tmp_path)
    curator.release(["y", "z"])  # 4 of 8
    assert curator.asked == []
    assert "Dropped, of 8 rows, 1 without a user and 3 with a value" in curator.told[0]


def test_a_share_that_was_given_is_the_answer(tmp_path: Path) -> None:
    curator = Curator(tmp_path)
    curator.release(["z"], most_dropped="0.75")  # exactly 6 of 8
    assert curator.asked == []


@pytest.mark.parametrize("share", ["0.7499999999999999999999", "3/4", 0.5, "0"])
def test_the_share_is_compared_exactly(tmp_path: Path, share: Any) -> None:
    given = {"epsilon": 1, "ledger": tmp_path / "ledger.sqlite", "dataset": "town"}
    records = ct.read(ROWS, user="who", item="item")
    if share == "3/4":
        assert ct.release(
            records,
            ct.Domain(["z"]),
            most_dropped=share,
            **({"method": ct.SRA(10)} | given),
            new_dataset=True,
        )
        return
    with pytest.raises(ct.InputError, match="would be dropped") as caught:
        ct.release(
            records,
            ct.Domain(["z"]),
            most_dropped=share,
            **({"method": ct.SRA(10)} | given),
            new_dataset=True,
        )
    said = str(caught.value)
    assert "Nothing was charged" in said
    assert said.startswith("strict=True" if share == "0" else "most_dropped=0.")
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        assert ledger.charges() == []


@pytest.mark.parametrize("share", ["-0.1", "1.01", "half", True, "nan"])
def test_a_share_that_is_none(share: Any) -> None:
    records = ct.read(ROWS, user="who", item="item")
    with pytest.raises(ct.UsageError, match="most_dropped"):
        ct.release(
            records,
            ct.Domain(["z"]),
            epsilon=1,
            dataset="town",
            most_dropped=share,
            new_dataset=True,
            method=ct.SRA(10),
        )


def test_strict_and_a_share_are_one_too_many() -> None:
    records = ct.read(ROWS, user="who", item="item")
    with pytest.raises(ct.UsageError, match="strict=True means most_dropped=0"):
        ct.release(
            records,
            ct.Domain(["z"]),
            epsilon=1,
            dataset="t",
            strict=True,
            most_dropped=1,
            new_dataset=True,
            method=ct.SRA(10),
        )


def test_python_never_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked"))
    records = ct.read(ROWS, user="who", item="item")
    made = ct.release(
        records,
        ct.Domain(["w"]),
        epsilon=1,
        ledger=tmp_path / "l",
        dataset="t",
        new_dataset=True,
        method=ct.SRA(10),
    )
    assert made.top(1)


def test_the_stages_have_names_that_say_nothing_of_the_records(tmp_path: Path) -> None:
    curator = Curator(tmp_path)
    curator.release(["x", "y", "z"], method=ct.HPA(choose="rank"))
    assert curator.stages == [
        "reading and counting", "charging", "drawing noise for popularity", "counting for choose",
        "drawing noise for choose", "counting for items", "drawing noise for items", "writing",
    ]  # fmt: skip


def test_an_empty_source_drops_nothing() -> None:
    from crowdtally.curator.dropped_rows import exceeds

    assert not exceeds(Dropped(0, 0, 0), Fraction(0))
