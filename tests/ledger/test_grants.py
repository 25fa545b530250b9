"""Limits that hold on PostgreSQL: real roles, honest work, and attacks with plain SQL."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import psycopg
import pytest

from crowdtally.core.privacy import NEIGHBOURS, Kind, PrivacyUnit
from crowdtally.errors import UsageError
from crowdtally.ledger import (
    Asked,
    Ledger,
    LedgerError,
    NotAllowedError,
    OverBudgetError,
    TooMuchAtOnceError,
)
from kit.command import crowdtally
from kit.ledger_roles import (
    APPEND,
    FORGERIES,
    Before,
    Forged,
    Team,
    a_charge,
    charging,
    new_team,
    published,
    team,
)
from kit.ledgers import HERE, ROW, SHA, USER, PostgresServer, charge, folder, running_server, server

__all__ = ["folder", "server", "team"]


def refused(team: Team, words: str, work: Callable[[], object]) -> None:
    """It is left to the officers, in words that say what to do, and nothing changes."""
    before = team.state()
    with pytest.raises(NotAllowedError) as caught:
        work()
    said = str(caught.value)
    assert words in said
    assert f"a member of the role '{team.role('owner')}'" in said
    assert "Nothing was changed" in said
    assert team.password not in said
    assert caught.value.exit_code == 1
    assert team.state() == before


def test_an_analyst_charges_and_reads(team: Team) -> None:
    with team.open("ana") as ana:
        assert ana.check("data", USER, 1).spent.epsilon == 0
        asked = Asked("trips", request_id="monday é")
        made = ana.reserve("data", USER, charge(1), asked=asked, sources=["/data/trips.parquet"])
        again = ana.reserve("data", USER, charge(1), asked=asked, sources=["/data/trips.parquet"])
        assert (again.id, again.taken_up) == (made.id, True)
        ana.start_drawing(made.id)
        ana.mark_published(made.id, SHA)
        assert ana.withdraw("release-1", "a wrong list").withdrawn is not None
        ana.reserve("data", USER, charge("1/3", "1/2000"))
        assert ana.verify().ok
        assert ana.balance("data").spent.epsilon == Fraction(4, 3)
        assert {str(entry.by.role) for entry in ana.entries()[2:] if entry.by} == {team.role("ana")}
        assert ana.request("monday é") is not None
        assert ana.export()["ledger"]


def test_what_does_not_fit_is_refused_as_to_everybody(team: Team) -> None:
    with team.open("ana") as ana:
        with pytest.raises(TooMuchAtOnceError):
            ana.reserve("data", USER, charge("2.5"))
        for number in range(5):
            published(ana, 2, f"release-{number}")
        with pytest.raises(OverBudgetError):
            ana.reserve("data", USER, charge("1/1000000000"))
        assert ana.verify().ok


def test_what_is_left_to_the_officers(team: Team) -> None:
    with team.open("ana") as ana:
        made = ana.reserve("data", USER, charge(1))
        refused(team, "make a dataset", lambda: ana.create("mine", USER))
        refused(
            team, "crowdtally ledger create NAME --epsilon E",
            lambda: ana.reserve("mine", USER, charge(1), new_dataset=True),
        )  # fmt: skip
        refused(
            team, "crowdtally ledger limit NAME --epsilon E --reason TEXT",
            lambda: ana.set_limit("data", epsilon=None, reason="more"),
        )  # fmt: skip
        refused(
            team, "set, raise or lift a limit",
            lambda: ana.set_limit("data", epsilon=1, reason="even a lower one"),
        )  # fmt: skip
        refused(team, "crowdtally ledger void ID --reason TEXT", lambda: ana.void(made.id, "mine"))
        refused(team, "grant rights", lambda: ana.grants(team.role("eve"), run=True))


def test_an_officer_does_all_of_it(team: Team) -> None:
    with team.open("ana") as ana, team.open("officer") as officer:
        made = ana.reserve("data", USER, charge(1))
        assert officer.void(made.id, "nothing was drawn").spent.epsilon == 0
        officer.create("more", ROW, epsilon=1, each_epsilon="1/2")
        officer.set_limit("data", epsilon=20, each_epsilon=None, reason="a new year")
        ana.reserve("data", USER, charge(15))
        officer.set_limit("data", epsilon=None, each_epsilon=1, reason="no total")
        published(officer, release="release-2")
        officer.withdraw("release-2", "a mistake")
        assert officer.verify().ok
        assert officer.balance("data").spent.epsilon == 16


# Attacks on the tables and functions.
def test_tables_functions_and_schema_are_out_of_reach(team: Team) -> None:
    with team.open("ana") as ana:
        made = published(ana)
    owner = team.role("owner")
    attacks = [
        *(
            f"{verb} crowdtally_{table}{rest}"
            for table in ("ledger", "entries", "datasets")
            for verb, rest in (
                ("INSERT INTO", f" SELECT * FROM crowdtally_{table}"),
                ("DELETE FROM", ""),
                ("TRUNCATE", ""),
                ("DROP TABLE", " CASCADE"),
                ("ALTER TABLE", f" OWNER TO {team.role('ana')}"),
                ("ALTER TABLE", " DISABLE TRIGGER ALL"),
                ("ALTER TABLE", " ENABLE ROW LEVEL SECURITY"),
                ("LOCK TABLE", " IN ACCESS EXCLUSIVE MODE"),
                ("CREATE INDEX ON", " ((1))"),
                ("CREATE TRIGGER mine BEFORE INSERT ON", " EXECUTE FUNCTION pg_sleep()"),
                ("CREATE RULE mine AS ON INSERT TO", " DO INSTEAD NOTHING"),
            )
        ),
        "UPDATE crowdtally_ledger SET number = 0",
        "UPDATE crowdtally_entries SET body = body",
        f"UPDATE crowdtally_datasets SET last = {made.id.split('-')[0]} WHERE name = 'data'",
        "SELECT * FROM crowdtally_ledger FOR UPDATE",
        f"SET ROLE {owner}",
        f"SET SESSION AUTHORIZATION {owner}",
        "SET session_replication_role = replica",
        f"GRANT {owner} TO {team.role('ana')}",
        f"CREATE TABLE {team.schema}.mine (a int)",
        f"CREATE FUNCTION {team.schema}.crowdtally_require(boolean, character varying) RETURNS void"
        " LANGUAGE sql AS ''",
        f"CREATE OR REPLACE FUNCTION {team.schema}.crowdtally_require(holds boolean, refusal text)"
        " RETURNS void LANGUAGE plpgsql AS 'BEGIN END'",
        "ALTER FUNCTION crowdtally_hold() SECURITY INVOKER",
        "ALTER FUNCTION crowdtally_hold() RESET ALL",
        f"ALTER FUNCTION crowdtally_hold() OWNER TO {team.role('ana')}",
        "DROP FUNCTION crowdtally_hold()",
        f"ALTER SCHEMA {team.schema} RENAME TO mine",
        f"DROP SCHEMA {team.schema} CASCADE",
        "SELECT crowdtally_require(true, '')",
        "SELECT crowdtally_json('{}')",
    ]
    before = team.state()
    for attack in attacks:
        with team.connect("ana") as analyst, pytest.raises(psycopg.Error) as caught:
            analyst.execute(attack)
        assert caught.value.sqlstate in {"42501", "42883", "42809"}, (attack, str(caught.value))
        assert team.state() == before, attack
    with team.open("ana") as ana:
        assert ana.verify().ok


def test_granting_to_others_changes_nothing(team: Team) -> None:
    """PostgreSQL only warns: whoever was granted a right cannot pass it on."""
    before = team.state()
    with team.connect("ana") as analyst:
        for who in (team.role("eve"), team.role("ana"), "PUBLIC"):
            analyst.execute(f"GRANT ALL ON crowdtally_ledger, crowdtally_entries TO {who}")
            analyst.execute(f"GRANT ALL ON SCHEMA {team.schema} TO {who}")
        analyst.execute(f"GRANT EXECUTE ON FUNCTION crowdtally_hold() TO {team.role('eve')}")
    assert team.state() == before


# Attacks on the function.
@cache
def _honest() -> tuple[Team, Before]:
    """One ledger for all forgeries: none of them changes it."""
    team = new_team(running_server())
    with team.open("ben") as ben:
        first = ben.reserve("data", USER, charge(1), asked=Asked(request_id="used"))
        second = ben.reserve("data", USER, charge(1, release="release-2"))
        ben.start_drawing(second.id)
        third = published(ben, release="release-3")
        fourth = published(ben, release="release-4")
        ben.withdraw("release-4", "a mistake")
        other = ben.reserve("other", USER, charge(1, release="release-5"))
    return team, Before(first.id, second.id, third.id, fourth.id, other.id)


@pytest.fixture(scope="module")
def honest() -> tuple[Team, Before]:
    return _honest()


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_entries_are_refused(honest: tuple[Team, Before], name: str) -> None:
    team, before = honest
    forge, words = FORGERIES[name]
    state = team.state()
    with team.connect("ana") as analyst:
        forged = forge(analyst, before)
        with pytest.raises(psycopg.Error) as caught:
            analyst.execute(APPEND, forged.values())
    assert words in str(caught.value).splitlines()[0]
    assert team.state() == state


def test_the_forgers_are_refused_for_what_they_forged(team: Team) -> None:
    """The same entries with nothing wrong about them are taken, so each refusal has its reason."""
    with team.open("ana") as ana:
        made = ana.reserve("data", USER, charge(1))
    hashes = ["00a" + "0" * 29, "00a" + "1" * 29]
    with team.connect("ana") as analyst:
        about = int(made.id.split("-")[0])
        for event, place in (
            ({"kind": "sources", "version": 1, "hashes": hashes}, -11),
            ({"kind": "drawing", "version": 1, "reservation": made.id, "staged": None}, about),
            ({"kind": "published", "version": 2, "reservation": made.id, "sha256": SHA}, about),
            ({"kind": "withdrawn", "version": 1, "reservation": made.id, "reason": "x"}, about),
        ):
            analyst.execute(APPEND, Forged.of(analyst, event, place).values())
        analyst.execute(APPEND, charging(analyst).values())
        strange = charging(analyst, "3", release='q"\\ \udc80\t\x00\x7f😀é')
        strange.body["event"]["versions"] = {"é": 9007199254740992, "\uffee": -1, "😀": [True, {}]}
        deep: object = 1
        for _ in range(19):
            deep = [deep, {}]
        strange.body["event"]["versions"]["a"] = {"b": deep}
        analyst.execute(APPEND, strange.values())
    with team.open("ana") as ana:
        assert ana.verify().ok, ana.verify().describe()
        assert ana.balance("data").spent.epsilon == 3


def test_nothing_is_added_to_a_closed_ledger(team: Team) -> None:
    with team.connect("owner") as owner:
        owner.execute("UPDATE crowdtally_ledger SET closed = 'it is a backup'")
    before = team.state()
    with team.open("ana") as ana, pytest.raises(LedgerError, match="it is a backup"):
        ana.reserve("data", USER, charge(1))
    with team.connect("ana") as analyst, pytest.raises(psycopg.Error, match="closed"):
        analyst.execute(APPEND, charging(analyst, "1").values())
    assert team.state() == before


@pytest.mark.parametrize("kind", NEIGHBOURS)
def test_the_server_knows_every_unit(team: Team, kind: Kind) -> None:
    named = kind in ("user", "same-person", "person")
    with team.open("officer") as officers:
        officers.create("fresh", epsilon=1)
    with team.open("ana") as ana:
        ana.reserve("fresh", PrivacyUnit(kind, "column" if named else None), charge("0.1"))
        assert ana.verify().ok


def test_the_server_rounds_long_sums_as_the_client_does(team: Team) -> None:
    """Coprime amounts: each next sum would have the digits of all of them."""
    with team.open("ana") as ana:
        made = [
            ana.reserve(
                "data", USER, charge(Fraction(3**899, 3**900 + 2**step), release=f"release-{step}")
            )
            for step in range(5)
        ]
    with team.open("officer") as officers:
        for reservation in made[1:3]:
            officers.void(reservation.id, "nothing left the machine")
        spent = officers.balance("data").spent.epsilon
        assert spent > sum(Fraction(3**899, 3**900 + 2**step) for step in (0, 3, 4))
        assert spent < 1 + Fraction(1, 10**50)
        assert officers.verify().ok


def test_the_last_one_that_fits_and_the_first_that_does_not(team: Team) -> None:
    """Judged by the function alone, to the last digit."""
    with team.open("ana") as ana:
        for number in range(4):
            ana.reserve("data", USER, charge(2, release=f"release-{number}"))
    tiny = "9" * 300
    with team.connect("ana") as analyst:
        part = a_charge()["parts"][0]
        analyst.execute(APPEND, charging(analyst, "9", parts=[part]).values())
    for epsilon, spent, fits in (
        (f"1{tiny}/{tiny}", f"10{tiny}/{tiny}", None),
        ("1", "10", True),
        (f"1/{tiny}", f"{10 * int(tiny) + 1}/{tiny}", False),
    ):
        with team.connect("ana") as analyst:
            part = {**a_charge()["parts"][0], "epsilon": "1/" + tiny}
            forged = charging(analyst, spent, epsilon=epsilon, parts=[part])
            if fits:
                analyst.execute(APPEND, forged.values())
                continue
            words = "does not fit" if fits is False else "not the sum"
            with pytest.raises(psycopg.Error, match=words):
                analyst.execute(APPEND, forged.values())
    with team.open("ana") as ana:
        assert ana.verify().ok
        assert ana.balance("data").spent.epsilon == 10


def test_a_pure_charge_is_judged_by_epsilon_alone(team: Team) -> None:
    with team.open("ana") as ana, team.open("officer") as officer:
        ana.reserve("data", USER, charge(1, "1/1000"))
        officer.set_limit("data", epsilon=5, delta=0, reason="no more delta")
        assert ana.reserve("data", USER, charge(1)).after.spent.epsilon == 2
        assert ana.verify().ok


def test_objects_of_the_callers_own_change_nothing(team: Team) -> None:
    """Shadows by temporary objects and by a schema put first, and settings of the session."""
    with team.open("ana") as ana:
        published(ana)
    team.server.execute(
        f"CREATE SCHEMA mine_{team.tag} AUTHORIZATION {team.role('ana')}",
        f"GRANT USAGE ON SCHEMA mine_{team.tag} TO PUBLIC",  # else the owner would not look there
    )
    before = team.state()
    shadows = [
        f"CREATE TABLE {{}}.{table} AS SELECT * FROM {team.schema}.{table}"
        for table in ("crowdtally_ledger", "crowdtally_entries", "crowdtally_datasets")
    ] + [
        "CREATE FUNCTION {}.crowdtally_require(boolean, text) RETURNS void LANGUAGE sql AS ''",
        "CREATE FUNCTION {}.pg_has_role(name, oid, text) RETURNS boolean LANGUAGE sql"
        " AS 'SELECT true'",
        "CREATE FUNCTION {}.yes(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "CREATE OPERATOR {}.= (LEFTARG = text, RIGHTARG = text, FUNCTION = {}.yes)",
    ]
    for schema in ("pg_temp", f"mine_{team.tag}"):
        for name in ("a limit lifted", "a raised limit", "a wrong hash", "another role's name"):
            forge, words = FORGERIES[name]
            with team.connect("ana") as analyst:
                for shadow in shadows:
                    analyst.execute(shadow.format(schema, schema))
                forged = forge(analyst, Before("", "", "", "", ""))
                analyst.execute(f"SET search_path = {schema}, pg_catalog, {team.schema}")
                analyst.execute("SET standard_conforming_strings = off")
                analyst.execute("SET transform_null_equals = on")
                append = APPEND.replace("crowdtally_append", f"{team.schema}.crowdtally_append")
                with pytest.raises(psycopg.Error) as caught:
                    analyst.execute(append, forged.values())
                assert words in str(caught.value).splitlines()[0]
                analyst.rollback()
            assert team.state() == before


def test_strange_settings_do_not_hinder_an_honest_charge(team: Team) -> None:
    with team.connect("ana") as analyst:
        for setting in (
            "standard_conforming_strings = off", "transform_null_equals = on",
            "bytea_output = escape", "array_nulls = off", "quote_all_identifiers = on",
        ):  # fmt: skip
            analyst.execute(f"SET {setting}")
        analyst.execute(APPEND, charging(analyst, "1", release='a"\\é').values())
    with team.open("ana") as ana:
        assert ana.verify().ok


def test_two_entries_from_one_head(team: Team) -> None:
    """Of two sessions that read the same end, the second waits, and is refused."""
    with team.connect("ana") as ana, team.connect("ben") as ben:
        ben.execute("SET lock_timeout = '300ms'")
        mine = charging(ana, "1")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            ben.execute("SELECT crowdtally_hold()")
        ben.rollback()
        ana.rollback()
        theirs = charging(ben, "1")
        ben.execute(APPEND, theirs.values())
        ben.commit()
        with pytest.raises(psycopg.Error, match="does not follow from the last one"):
            ana.execute(APPEND, mine.values())
    with team.open("ana") as ledger:
        assert ledger.balance("data").spent.epsilon == 1


def test_roles_that_race_keep_the_limit(team: Team) -> None:
    program = [sys.executable, str(HERE / "ledger_driver.py"), "race"]
    paths = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    with contextlib.ExitStack() as stack:
        racers = [
            stack.enter_context(
                subprocess.Popen(
                    [*program, team.url(name), "50"], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths},
                )
            )
            for name in ("ana", "ben", "ana", "ben")
        ]  # fmt: skip
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.close()
        counts = [json.load(racer.stdout) for racer in racers if racer.stdout is not None]
    assert [racer.returncode for racer in racers] == [0] * 4
    assert sum(count["granted"] for count in counts) == 70, "sevenths in a limit of 10"
    assert sum(count["refused"] for count in counts) == 130
    with team.open("ana") as ana:
        assert ana.balance("data").spent.epsilon == 10
        assert ana.verify().ok


# Granting.
def test_a_role_without_the_grant(team: Team) -> None:
    with pytest.raises(LedgerError, match="crowdtally ledger grant ROLE --run"):
        team.open("eve")
    team.server.execute(f"GRANT USAGE ON SCHEMA {team.schema} TO {team.role('eve')}")
    with pytest.raises(NotAllowedError, match="crowdtally ledger grant ROLE --run"):
        team.open("eve")
    with team.connect("eve") as eve, pytest.raises(psycopg.errors.InsufficientPrivilege):
        eve.execute("SELECT crowdtally_hold()")
    with team.open("officer") as officer:
        officer.grants(team.role("eve"), run=True)
    with team.open("eve") as eve_too:
        assert eve_too.reserve("data", USER, charge(1)).after.spent.epsilon == 1


def test_printing_changes_nothing_and_running_it_twice_is_once(team: Team) -> None:
    before = team.state()
    with team.open("officer") as officer:
        statements = officer.grants(team.role("eve"))
        assert team.state() == before
        assert officer.grants(team.role("ana"), run=True) != statements
        assert team.state() == before
    with team.connect("owner") as owner:
        for statement in statements:
            owner.execute(statement)
    with team.open("eve") as eve:
        eve.reserve("data", USER, charge(1))


def test_a_grant_takes_away_what_was_granted_by_hand(team: Team) -> None:
    eve = team.role("eve")
    with team.connect("owner") as owner:
        for table in ("ledger", "entries", "datasets"):
            owner.execute(f"GRANT ALL ON crowdtally_{table} TO {eve}, PUBLIC")
            owner.execute(f"GRANT UPDATE (number) ON crowdtally_ledger TO {eve}")
        owner.execute(f"GRANT ALL ON SCHEMA {team.schema} TO {eve}, PUBLIC")
    with team.open("officer") as officer:
        officer.grants(eve, run=True)
    for attack in (
        "UPDATE crowdtally_ledger SET number = 0", "DELETE FROM crowdtally_entries",
        "CREATE TABLE mine (a int)",
    ):  # fmt: skip
        with team.connect("eve") as connection, pytest.raises(psycopg.Error, match="denied"):
            connection.execute(attack)


def test_an_officer_by_grant(team: Team) -> None:
    """The owner of a role may need the server's keeper to pass it on; what is printed is enough."""
    with team.open("officer") as officer:
        statements = officer.grants(team.role("eve"), officer=True)
        before = team.state()
        with pytest.raises(NotAllowedError, match="ADMIN OPTION"):
            officer.grants(team.role("eve"), officer=True, run=True)
        assert team.state() == before
    team.server.execute(*statements)
    with team.open("eve") as eve:
        assert eve.set_limit("data", epsilon=3, reason="less").limit is not None
        team.server.execute(f"GRANT {team.role('owner')} TO {team.role('eve')} WITH ADMIN OPTION")
        eve.grants(team.role("ben"), officer=True, run=True)
        with team.open("ben") as ben:
            ben.create("more", USER)
        with pytest.raises(UsageError, match="is an officer already"):
            eve.grants(team.role("owner"), officer=True)


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        ("ALTER ROLE {eve} SUPERUSER", "it is a superuser"),
        ("GRANT {owner} TO {eve}", "which owns the tables of the ledger"),
        ("GRANT pg_write_all_data TO {eve}", "'pg_write_all_data', which may write everything"),
        ("GRANT pg_execute_server_program TO {eve}", "may write everything on the server"),
        (
            "ALTER SCHEMA {schema} OWNER TO {eve}; GRANT USAGE ON SCHEMA {schema} TO {owner}",
            "it owns the schema of the ledger",
        ),
        (
            "GRANT {ben} TO {eve}; GRANT INSERT ON {schema}.crowdtally_entries TO {ben}",
            "which may write the tables of the ledger",
        ),
        (
            "GRANT {ben} TO {eve}; GRANT UPDATE (last) ON {schema}.crowdtally_datasets TO {ben}",
            "which may write the tables of the ledger",
        ),
        (
            "GRANT {ben} TO {eve}; GRANT CREATE ON SCHEMA {schema} TO {ben}",
            "which may make objects in the schema",
        ),
        # Below, only so far as to make a schema that is called like an officer.
        ("GRANT CREATE ON DATABASE postgres TO {eve}", "it may make schemas in the database"),
        (
            "ALTER ROLE {eve} NOINHERIT; GRANT {ben} TO {eve}; "
            "GRANT CREATE ON DATABASE postgres TO {ben}",
            "which may make schemas in the database",
        ),
    ],
)
def test_roles_that_a_grant_would_not_hold_back(team: Team, prepare: str, words: str) -> None:
    names = {name: team.role(name) for name in ("owner", "ben", "eve")}
    team.server.execute(*prepare.format(schema=team.schema, **names).split("; "))
    before = team.state()
    with team.open("officer") as officer, pytest.raises(UsageError) as caught:
        officer.grants(team.role("eve"), run=True)
    assert words in str(caught.value)
    assert "would not hold" in str(caught.value)
    assert team.state() == before


