"""A release under test: its public parameters, and its complete output law on a tiny database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import count as numbers
from typing import Any, Self
from unittest.mock import patch

import pyarrow as pa

from crowdtally.core.domain import Domain
from crowdtally.core.records import Quantity, Records, SamePerson
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.method import method_of
from crowdtally.curator.request.request import Request, make_request
from crowdtally.format import NoisyTable
from crowdtally.noise.draws import Draws
from kit.databases import USERS, Database, Ids, RememberingEngine, Space, neighbours
from kit.draws import Form, Tracer, Unreadable, every_choice
from kit.exact import LawLoss, Loss, losses
from kit.publishing import run_steps

_SCHEMA = {"user": pa.int64(), "item": pa.int64(), "context": pa.int64(), "id": pa.int64()}


@dataclass(frozen=True)
class Subject:
    """Everything public about a release. A new rule is a new subject, nothing more."""

    space: Space
    options: Mapping[str, Any]
    """What ``make_request`` takes: bounding, max_records, count, split, …"""
    ids: Ids = "none"
    epsilon: Fraction = Fraction(3, 2)
    steering: Sequence[tuple[int, ...]] = ()
    """Released popularities, at least one for each way in which they can steer the later steps."""
    room: int = 8
    """Bits that exact counts may take."""
    tracer: type[Tracer] = Tracer
    user: str | None = "user"
    """None where each row is one person: then no history may have more than one record."""
    roles: Mapping[str, Any] = field(default_factory=dict)
    """What else is declared, such as a condition: fields of ``Records``."""

    @cached_property
    def records(self) -> Records:
        empty = pa.table({name: pa.array([], kind) for name, kind in _SCHEMA.items()})
        contexts = {"context": None} if self.space.contexts > 1 else {}
        stored = "id" if self.ids in ("stored", "repeated") else None
        records = replace(Records(empty, self.user, "item", contexts, stored), **self.roles)
        if self.ids == "quantities":
            return replace(records, quantity=Quantity("id", 2))
        if self.ids == "several":  # each person comes under two ids: (1, 0) and (1, 1) are one
            ids = [(user, number) for user in USERS for number in (0, 1)]
            same = {
                "user": [u for u, _ in ids],
                "id": [n for _, n in ids],
                "who": [u for u, _ in ids],
            }
            table = SamePerson(pa.table(same), "who")
            return replace(records, user=("user", "id"), same_person=table)
        return records

    @cached_property
    def request(self) -> Request:
        contexts = {"context": range(self.space.contexts)} if self.space.contexts > 1 else {}
        domain = Domain(range(self.space.items), contexts, item="item")
        return make_request(self.records, domain, epsilon=self.epsilon, **self.options)


@contextmanager
def known_keys(first: int) -> Iterator[None]:
    """Sampling keys and seeds that a release draws from the OS, one after the other, from here."""
    keys = numbers(first)
    with patch("secrets.randbits", lambda bits: next(keys) % 2**bits):
        yield


class Bench:
    """Runs a subject on one database after another; a context manager."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._engine = RememberingEngine()

    def __enter__(self) -> Self:
        self._engine.__enter__()
        self._prepared = self._engine.prepare(self.subject.records, self.subject.request.domain)
        return self

    def __exit__(self, *error: Any) -> None:
        self._engine.__exit__(*error)

    def tables(self, database: Database, key: int, draws: Draws) -> Sequence[NoisyTable]:
        """What the steps of production release."""
        with known_keys(key):
            return run_steps(self.subject.request, self._reading(database), draws).tables

    def _reading(self, database: Database) -> Reading:
        self._engine.replace(self.subject.space.rows(database, self.subject.ids))
        return Reading(self._engine, self._prepared)

    def law(self, database: Database, key: int) -> dict[object, LawLoss]:
        """The law of every path, under the path's name: what was chosen, and what steered."""
        if not self.subject.steering:
            return {law_path(law): law for law in self._paths(database, key, {}, ())}
        laws: dict[object, LawLoss] = {}
        tracer = self._tracer()
        first = next(method_of(self.subject.request).ask())
        with known_keys(key):
            counted = count(first, self._reading(database))
            (popularity,) = first.draw(counted.found, tracer).tables
        forms = [tracer.read(int(value)) for value in popularity.values]
        for values in self.subject.steering:
            steering = tuple(zip(forms, values, strict=True))
            for law in self._paths(database, key, pins(steering), steering):
                laws[values, law_path(law)] = law
        return laws

    def _tracer(self, *arguments: Any) -> Tracer:
        return self.subject.tracer(self.subject.room, *arguments)

    def _paths(
        self,
        database: Database,
        key: int,
        pinned: Mapping[int, int],
        steering: tuple[tuple[Form, int], ...],
    ) -> Iterator[LawLoss]:
        released: list[Sequence[NoisyTable]] = []

        def run(script: tuple[int, ...]) -> Tracer:
            tracer = self._tracer(pinned, script)
            released.append(self.tables(database, key, tracer))
            return tracer

        for tracer in every_choice(run):
            tables = released.pop()
            if steering:
                held = [value for _, value in steering]
                assert tables[0].values.tolist() == held, "the popularity was not held"
                tables = tables[1:]
            forms = tuple(tracer.read(int(v)) for table in tables for v in table.values)
            rates = tuple(tracer.rates)
            yield LawLoss(forms, rates, tuple(tracer.choices), steering, rates)


