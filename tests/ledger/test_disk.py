"""Disks and files that fail: full, locked, without rights, cut short, a wrong byte."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from crowdtally.errors import CrowdtallyError
from crowdtally.ledger import Asked, Ledger, LedgerError
from kit.ledgers import SHA, USER, charge, drive, folder, skip

__all__ = ["folder"]


# ---- A full disk, missing rights, a locked file: no charge is reported, and the message helps ----


ELSEWHERE = "--ledger or $CROWDTALLY_LEDGER"


def test_full_disk() -> None:
    found = json.loads(drive("full-disk", "-", prefix=_mount_namespace()))
    assert "the disk is full" in found["said"]
    assert "Free some space" in found["said"]
    assert ELSEWHERE in found["said"]
    assert "no entry was added" in found["said"]
    assert "the disk is full" in found["created"]
    assert found["left"] == ["filler", "ledger.sqlite"], "half-made files must not stay"
    assert found["exact"], "only what was reported as charged is spent"
    assert found["whole"]


def _mount_namespace() -> tuple[str, ...]:
    """How to run a program that may mount: as root, as root of a user namespace, or by sudo."""
    ways = [("unshare", "-m")] if os.getuid() == 0 else [("unshare", "-Urm")]
    ways.append(("sudo", "-n", "unshare", "-m"))
    possible = [
        way
        for way in ways
        if shutil.which(way[0]) and not subprocess.run([*way, "true"], check=False).returncode
    ]
    return possible[0] if possible else skip("no mount namespaces")


def test_without_rights() -> None:
    found = json.loads(drive("rights", "-"))
    assert found.pop("reading still works") == "1/7"
    assert len(found) == 6
    for case, said in found.items():
        assert said.startswith("1 the ledger "), (case, said)
        assert "writable for this user" in said, (case, said)
        assert ELSEWHERE in said, (case, said)
        assert "no entry was added" in said, (case, said)


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_locked(folder: Path, monkeypatch: pytest.MonkeyPatch, lock: str) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    made = ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
    monkeypatch.setattr("crowdtally.ledger.database.sqlite.BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)) as other:
        other.execute(lock)
        with pytest.raises(LedgerError, match=r"is locked.*let it finish, and try again"):
            ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
        with pytest.raises(LedgerError, match="is locked"):
            ledger.mark_published(made.id, SHA)
    assert ledger.balance("data") == made.after
    assert ledger.charges()[0].state == "reserved"


def test_a_reader_that_stays_delays_the_commit_and_nothing_is_charged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    before = ledger.reserve("data", USER, charge("1/3"), new_dataset=True).after
    monkeypatch.setattr("crowdtally.ledger.database.sqlite.BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM crowdtally_ledger").fetchall()
        with pytest.raises(LedgerError, match="is locked"):
            ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
    assert ledger.balance("data") == before


def test_the_file_went_away(folder: Path) -> None:
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
    (folder / "ledger.sqlite").rename(folder / "moved.sqlite")
    with pytest.raises(LedgerError, match=r"no ledger at .*find out who moved it"):
        ledger.reserve("data", USER, charge("1/3"), new_dataset=True)
    assert not (folder / "ledger.sqlite").exists()


def test_no_hard_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(LedgerError, match="Keep the ledger on a local disk"):
        Ledger.open(folder / "ledger.sqlite", create=True)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 100, b"user,item\n1,2\n" * 100, b"SQLite format 3\0"]
)
def test_not_a_ledger_file(folder: Path, content: bytes) -> None:
    path = folder / "records.csv"
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"not a Crowdtally ledger|written by something else"):
        Ledger.open(path, create=True)
    assert path.read_bytes() == content


def test_another_programs_database(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "app.db")) as file, file:
        file.execute("CREATE TABLE users (id)")
    with pytest.raises(LedgerError, match="is not a Crowdtally ledger, and is left as it is"):
        Ledger.open(folder / "app.db", create=True)
    with pytest.raises(LedgerError, match=r"is a folder; give the path of a file"):
        Ledger.open(folder, create=True)


# ---- A SQLite ledger whose file was cut short, or has a wrong byte -------------------------------
#
# **Detected** means: opening or verifying says so in words, or else nothing that the ledger says
# has changed (the byte was in unused space). And whatever happens, a charge on such a file is
# either refused in words, or is a true charge on the true sum, after which verify still says what
# is wrong.


EACH = Fraction(1, 7)


@pytest.fixture
def original(folder: Path) -> tuple[bytes, object]:
    """A ledger with some history, as bytes and as what it says."""
    ledger = Ledger.open(folder / "original.sqlite", create=True)
    ledger.create("a", USER, epsilon=100)
    for number in range(12):
        made = ledger.reserve("ab"[number % 2], USER, charge(EACH), new_dataset=True)
        if number % 3:
            ledger.start_drawing(made.id)
            ledger.mark_published(made.id, SHA)
    ledger.void(made.id if number % 3 == 0 else ledger.charges()[0].id, "certain")
    ledger.withdraw("release-1", "a wrong list")
    asked = Asked(source="trips", output="out", purpose="a test", request_id="request-1")
    ledger.start_drawing(
        ledger.reserve("a", USER, charge(EACH, release="release-2"), asked=asked).id
    )
    ledger.set_limit("b", epsilon=50, each_epsilon=1, reason="as agreed")
    return (folder / "original.sqlite").read_bytes(), ledger.export()


def outcome(path: Path, content: bytes, says: object) -> str:
    """What happens with a damaged copy; only words are allowed, never another exception."""
    path.write_bytes(content)
    try:
        ledger = Ledger.open(path, create=False)
        detected = not ledger.verify().ok
    except CrowdtallyError as error:
        assert_in_words(error)
        return _charge_refused(path)
    if not detected:
        assert ledger.export() == says, "changed and not detected"
    return f"{'detected' if detected else 'harmless'}, {_charge(ledger, says, detected)}"


def assert_in_words(error: CrowdtallyError) -> None:
    text = str(error)
    assert error.exit_code == 1, text
    assert not any(word in text for word in ("Traceback", "[SQL", "sqlite3", "Error")), text
    assert 40 < len(text) < 600, text


def _charge_refused(path: Path) -> str:
    with pytest.raises(CrowdtallyError):
        Ledger.open(path, create=False).reserve("a", USER, charge(EACH), new_dataset=True)
    return "refused at once"


def _charge(ledger: Ledger, says: object, damaged: bool) -> str:
    true = Fraction(_spent(says, "a"))
    try:
        made = ledger.reserve("a", USER, charge(EACH), new_dataset=True)
    except CrowdtallyError as error:
        assert_in_words(error)
        return "charge refused"
    assert not damaged, "verify notices what a first charge does not"
    assert (made.before.spent.epsilon, made.after.spent.epsilon) == (true, true + EACH)
    assert ledger.verify().ok
    return "charged truly"


def _spent(says: object, dataset: str) -> str:
    contents = [entry["content"] for entry in says["entries"]]  # type: ignore[index]
    return [c["balance"]["spent"]["epsilon"] for c in contents if c["dataset"] == dataset][-1]


def test_cut_at_a_thousand_places(original: tuple[bytes, object], folder: Path) -> None:
    whole, says = original
    size = len(whole)
    places = [0, 1, 99, 100, 512, 4096, 8192, size - 4096, size - 40, size - 1]
    places += random.Random(3).sample(range(size), 990)
    counts = Counter(outcome(folder / "cut.sqlite", whole[:place], says) for place in places)
    assert sum(counts.values()) == 1000
    assert counts["refused at once"] > 800, counts


@pytest.mark.parametrize("wrong", [400, pytest.param(1000, marks=pytest.mark.long)])
def test_hundreds_of_wrong_bytes(original: tuple[bytes, object], folder: Path, wrong: int) -> None:
    whole, says = original
    generator = random.Random(5)
    counts: Counter[str] = Counter()
    used = [place for place, byte in enumerate(whole) if byte]
    for number in range(wrong):
        # The first hundred bytes are SQLite's own header: each gets its turn. Of the others, most
        # are taken where something is written.
        place = generator.choice(used) if number % 4 else generator.randrange(len(whole))
        place = number if number < 100 else place
        content = bytearray(whole)
        content[place] ^= generator.randrange(1, 256)
        counts[outcome(folder / "flip.sqlite", bytes(content), says)] += 1
    assert sum(counts.values()) == wrong
    print(counts)
    found = sum(count for what, count in counts.items() if not what.startswith("harmless"))
    assert found > wrong * 0.3, counts
