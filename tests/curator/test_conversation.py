"""A conversation counts, pays and draws, in this order; and a method can do none of it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit, Rho
from crowdtally.core.records import Records
from crowdtally.curator import methods
from crowdtally.curator.converse import Account, Asking, Conversation, Facts, Released, converse
from crowdtally.curator.counting import count as counting
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.dataset import Dataset
from crowdtally.curator.manifest import describe
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.questions import MostUsers, Noisy, Question, SampledCounts
from crowdtally.curator.request.request import Request, make_request
from crowdtally.errors import CrowdtallyError
from crowdtally.lab.rehearse import Rehearsal, Rehearsed
from crowdtally.ledger import Charge, Ledger, Part, Reservation
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped
from crowdtally.records.locate import Sources
from crowdtally.records.prepare import Prepared, prepare
from kit.draws import SilentDraws
from kit.every_request import SHAPES, town
from kit.publishing import visits

TOWN = town()
NOT_CHARGED = "costs what was not charged, or what is spent already"
RHO: dict[str, Any] = {"noise": "gaussian", "delta": "1e-6"}
DPSENSE: dict[str, Any] = {"method": ct.DPSense(2), "count": "users"}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "sra": ("contexts", {"method": ct.SRA(2)}),
    "hpa": ("contexts", {"method": ct.HPA(2, popularity_records=1)}),
    "hpa, rank": ("contexts", {"method": ct.HPA(4, choose="rank")}),
    "declared": ("contexts", {"method": ct.Declared(60)}),
    "dpsense, dpsense": ("contexts", {**DPSENSE, "method": ct.DPSense(2, choose="dpsense")}),
    "dpsense-s": ("contexts", {**DPSENSE, "method": ct.DPSenseS(2, choose="dpsense")}),
    "interval": ("contexts", {"noise": "interval", "count": "users"}),
    "rows": ("rows", {}),
    "discovery": ("discovery in context", {}),
    "top": ("contexts", {"method": ct.Top(2)}),
    "auto": ("contexts", {}),
    "gaussian, rank": ("contexts", {"method": ct.SRA(4, choose="rank"), **RHO}),
    "l2": ("contexts", {**DPSENSE, "method": ct.DPSense(2, norm="l2", choose="histogram"), **RHO}),
    "dpsense, rank, gaussian": (
        "contexts",
        {**DPSENSE, "method": ct.DPSense(2, choose="rank"), **RHO},
    ),
    "discovery by rho": ("discovery in context", {"noise": "gaussian"}),
    "top by rho": ("contexts", {"method": ct.Top(2), **RHO}),
    "auto by rho": ("contexts", RHO),
}
IN_STEPS = ("auto", "auto by rho")
"""What these spend is charged as one, and spent as they go."""
BY_RHO = [name for name, (_, options) in REQUESTS.items() if options.get("noise") == "gaussian"]


def asked(name: str) -> Request:
    shape, options = REQUESTS[name]
    return SHAPES[shape].request(TOWN, **options)


@pytest.fixture(scope="module")
def read() -> Iterator[Any]:
    """The records of a request, in an engine of their own."""
    opened: list[DuckDBEngine] = []

    def made(request: Request) -> Reading:
        engine = DuckDBEngine()
        opened.append(engine)
        return Reading(engine, prepare(engine, request.records, request.lists, request.sources))

    yield made
    for engine in opened:
        engine.__exit__(None, None, None)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as opened:
        yield opened


def reserved(ledger: Ledger, charge: Charge) -> Reservation:
    unit = PrivacyUnit("user", "who")
    return ledger.reserve("town", unit, charge, new_dataset="town" not in ledger.names())


def charged(ledger: Ledger, request: Request, *, by_rho: bool = True) -> Reservation:
    charge = charge_of(request, method_of(request), {}, by_rho=by_rho)
    return reserved(ledger, charge)


# ---- the order -----------------------------------------------------------------------------------


class Noting(SilentDraws):
    """Notes that something was drawn."""

    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self._log = log

    def geometric(self, *given: Any) -> Any:
        self._log.append("draw")
        return super().geometric(*given)

    def laplace(self, *given: Any) -> Any:
        self._log.append("draw")
        return super().laplace(*given)


class NotingAccount(Account):
    """Notes what is paid for."""

    def __init__(self, reservation: Reservation, log: list[str]) -> None:
        super().__init__(reservation)
        self._log = log

    def pay(self, question: Question) -> None:
        self._log.append(f"pay {question.name}")
        super().pay(question)


def test_each_question_is_counted_paid_for_and_drawn(ledger: Ledger, read: Any) -> None:
    log: list[str] = []
    request = asked("hpa")
    records = read(request)

    def noted(question: Question) -> Read[Any]:
        log.append(f"count {question.name}")
        return count(question, records)

    talk = Conversation(method_of(request).ask(), noted, log.append)
    assert log == ["count popularity"]
    assert talk.dropped.rows
    account = NotingAccount(charged(ledger, request), log)
    released = talk.finish(account, Noting(log))
    assert [one for one, before in zip(log, [None, *log], strict=False) if one != before] == [
        "count popularity", "drawing noise for popularity", "pay popularity", "draw",
        "counting for items and edges", "count items and edges",
        "drawing noise for items and edges", "pay items and edges", "draw",
    ]  # fmt: skip
    assert [table.name for table in released.tables] == ["popularity", "items", "edges"]


@pytest.mark.parametrize("name", REQUESTS)
def test_the_parts_of_a_method_are_those_of_its_questions(name: str, read: Any) -> None:
    """Whatever the answers are: all that is charged is asked for, and nothing else is."""
    request, paid, number = asked(name), list[Part](), 0
    method, records = method_of(request), read(request)

    def noted(question: Question) -> Read[Any]:
        nonlocal number
        number += 1
        paid.extend(question.parts())
        return count(question, records)

    converse(method.ask(), noted, Rehearsed(method), SystemDraws())
    if name in IN_STEPS:
        (whole,) = method.parts
        assert sum(part.loss.epsilon for part in paid) == whole.loss.epsilon
        assert sum(part.loss.rho for part in paid) == whole.loss.rho
        assert 2 <= number <= method.questions
        return
    assert Counter((one.name, one.loss) for one in paid) == Counter(
        (one.name, one.loss) for one in method.parts
    )
    assert number == method.questions


# ---- the account ---------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [None, "a name", "charge", "method", "lookalike"])
def test_nothing_but_a_reservation_makes_an_account(other: Any) -> None:
    request = asked("sra")
    method = method_of(request)
    charge = charge_of(request, method, {})
    lookalike = SimpleNamespace(charge=charge)  # all that an account reads of a reservation
    given = {"charge": charge, "method": method, "lookalike": lookalike}.get(other, other)
    for make in (Account.of, Account):
        with pytest.raises(CrowdtallyError, match="without a charge in a ledger"):
            make(given)


class Asks(Question):
    """Some parts, and whether it was drawn."""

    def __init__(self, *parts: Part) -> None:
        self._parts, self.drawn = parts, 0

    def parts(self) -> tuple[Part, ...]:
        return self._parts

    def draw(self, exact: Any, draws: Draws) -> Noisy:
        self.drawn += 1
        return Noisy(())


def talk_of(*questions: Asks) -> Conversation:
    def asking() -> Asking:
        for question in questions:  # noqa: UP028 - a tuple cannot be sent answers
            yield question
        return Facts()

    return Conversation(asking(), lambda _: Read(None, Dropped(0, 0, 0)))


def part(name: str, epsilon: str) -> Part:
    return Part(name, Epsilon.of(epsilon), "discrete-laplace")


ITEMS, EDGES = part("items", "1/3"), part("edges", "2/3")


@pytest.mark.parametrize(
    ("asks", "answered"),
    [
        ([(ITEMS, EDGES)], 1),
        ([(EDGES,), (ITEMS,)], 2),
        ([(ITEMS,), (ITEMS,)], 1),
        ([(ITEMS, ITEMS)], 0),
        ([(part("items", "2/3"),)], 0),
        ([(part("edges", "1/3"),)], 0),
        ([(part("pairs", "1/3"),)], 0),
        ([(replace(ITEMS, delta=Delta.of("1e-9")),)], 0),
        ([(Part("items", None, "discrete-gaussian", rho=Rho.of("1/3")),)], 0),
        ([()], 0),
        ([(ITEMS,), ()], 1),
        ([(ITEMS,), (EDGES,), (EDGES,)], 2),
    ],
)
def test_a_question_is_answered_for_a_price_that_was_charged(
    asks: list[tuple[Part, ...]], answered: int, ledger: Ledger
) -> None:
    """Each part once, at its own price: what is not on the account is refused before a draw."""
    charge = Charge("release", Epsilon.of(1), (ITEMS, EDGES))
    questions = [Asks(*parts) for parts in asks]
    talk, account = talk_of(*questions), Account.of(reserved(ledger, charge))
    if answered == len(asks):
        assert talk.finish(account, SilentDraws()).paid_by == "release"
    else:
        with pytest.raises(CrowdtallyError, match=NOT_CHARGED):
            talk.finish(account, SilentDraws())
    assert sum(one.drawn for one in questions) == answered


# ---- a charge of ε and δ as one whole, where the dataset cannot count ρ --------------------------


@pytest.mark.parametrize("name", BY_RHO)
def test_a_whole_charge_pays_for_every_question(name: str, ledger: Ledger, read: Any) -> None:
    request = asked(name)
    reservation = charged(ledger, request, by_rho=False)
    assert [one.mechanism for one in reservation.charge.parts] == ["zero-concentrated"]
    records = read(request)
    released = converse(
        method_of(request).ask(), partial(count, records=records), Account.of(reservation),
        SystemDraws(),
    )  # fmt: skip
    assert released.paid_by == reservation.charge.release_id


def whole(ledger: Ledger) -> Account:
    """ρ of 1/20 for items and edges, bought with ε = 2 and δ = 10^-6."""
    facts = {"rho": "1/20", "parts": ["items", "edges"]}
    one = Part("release", Epsilon.of(2), "zero-concentrated", facts, Delta.of("1e-6"))
    return Account.of(reserved(ledger, Charge("whole", Epsilon.of(2), (one,), Delta.of("1e-6"))))


def gaussian(name: str, rho: str, delta: str = "0") -> Part:
    return Part(name, None, "discrete-gaussian", {}, Delta.of(delta), rho=Rho.of(rho))


@pytest.mark.parametrize(
    ("parts", "answered"),
    [
        ([gaussian("items", "1/40"), gaussian("edges", "1/40")], 2),
        ([gaussian("items", "1/40"), gaussian("items", "1/40")], 1),
        ([gaussian("pairs", "1/40")], 0),
        ([gaussian("release", "1/40")], 0),
        ([gaussian("items", "1/40"), gaussian("edges", "1/39")], 1),
        ([gaussian("items", "1/19")], 0),
        ([gaussian("items", "1/20"), gaussian("edges", "1/1000000")], 1),
        ([gaussian("items", "1/20", "1e-6")], 0),
        ([part("items", "1/1000")], 0),
    ],
)
def test_a_whole_charge_still_enforces_every_price(
    parts: list[Part], answered: int, ledger: Ledger
) -> None:
    questions = [Asks(one) for one in parts]
    talk, account = talk_of(*questions), whole(ledger)
    if answered == len(parts):
        talk.finish(account, SilentDraws())
    else:
        with pytest.raises(CrowdtallyError, match=NOT_CHARGED):
            talk.finish(account, SilentDraws())
    assert sum(one.drawn for one in questions) == answered


# ---- rehearsals ----------------------------------------------------------------------------------


def test_a_rehearsal_cannot_be_saved(ledger: Ledger) -> None:
    request = asked("sra")
    with DuckDBEngine() as engine:
        released = Rehearsal(request, engine).run(1, SystemDraws())
    dataset = Dataset("town", (), True)
    for one in (released, Released(released.tables, released.facts, "another release")):
        with pytest.raises(CrowdtallyError, match="not for its charge"):
            describe({"method": {}}, request, dataset, charged(ledger, request), one)


def test_a_rehearsal_pays_what_a_release_would(read: Any) -> None:
    method = method_of(asked("sra"))
    questions = [Asks(*method.parts), Asks(method.parts[0])]
    with pytest.raises(CrowdtallyError, match=NOT_CHARGED):
        talk_of(*questions).finish(Rehearsed(method), SilentDraws())
    assert [one.drawn for one in questions] == [1, 0]


@pytest.mark.parametrize(("name", "counts"), [("sra", 1), ("interval", 1), ("top", 1)])
def test_a_hundred_rehearsals_count_once(
    name: str, counts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sampling key: what is counted for a selection serves the counts of what it selected."""
    request = asked(name)
    counted: list[Any] = []
    for module, reader in ((counting, "count_sampled"), (counting.users, "distinct_users")):
        real = getattr(module, reader)

        def noted(*given: Any, _real: Any = real, **named: Any) -> Any:
            counted.append(given)
            return _real(*given, **named)

        monkeypatch.setattr(module, reader, noted)
    with DuckDBEngine() as engine:
        rehearsal = Rehearsal(request, engine)
        runs = [rehearsal.run(1, SystemDraws()) for _ in range(100)]
    assert len(counted) == counts
    noise = {tuple(run.tables[-1].values.tolist()) for run in runs}
    assert len(noise) > 50


