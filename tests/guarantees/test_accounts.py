"""What a release draws adds up to what the ledger is told: part by part, and exactly.

Too much noise fails as too little does: slack in one part would hide an overspend in another.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.curator.converse import Conversation, Released
from crowdtally.curator.counting.count import Reading
from crowdtally.curator.manifest import versions
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.plan.plan import make_plan
from crowdtally.curator.request.request import Request
from crowdtally.ledger import Charge, Ledger
from kit.databases import RememberingEngine
from kit.draws import Recording, Seeded, recorded
from kit.every_request import (
    SHAPES,
    asked,
    check_dense,
    check_sparse,
    cost_of_choice,
    counted_in,
    every_request,
    published_from,
    town,
    user_changes,
)
from kit.exact import ONE, exp_neg
from kit.publishing import publish, run_steps
from kit.subjects import known_keys

TOWN = town()
KEY, WORDS = secrets.randbits(62), secrets.randbits(62)
Run = Callable[[str, str, str], tuple[Request, Recording, Released]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """What runs the steps of production; each shape's records are opened once.

    Under one sampling key and from the same random words, whichever they are: all forms of a method
    come upon one popularity and one choice, so that what is counted is compiled once for all. Whole
    releases, below, draw theirs.
    """
    with ExitStack() as stack:

        @cache
        def opened(shape: str) -> tuple[RememberingEngine, Any]:
            engine, given = stack.enter_context(RememberingEngine()), SHAPES[shape]
            return engine, engine.prepare(given.records(TOWN), given.domain)

        def steps(shape: str, method: str, form: str) -> tuple[Request, Recording, Released]:
            engine, prepared = opened(shape)
            request = SHAPES[shape].request(TOWN, **asked(method, form))
            with recorded(Seeded(WORDS)) as recording, known_keys(KEY):
                released = run_steps(request, Reading(engine, prepared), recording)
                return request, recording, released

        yield steps


def charged(request: Request) -> Charge:
    return charge_of(request, method_of(request), versions())


def check(
    shape: str, method: str, form: str, charge: Charge, recording: Recording, outcome: Released
) -> None:
    """Every part of the charge against what was drawn for it."""
    parts = {part.name: part.epsilon.value for part in charge.parts}
    assert sum(parts.values()) == charge.epsilon.value
    paid_for = {part: "edges" if part == "pairs" else part for part in _parts(recording)}
    assert set(paid_for.values()) == parts.keys()
    options, given = asked(method, form), SHAPES[shape]
    told = {part.name: part.parameters.get("l1_bound") for part in charge.parts}
    if shape.startswith("discovery"):
        check_dense(recording.of("total"), parts["total"], 2, 1)
        for table in outcome.tables:
            (noise,) = recording.of(table.name)
            assert (noise.law, 2 / noise.parameter) == ("laplace", parts[table.name])
        assert told == dict.fromkeys(parts, 2)
        return
    if "popularity" in parts:
        check_dense(recording.of("popularity"), parts["popularity"], 2, 3)
        assert told["popularity"] == 2
    facts = {table.name: table.facts for table in outcome.tables}
    for table, axes in given.tables.items():
        bound = outcome.facts.bounds[table].limit
        changes = user_changes(options, table, bound, by_user=given.by_user, times=given.times)
        changes *= counted_in(options, axes)
        drawn, epsilon = recording.of(table), parts[paid_for[table]]
        # Of a bound that is yet to be chosen the ledger is told the most it may be.
        assert told[paid_for[table]] == (None if "choose" in parts else changes)
        cells = published_from(options, axes)
        if "summary" in options:
            check_sparse(drawn, epsilon, changes, cells, facts[table])
        else:
            check_dense(drawn, epsilon, changes, cells)
    if "choose" in parts:
        _check_choices(shape, options, recording, parts)


def check_plan(request: Request, outcome: Released) -> None:
    """What was planned is what was drawn; before a choice, the most that it may be."""
    planned = make_plan(request).as_dict()["tables"]
    assert [told["table"] for told in planned] == [table.name for table in outcome.tables]
    for told, table in zip(planned, outcome.tables, strict=True):
        if request.method.choose is None:
            assert told["noise_std"] == table.law.std()
        assert told["noise_std"] >= table.law.std()


def _parts(recording: Recording) -> set[str]:
    parts = {drawn.part for drawn in recording.drawn}
    assert None not in parts, "something was drawn outside all steps"
    return {str(part) for part in parts}


def _check_choices(
    shape: str, options: dict[str, object], recording: Recording, parts: dict[str, Fraction]
) -> None:
    """One choice serves all tables of a sample; rows are scaled for each table on its own."""
    choices = recording.of("choose")
    assert {drawn.law for drawn in choices} == {"choose"}
    tables = SHAPES[shape].tables
    served = list(tables)[: None if isinstance(options["method"], ct.DPSense) else 1]
    costs = [
        cost_of_choice(drawn, options, published_from({}, tables[table]), parts[table])
        for drawn, table in zip(choices, served, strict=True)
    ]
    assert costs == [parts["choose"] / len(served)] * len(served)


METHODS = sorted({(shape, method) for shape, method, _ in every_request()})


@pytest.mark.parametrize(("shape", "method"), METHODS, ids=[", ".join(m) for m in METHODS])
def test_what_is_drawn_is_what_is_charged(shape: str, method: str, run: Run) -> None:
    forms = [form for *named, form in every_request() if named == [shape, method]]
    for form in forms:
        request, recording, outcome = run(shape, method, form)
        try:
            check(shape, method, form, charged(request), recording, outcome)
            check_plan(request, outcome)
        except AssertionError as error:
            raise AssertionError(f"{shape}, {method}, {form}: {error}") from error
    assert forms


WHOLE = [
    ("contexts", "hpa, rank", "threshold"),
    ("contexts", "dpsense-s, dpsense", "dense"),
    ("attributes", "dpsense, dpsense", "filter-priority"),
    ("pairs", "sra, rank", "dense"),
    ("quantities", "hpa, rank", "haar, filter"),
    ("rows", "none", "dyadic, filter"),
    ("discovery", "none", "dense"),
    ("discovery in context", "none", "dense"),
]


@pytest.mark.parametrize("named", WHOLE, ids=[", ".join(named) for named in WHOLE])
def test_whole_releases_draw_what_the_ledger_holds(
    named: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By ``publish`` itself; the charge is read back from the ledger."""
    shape, method, form = named
    request, ledger = (
        SHAPES[shape].request(TOWN, **asked(method, form)),
        Ledger.open(tmp_path / "l", create=True),
    )
    outcomes: list[Released] = []
    finish = Conversation.finish

    def kept(*given: Any) -> Released:
        outcomes.append(finish(*given))
        return outcomes[-1]

    monkeypatch.setattr(Conversation, "finish", kept)
    with recorded() as recording:
        publish(request, "town", tmp_path / "out", ledger=ledger, draws=recording, tell=pytest.fail)
    (entry,) = ledger.charges()
    assert entry.charge.epsilon == request.epsilon
    check(*named, entry.charge, recording, outcomes[0])


def test_the_threshold_of_a_discovery_is_that_of_its_noise_and_its_delta(run: Run) -> None:
    """The least T with 1 − (1 − α^(T−1)/(1+α))^l ≤ δ, of unknown_cells.md."""
    request, recording, outcome = run("discovery", "none", "dense")
    (noise,) = recording.of("items")
    threshold = int(outcome.tables[0].facts["threshold"])

    def reaches(t: int) -> bool:
        low, high = (Fraction(end, ONE) for end in exp_neg(1 / noise.parameter))
        tail = [Fraction(end, ONE) for end in exp_neg((t - 1) / noise.parameter)]
        within = 1 - (1 - tail[1] / (1 + low)) ** 2 <= request.delta.value
        beyond = 1 - (1 - tail[0] / (1 + high)) ** 2 > request.delta.value
        assert within != beyond
        return within

    assert reaches(threshold)
    assert not reaches(threshold - 1)
    assert {part.name: part.delta.value for part in charged(request).parts} == {
        "total": 0,
        "items": request.delta.value,
    }
