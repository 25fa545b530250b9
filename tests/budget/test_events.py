"""Events say what was done, and never change meaning."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest

from budget.ledger_kit import ROW, SHA, USER, charge
from crowdtally.budget import (
    Asked,
    Charge,
    Created,
    DamagedLedgerError,
    Drawing,
    Event,
    LedgerError,
    LimitSet,
    Loss,
    MarkedPublished,
    Part,
    Reserved,
    Sources,
    StagedFolder,
    Voided,
    Withdrawn,
)
from crowdtally.budget.record.canonical import canonical
from crowdtally.budget.record.chain import Row, link, read
from crowdtally.budget.record.events import record
from crowdtally.budget.record.parsing import _READERS, parse
from crowdtally.errors import UsageError
from crowdtally.values.epsilon import Delta, Epsilon, Rho
from crowdtally.values.unit import PrivacyUnit

THIRD = Loss(Fraction(1, 3), Fraction(1, 10**9))
ASKED = Asked("records.csv", "/out", {"split": Fraction(1, 2)}, "weekly", "week-46")
RHO = Loss(rho=Fraction(1, 3))
GAUSSIAN = Part("items", None, "discrete-gaussian", {}, Delta.of("1e-9"), rho=Rho.of("1/7"))
SELECTION = Part("bound", Epsilon.of("1/9"), "exponential", selects=True)
EVENTS: list[Event] = [
    Created(USER, "sequential", None),
    Created(None, "sequential", THIRD),
    Created(PrivacyUnit("item"), "sequential", None),
    Created(USER, "sequential", THIRD, THIRD),
    Created(None, "sequential", None, THIRD),
    LimitSet(THIRD),
    LimitSet(None),
    LimitSet(THIRD, None, "decided"),
    LimitSet(None, THIRD, "decided"),
    Sources(("0" * 32,)),
    Reserved(ROW, charge("1/3", "1e-9")),
    Reserved(USER, charge(1), None, StagedFolder("host", "/out/.r.0123.part")),
    Reserved(USER, charge(1), Asked()),
    Reserved(USER, charge(1), ASKED),
    Drawing("17-0123abcd"),
    Drawing("17-0123abcd", StagedFolder("host", "/out/.r.0123.part")),
    MarkedPublished("17-0123abcd"),
    MarkedPublished("17-0123abcd", SHA),
    Voided("17-0123abcd", "certain", THIRD),
    Created(USER, "zcdp", RHO),
    LimitSet(RHO, RHO, "decided"),
    Reserved(USER, Charge("r", Epsilon.of(1), (SELECTION, GAUSSIAN), rho=Rho.of(1)), ASKED),
    Reserved(USER, Charge("r", None, (GAUSSIAN,), rho=Rho.of(1)), ASKED),
    Voided("17-0123abcd", "certain", RHO),
    Withdrawn("17-0123abcd", "a wrong list"),
]
VERSIONS = [1, 1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 3, 3, 1, 1, 1, 2, 1, 3, 3, 4, 4, 2, 1]
"""Of each: the oldest that can say it."""


def test_every_kind_and_version_is_tried() -> None:
    tried = {(event.kind, event.version) for event in EVENTS}
    assert tried == _READERS.keys()


@pytest.mark.parametrize(("event", "version"), list(zip(EVENTS, VERSIONS, strict=True)))
def test_recorded_and_read_back(event: Event, version: int) -> None:
    recorded = record(event)
    assert parse(json.loads(canonical(recorded))) == event
    assert recorded["version"] == version


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: f"{event.kind} {event.version}")
def test_a_version_has_its_own_fields_only(event: Event) -> None:
    """What a version cannot say is not read from it; nor is a version that nobody knows."""
    for version in {1, 2, 3, 4, 5} - {event.version}:
        known = (event.kind, version) in _READERS
        error, words = (
            (DamagedLedgerError, "without the fields") if known else (LedgerError, "unknown event")
        )
        with pytest.raises(error, match=words):
            parse({**record(event), "version": version})


def test_the_records_of_newer_events_are_fixed() -> None:
    """Old ledgers must read for ever: if this test fails, add a version instead."""
    third = {"delta": "1/1000000000", "epsilon": "1/3"}
    assert [record(EVENTS[number]) for number in (4, 7, 8, 14, 15, 17, 24)] == [
        {"kind": "created", "version": 2, "unit": None, "accountant": "sequential", "limit": None,
         "each": third},
        {"kind": "limit", "version": 2, "limit": third, "each": None, "reason": "decided"},
        {"kind": "limit", "version": 2, "limit": None, "each": third, "reason": "decided"},
        {"kind": "drawing", "version": 1, "reservation": "17-0123abcd", "staged": None},
        {"kind": "drawing", "version": 1, "reservation": "17-0123abcd",
         "staged": {"host": "host", "path": "/out/.r.0123.part"}},
        {"kind": "published", "version": 2, "reservation": "17-0123abcd", "sha256": SHA},
        {"kind": "withdrawn", "version": 1, "reservation": "17-0123abcd",
         "reason": "a wrong list"},
    ]  # fmt: skip
    assert record(EVENTS[11])["staged"] == {"host": "host", "path": "/out/.r.0123.part"}
    assert record(EVENTS[13])["asked"] == {
        "source": "records.csv", "output": "/out", "parameters": {"split": "1/2"},
        "purpose": "weekly", "request_id": "week-46",
    }  # fmt: skip


def test_the_records_of_zcdp_are_fixed() -> None:
    """Old ledgers must read for ever: if this test fails, add a version instead."""
    third, reserved = {"delta": "0", "epsilon": "0", "rho": "1/3"}, record(EVENTS[21])
    assert [record(EVENTS[number]) for number in (19, 20, 23)] == [
        {"kind": "created", "version": 3, "unit": {"kind": "user", "column": "user_id"},
         "accountant": "zcdp", "limit": third, "each": None},
        {"kind": "limit", "version": 3, "limit": third, "each": third, "reason": "decided"},
        {"kind": "voided", "version": 2, "reservation": "17-0123abcd", "reason": "certain",
         "given_back": third},
    ]  # fmt: skip
    assert {key: reserved[key] for key in ("version", "epsilon", "delta", "rho", "parts")} == {
        "version": 4, "epsilon": "1", "delta": "0", "rho": "1", "parts": [
            {"name": "bound", "epsilon": "1/9", "delta": "0", "rho": "0", "selects": True,
             "mechanism": "exponential", "parameters": {}},
            {"name": "items", "epsilon": "0", "delta": "1/1000000000", "rho": "1/7",
             "selects": False, "mechanism": "discrete-gaussian", "parameters": {}},
        ],
    }  # fmt: skip


def test_what_needs_words_has_them() -> None:
    for make in (
        lambda: Withdrawn("17-0123abcd", " "),
        lambda: LimitSet(None, None, ""),
        lambda: LimitSet(None, THIRD),
        lambda: Drawing(""),
        lambda: Asked(purpose=" "),
    ):
        with pytest.raises(UsageError, match=r"received (none|'|an)|must"):
            make()
    with pytest.raises(UsageError, match="when its drawing starts"):
        Reserved(USER, charge(1), Asked(), StagedFolder("host", "/out/.r.0123.part"))
    with pytest.raises(UsageError, match="the parameters"):
        Asked(parameters={"split": 0.5})


def test_the_record_of_a_charge_is_fixed() -> None:
    """Old ledgers must read for ever: if this test fails, add a version instead."""
    parts = (
        Part(
            "items", Epsilon.of("1/4"), "discrete-laplace", {"scale": Fraction(4, 3), "l1": 2**60}
        ),
        Part("edges", Epsilon.of("1/12"), "threshold", {"path": ["a", None, True]}, Delta.of(1e-9)),
    )
    made = Charge("r-1", Epsilon.of("1/3"), parts, Delta.of("1e-9"), {"crowdtally": "0.1.0"})
    assert canonical(record(Reserved(USER, made))) == (
        '{"delta":"1/1000000000","epsilon":"1/3","kind":"reserved","parts":['
        '{"delta":"0","epsilon":"1/4","mechanism":"discrete-laplace","name":"items",'
        '"parameters":{"l1":"1152921504606846976","scale":"4/3"}},'
        '{"delta":"1/1000000000","epsilon":"1/12","mechanism":"threshold","name":"edges",'
        '"parameters":{"path":["a",null,true]}}],"release":"r-1",'
        '"unit":{"column":"user_id","kind":"user"},"version":1,'
        '"versions":{"crowdtally":"0.1.0"}}'
    )


@pytest.mark.parametrize(
    "change",
    [{"kind": "refunded"}, {"version": 4}, {"version": 0}, {"version": True}, {"kind": []}],
)
def test_unknown_events_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(LedgerError, match=r"unknown event.*at least as new") as caught:
        parse({**record(EVENTS[0]), **change})
    assert not isinstance(caught.value, DamagedLedgerError)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_missing_and_additional_fields_are_refused(event: Event) -> None:
    recorded = record(event)
    for field in recorded.keys() - {"kind", "version"}:
        with pytest.raises(DamagedLedgerError, match="without the fields"):
            parse({key: value for key, value in recorded.items() if key != field})
        with pytest.raises(DamagedLedgerError, match="without the fields"):
            parse({**recorded, field: 7})
    with pytest.raises(DamagedLedgerError, match="without the fields"):
        parse({**recorded, "discount": "1"})


@pytest.mark.parametrize("epsilon", ["0", "-1", "0.5", "2/4", 0.5, "NaN"])
def test_a_recorded_epsilon_must_be_exact_and_positive(epsilon: object) -> None:
    with pytest.raises(DamagedLedgerError):
        parse({**record(Reserved(USER, charge(1))), "epsilon": epsilon})


def test_events_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        EVENTS[0].accountant = "free"  # type: ignore[misc, union-attr]


def test_a_charge_does_not_follow_its_callers_later_changes() -> None:
    parameters = {"bound": 3}
    part = Part("items", Epsilon.of(1), "discrete-laplace", parameters)
    parameters["bound"] = 4
    assert part.parameters == {"bound": 3}


@pytest.mark.parametrize("value", [0.5, float("nan"), b"x", object(), {1: 2}, {"a": {3.5}}])
def test_parameters_that_are_not_exact_are_refused(value: object) -> None:
    with pytest.raises(UsageError, match="parameters of part 'items'"):
        Part("items", Epsilon.of(1), "discrete-laplace", {"x": value})


def test_empty_words_and_charges_are_refused() -> None:
    with pytest.raises(UsageError, match="at least one part"):
        Charge("r", Epsilon.of(1), ())
    with pytest.raises(UsageError, match="release id"):
        charge(1, release="")
    with pytest.raises(UsageError, match="name of a part"):
        Part("", Epsilon.of(1), "discrete-laplace")


def test_what_is_nested_too_deep_to_be_read_again_is_refused() -> None:
    def nested(levels: int) -> object:
        return [nested(levels - 1)] if levels else 1

    assert Asked(parameters={"a": nested(21)}).fields()["parameters"] == {"a": nested(21)}
    for levels in (22, 500):
        with pytest.raises(UsageError, match="deeper than 22 levels"):
            Asked(parameters={"a": nested(levels)})


def test_an_entry_too_deep_for_this_program_is_damage_and_no_crash() -> None:
    body = '{"event":' + "[" * 100_000 + "]" * 100_000 + "}"
    with pytest.raises(DamagedLedgerError, match="entry 1 cannot be read"):
        read(Row(1, "data", "reserved", None, body, link("", body)), "")
