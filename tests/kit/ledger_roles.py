"""Real roles on a real server, and entries that an analyst might forge."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from crowdtally.ledger import Asked, Ledger, Reservation
from crowdtally.ledger.chain import link
from crowdtally.ledger.charge import canonical
from kit.ledgers import SHA, USER, PostgresServer, charge, running_server

# ---- A ledger on a real server with real roles: an owner, an officer, two analysts, a stranger


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


# ---- Entries that an analyst may try to add by plain SQL, and the words with which each is
#      refused


Connection = psycopg.Connection[Any]


@dataclass(frozen=True)
class Before:
    """What an analyst did honestly before."""

    reserved: str
    """A charge of which nothing was drawn."""
    drawing: str
    """One of which noise is being drawn."""
    published: str
    """One whose release was published."""
    withdrawn: str
    """One whose release was called back."""
    other: str
    """One of another dataset, of which nothing was drawn."""


Forgery = Callable[[Connection, Before], Forged]
FORGERIES: dict[str, tuple[Forgery, str]] = {}
"""By what is wrong: how to forge it, and what the refusal says."""

SPENT = "5"
"""What was spent before, and one more."""
OFFICERS = "for officers"
DISAGREE = "its columns disagree"
FIELDS = "lacks a field"
LIMITS = "limits after the entry are not those before it"
SUM = "not the sum before it and the charge"
AMOUNT = "an amount is"
CANONICAL = "canonical form"
KEYS = "keys twice, or not in order"
LAST = "does not follow from the last one"
HAPPENED = "cannot follow what happened"
FOLLOWS = "does not follow from the sum before it"


def forgery(words: str) -> Callable[[Forgery], Forgery]:
    def add(made: Forgery) -> Forgery:
        FORGERIES[made.__name__.replace("_", " ")] = (made, words)
        return made

    return add


def changing(name: str, words: str, change: Callable[[Forged], object], **event: object) -> None:
    """A charge that is right but for one change."""

    def made(connection: Connection, before: Before) -> Forged:
        forged = charging(connection, SPENT, **event)
        change(forged)
        return forged

    FORGERIES[name] = (made, words)


def same(forged: Forged) -> None:
    """The event alone is wrong."""


def about(connection: Connection, kind: str, reservation: str, **fields: object) -> Forged:
    event = {"kind": kind, "reservation": reservation, **fields}
    return Forged.of(connection, event, int(reservation.split("-")[0]))


# What is the officers'.
def _decision(kind: str, dataset: str = "data", **fields: object) -> Forgery:
    return lambda connection, before: Forged.of(
        connection, {"kind": kind, **fields}, dataset=dataset
    )


FORGERIES["a limit lifted"] = (
    _decision("limit", version=3, limit=None, each=None, reason="mine"), OFFICERS,
)  # fmt: skip
FORGERIES["a dataset made"] = (
    _decision(
        "created", "new", version=3, unit=None, accountant="sequential", limit=None, each=None
    ),
    OFFICERS,
)
FORGERIES["an unknown kind"] = (_decision("amnesty", version=1), OFFICERS)


@forgery(OFFICERS)
def a_void(connection: Connection, before: Before) -> Forged:
    back = {"epsilon": "1", "delta": "0"}
    fields = {"version": 2, "reason": "mine", "given_back": back}
    return about(connection, "voided", before.reserved, **fields)


@forgery(DISAGREE)
def a_void_with_the_column_of_a_drawing(connection: Connection, before: Before) -> Forged:
    forged = a_void(connection, before)
    forged.kind = "drawing"
    return forged


@forgery(DISAGREE)
def a_limit_with_the_column_of_a_charge(connection: Connection, before: Before) -> Forged:
    forged = FORGERIES["a limit lifted"][0](connection, before)
    forged.kind = "reserved"
    return forged


@forgery(OFFICERS)
def no_kind_at_all(connection: Connection, before: Before) -> Forged:
    forged = charging(connection, SPENT)
    forged.kind = None  # type: ignore[assignment]
    return forged


# Where it stands in the chain.
changing("a wrong hash", LAST, lambda forged: setattr(forged, "hash", "0" * 64))
changing("a hash in capitals", LAST, lambda f: setattr(f, "hash", f.values()[5].upper()))  # type: ignore[attr-defined]
changing("another previous hash", LAST, lambda forged: setattr(forged, "previous", "0" * 64))


@forgery(LAST)
def a_number_left_out(connection: Connection, before: Before) -> Forged:
    forged = charging(connection, SPENT)
    forged.number += 1
    forged.body["number"] += 1
    return forged


@forgery(LAST)
def a_number_again(connection: Connection, before: Before) -> Forged:
    forged = charging(connection, SPENT)
    forged.number = forged.body["number"] = 1
    return forged


changing("another number in the text", DISAGREE, lambda f: f.body.update(number=f.number + 1))
changing("a number that is a text", DISAGREE, lambda f: f.body.update(number=str(f.number)))
changing("another dataset in the text", DISAGREE, lambda f: f.body.update(dataset="other"))
changing("another dataset in the column", DISAGREE, lambda f: setattr(f, "dataset", "other"))
changing("no dataset in the column", DISAGREE, lambda f: setattr(f, "dataset", None))
changing("a charge about another", DISAGREE, lambda f: setattr(f, "about", 3))
changing("a key that the text lacks", DISAGREE, lambda f: setattr(f, "key", "mine"))
changing("a time in words", DISAGREE, lambda f: f.body.update(time="yesterday"))
changing("long ago", "set the clock", lambda f: f.body.update(time="2001-01-01T00:00:00+00:00"))
changing(
    "times to come", "set the clock", lambda f: f.body.update(time="9001-01-01T00:00:00+00:00")
)
changing(
    "a day that is none", "out of range", lambda f: f.body.update(time="2026-99-01T00:00:00+00:00")
)
for _time in ("24:00:00", "00:60:00", "00:00:60"):
    changing(
        f"{_time} o'clock", DISAGREE,
        lambda f, time=_time: f.body.update(time=f"{f.body['time'][:11]}{time}+00:00"),
    )  # fmt: skip
changing("no time", DISAGREE, lambda f: f.body.pop("time"))
changing("a field too many", DISAGREE, lambda f: f.body.update(more=1))
changing("no event", DISAGREE, lambda f: f.body.update(event=None))
changing("no balance", LIMITS, lambda f: f.body.update(balance=None))

# Who says so.
BY = "another role"
changing("another role's name", BY, lambda f: f.body["by"].update(role="postgres"))
changing("no role", BY, lambda f: f.body["by"].update(role=None))
changing("no author", DISAGREE, lambda f: f.body.pop("by"))
changing("a blank account", BY, lambda f: f.body["by"].update(account="\u3000 \t"))
changing("no host", BY, lambda f: f.body["by"].pop("host"))


# How it is written.
def _text(name: str, words: str, old: str, new: str) -> None:
    def change(forged: Forged) -> None:
        text = canonical(forged.body)
        assert text.count(old) == 1, old
        forged.text = text.replace(old, new)

    changing(name, words, change)


_text("a space", CANONICAL, '"kind":"reserved"', '"kind": "reserved"')
_text("a line break", "ASCII", '"kind":"reserved"', '"kind":"reserved"\n')
_text("no ASCII", "ASCII", '"release":"release-x"', '"release":"é"')
_text("an escape that is not needed", CANONICAL, "release-x", "release-\\u0078")
_text("an escape in capitals", CANONICAL, "release-x", "release-\\u00E9")
_text("a slash escaped", CANONICAL, "release-x", "release\\/x")
_text("a long escape for a short one", CANONICAL, "release-x", "release\\u000ax")
_text(
    "a key twice in the event", KEYS, '"epsilon":"1","kind"', '"epsilon":"1","epsilon":"0","kind"'
)
_text("a key twice, alike", KEYS, '"versions":{}', '"versions":{},"versions":{}')
_text("a limit twice", KEYS, '"limit":', '"limit":null,"limit":')
_text(
    "a part's key twice",
    KEYS,
    '"epsilon":"1","mechanism"',
    '"epsilon":"1","epsilon":"1","mechanism"',
)
_text("keys not in order", KEYS, '"versions":{}', '"versions":{"b":"1","a":"1"}')
_text("an escaped key twice", KEYS, '"versions":{}', '"versions":{"\\u00e9":"1","\\u00e9":"1"}')
_text("deep keys not in order", KEYS, '"versions":{}', '"versions":{"a":[[{"b":1,"a":2}]]}')
_text("a fraction with a point", CANONICAL, '"versions":{}', '"versions":{"a":1.5}')
_text("a number with an exponent", CANONICAL, '"versions":{}', '"versions":{"a":1e5}')
_text("a negative zero", CANONICAL, '"versions":{}', '"versions":{"a":-0}')
_text("a number beyond floats", CANONICAL, '"versions":{}', '"versions":{"a":9007199254740993}')
_text(
    "lists within each other that nobody could read",
    "nested more than 24 deep",
    '"versions":{}',
    '"versions":{"a":' + "[" * 500 + "]" * 500 + "}",
)
_text(
    "one level too many",
    "nested more than 24 deep",
    '"versions":{}',
    '"versions":{"a":' + "[[],{}," * 21 + "1" + "]" * 21 + "}",
)
_text("more text than anybody reads", "1,000,000", "release-x", "x" * 1000000)
_text("a very long number", CANONICAL, '"versions":{}', '"versions":{"a":' + "1" * 5000 + "}")

# What it costs.
for _epsilon in ("0", "-1", "1/0", "2/2", "01", "1.0", "1e0", " 1", "1/1", "", "NaN", "2/4"):
    _words = "above 0" if _epsilon == "0" else AMOUNT
    changing(f"an epsilon of {_epsilon!r}", _words, same, epsilon=_epsilon)
for _epsilon in (1, None, True, {"epsilon": "1"}, ["1"]):
    changing(f"an epsilon that is {_epsilon!r}", AMOUNT, same, epsilon=_epsilon)
for _delta in ("-1/1000", "1", "7/2", None, "1e-9"):
    _words = "below 1" if _delta in ("1", "7/2") else AMOUNT
    changing(f"a delta of {_delta!r}", _words, same, delta=_delta)
changing(
    "a delta beyond the limit",
    "fit in what remains",
    lambda f: f.body["balance"]["spent"].update(delta="1/10"),
    delta="1/10",
)
changing("more digits than can be judged", AMOUNT, same, epsilon="1/" + "3" * 50000)
changing(
    "more digits than an amount needs",
    "more than 3,000 digits",
    same,
    epsilon="1/1" + "0" * 3001,
)
changing("no parts", "no parts", same, parts=[])
changing("parts that are none", FIELDS, same, parts=None)


def _part(**changed: object) -> dict[str, Any]:
    return {**a_charge()["parts"][0], **changed}


changing("parts of more than the total", "more than it states", same, parts=[_part(epsilon="2")])
changing(
    "two parts of more than the total",
    "more than it states",
    same,
    parts=[_part(), _part(epsilon="1/1000000")],
)
changing("parts of more delta", "more than it states", same, parts=[_part(delta="1/9")])
changing("a negative part", AMOUNT, same, parts=[_part(epsilon="2"), _part(epsilon="-1")])
changing("a part for nothing", FIELDS, same, parts=[_part(), _part(epsilon="0")])
changing("a part without a name", FIELDS, same, parts=[_part(name=" ")])
changing("a part with a field too many", FIELDS, same, parts=[_part(more=1)])
changing(
    "more than a single release may cost",
    "single release",
    lambda f: f.body["balance"]["spent"].update(epsilon="13/2"),
    epsilon="5/2",
)


# What it says was spent.
def _spent(name: str, words: str, **spent: object) -> None:
    changing(name, words, lambda f: f.body["balance"]["spent"].update(spent))


_spent("a sum that stays", SUM, epsilon="4")
_spent("a lower sum", SUM, epsilon="1")
_spent("a sum of nothing", SUM, epsilon="0")
_spent("a higher sum", SUM, epsilon="6")
_spent("a sum that is too low by a little", SUM, epsilon="4999999999/1000000000")
_spent("a sum of more delta", SUM, delta="1/1000000")
_spent("a negative sum", AMOUNT, epsilon="-5")
_spent("a sum not in lowest terms", AMOUNT, epsilon="10/2")
_spent("a sum with a field too many", SUM, more="1")
changing("no sum", AMOUNT, lambda f: f.body["balance"].update(spent=None))


# What it says may be spent.
def _balance(name: str, words: str = LIMITS, **fields: object) -> None:
    changing(name, words, lambda f: f.body["balance"].update(fields))


_balance("a raised limit", limit={"epsilon": "100", "delta": "1/1000"})
_balance("a limit of null", limit=None)
_balance("a raised limit on delta", limit={"epsilon": "10", "delta": "1/2"})
_balance("a raised limit on single releases", each={"epsilon": "9", "delta": "1/1000"})
_balance("a limit of null on single releases", each=None)
_balance("another accountant", accountant="free")
_balance("a balance with a field too many", more=1)
changing("a missing limit", LIMITS, lambda f: f.body["balance"].pop("limit"))
changing("a missing limit on single releases", LIMITS, lambda f: f.body["balance"].pop("each"))

# Which unit, and what for.
UNIT = "another privacy unit"
changing("another unit", UNIT, same, unit={"kind": "row", "column": None})
_balance("another unit in the balance", UNIT, unit={"kind": "row", "column": None})
_balance("no unit in the balance", UNIT, unit=None)


@forgery(UNIT)
def another_unit_in_both(connection: Connection, before: Before) -> Forged:
    unit = {"kind": "row", "column": None}
    forged = charging(connection, SPENT, unit=unit)
    forged.body["balance"]["unit"] = unit
    return forged


@forgery(LIMITS)
def a_charge_to_a_dataset_that_nobody_made(connection: Connection, before: Before) -> Forged:
    forged = Forged.of(connection, a_charge(), dataset="new")
    forged.body["balance"].update(unit=a_charge()["unit"], spent={"epsilon": "1", "delta": "0"})
    return forged


@forgery(DISAGREE)
def a_charge_to_the_ledger_as_a_whole(connection: Connection, before: Before) -> Forged:
    return Forged.of(connection, a_charge(), dataset="")


changing("an old version of a charge", FIELDS, same, version=3)
changing("a version that is a text", FIELDS, same, version="4")
changing("a version to come", FIELDS, same, version=5)
changing("a charge with a staged folder", FIELDS, same, staged={"host": "a", "path": "b"})
changing("a charge without what was asked", FIELDS, lambda f: f.body["event"].pop("asked"))
changing("a blank release", FIELDS, same, release="")
changing("a purpose that is a number", FIELDS, lambda f: f.body["event"]["asked"].update(purpose=1))


def _request(name: str, request_id: str, words: str = "a request id on PostgreSQL") -> None:
    def change(forged: Forged) -> None:
        forged.body["event"]["asked"]["request_id"] = forged.key = request_id

    changing(name, words, change)


_request("a request id at whose end is a space", "mine ")
_request("a request id that is too long", "m" * 201)
_request("an empty request id", "")
_request("a request id with a line break", "a\nb")
_request("a request id with an unassigned character", "a\u0378")
_request("a request id that was used", "used", "duplicate key")

# What happens to a charge.
DRAWING = {"version": 1, "staged": None}
PUBLISHED = {"version": 2, "sha256": SHA}
WITHDRAWN = {"version": 1, "reason": "mine"}


def _about(name: str, words: str, kind: str, which: str, **fields: object) -> None:
    FORGERIES[name] = (
        lambda connection, before: about(connection, kind, getattr(before, which), **fields), words,
    )  # fmt: skip


_about("drawing twice", HAPPENED, "drawing", "drawing", **DRAWING)
_about("drawing what is published", HAPPENED, "drawing", "published", **DRAWING)
_about("publishing twice", HAPPENED, "published", "published", **PUBLISHED)
_about("publishing what was not drawn", HAPPENED, "published", "reserved", **PUBLISHED)
_about("publishing what was withdrawn", HAPPENED, "published", "withdrawn", **PUBLISHED)
_about("withdrawing twice", HAPPENED, "withdrawn", "withdrawn", **WITHDRAWN)
_about("withdrawing what was not published", HAPPENED, "withdrawn", "drawing", **WITHDRAWN)
_about("drawing for another dataset", "no such reservation", "drawing", "other", **DRAWING)
_about("an old version of a mark", FIELDS, "published", "drawing", version=1)
_about("a mark without a hash", FIELDS, "published", "drawing", version=2, sha256=None)
_about("a withdrawal without a reason", FIELDS, "withdrawn", "published", version=1, reason=" ")
_about(
    "a staged folder without a path", FIELDS, "drawing", "reserved", version=1, staged={"host": "a"}
)


@forgery("no such reservation")
def a_reservation_by_another_hash(connection: Connection, before: Before) -> Forged:
    wrong = before.reserved.split("-")[0] + "-00000000"
    return about(connection, "drawing", wrong, **DRAWING)


@forgery("no such reservation")
def a_drawing_filed_elsewhere(connection: Connection, before: Before) -> Forged:
    forged = about(connection, "drawing", before.reserved, **DRAWING)
    forged.about = int(before.drawing.split("-")[0])
    return forged


@forgery(DISAGREE)
def a_drawing_about_nothing(connection: Connection, before: Before) -> Forged:
    forged = about(connection, "drawing", before.reserved, **DRAWING)
    forged.about = None
    return forged


@forgery("no such reservation")
def a_drawing_about_a_dataset(connection: Connection, before: Before) -> Forged:
    found = connection.execute("SELECT hash FROM crowdtally_entries WHERE number = 1").fetchone()
    assert found is not None
    return about(connection, "drawing", f"1-{found[0][:8]}", **DRAWING)


@forgery(FOLLOWS)
def a_mark_that_gives_back(connection: Connection, before: Before) -> Forged:
    forged = about(connection, "published", before.drawing, **PUBLISHED)
    forged.body["balance"]["spent"]["epsilon"] = "3"
    return forged


@forgery(LIMITS)
def a_mark_that_lifts_the_limit(connection: Connection, before: Before) -> Forged:
    forged = about(connection, "published", before.drawing, **PUBLISHED)
    forged.body["balance"]["limit"] = None
    return forged


@forgery(FOLLOWS)
def a_mark_that_changes_the_unit(connection: Connection, before: Before) -> Forged:
    forged = about(connection, "published", before.drawing, **PUBLISHED)
    forged.body["balance"]["unit"] = {"kind": "row", "column": None}
    return forged


# Sources.
def _sources(name: str, words: str, hashes: object, place: int | None, **balance: object) -> None:
    def made(connection: Connection, before: Before) -> Forged:
        forged = Forged.of(connection, {"kind": "sources", "version": 1, "hashes": hashes}, place)
        forged.body["balance"].update(balance)
        return forged

    FORGERIES[name] = (made, words)


FILED = "not in order, or are filed"
_A, _B = "00a" + "0" * 29, "00a" + "1" * 29
_sources("sources filed as a reservation", DISAGREE, [_A], 3)
_sources("sources filed nowhere", DISAGREE, [_A], None)
_sources("sources filed elsewhere", FILED, [_A], -12)
_sources("sources not in order", FILED, [_B, _A], -11)
_sources("sources twice", FILED, [_A, _A], -11)
_sources("sources of two shelves", FILED, [_A, "f" * 32], -11)
_sources("no sources", FIELDS, [], -11)
_sources("sources that are no hashes", FIELDS, ["mine"], -11)
_sources("sources that give back", FOLLOWS, [_A], -11, spent={"epsilon": "0", "delta": "0"})
_sources("sources that lift the limit", LIMITS, [_A], -11, limit=None)
