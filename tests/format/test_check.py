"""``crowdtally check RELEASE``: every file and row, and what the ledger says of the release."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

import crowdtally as ct
from crowdtally import format
from crowdtally.check import check_release
from crowdtally.core.privacy import Delta, Epsilon
from crowdtally.ledger import Ledger, Loss
from kit.command import Ended, crowdtally
from kit.damage import KINDS, edit

Fresh = Callable[..., Path]
USAGE, INPUT = 2, 4


@dataclass(frozen=True)
class Entry:
    """A charge as the ledger tells it."""

    sha256: str | None
    state: str = "published"
    epsilon: str = "4"
    delta: str = "0"
    id: str = "3-0123abcd"
    dataset: str = "made"
    time: str = "2024-05-06T07:08:09+00:00"
    withdrawn: object = None
    charge: object = field(init=False)

    def __post_init__(self) -> None:
        cost = SimpleNamespace(loss=Loss.of(Epsilon.of(self.epsilon), Delta.of(self.delta)))
        object.__setattr__(self, "charge", cost)


class Books:
    """A ledger with one charge."""

    def __init__(self, release_id: str, entry: Entry) -> None:
        self._entries = {release_id: entry}

    def charge_of_release(self, release_id: str) -> Entry | None:
        return self._entries.get(release_id)


def checked(folder: Path, *more: str, release: str | None = None, **entry: object) -> Ended:
    """Run ``check`` against a ledger whose one entry is right but for ``entry``."""
    found = format.load(folder)
    right = {"sha256": found.sha256} | entry
    books = Books(release or found.metadata["id"], Entry(**right))
    with mock.patch.object(Ledger, "open", return_value=books):
        return crowdtally("check", folder, "--ledger", "books.sqlite", *more)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_release_of_every_kind(kind: str, made_once: Callable[[str], Path]) -> None:
    ended = crowdtally("check", made_once(kind))
    assert (ended.code, ended.err) == (0, ""), str(ended)
    lines = ended.out.splitlines()
    assert lines[0].startswith("ok    release.json: the fields of crowdtally-release/1")
    facts = ct.load(made_once(kind)).metadata
    assert lines[-1].startswith("ok    datapackage.json: SHA-256, and the same promise, tables")
    for line, table in zip(lines[1:-1], facts["tables"], strict=True):
        start = f"ok    {table['file']}: SHA-256, columns, types, and {table['rows']} rows"
        assert line.startswith(start)


def test_as_json(made_once: Callable[[str], Path]) -> None:
    told = json.loads(crowdtally("check", made_once("plain"), "--json").out)
    assert (told["ledger"], len(told["checked"])) == (None, 4)
    told = json.loads(checked(made_once("plain"), "--json").out)
    assert told["ledger"] == "matches"
    assert told["release"] == ct.load(made_once("plain")).metadata["id"]


def test_it_matches_the_ledger(made_once: Callable[[str], Path]) -> None:
    ended = checked(made_once("plain"))
    assert (ended.code, ended.err) == (0, "")
    last = "ok    ledger: entry 3-0123abcd of dataset 'made', published, the same cost, the same"
    assert ended.out.splitlines()[-1] == f"{last} SHA-256 of release.json"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"release": "another"}, "the ledger knows no such release. Name the ledger"),
        ({"sha256": "0" * 64}, "it was changed after publication (the ledger has another SHA-256"),
        ({"state": "voided"}, "(entry 3-0123abcd) was voided, so nobody paid for it. Delete it"),
        ({"state": "reserved"}, "(entry 3-0123abcd) is reserved, not published. Its run did not"),
        ({"state": "drawing"}, "(entry 3-0123abcd) is drawing, not published. Its run did not"),
        ({"epsilon": "3"}, "its epsilon is 4, and 3 was charged"),
        ({"delta": "1e-9"}, "its delta is 0, and 1e-9 was charged"),
    ],
    ids=["unknown", "changed", "voided", "reserved", "drawing", "epsilon", "delta"],
)
def test_it_does_not_match_the_ledger(
    entry: dict[str, str], words: str, made_once: Callable[[str], Path]
) -> None:
    folder = made_once("plain")
    for more in ([], ["--json"]):
        ended = checked(folder, *more, **entry)
        assert (ended.code, ended.out) == (INPUT, ""), str(ended)
        assert ended.err.startswith(f"crowdtally: '{folder}' does not match the ledger: ")
        assert words in ended.err


def test_an_edit_with_a_new_hash_of_its_own_is_seen_by_the_ledger_alone(fresh: Fresh) -> None:
    folder = fresh("filter")
    before = format.load(folder)
    edit(folder, lambda facts: facts["tables"][1].update(cut=1))
    after = format.load(folder)
    check_release(after)  # in itself it is whole
    books = Books(after.metadata["id"], Entry(before.sha256))
    with pytest.raises(ct.InputError, match="changed after publication"):
        check_release(after, books)


def test_a_damaged_release_is_not_compared(fresh: Fresh) -> None:
    folder = fresh("plain")
    (folder / "items.parquet").write_bytes(b"")
    ended = crowdtally("check", folder, "--ledger", folder / "none.sqlite")
    assert ended.code == INPUT
    assert "it is not the file that was released" in ended.err


def test_a_ledger_needs_a_release() -> None:
    ended = crowdtally("check", "--ledger", "books.sqlite")
    assert ended.code == USAGE
    assert "crowdtally check RELEASE --ledger L" in ended.err


def test_without_a_release_it_tests_the_installation() -> None:
    ended = crowdtally("check")
    assert ended.code == 0, str(ended)
    assert "ok    exact noise" in ended.out