def test_selected_cells_are_of_the_selections_own_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's one context follows from one key; under another she would be in another block."""
    records = ct.read(visits({("a", "x"): 3, ("b", "y"): 2}, "day"), user="user", item="item",
                      contexts=["day"])  # fmt: skip
    domain = ct.Domain(["a", "b"], {"day": ["x", "y"]})
    request = make_request(records, domain, epsilon=1, method=ct.Top(1, context_per_user="day"))
    keys: list[int] = []

    class Keyed(Reading):
        def fresh_key(self) -> int:
            keys.append(len(keys))
            return keys[-1]

    with DuckDBEngine() as engine:
        prepared = prepare(engine, request.records, request.lists, request.sources)
        method, one = method_of(request), Keyed(engine, prepared)
        converse(method.ask(), partial(count, records=one), Rehearsed(method), SilentDraws())
    assert keys == [0]


def test_questions_are_equal_where_they_count_the_same() -> None:
    plain, dear = asked("sra"), replace(asked("sra")).at(Epsilon.of(7))
    one, same = (next(method_of(request).ask()) for request in (plain, dear))
    assert one == same
    assert hash(one) == hash(same)
    assert one.parts() != same.parts()
    shape = SHAPES["contexts"]
    others = [{"method": ct.SRA(3)}, {"method": ct.SRA(2), "count": "users"}, {**DPSENSE}]
    for options in others:
        assert next(method_of(shape.request(TOWN, **options)).ask()) != one
    items, edges = plain.bounded
    rule, what = plain.method.rule, plain.method.what
    assert SampledCounts((items,), rule, what) != SampledCounts((edges,), rule, what)
    top = asked("top").selection
    assert top is not None
    assert MostUsers(top) != MostUsers(replace(top, items=1))