def law_path(law: LawLoss) -> tuple[int, ...]:
    return tuple(choice.picked for choice in law.choices)


def pins(steering: Iterable[tuple[Form, int]]) -> dict[int, int]:
    """The draws that make each form come out at its value."""
    pinned = {}
    for form, value in steering:
        if sorted(factor for _, factor in form.coefficients) != [-1, 1]:
            raise Unreadable("a value that steers is not a count plus Laplace noise")
        for draw, factor in form.coefficients:
            pinned[draw] = max(factor * (value - form.constant), 0)
    return pinned


@dataclass
class Findings:
    """What comparing all neighbouring pairs showed."""

    pairs: int = 0
    uncertified: list[str] = field(default_factory=list)
    """Pairs whose loss is not certified to be at most ε."""
    violations: list[str] = field(default_factory=list)
    """Pairs whose loss is certified to exceed ε."""
    reached: bool = False
    """Whether some pair's loss is exactly ε: the noise is not larger than it has to be."""

    def add(self, words: str, found: Loss, epsilon: Fraction) -> None:
        self.reached = self.reached or found.exact == epsilon
        if not found.certainly_at_most(epsilon):
            self.uncertified.append(f"{words}: {found} > {epsilon}")
        if found.certainly_exceeds(epsilon):
            self.violations.append(f"{words}: {found} > {epsilon}")


def compare(subject: Subject, databases: Iterable[Database], keys: Iterable[int]) -> Findings:
    """The loss of every neighbouring pair, for every key."""
    findings = Findings()
    for _ in comparing(subject, databases, keys, findings):
        pass
    return findings


def first_violation(
    subject: Subject, databases: Iterable[Database], keys: Iterable[int]
) -> str | None:
    """The first neighbouring pair whose loss certainly exceeds ε."""
    findings = Findings()
    for _ in comparing(subject, databases, keys, findings):
        if findings.violations:
            return findings.violations[0]
    return None


def comparing(
    subject: Subject, databases: Iterable[Database], keys: Iterable[int], findings: Findings
) -> Iterator[None]:
    """Compare pair after pair; a pause after each."""
    databases = list(databases)
    with Bench(subject) as bench:
        for key in keys:
            laws = {database: bench.law(database, key) for database in databases}
            for database, other in ((d, n) for d in databases for n in neighbours(d)):
                findings.pairs += 1
                for found in losses(laws[database], laws[other]):
                    words = f"{database} against {other}, key {key}"
                    findings.add(words, found, subject.epsilon)
                yield
