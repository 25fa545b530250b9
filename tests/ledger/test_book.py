"""A request id: one charge, at most one draw, compared with what it was used for before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crowdtally.errors import UsageError
from crowdtally.ledger import (
    Asked,
    DrawnBeforeError,
    Ledger,
    LedgerError,
    Reservation,
    Reserved,
    VoidedError,
)
from crowdtally.ledger.book import made_before
from kit.ledgers import ROW, SHA, USER, charge, drive_at_once

KEY = "weekly-47"
ASKED = Asked(
    "/data/visits.csv",
    "/out/week",
    {
        "max_records": 10,
        "items": {"size": 3, "sha256": "ab" * 32},
        "split": {"items": "1/2", "edges": "1/2"},
        "context": {"day": "day"},
    },
    "weekly",
    KEY,
)


@pytest.fixture
def ledger(location: str) -> Ledger:
    opened = Ledger.open(location, create=True)
    opened.create("taxi", USER, epsilon=1)
    return opened


def reserve(ledger: Ledger, asked: Asked = ASKED, release: str = "first") -> Reservation:
    return ledger.reserve("taxi", USER, charge(1, release=release), asked=asked)


def test_a_reserved_request_is_taken_up(ledger: Ledger) -> None:
    """The whole budget is charged; the same request needs no more of it."""
    first = reserve(ledger)
    head = ledger.head()
    again = reserve(ledger, release="second")
    assert again.taken_up
    assert not first.taken_up
    assert replace(again, taken_up=False) == first, "with the id of the first release"
    assert ledger.head() == head
    assert ledger.balance("taxi").spent.epsilon == 1


def test_a_charge_that_is_taken_up_says_where_the_dataset_stands_now(ledger: Ledger) -> None:
    """Others charged since, and the limit was changed: below what is spent, it takes none back."""
    ledger.set_limit("taxi", epsilon=5, reason="for the test")
    reserve(ledger)
    ledger.reserve("taxi", USER, charge(2, release="another"))
    ledger.set_limit("taxi", epsilon=2, reason="the board agreed")
    again = reserve(ledger, release="second")
    assert (again.before.spent.epsilon, again.after.spent.epsilon) == (2, 3)
    assert again.after == ledger.balance("taxi")


def test_a_charge_is_taken_up_though_its_source_was_charged_elsewhere_since(
    location: str,
) -> None:
    """The overlap would refuse a new charge; this one was made."""
    ledger = Ledger.open(location, create=True)

    def run() -> Reservation:
        return ledger.reserve(
            "/data/visits.csv", USER, charge(1), asked=ASKED, sources=["/data/visits.csv"],
            chosen=False, new_dataset=True,
        )  # fmt: skip

    first = run()
    ledger.reserve(
        "taxi", USER, charge(1, release="another"), sources=["/data/visits.csv"], new_dataset=True
    )
    again = run()
    assert again.taken_up
    assert again.id == first.id
    ledger.start_drawing(again.id)
    ledger.mark_published(again.id, SHA)
    assert ledger.verify().ok


def test_one_run_gets_the_drawing_entry(ledger: Ledger) -> None:
    made = reserve(ledger)
    ledger.start_drawing(made.id)
    head = ledger.head()
    with pytest.raises(DrawnBeforeError, match="One charge pays for one draw"):
        ledger.start_drawing(made.id)
    assert ledger.head() == head


@pytest.mark.parametrize("state", ["drawing", "published", "voided"])
def test_a_request_that_was_drawn_or_voided_is_not_taken_up(ledger: Ledger, state: str) -> None:
    made = reserve(ledger)
    if state == "voided":
        ledger.void(made.id, "a slip")
    else:
        ledger.start_drawing(made.id)
    if state == "published":
        ledger.mark_published(made.id, SHA)
    head = ledger.head()
    kind = UsageError if state == "voided" else DrawnBeforeError
    with pytest.raises(kind, match="request id"):
        reserve(ledger)
    assert ledger.head() == head
    if state == "voided":
        with pytest.raises(VoidedError):
            ledger.start_drawing(made.id)


def test_a_charge_is_marked_after_its_drawing_entry_only(ledger: Ledger) -> None:
    made = reserve(ledger)
    with pytest.raises(LedgerError, match="start_drawing comes first"):
        ledger.mark_published(made.id, SHA)


def test_looked_up(ledger: Ledger) -> None:
    event = Reserved(USER, charge(1), ASKED)
    assert made_before(ledger.request, "taxi", event) is None
    made = reserve(ledger)
    found = made_before(ledger.request, "taxi", event)
    assert found is not None
    assert (found.id, found.state, found.asked) == (made.id, "reserved", ASKED)
    ledger.start_drawing(made.id)
    with pytest.raises(DrawnBeforeError):
        made_before(ledger.request, "taxi", event)
    ledger.mark_published(made.id, SHA)
    found = made_before(ledger.request, "taxi", event)
    assert found is not None
    assert found.state == "published"
    unnamed = Reserved(USER, charge(1), replace(ASKED, request_id=None))
    assert made_before(ledger.request, "taxi", unnamed) is None


def with_parameters(**others: Any) -> Asked:
    return replace(ASKED, parameters={**ASKED.parameters, **others})


DIFFERING: dict[str, tuple[dict[str, Any], str]] = {
    "epsilon": ({"charge": charge(2)}, "--epsilon was 1 and is 2"),
    "a little epsilon": ({"charge": charge("1.0000000000000000001")}, "--epsilon was 1 and is"),
    "delta": ({"charge": charge(1, "1e-9")}, "--delta was 0 and is 1e-9"),
    "dataset": ({"dataset": "bus"}, "--dataset was taxi and is bus"),
    "unit": ({"unit": ROW}, "it protects another privacy unit"),
    "source": ({"asked": replace(ASKED, source="/b.csv")},
               "the source was /data/visits.csv and is /b.csv"),
    "memory": ({"asked": replace(ASKED, source=None)}, "and is not given"),
    "output": ({"asked": replace(ASKED, output="/out/x")}, "the output was /out/week and is"),
    "a number": ({"asked": with_parameters(max_records=3)}, "max-records was 10 and is 3"),
    "a list": ({"asked": with_parameters(items={"size": 3, "sha256": "cd" * 32})},
               r"items was a list of 3 \(SHA-256 abababababab…\) and is a list of 3 \(SHA"),
    "no list": ({"asked": with_parameters(items=None)}, r"items was a list of 3 .* is not given"),
    "a share": ({"asked": with_parameters(split={"items": "1/4", "edges": "1/2"})},
                "split items was 1/2 and is 1/4[^;]*$"),
    "one more": ({"asked": with_parameters(where="n > 1")}, "where was not given and is n > 1"),
    "a flag": ({"asked": with_parameters(pairs=True)}, "pairs was not given and is given"),
    "a context": ({"asked": with_parameters(context={"hour": "hour"})},
                  "context day was day and is not given; context hour was not given and is"),
    "tables": ({"asked": with_parameters(join=[{"source": "/f.csv", "key": "i"}])},
               "join was not given and is source: /f.csv, key: i"),
    "mechanism": ({"charge": replace(charge(1), parts=(replace(
        charge(1).parts[0], mechanism="other"),))}, "its mechanisms are others"),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFERING)
@pytest.mark.parametrize("state", ["reserved", "published"])
def test_an_id_of_another_request_is_refused(folder: Path, case: str, state: str) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    ledger.create("taxi", USER, epsilon=10, delta="1e-3")
    ledger.create("bus", USER, epsilon=10)
    made = reserve(ledger)
    if state == "published":
        ledger.start_drawing(made.id)
        ledger.mark_published(made.id, SHA)
    head, (given, words) = ledger.head(), DIFFERING[case]
    now = {"dataset": "taxi", "unit": USER, "charge": charge(1), "asked": ASKED} | given
    attempts = (
        lambda: ledger.reserve(now["dataset"], now["unit"], now["charge"], asked=now["asked"]),
        lambda: made_before(
            ledger.request, now["dataset"], Reserved(now["unit"], now["charge"], now["asked"])
        ),
    )
    for attempt in attempts:
        with pytest.raises(UsageError, match=words) as caught:
            attempt()
        assert f"'{KEY}' was used for another request before (entry {made.id}" in str(caught.value)
        assert "Nothing was charged" in str(caught.value)
    assert ledger.head() == head


def test_what_differs_between_two_runs_of_one_request(ledger: Ledger) -> None:
    """The release's own id, the programs' versions and the words of the purpose."""
    made = reserve(ledger)
    newer = replace(charge(1, release="other"), versions={"crowdtally": "99"})
    again = ledger.reserve("taxi", USER, newer, asked=replace(ASKED, purpose="monthly"))
    assert again.id == made.id


@pytest.mark.parametrize("key", ["", " x", "x\n", "a\0b", "x" * 201, 7])
def test_ids_that_are_no_ids(folder: Path, key: object) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    for attempt in (lambda: Asked(request_id=key), lambda: ledger.request(key)):  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="--request-id is one line"):
            attempt()


def test_eight_processes_with_one_request(location: str, folder: Path) -> None:
    """One charge, one draw, one release; the others stop, and say to run again, or are shown it."""
    rounds = 6
    (folder / "out").mkdir()
    found = json.loads(drive_at_once("same-request", location, folder / "out", 8, rounds))
    assert set(found.pop("ended")) <= {"released or shown", "stopped"}
    assert found == {"wrong": 0, "releases": rounds, "exact": True, "whole": True, "left": []}


def test_an_id_is_one_however_its_characters_are_composed(ledger: Ledger) -> None:
    composed, apart = "caf\u00e9", "cafe\u0301"
    made = ledger.reserve("taxi", USER, charge(1), asked=replace(ASKED, request_id=apart))
    again = ledger.reserve("taxi", USER, charge(1), asked=replace(ASKED, request_id=composed))
    assert (again.id, again.taken_up) == (made.id, True)
    for spelling in (composed, apart):
        found = ledger.request(spelling)
        assert found is not None
        assert found.id == made.id