def test_the_owner_is_no_analyst(team: Team) -> None:
    with team.open("officer") as officer:
        for name in ("owner", "officer"):
            with pytest.raises(UsageError, match="owns the tables of the ledger"):
                officer.grants(team.role(name))


def test_officers_of_a_superusers_ledger(server: PostgresServer, team: Team) -> None:
    with (
        Ledger.open(server.new_schema(), create=True) as ledger,
        pytest.raises(LedgerError, match="a superuser: whoever became an officer would be one"),
    ):
        ledger.grants(team.role("eve"), officer=True)


@pytest.mark.parametrize(
    "name", ["nobody", "public", "PUBLIC", "", "a\nb", "a\0b", "\udc80", '"; DROP SCHEMA x; --']
)
def test_names_that_no_role_has(team: Team, name: str) -> None:
    before = team.state()
    with team.open("officer") as officer, pytest.raises(UsageError):
        officer.grants(name, run=True)
    assert team.state() == before


def test_a_database_without_unicode_gets_no_ledger(server: PostgresServer) -> None:
    for encoding in ("LATIN1", "SQL_ASCII"):
        name = f"ledger_{secrets.token_hex(6)}"
        server.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
        )
        with pytest.raises(LedgerError, match=f"is UTF8, and that of this one is {encoding}"):
            Ledger.open(server.url(name), create=True)
        tables = "SELECT count(*) FROM pg_class WHERE relname LIKE 'crowdtally%'"
        assert server.execute(tables, database=name) == [(0,)]
        server.execute(f"DROP DATABASE {name}")