# ---- what a method can reach ---------------------------------------------------------------------

COUNTED = (DuckDBEngine, Prepared, Records, Sources, Reading, Read)
PRIVATE = (*COUNTED, SystemDraws, Conversation, Account)
MODULES = sorted(Path(methods.__file__).parent.glob("*.py"))


def test_no_method_imports_what_counts_or_draws() -> None:
    walls = ("crowdtally.noise", "crowdtally.records", "crowdtally.curator.counting")
    assert len(MODULES) == 6
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{one.name}" for one in node.names]
            assert not [name for name in names if name.startswith(walls)], path.name
            assert not isinstance(node, ast.Global | ast.Nonlocal), path.name
            # A method asks and is answered: only the conversation counts and draws.
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute):
                assert called.attr not in ("draw", "publish", "select", "pick"), path.name


def reached(start: Any) -> Iterator[Any]:
    """All that can be got from a value without a function's own modules."""
    seen, left = set(), [start]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, type | str | bytes | int | float | np.ndarray):
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            left += one
        elif is_dataclass(one):
            left += [getattr(one, field.name) for field in fields(one)]
        left += getattr(one, "__dict__", {}).values() if not callable(one) else []
        left += [cell.cell_contents for cell in getattr(one, "__closure__", None) or ()]
        frame = getattr(one, "gi_frame", None)
        left += [] if frame is None else frame.f_locals.values()


