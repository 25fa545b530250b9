"""Entries that were changed, removed, reordered or added: found, and named."""

from __future__ import annotations

import copy
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crowdtally.errors import UsageError
from crowdtally.ledger import Asked, DamagedLedgerError, Head, Ledger, LedgerError
from crowdtally.ledger.chain import Row, _about, _key, genesis, link
from crowdtally.ledger.charge import canonical
from crowdtally.ledger.events import parse
from kit.ledgers import SHA, USER, alter, charge

SWAP = (  # entries 4 and 5 exchange places
    "UPDATE crowdtally_entries SET number = 99 WHERE number = 4",
    "UPDATE crowdtally_entries SET number = 4 WHERE number = 5",
    "UPDATE crowdtally_entries SET number = 5 WHERE number = 99",
)
SWAP_BODIES = (
    "UPDATE crowdtally_entries SET body = (SELECT body FROM crowdtally_entries e WHERE e.number ="
    " 9 - crowdtally_entries.number), hash = (SELECT hash FROM crowdtally_entries e WHERE"
    " e.number = 9 - crowdtally_entries.number) WHERE number IN (4, 5)",
)
SPENT_LESS = (
    """UPDATE crowdtally_entries SET body = replace(body, '"spent":{"delta":"0","epsilon":"4/7"',"""
    """ '"spent":{"delta":"0","epsilon":"1/7"') WHERE number = 10""",
)
E = "crowdtally_entries"
REPEAT = (
    f"INSERT INTO {E} SELECT 12, dataset, kind, about, body, hash, key FROM {E} WHERE number = 11",
)
MOVE_KEY = (
    f"UPDATE {E} SET key = NULL WHERE number = 3",
    f"UPDATE {E} SET key = 'week-46' WHERE number = 4",
)


def _changed(number: int, old: str, new: str) -> tuple[str, ...]:
    return (f"UPDATE {E} SET body = replace(body, '{old}', '{new}') WHERE number = {number}",)