def test_a_name_that_would_be_sql(team: Team) -> None:
    name = f'x"; DROP TABLE crowdtally_ledger; -- %s {team.tag}'
    quoted = '"' + name.replace('"', '""') + '"'
    team.server.execute(f"CREATE ROLE {quoted} LOGIN PASSWORD '{team.password}'")
    with team.open("officer") as officer:
        assert quoted in officer.grants(name, run=True)[0]
        assert officer.verify().ok
    with psycopg.connect(
        team.server.url("postgres", password=team.password).replace("postgres:", "x:"), user=name,
        options=f"-csearch_path={team.schema}",
    ) as connection:  # fmt: skip
        connection.execute(APPEND, charging(connection, "1").values())
    with team.open("ana") as ana:
        assert ana.verify().ok
        assert str(ana.entries()[-1].by).endswith(f"(role {name})")


def test_a_file_has_no_roles(folder: Any) -> None:
    with (
        Ledger.open(folder / "ledger.sqlite", create=True) as ledger,
        pytest.raises(UsageError, match="knows no roles"),
    ):
        ledger.grants("ana")


def test_on_the_command_line(team: Team) -> None:
    eve, url = team.role("eve"), team.url("officer")
    before = team.state()
    printed = crowdtally("ledger", "grant", eve, "--ledger", url)
    assert printed.code == 0, printed
    assert f"GRANT USAGE ON SCHEMA {team.schema} TO {eve};" in printed.out
    assert "Nothing was changed" in printed.out
    assert team.state() == before
    assert crowdtally("ledger", "grant", eve, "--run", "--ledger", url).code == 0
    lifted = crowdtally(
        "ledger", "limit", "data", "--epsilon", "none", "--reason", "x", "--ledger", team.url("eve")
    )
    assert lifted.code == 1
    assert "only an officer" in lifted.err
    assert crowdtally("ledger", "grant", "nobody", "--run", "--ledger", url).code == 2
    passed_on = crowdtally(
        "ledger", "grant", team.role("ben"), "--run", "--ledger", team.url("eve")
    )
    assert passed_on.code == 1
    assert "Ask an officer" in passed_on.err