@pytest.mark.parametrize("name", REQUESTS)
def test_no_method_reaches_records_or_draws(name: str, read: Any) -> None:
    """At each of its questions: what it holds is public."""
    request = asked(name)
    method, records = method_of(request), read(request)
    asking = method.ask()
    question: Any = next(asking)
    met = 0
    while question is not None:
        for one in reached((method, asking)):
            assert not isinstance(one, PRIVATE), f"{name} reaches a {type(one).__name__}"
            met += 1
        answer = question.draw(count(question, records).found, SystemDraws())
        try:
            question = asking.send(answer)
        except StopIteration:
            question = None
    assert met > method.questions


def test_the_walk_would_see_records(read: Any) -> None:
    request = asked("sra")
    records = read(request)

    def asking() -> Iterator[int]:
        held = {"a": [records]}
        yield len(held)

    started = asking()
    next(started)
    assert any(isinstance(one, DuckDBEngine) for one in reached(started))
    assert any(isinstance(one, Records) for one in reached(request))


def test_an_unknown_question_is_not_counted() -> None:
    with pytest.raises(TypeError, match="nothing counts a Asks"):
        count(Asks(), None)  # type: ignore[arg-type]


def test_numbers_of_questions_decide_what_a_comparison_counts_once() -> None:
    assert {name: method_of(asked(name)).questions for name in ("sra", "hpa", "hpa, rank")} == {
        "sra": 1, "hpa": 2, "hpa, rank": 3,
    }  # fmt: skip