# Who notices besides verify: any charge, or the first charge of a ledger that was opened since.
CHARGE, FIRST = "any charge", "a first charge"
# What is done: the statements, the entry that verify names, who notices.
CHANGES: dict[str, tuple[tuple[str, ...], int | None, str]] = {
    "changed": ((f"UPDATE {E} SET body = replace(body, '1/7', '1/9') WHERE number = 3",), 3, FIRST),
    "running sum": (SPENT_LESS, 10, CHARGE),
    "removed": ((f"DELETE FROM {E} WHERE number = 3",), 3, FIRST),
    "last removed": ((f"DELETE FROM {E} WHERE number = 11",), 11, CHARGE),
    "tail removed": ((f"DELETE FROM {E} WHERE number > 5",), 6, CHARGE),
    "first removed": ((f"DELETE FROM {E} WHERE number = 1",), 1, FIRST),
    "all removed": ((f"DELETE FROM {E}",), 1, CHARGE),
    "swapped": (SWAP, 4, FIRST),
    "swapped bodies": (SWAP_BODIES, 4, FIRST),
    "repeated": (REPEAT, 12, CHARGE),
    "hash changed": ((f"UPDATE {E} SET hash = '{'0' * 64}' WHERE number = 4",), 4, FIRST),
    "dataset column": ((f"UPDATE {E} SET dataset = 'b' WHERE number = 10",), 10, CHARGE),
    "kind column": ((f"UPDATE {E} SET kind = 'published' WHERE number = 3",), 3, FIRST),
    "about column": ((f"UPDATE {E} SET about = 6 WHERE number = 11",), 11, CHARGE),
    "head moved back": (("UPDATE crowdtally_ledger SET number = 10",), 11, CHARGE),
    "head hash": ((f"UPDATE crowdtally_ledger SET hash = '{'0' * 64}'",), 11, CHARGE),
    "another ledger": (("UPDATE crowdtally_ledger SET id = 'other'",), 1, FIRST),
    "dataset set back": (("UPDATE crowdtally_datasets SET last = 3 WHERE name = 'a'",), 10, CHARGE),
    "dataset forgotten": (("DELETE FROM crowdtally_datasets WHERE name = 'a'",), 10, CHARGE),
    "dataset invented": (("INSERT INTO crowdtally_datasets VALUES ('c', 3)",), None, FIRST),
    "key removed": ((f"UPDATE {E} SET key = NULL WHERE number = 3",), 3, FIRST),
    "key invented": ((f"UPDATE {E} SET key = 'week-47' WHERE number = 4",), 4, FIRST),
    "key moved": (MOVE_KEY, 3, FIRST),
    "key of the last": ((f"UPDATE {E} SET key = 'x' WHERE number = 11",), 11, CHARGE),
    "request id": (_changed(3, "week-46", "week-45"), 3, FIRST),
    "purpose": (_changed(3, "weekly", "yearly"), 3, FIRST),
    "author": (_changed(9, '"account":"', '"account":"not-'), 9, FIRST),
    "author of the last": (_changed(11, '"host":"', '"host":"not-'), 11, CHARGE),
    "drawing removed": ((f"DELETE FROM {E} WHERE number = 7",), 7, FIRST),
    "drawing of another": ((f"UPDATE {E} SET about = 4 WHERE number = 7",), 7, FIRST),
    "drawing without its folder": (_changed(7, '"staged":{', '"staged":null,"was":{'), 7, FIRST),
    "withdrawal removed": ((f"DELETE FROM {E} WHERE number = 9",), 9, CHARGE),
    "withdrawal excused": (_changed(9, "a wrong list", "no reason"), 9, FIRST),
    "withdrawal of another": ((f"UPDATE {E} SET about = 4 WHERE number = 9",), 9, FIRST),
    "limit without its reason": (_changed(10, "more people", "decided"), 10, CHARGE),
    "limit": (_changed(10, '"epsilon":"5"', '"epsilon":"50"'), 10, CHARGE),
    "limit on single releases": (_changed(10, '"epsilon":"1"', '"epsilon":"9"'), 10, CHARGE),
    "first limit on single releases": (_changed(2, '"epsilon":"3/4"', '"epsilon":"9"'), 2, FIRST),
}  # fmt: skip


def filled(location: str) -> Ledger:
    """Eleven entries: a is charged four times, once with all that can follow; b is limited."""
    ledger = Ledger.open(location, create=True)
    ledger.create("a", USER)  # 1
    ledger.create("b", USER, epsilon=1, each_epsilon="3/4")  # 2
    asked = Asked("records.csv", "/out", {}, "weekly", "week-46")
    first = ledger.reserve("a", USER, charge("1/7", release="first"), asked=asked)  # 3
    for _ in range(3):
        ledger.reserve("a", USER, charge("1/7"))  # 4 to 6
    ledger.start_drawing(first.id, staged="/gone/.out.0123.part")  # 7
    ledger.mark_published(first.id, SHA)  # 8
    ledger.withdraw("first", "a wrong list")  # 9
    ledger.set_limit("a", epsilon=5, each_epsilon=1, reason="more people")  # 10
    ledger.reserve("b", USER, charge("1/2"))  # 11
    return ledger


@pytest.mark.parametrize("change", CHANGES)
def test_verify_names_the_entry(location: str, change: str) -> None:
    statements, entry, noticed = CHANGES[change]
    ledger = filled(location)
    made = ledger.charges("b")[0]
    assert ledger.verify().ok
    alter(location, *statements)

    found = ledger.verify()
    assert not found.ok, change
    assert found.problems[0].entry == entry, found.describe()
    assert "The ledger is damaged" in found.describe()

    noticing = [Ledger.open(location)] if noticed == FIRST else [ledger, Ledger.open(location)]
    before = rows(ledger)
    for other in noticing:
        with pytest.raises(DamagedLedgerError, match="Nothing is charged to a damaged ledger"):
            other.reserve("a", USER, charge("1/7"))
    assert rows(ledger) == before
    if noticed != CHARGE:
        ledger.reserve("a", USER, charge("1/7"))
        assert not ledger.verify().ok, "a charge must not heal what was wrong"
    with pytest.raises(DamagedLedgerError, match="The ledger is damaged"):
        ledger.void(made.id, "certain")


