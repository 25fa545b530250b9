"""A ledger on a real server with real roles: an owner, an officer, two analysts, a stranger."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from budget.ledger_kit import SHA, USER, PostgresServer, charge, running_server
from crowdtally.ledger import Asked, Ledger, Reservation
from crowdtally.ledger.chain import link
from crowdtally.ledger.charge import canonical

APPEND = "SELECT crowdtally_append(%s, %s, %s, %s, %s, %s, %s)"


@dataclass
class Team:
    """Who shares the ledger."""

    server: PostgresServer
    """Where it is."""
    schema: str
    """The schema that it is in."""
    tag: str
    """What makes the names of this ledger's roles its own."""
    password: str = field(default_factory=lambda: secrets.token_hex(8))
    """Of every role."""

    def role(self, name: str) -> str:
        return f"{name}_{self.tag}"

    def url(self, name: str) -> str:
        base = self.server.url("postgres", self.role(name), self.password)
        return f"{base}?options=-csearch_path%3D{self.schema}"

    def open(self, name: str) -> Ledger:
        return Ledger.open(self.url(name))

    def connect(self, name: str) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url(name), connect_timeout=300)

    def state(self) -> tuple[object, ...]:
        """All that no attack may change."""
        look = self.server.execute
        tables = [
            tuple(look(f"SELECT * FROM {self.schema}.crowdtally_{name} ORDER BY 1"))
            for name in ("ledger", "entries", "datasets")
        ]
        rights = look(
            "SELECT oid::regclass::text, relowner, ARRAY(SELECT unnest(relacl)::text ORDER BY 1),"
            " relhastriggers, relhasrules, relrowsecurity FROM pg_class"
            f" WHERE relnamespace = '{self.schema}'::regnamespace ORDER BY 1"
        )
        functions = look(
            "SELECT oid::regprocedure::text, proowner, ARRAY(SELECT unnest(proacl)::text ORDER BY"
            " 1), md5(prosrc), prosecdef, proconfig FROM pg_proc"
            f" WHERE pronamespace = '{self.schema}'::regnamespace ORDER BY 1"
        )
        schema = look(
            "SELECT nspowner, ARRAY(SELECT unnest(nspacl)::text ORDER BY 1) FROM pg_namespace"
            f" WHERE nspname = '{self.schema}'"
        )
        return (*tables, tuple(rights), tuple(functions), tuple(schema))


def new_team(server: PostgresServer) -> Team:
    """A ledger with a limit, of which an officer granted two analysts the use."""
    tag = secrets.token_hex(5)
    team = Team(server, f"ledger_{tag}", tag)
    server.execute(
        *(
            f"CREATE ROLE {team.role(name)} LOGIN PASSWORD '{team.password}'"
            for name in ("owner", "officer", "ana", "ben", "eve")
        ),
        f"GRANT {team.role('owner')} TO {team.role('officer')}",
        f"CREATE SCHEMA {team.schema} AUTHORIZATION {team.role('owner')}",
    )
    with Ledger.open(team.url("owner"), create=True) as ledger:
        ledger.create("data", epsilon=10, delta="1/1000", each_epsilon=2)
        ledger.create("other", USER, epsilon=10)
    with team.open("officer") as ledger:
        for name in ("ana", "ben"):
            ledger.grants(team.role(name), run=True)
        ledger.grants(team.role("officer"), officer=True)
    return team


@pytest.fixture
def team() -> Team:
    return new_team(running_server())


def published(ledger: Ledger, epsilon: object = 1, release: str = "release-1") -> Reservation:
    """A charge whose release was published."""
    made = ledger.reserve("data", USER, charge(epsilon, release=release), asked=Asked("trips"))
    ledger.start_drawing(made.id)
    ledger.mark_published(made.id, SHA)
    return made


@dataclass
class Forged:
    """An entry that follows the last one, to be changed by a forger."""

    number: int
    dataset: str
    kind: str
    about: int | None
    body: dict[str, Any]
    key: str | None
    previous: str
    hash: str | None = None
    """``None``: the right one."""
    text: str | None = None
    """``None``: the canonical text of the body."""

    @classmethod
    def of(
        cls, connection: psycopg.Connection[Any], event: dict[str, Any], about: int | None = None,
        dataset: str = "data",
    ) -> Forged:  # fmt: skip
        """What an honest client would write, but for the sums of a charge."""
        held = connection.execute("SELECT number, hash, role FROM crowdtally_hold()").fetchone()
        assert held is not None
        number, previous, role = held
        last = connection.execute(
            "SELECT body FROM crowdtally_entries WHERE dataset = %s ORDER BY number DESC LIMIT 1",
            [dataset],
        ).fetchone()
        balance = json.loads(last[0])["balance"] if last else {
            "unit": None, "accountant": "sequential", "limit": None,
            "spent": {"epsilon": "0", "delta": "0"},
        }  # fmt: skip
        now = datetime.now(UTC).isoformat(timespec="seconds")
        body = {
            "number": number + 1, "time": now, "dataset": dataset,
            "event": event, "balance": balance,
            "by": {"account": "ana", "host": "desk", "role": role},
        }  # fmt: skip
        return cls(number + 1, dataset, event["kind"], about, body, None, previous)

    def values(self) -> list[object]:
        text = canonical(self.body) if self.text is None else self.text
        digest = link(self.previous, text) if self.hash is None else self.hash
        return [self.number, self.dataset, self.kind, self.about, text, digest, self.key]


def a_charge(**changed: object) -> dict[str, Any]:
    """The event of a charge of ε = 1."""
    part = {
        "name": "items", "epsilon": "1", "delta": "0", "rho": "0", "selects": False,
        "mechanism": "discrete-laplace", "parameters": {},
    }  # fmt: skip
    asked = {"source": None, "output": None, "parameters": {}, "purpose": None, "request_id": None}
    return {
        "kind": "reserved", "version": 4, "unit": {"kind": "user", "column": "user_id"},
        "release": "release-x", "epsilon": "1", "delta": "0", "rho": "0", "parts": [part],
        "versions": {}, "asked": asked, **changed,
    }  # fmt: skip


def charging(connection: psycopg.Connection[Any], spent: str = "2", **changed: object) -> Forged:
    """A charge of ε = 1 after one of ε = 1, to be changed by a forger."""
    forged = Forged.of(connection, a_charge(**changed))
    balance = forged.body["balance"]
    balance["spent"]["epsilon"] = spent
    balance["unit"] = balance["unit"] or a_charge()["unit"]  # the first charge says so
    return forged
