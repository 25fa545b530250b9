"""Events say what was done, and never change meaning."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest

from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit, Rho
from crowdtally.errors import UsageError
from crowdtally.ledger import (
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
from crowdtally.ledger.chain import Row, link, read
from crowdtally.ledger.charge import canonical
from crowdtally.ledger.events import _EVENTS, parse, record
from kit.ledgers import ROW, SHA, USER, charge

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
    LimitSet(THIRD, None, "decided"),
    LimitSet(None, THIRD, "decided"),
    Sources(("0" * 32,)),
    Reserved(ROW, charge("1/3", "1e-9")),
    Reserved(USER, charge(1), Asked()),
    Reserved(USER, charge(1), ASKED),
    Drawing("17-0123abcd"),
    Drawing("17-0123abcd", StagedFolder("host", "/out/.r.0123.part")),
    MarkedPublished("17-0123abcd", SHA),
    Voided("17-0123abcd", "certain", THIRD),
    Created(USER, "zcdp", RHO),
    LimitSet(RHO, RHO, "decided"),
    Reserved(USER, Charge("r", Epsilon.of(1), (SELECTION, GAUSSIAN), rho=Rho.of(1)), ASKED),
    Reserved(USER, Charge("r", None, (GAUSSIAN,), rho=Rho.of(1)), ASKED),
    Voided("17-0123abcd", "certain", RHO),
    Withdrawn("17-0123abcd", "a wrong list"),
]


def test_every_kind_is_tried() -> None:
    tried = {(event.kind, event.version) for event in EVENTS}
    assert tried == _EVENTS.keys()
    assert len({kind for kind, _ in tried}) == len(tried), "each kind has one version"


@pytest.mark.parametrize("event", EVENTS)
def test_recorded_and_read_back(event: Event) -> None:
    assert parse(json.loads(canonical(record(event)))) == event


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_no_other_version_is_read(event: Event) -> None:
    for version in {0, 1, 2, 3, 4, 5} - {event.version}:
        with pytest.raises(LedgerError, match="unknown event"):
            parse({**record(event), "version": version})


def test_the_records_of_events_are_fixed() -> None:
    """A form that changes needs another version: if this test fails, give it one."""
    third, rho = (
        {"delta": "1/1000000000", "epsilon": "1/3"},
        {"delta": "0", "epsilon": "0", "rho": "1/3"},
    )
    staged = StagedFolder("host", "/out/.r.0123.part")
    events = [
        Created(None, "sequential", None, THIRD), LimitSet(RHO, THIRD, "decided"),
        Drawing("17-0123abcd"), Drawing("17-0123abcd", staged),
        MarkedPublished("17-0123abcd", SHA), Voided("17-0123abcd", "certain", RHO),
        Withdrawn("17-0123abcd", "a wrong list"),
    ]  # fmt: skip
    assert list(map(record, events)) == [
        {"kind": "created", "version": 3, "unit": None, "accountant": "sequential", "limit": None,
         "each": third},
        {"kind": "limit", "version": 3, "limit": rho, "each": third, "reason": "decided"},
        {"kind": "drawing", "version": 1, "reservation": "17-0123abcd", "staged": None},
        {"kind": "drawing", "version": 1, "reservation": "17-0123abcd",
         "staged": {"host": "host", "path": "/out/.r.0123.part"}},
        {"kind": "published", "version": 2, "reservation": "17-0123abcd", "sha256": SHA},
        {"kind": "voided", "version": 2, "reservation": "17-0123abcd", "reason": "certain",
         "given_back": rho},
        {"kind": "withdrawn", "version": 1, "reservation": "17-0123abcd",
         "reason": "a wrong list"},
    ]  # fmt: skip
    both = Charge("r", Epsilon.of(1), (SELECTION, GAUSSIAN), rho=Rho.of(1))
    reserved = record(Reserved(USER, both, ASKED))
    assert {key: reserved[key] for key in ("version", "epsilon", "delta", "rho", "parts")} == {
        "version": 4, "epsilon": "1", "delta": "0", "rho": "1", "parts": [
            {"name": "bound", "epsilon": "1/9", "delta": "0", "rho": "0", "selects": True,
             "mechanism": "exponential", "parameters": {}},
            {"name": "items", "epsilon": "0", "delta": "1/1000000000", "rho": "1/7",
             "selects": False, "mechanism": "discrete-gaussian", "parameters": {}},
        ],
    }  # fmt: skip
    assert reserved["asked"] == {
        "source": "records.csv", "output": "/out", "parameters": {"split": "1/2"},
        "purpose": "weekly", "request_id": "week-46",
    }  # fmt: skip


def test_what_needs_words_has_them() -> None:
    for make in (
        lambda: Withdrawn("17-0123abcd", " "),
        lambda: LimitSet(None, None, ""),
        lambda: Drawing(""),
        lambda: Asked(purpose=" "),
    ):
        with pytest.raises(UsageError, match=r"received (none|'|an)|must"):
            make()
    with pytest.raises(UsageError, match="64 hexadecimal digits"):
        MarkedPublished("17-0123abcd", "abc")
    with pytest.raises(UsageError, match="the parameters"):
        Asked(parameters={"split": 0.5})


def test_the_record_of_a_charge_is_fixed() -> None:
    """A form that changes needs another version: if this test fails, give it one."""
    parts = (
        Part(
            "items", Epsilon.of("1/4"), "discrete-laplace", {"scale": Fraction(4, 3), "l1": 2**60}
        ),
        Part("edges", Epsilon.of("1/12"), "threshold", {"path": ["a", None, True]}, Delta.of(1e-9)),
    )
    made = Charge("r-1", Epsilon.of("1/3"), parts, Delta.of("1e-9"), {"crowdtally": "0.1.0"})
    assert canonical(record(Reserved(USER, made))) == (
        '{"asked":{"output":null,"parameters":{},"purpose":null,"request_id":null,"source":null},'
        '"delta":"1/1000000000","epsilon":"1/3","kind":"reserved","parts":['
        '{"delta":"0","epsilon":"1/4","mechanism":"discrete-laplace","name":"items",'
        '"parameters":{"l1":"1152921504606846976","scale":"4/3"},"rho":"0","selects":false},'
        '{"delta":"1/1000000000","epsilon":"1/12","mechanism":"threshold","name":"edges",'
        '"parameters":{"path":["a",null,true]},"rho":"0","selects":false}],"release":"r-1",'
        '"rho":"0","unit":{"column":"user_id","kind":"user"},"version":4,'
        '"versions":{"crowdtally":"0.1.0"}}'
    )


@pytest.mark.parametrize(
    "change",
    [{"kind": "refunded"}, {"version": 5}, {"version": 0}, {"version": True}, {"kind": []}],
)
def test_unknown_events_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(LedgerError, match=r"unknown event.*the version that wrote it") as caught:
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