def rows(ledger: Ledger) -> list[Row]:
    return ledger._store.read(lambda page: page.rows_after(0))


def rewrite(
    path: Path, number: int, edit: Callable[[dict[str, object]], None], *, rehash: bool = True
) -> None:
    """Edit an entry and, as a careful forger would, give it the hash that follows."""
    with closing(sqlite3.connect(path)) as file, file:
        query = "SELECT number, body, hash FROM crowdtally_entries WHERE number IN (?, ?)"
        rows = {n: (body, digest) for n, body, digest in file.execute(query, (number - 1, number))}
        content = json.loads(rows[number][0])
        edit(content)
        body = canonical(content)
        digest = link(rows[number - 1][1], body) if rehash else rows[number][1]
        file.execute(
            "UPDATE crowdtally_entries SET body = ?, hash = ? WHERE number = ?",
            (body, digest, number),
        )


def test_a_rehashed_entry_does_not_fit_the_next(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    rewrite(path, 10, lambda content: content.update(time="2001-01-01T00:00:00+00:00"))
    assert ledger.verify().problems[0].entry == 11
    with pytest.raises(DamagedLedgerError, match="entry 11"):
        ledger.reserve("a", USER, charge(1))


def test_a_forged_sum_with_a_forged_hash_at_the_end(folder: Path) -> None:
    """Even where the hash of the very last entry is forged, the head does not agree."""
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    rewrite(path, 11, lambda c: c["balance"]["spent"].update(epsilon="0"))  # type: ignore[index]
    with pytest.raises(DamagedLedgerError, match="entry 11 is not the one"):
        ledger.reserve("b", USER, charge("1/2"))
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "UPDATE crowdtally_ledger SET hash ="
            " (SELECT hash FROM crowdtally_entries WHERE number = 11)"
        )
    # Now only the replay, or a head kept elsewhere, can tell; and the replay does.
    assert "running sum" in ledger.verify().describe()


