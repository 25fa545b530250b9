"""Whatever fails between the charge and the mark, what is said of it is true.

Every function of Crowdtally that a release calls in between is made to fail, one run each, by an
error that nobody foresaw. A charge is then told, nothing is released, and the ledger stays whole.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.core.numbers import show
from crowdtally.curator import failures
from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Charge, Ledger, Part, Reservation

ROOT = str(Path(ct.__file__).parent)
ROWS = "who,item,day\na,x,1\na,y,2\nb,x,1\nc,z,2\n"
# What tells of a failure joins texts that are there already: an id, a path, the ledger's name.
TELLERS = {failures.__file__}
TELLING = {Reservation.void.fget.__code__}  # type: ignore[attr-defined]
REQUESTS: dict[str, dict[str, Any]] = {
    "a named bound": {"bounding": "sra", "max_records": 2},
    "auto": {},
    "a sample": {"bounding": "sra", "max_records": 2, "publishing": "threshold", "threshold": 2},
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


def release(place: Path, name: str, options: dict[str, Any], epsilon: object = 1) -> ct.Release:
    return ct.release(
        ct.read(place / "rows.csv", user="who", item="item", contexts=["day"]),
        ct.Domain(["x", "y", "z"], contexts={"day": ["1", "2"]}),
        epsilon=epsilon, output=place / name, ledger=place / "ledger.sqlite", dataset="town",
        new_dataset=True, **options,
    )  # fmt: skip


class Between:
    """Watches the calls between the charge and the mark, and lets one of them fail."""

    def __init__(self, fail: CodeType | None = None) -> None:
        self.met: list[CodeType] = []
        self._fail = fail
        self._watching = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "return" and code is Ledger.reserve.__code__:
            self._watching = True
        if event != "call" or not code.co_filename.startswith(ROOT):
            return
        if code is Ledger.mark_published.__code__:
            self._watching = False
        if not self._watching or code.co_filename in TELLERS or code in TELLING:
            return
        if code not in self.met:
            self.met.append(code)
        if code is self._fail:
            self._watching = False
            raise ValueError("what nobody foresaw")


@contextmanager
def profiled(watch: Callable[..., None]) -> Iterator[None]:
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


def calls(place: Path, options: dict[str, Any]) -> list[CodeType]:
    """Every function that is called in between, by a run in which nothing fails."""
    watch = Between()
    with profiled(watch):
        release(place, "whole", options)
    return watch.met


def fails_truthfully(place: Path, code: CodeType, options: dict[str, Any]) -> bool:
    """Whether this function was called again; if so, what was said of its failure was true."""
    watch = Between(code)
    try:
        with profiled(watch):
            release(place, "out", options)
    except CrowdtallyError as error:
        said = str(error)
    else:  # what it made for the first run is still known
        assert code not in watch.met
        shutil.rmtree(place / "out")
        return False
    assert "The charge stands (entry " in said, said
    assert "Nothing was released" in said, said
    assert [path.name for path in place.iterdir() if path.is_dir()] == ["whole"], said
    return True


@pytest.mark.parametrize(
    ("name", "every"),
    [("a named bound", 8), *(pytest.param(name, 1, marks=pytest.mark.long) for name in REQUESTS)],
)
def test_a_failure_in_between_is_told_truthfully(place: Path, name: str, every: int) -> None:
    met = calls(place, REQUESTS[name])
    assert len(met) > 150
    met = met[::every]
    failed = sum(fails_truthfully(place, code, REQUESTS[name]) for code in met)
    assert failed > len(met) / 2
    with Ledger.open(place / "ledger.sqlite") as books:
        states = [charge.state for charge in books.charges()]
        assert len(states) == len(met) + 1
        assert set(states) == {"published", "reserved", "drawing"}
        assert states.count("published") == 1 + len(met) - failed
        assert books.balance("town").spent.epsilon == len(states)
        for charge in books.charges():
            if charge.state != "published":
                books.void(charge.id, "nothing left the machine")
        assert books.balance("town").spent.epsilon == states.count("published")
        assert books.verify().ok


def spend(place: Path, *amounts: Fraction) -> None:
    """Charges of somebody else to the same dataset."""
    with Ledger.open(place / "ledger.sqlite") as books:
        unit = books.charges()[0].unit
        assert unit is not None
        for number, amount in enumerate(amounts):
            part = Part("items", ct.Epsilon(amount), "discrete-laplace")
            books.reserve("town", unit, Charge(f"long-{number}", ct.Epsilon(amount), (part,)))


def test_sums_of_many_digits_cost_nobody_a_release(place: Path) -> None:
    """Ten charges of coprime ratios, then an honest release: it is made, shown and read."""
    release(place, "first", {})
    spend(place, *(Fraction(3**899, 3**900 + 2**step) for step in range(10)))
    made = release(place, "second", {})
    assert len((place / "second" / "release.json").read_text()) < 50_000
    assert str(ct.load(place / "second").describe()) == str(made.describe())


def test_a_sum_that_becomes_too_long_with_this_charge_is_read(place: Path) -> None:
    """A reader adds as the ledger did: rounded up, it is no contradiction."""
    release(place, "first", {})
    spend(place, *(Fraction(1, 7 * (10**349 + step)) for step in (1, 3)))
    release(place, "second", {}, epsilon="1/97")
    with Ledger.open(place / "ledger.sqlite") as books:
        before, after = [
            entry.balance.spent.epsilon
            for entry in books.entries("town")
            if entry.event.kind == "reserved"
        ][-2:]
    assert len(str(before.denominator)) > 690
    assert after > before + Fraction(1, 97)
    assert ct.load(place / "second").metadata["charged"]["spent_after"] == show(after)