def test_events_of_another_version_are_refused_not_guessed(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    rewrite(path, 11, lambda c: c["event"].update(version=5))  # type: ignore[attr-defined]
    with pytest.raises(
        LedgerError, match=r"entry 11 .*unknown event, 'reserved' in version 5.*that wrote it"
    ):
        ledger.reserve("b", USER, charge("1/4"))
    with pytest.raises(LedgerError, match="entry 11"):
        ledger.entries()
    assert "entry 11 is unknown" in ledger.verify().describe()


def test_an_accountant_of_a_newer_version_is_refused(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    rewrite(path, 11, lambda c: c["balance"].update(accountant="renyi"))  # type: ignore[attr-defined]
    with pytest.raises(LedgerError, match=r"entry 11 .*unknown kind of accountant, 'renyi'"):
        ledger.reserve("b", USER, charge("1/4"))


@pytest.mark.parametrize(
    ("event", "what"),
    [
        ({"given_back": {"epsilon": "2/7", "delta": "0"}}, "does not fit what happened"),
        ({"reservation": "4-00000000"}, "does not fit what happened"),
    ],
)
def test_a_void_must_fit_its_reservation(folder: Path, event: dict[str, object], what: str) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    ledger.void(ledger.charges("a")[1].id, "certain")
    rewrite(path, 12, lambda c: c["event"].update(event))  # type: ignore[attr-defined]
    assert what in ledger.verify().describe()


def test_reading_one_dataset_checks_the_others_too(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    alter(str(path), "DELETE FROM crowdtally_entries WHERE number = 3")
    for dataset in (None, "a", "b"):
        with pytest.raises(DamagedLedgerError, match="entry 4"):
            ledger.charges(dataset)


def test_many_problems_are_listed_up_to_twenty(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = Ledger.open(path, create=True)
    for _ in range(40):
        ledger.reserve("a", USER, charge(1), new_dataset=True)
    alter(str(path), "UPDATE crowdtally_entries SET hash = 'x'")
    assert len(ledger.verify().problems) == 20


def test_verification_reads_in_portions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdtally.ledger.verify._PORTION", 3)
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    assert ledger.verify().ok
    alter(str(path), *SWAP)
    assert ledger.verify().problems[0].entry == 4


Content = dict[str, Any]


def forge(path: Path, edit: Callable[[list[Content]], None]) -> None:
    """Rewrite the record and then the whole chain, columns, index and head, as a forger could."""
    with closing(sqlite3.connect(path)) as file, file:
        rows = file.execute(f"SELECT number, hash, body FROM {E} ORDER BY number").fetchall()
        contents = [json.loads(body) for *_, body in rows]
        old_ids = {id(c): f"{n}-{h[:8]}" for (n, h, _), c in zip(rows, contents, strict=True)}
        ids: dict[object, str] = {}
        edit(contents)
        (ledger_id,) = file.execute("SELECT id FROM crowdtally_ledger").fetchone()
        file.execute("DROP INDEX crowdtally_by_key")
        file.execute(f"DELETE FROM {E}")
        file.execute("DELETE FROM crowdtally_datasets")
        previous = genesis(ledger_id)
        for number, content in enumerate(contents, 1):
            content["number"] = number
            named = content["event"].get("reservation")
            if named in ids:
                content["event"]["reservation"] = ids[named]
            body, event = canonical(content), parse(content["event"])
            previous = link(previous, body)
            ids[old_ids.get(id(content))] = f"{number}-{previous[:8]}"
            row = (content["dataset"], event.kind, _about(event), body, previous, _key(event))
            file.execute(f"INSERT INTO {E} VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *row))
            file.execute(
                "INSERT OR REPLACE INTO crowdtally_datasets VALUES (?, ?)",
                (content["dataset"], number),
            )
        file.execute("UPDATE crowdtally_ledger SET number = ?, hash = ?", (number, previous))


def _repeated(number: int) -> Callable[[list[Content]], None]:
    """Once more at the end, with the sums that are right there."""

    def repeat(all_of_it: list[Content]) -> None:
        again = copy.deepcopy(all_of_it[number - 1])
        all_of_it.append({**again, "balance": all_of_it[9]["balance"]})

    return repeat


def _without(number: int) -> Callable[[list[Content]], None]:
    """Without an entry that changes no sum; entries that later ones name keep their numbers."""
    return lambda all_of_it: all_of_it.pop(number - 1)


def _exchanged(number: int) -> Callable[[list[Content]], None]:
    def exchange(all_of_it: list[Content]) -> None:
        all_of_it[number - 1 : number + 1] = reversed(all_of_it[number - 1 : number + 1])

    return exchange


def _updated(number: int, part: str, **values: object) -> Callable[[list[Content]], None]:
    return lambda all_of_it: all_of_it[number - 1][part].update(values)


def _refiled(number: int, dataset: str) -> Callable[[list[Content]], None]:
    return lambda all_of_it: all_of_it[number - 1].update(dataset=dataset)


def _same_request(all_of_it: list[Content]) -> None:
    all_of_it[10]["event"]["asked"]["request_id"] = "week-46"


NINE = {"epsilon": "9", "delta": "0"}
FORGERIES: dict[str, tuple[Callable[[list[Content]], None], int, str]] = {
    "drawing twice": (_repeated(7), 12, "does not fit what happened to reservation 3"),
    "published twice": (_repeated(8), 12, "does not fit what happened to reservation 3"),
    "withdrawn twice": (_repeated(9), 12, "does not fit what happened to reservation 3"),
    "published without drawing": (_without(7), 7, "does not fit what happened to reservation 3"),
    "published before drawing": (_exchanged(7), 7, "does not fit what happened to reservation 3"),
    "withdrawn before published": (_exchanged(8), 8, "does not fit what happened to reservatio"),
    "withdrawn without published": (_without(8), 8, "does not fit what happened to reservation"),
    "drawing of nothing": (
        _updated(7, "event", reservation="5-00000000"), 7, "does not fit what happened to reserva",
    ),
    "request id twice": (_same_request, 11, "has a request id that an earlier entry has"),
    "each in a balance": (_updated(8, "balance", each=NINE), 8, "running sum that does not foll"),
    "each in the first balance": (_updated(2, "balance", each=NINE), 2, "running sum that does"),
    "each in a limit": (_updated(10, "event", each=NINE), 10, "running sum that does not follow"),
    "more at once than allowed": (
        lambda c: [
            c[1]["event"].update(each={"epsilon": "1/4", "delta": "0"}),
            c[1]["balance"].update(each={"epsilon": "1/4", "delta": "0"}),
            c[10]["balance"].update(each={"epsilon": "1/4", "delta": "0"}),
        ].clear(), 11, "could not have happened: a single release of dataset 'b' may cost at most",
    ),
    "a name in another spelling": (
        _refiled(1, "e\u0301"), 1, "is filed under a name that no dataset can have",
    ),
    "a dataset without a name": (_refiled(1, ""), 1, "is filed under a name that no dataset can"),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_chain_that_was_forged_whole_is_replayed(folder: Path, forgery: str) -> None:
    edit, entry, words = FORGERIES[forgery]
    path = folder / "ledger.sqlite"
    kept = filled(str(path)).head()
    forge(path, edit)
    ledger = Ledger.open(path)
    found = ledger.verify()
    assert (found.problems[0].entry, found.ok) == (entry, False), found.describe()
    assert words in found.problems[0].what
    with pytest.raises(DamagedLedgerError, match=f"entry {entry} .*{re.escape(words)}"):
        Ledger.open(path).reserve("a", USER, charge("1/7"))
    assert not ledger.verify(kept).ok
    with pytest.raises(DamagedLedgerError, match="The ledger is damaged"):
        ledger.void(ledger.entries("b")[-1].id, "certain")


def test_no_dataset_is_without_a_name(folder: Path) -> None:
    ledger = filled(str(folder / "ledger.sqlite"))
    for nameless in ("", " "):
        with pytest.raises(UsageError, match="--dataset NAME"):
            ledger.balance(nameless)


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: None,
        lambda c: c[8]["by"].update(account="somebody-else"),
        lambda c: c[2]["event"]["asked"].update(purpose="something else"),
        lambda c: c[9]["event"].update(reason="decided"),
        lambda c: [_without(9)(c), c[7]][0],
    ],
    ids=["nothing", "author", "purpose", "reason", "no withdrawal"],
)
def test_a_consistent_forgery_is_found_by_a_head_kept_elsewhere_and_only_by_it(
    folder: Path, edit: Callable[[list[Content]], object], request: pytest.FixtureRequest
) -> None:
    """The documented limit: hashes are not signatures."""
    path = folder / "ledger.sqlite"
    kept = filled(str(path)).head()
    forge(path, edit)  # type: ignore[arg-type]
    ledger = Ledger.open(path)
    assert ledger.verify().ok
    untouched = request.node.callspec.id == "nothing"
    assert ledger.verify(kept).ok == untouched
    assert ledger.verify(Head(2, ledger.entries()[1].hash)).ok


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: c["by"].update(role=7),
        lambda c: c["by"].update(account=""),
        lambda c: c["by"].update(nickname="x"),
        lambda c: c["by"].pop("host"),
        lambda c: c.update(by=None),
        lambda c: c.update(by="somebody"),
        lambda c: c.update(author={}),
        lambda c: c.pop("by"),
        lambda c: c["balance"].pop("each"),
    ],
)
def test_an_author_has_all_of_its_fields(folder: Path, edit: Callable[[Content], None]) -> None:
    path = folder / "ledger.sqlite"
    ledger = filled(str(path))
    rewrite(path, 11, edit)
    assert ledger.verify().problems[0].entry == 11
    with pytest.raises(DamagedLedgerError, match="entry 11"):
        ledger.reserve("b", USER, charge("1/4"))
