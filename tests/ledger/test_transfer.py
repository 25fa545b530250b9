"""Backups and imports: the same record elsewhere, and never two of it that can be charged."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crowdtally.errors import UsageError
from crowdtally.ledger import (
    Asked,
    DamagedLedgerError,
    Head,
    Ledger,
    LedgerError,
    NotAllowedError,
    transfer,
)
from crowdtally.ledger import transfer as keeping
from crowdtally.ledger.database import store
from crowdtally.ledger.database.location import place
from crowdtally.ledger.transfer import standing
from kit.command import crowdtally
from kit.ledgers import NOBODY, ROW, SHA, USER, PostgresServer, alter, charge, skip

USAGE, FAILED = 2, 1


def life(location: str) -> Ledger:
    """A ledger with every kind of entry that can be written today."""
    ledger = Ledger.open(location, create=True)
    ledger.create("a", USER, epsilon=10, delta="1e-6", each_epsilon=2)
    ledger.create("b", epsilon=10)
    ledger.set_limit("b", epsilon=5, reason="as agreed")
    asked = Asked(source="trips", output="out", purpose="a test", request_id="request-1")
    made = ledger.reserve("a", USER, charge("1/3", "1e-9"), asked=asked, sources=["/srv/trips"])
    ledger.start_drawing(made.id)
    ledger.mark_published(made.id, SHA)
    ledger.withdraw("release-1", "wrong list")
    voided = ledger.reserve("b", ROW, charge("1/7", release="release-2"))
    ledger.void(voided.id, "nothing was drawn")
    ledger.reserve("a", USER, charge("1/7", release="release-3"))
    return ledger


def says(location: str | Path) -> dict[str, Any]:
    """Everything that a ledger says of its record."""
    ledger = Ledger.open(location)
    found: dict[str, Any] = {
        "export": ledger.export(),
        "balances": ledger.datasets(),
        "charges": ledger.charges(),
        "request": ledger.request("request-1"),
        "head": ledger.head(),
    }
    assert ledger.verify(found["head"]).ok
    return found


def refuses_charges(location: str | Path, match: str) -> None:
    before = says(location)
    ledger = Ledger.open(location)
    (reserved,) = [made.id for made in ledger.charges() if made.state == "reserved"]
    attempts: list[Callable[[], object]] = [
        lambda: ledger.reserve("a", USER, charge("1/7", release="more")),
        lambda: ledger.start_drawing(reserved),
        lambda: ledger.void(reserved, "certain"),
        lambda: ledger.set_limit("a", epsilon=100, reason="more"),
        lambda: ledger.create("c", epsilon=1),
        lambda: ledger.withdraw("release-1", "again"),
    ]
    for attempt in attempts:
        with pytest.raises(LedgerError, match=f"nothing can be added to the ledger .*{match}"):
            attempt()
    assert says(location) == before


def test_a_backup_is_the_whole_record_and_cannot_be_charged(location: str, folder: Path) -> None:
    ledger = life(location)
    copy = folder / "copy.sqlite"
    assert ledger.backup(copy) == ledger.head()
    assert says(copy) == says(location)
    refuses_charges(copy, "it is a backup, made at .* of .*`crowdtally ledger import`")
    assert Ledger.open(copy).closed() is not None
    assert ledger.closed() is None
    ledger.reserve("a", USER, charge("1/7", release="goes on"))
    assert copy.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in folder.iterdir()} <= {"ledger.sqlite", "copy.sqlite"}


def test_a_backup_of_a_long_record_is_of_one_moment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In portions, while others charge: what was added meanwhile is not in it."""
    monkeypatch.setattr("crowdtally.ledger.transfer._PORTION", 3)
    ledger = life(str(folder / "ledger.sqlite"))
    head, read = ledger.head(), store.Store.read
    reads = []

    def meanwhile(self: store.Store, work: Callable[[Any], Any]) -> Any:
        reads.append(1)
        if len(reads) == 4:
            Ledger.open(folder / "ledger.sqlite").reserve("a", USER, charge("1/9", release="new"))
        return read(self, work)

    pour = keeping.pour

    def watched(*arguments: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(store.Store, "read", meanwhile)
            pour(*arguments)

    monkeypatch.setattr(keeping, "pour", watched)
    assert ledger.backup(folder / "copy.sqlite") == head
    assert ledger.head().number == head.number + 1
    assert Ledger.open(folder / "copy.sqlite").verify(head).ok
    assert Ledger.open(folder / "copy.sqlite").head() == head


def test_a_backup_is_a_new_file(folder: Path) -> None:
    ledger = life(str(folder / "ledger.sqlite"))
    for name, make in {"text": lambda p: p.write_text("x"), "folder": Path.mkdir}.items():
        make(folder / name)
        with pytest.raises(UsageError, match=r"exists already, and is left as it is"):
            ledger.backup(folder / name)
    (folder / "dangling").symlink_to(folder / "nowhere")
    with pytest.raises(UsageError, match="exists already"):
        ledger.backup(folder / "dangling")
    with pytest.raises(UsageError, match=r"there is no folder .*mount its disk"):
        ledger.backup(folder / "unmounted" / "copy.sqlite")
    with pytest.raises(UsageError, match="a backup is a file"):
        ledger.backup("postgresql://ana@db.example/budget")
    assert (folder / "text").read_text() == "x"
    assert {path.name for path in folder.iterdir()} == {
        "ledger.sqlite", "text", "folder", "dangling",
    }  # fmt: skip


def test_no_backup_of_a_damaged_ledger(location: str, folder: Path) -> None:
    ledger = life(location)
    alter(location, "UPDATE crowdtally_entries SET body = replace(body, '1/7', '1/9')")
    with pytest.raises(DamagedLedgerError, match=r"entry \d+ was changed.*(?s:.*)No backup"):
        ledger.backup(folder / "copy.sqlite")
    assert not list(folder.glob("copy*"))


def test_a_copy_that_cannot_be_read_back_is_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = life(str(folder / "ledger.sqlite"))

    def forgetful(source: Any, ledger: Any, into: Any, closed: Any) -> None:
        pour(source, ledger, into, closed)
        into.exec_driver_sql("DELETE FROM crowdtally_entries WHERE number = 3")

    pour = keeping.pour
    monkeypatch.setattr(keeping, "pour", forgetful)
    with pytest.raises(DamagedLedgerError, match="entry 3 is missing"):
        ledger.backup(folder / "copy.sqlite")
    assert [path.name for path in folder.iterdir()] == ["ledger.sqlite"]


def test_a_copy_that_ends_elsewhere_is_not_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that is whole in itself, and another one."""
    ledger = life(str(folder / "ledger.sqlite"))
    other = Ledger.open(folder / "other.sqlite", create=True)
    other.create("a", epsilon=1)
    pour = keeping.pour

    def astray(source: Any, ledger: Any, into: Any, closed: Any) -> None:
        wrong = store.Store(place(folder / "other.sqlite"))
        pour(wrong, wrong.inspect(lambda c: standing(c, wrong.place)), into, closed)

    monkeypatch.setattr(keeping, "pour", astray)
    with pytest.raises(DamagedLedgerError, match="the copy ends in 1:"):
        ledger.backup(folder / "copy.sqlite")
    assert not (folder / "copy.sqlite").exists()


@pytest.fixture(params=["file to file", "file to server", "server to file", "server to server"])
def way(request: pytest.FixtureRequest, folder: Path, server: PostgresServer) -> tuple[str, str]:
    """From where to where."""
    first, last = request.param.split(" to ")
    here = str(folder / "ledger.sqlite") if first == "file" else server.new_schema()
    there = str(folder / "new.sqlite") if last == "file" else server.new_schema()
    return here, there


def test_a_ledger_moves_with_every_entry(way: tuple[str, str]) -> None:
    here, there = way
    life(here)
    before = says(here)
    moved = Ledger.import_from(here, there, anchor=before["head"])
    assert says(there) == before == says(here)
    refuses_charges(here, "it was moved .* and goes on there")
    assert moved.closed() is None
    made = moved.reserve("a", USER, charge("1/7", release="goes on"))
    moved.start_drawing(made.id)
    moved.mark_published(made.id, SHA)
    with pytest.raises(UsageError, match="request id 'request-1' was used for another"):
        moved.reserve("b", ROW, charge(1), asked=Asked(request_id="request-1"))
    assert moved.verify(before["head"]).ok
    again = Ledger.import_from(here, there)  # says so again, changes nothing
    assert again.head() == moved.head()


def test_a_moved_ledger_is_not_moved_elsewhere(way: tuple[str, str], folder: Path) -> None:
    here, there = way
    life(here)
    Ledger.import_from(here, there)
    with pytest.raises(UsageError, match=r"cannot be imported here: it was moved"):
        Ledger.import_from(here, folder / "third.sqlite")
    assert not (folder / "third.sqlite").exists()
    Ledger.open(folder / "third.sqlite", create=True)
    with pytest.raises(UsageError, match=r"cannot be imported here: it was moved"):
        Ledger.import_from(here, folder / "third.sqlite")
    assert Ledger.open(folder / "third.sqlite").closed() is None


def test_two_schemas_of_one_database_are_two_places(server: PostgresServer) -> None:
    """Their addresses look alike in messages; the ticket tells them apart."""
    here, there, elsewhere = (server.new_schema() for _ in range(3))
    life(here)
    Ledger.import_from(here, there)
    Ledger.open(elsewhere, create=True)
    with pytest.raises(UsageError, match="cannot be imported here"):
        Ledger.import_from(here, elsewhere)
    assert Ledger.open(elsewhere).head().number == 0


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_an_import_that_stops_at_any_step_can_be_finished(
    way: tuple[str, str], step: int, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = way
    life(here)
    before, calls, alter_ = says(here), [], store.Store.alter

    def dying(self: store.Store, work: Callable[[Any], Any]) -> Any:
        calls.append(self.place)
        if len(calls) == step and moment == "before":
            raise Killed
        try:
            return alter_(self, work)
        finally:
            if len(calls) == step:
                raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(store.Store, "alter", dying)
        with pytest.raises(Killed):
            Ledger.import_from(here, there)
    usable = [where for where in (here, there) if _open(where)]
    committed = step if moment == "after" else step - 1  # the first is rehearsed, and rolled back
    assert usable == {3: [], 4: [there]}.get(committed, [here])
    finished = Ledger.import_from(here, there)
    assert says(there) == before == says(here)
    refuses_charges(here, "it was moved")
    finished.reserve("a", USER, charge("1/7", release="goes on"))


def _open(location: str) -> bool:
    """Whether a ledger with the record can be charged there."""
    try:
        ledger = Ledger.open(location)
    except LedgerError:
        return False
    return ledger.head().number > 0 and ledger.closed() is None


KILLED = """
import os, signal, sys
from crowdtally.ledger import Ledger
from crowdtally.ledger import transfer as moving
pour = moving.pour
def dies(*arguments, **options):
    pour(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
moving.pour = dies
Ledger.import_from(*sys.argv[1:])
"""


def test_killed_in_the_midst_of_filling(way: tuple[str, str]) -> None:
    here, there = way
    life(here)
    before = says(here)
    done = subprocess.run([sys.executable, "-c", KILLED, here, there], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not _open(here)
    assert not _open(there)
    with pytest.raises(LedgerError, match=r"it waits for the entries of the ledger"):
        Ledger.open(there).create("c", epsilon=1)
    Ledger.import_from(here, there)
    assert says(there) == before


def test_a_place_that_waits_takes_no_other_record(folder: Path) -> None:
    """A backup of the same ledger, too, would bring an older record."""
    here, there, other = (str(folder / f"{name}.sqlite") for name in ("here", "there", "other"))
    life(here)
    Ledger.open(here).backup(folder / "older.sqlite")
    Ledger.open(here).reserve("a", USER, charge("1/9", release="later"))
    life(other)
    done = subprocess.run([sys.executable, "-c", KILLED, here, there], check=False)
    assert done.returncode == -signal.SIGKILL
    for wrong in (other, str(folder / "older.sqlite")):
        with pytest.raises(UsageError, match="can take no other entries: it waits for"):
            Ledger.import_from(wrong, there)
    assert Ledger.open(other).closed() is None
    assert Ledger.import_from(here, there).head() == Ledger.open(here).head()


def test_a_charge_that_comes_while_a_ledger_moves_goes_with_it(
    way: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Just before the old ledger is closed: the head that moves is that of the closing."""
    here, there = way
    life(here)
    late = Ledger.open(here)
    real = transfer._await

    def charged_meanwhile(*arguments: Any) -> Any:
        ticket = real(*arguments)
        late.reserve("a", USER, charge("1/9", release="late"))
        return ticket

    monkeypatch.setattr(transfer, "_await", charged_meanwhile)
    moved = Ledger.import_from(here, there)
    assert "late" in [made.charge.release_id for made in moved.charges()]
    with pytest.raises(LedgerError, match="it was moved"):
        late.reserve("a", USER, charge("1/9", release="too late"))


def test_a_backup_comes_into_use(way: tuple[str, str], folder: Path) -> None:
    here, there = way
    life(here)
    before = says(here)
    Ledger.open(here).backup(folder / "copy.sqlite")
    kept = (folder / "copy.sqlite").read_bytes()
    if here.endswith(".sqlite"):
        with pytest.raises(UsageError, match=r"is still in use, at .*import it instead"):
            Ledger.import_from(folder / "copy.sqlite", there)
        Path(here).rename(folder / "damaged.sqlite")
    Ledger.import_from(folder / "copy.sqlite", there)
    assert says(there) == before
    Ledger.open(there).reserve("a", USER, charge("1/7", release="goes on"))
    assert (folder / "copy.sqlite").read_bytes() == kept


def test_a_copy_of_a_backup_stands_for_the_same_ledger(folder: Path) -> None:
    life(str(folder / "ledger.sqlite"))
    Ledger.open(folder / "ledger.sqlite").backup(folder / "first.sqlite")
    Ledger.open(folder / "first.sqlite").backup(folder / "second.sqlite")
    with pytest.raises(UsageError, match=r"is still in use, at .*ledger\.sqlite"):
        Ledger.import_from(folder / "second.sqlite", folder / "new.sqlite")
    assert not (folder / "new.sqlite").exists()


def test_a_backup_knows_its_ledger_by_its_own_name(folder: Path) -> None:
    """Made by a link that is gone when the backup is to be used."""
    life(str(folder / "ledger.sqlite"))
    (folder / "link.sqlite").symlink_to("ledger.sqlite")
    Ledger.open(folder / "link.sqlite").backup(folder / "copy.sqlite")
    (folder / "link.sqlite").unlink()
    with pytest.raises(UsageError, match=r"is still in use, at .*ledger\.sqlite"):
        Ledger.import_from(folder / "copy.sqlite", folder / "new.sqlite")


@pytest.mark.parametrize("made", ["before", "after"])
def test_a_backup_of_a_ledger_that_goes_on_elsewhere(folder: Path, made: str) -> None:
    """Made before it was moved or of what the move left: the new place is in use."""
    old, copy, new = (folder / f"{name}.sqlite" for name in ("old", "copy", "new"))
    life(str(old))
    if made == "before":
        Ledger.open(old).backup(copy)
    Ledger.import_from(old, new)
    if made == "after":
        Ledger.open(old).backup(copy)
    with pytest.raises(UsageError, match=r"is still in use, at .*new\.sqlite"):
        Ledger.import_from(copy, folder / "third.sqlite")
    new.unlink()  # lost for good
    Ledger.import_from(copy, folder / "third.sqlite")
    assert Ledger.open(folder / "third.sqlite").closed() is None


def test_an_older_copy_is_refused_by_an_anchor(folder: Path) -> None:
    path = folder / "ledger.sqlite"
    ledger = life(str(path))
    ledger.backup(folder / "copy.sqlite")
    ledger.reserve("a", USER, charge("1/9", release="later"))
    path.rename(folder / "lost.sqlite")
    for anchor in (Ledger.open(folder / "lost.sqlite").head(), Head(2, "ab" * 32)):
        with pytest.raises(DamagedLedgerError, match=r"older copy|another history"):
            Ledger.import_from(folder / "copy.sqlite", path, anchor=anchor)
    assert not path.exists()


def test_what_cannot_be_imported(folder: Path, location: str) -> None:
    """Each is refused, and neither place is changed."""
    here, full, empty, text = (folder / f"{n}.sqlite" for n in ("here", "full", "empty", "text"))
    life(str(here))
    life(str(full))
    Ledger.open(empty, create=True)
    text.write_text("user,item\n1,2\n")
    (folder / "link.sqlite").symlink_to(here)
    life(location)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    cases = {
        (here, here): "cannot be imported into itself",
        (folder / "link.sqlite", here): "cannot be imported into itself",
        (here, full): r"has entries of its own \(\d+\), and stays as it is",
        (here, location): "has entries of its own",
        (location, full): "has entries of its own",
        (empty, folder / "new.sqlite"): "has no entries to import",
        (text, folder / "new.sqlite"): "was written by something else",
        (folder / "nothing.sqlite", folder / "new.sqlite"): "there is no ledger at",
        (here, text): "was written by something else",
    }
    for (source, to), words in cases.items():
        with pytest.raises((LedgerError, UsageError), match=words):
            Ledger.import_from(source, to)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert Ledger.open(location).closed() is None


def test_the_same_ledger_by_another_address_is_not_closed(server: PostgresServer) -> None:
    url = server.new_schema()
    life(url)
    with pytest.raises(UsageError, match="has entries of its own"):
        Ledger.import_from(url, url.replace("127.0.0.1", "localhost"))
    assert Ledger.open(url).closed() is None


def test_a_damaged_ledger_is_not_imported_and_stays_open(location: str, folder: Path) -> None:
    life(location)
    alter(location, "UPDATE crowdtally_entries SET hash = 'x' WHERE number = 4")
    with pytest.raises(DamagedLedgerError, match="Nothing was imported"):
        Ledger.import_from(location, folder / "new.sqlite")
    assert not (folder / "new.sqlite").exists()
    assert Ledger.open(location).closed() is None


def test_what_does_not_verify_in_its_new_place_is_not_opened(
    way: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = way
    life(here)
    before, pour = says(here), transfer.pour

    def forgetful(source: Any, ledger: Any, into: Any, closed: Any) -> None:
        pour(source, ledger, into, closed)
        into.exec_driver_sql("DELETE FROM crowdtally_entries WHERE number = 3")

    with monkeypatch.context() as patch:
        patch.setattr(transfer, "pour", forgetful)
        with pytest.raises(LedgerError, match=r"entry 3 is missing(?s:.*)run the same import"):
            Ledger.import_from(here, there)
    assert not _open(there)
    assert not _open(here)
    Ledger.import_from(here, there)
    assert says(there) == before


def test_only_the_owner_moves_a_ledger_on_a_server(server: PostgresServer, folder: Path) -> None:
    database = server.new_database()
    url = server.url(database)
    life(url)
    name = f"ana_{database}"
    server.execute(
        f"CREATE ROLE {name} LOGIN PASSWORD 'apple'",
        f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO {name}",
        f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {name}",
        database=database,
    )
    analyst = server.url(database, name, "apple")
    with pytest.raises(NotAllowedError, match=f"belongs to the role postgres, and this is {name}"):
        Ledger.import_from(analyst, folder / "new.sqlite")
    assert not (folder / "new.sqlite").exists()
    assert Ledger.open(url).closed() is None
    Ledger.open(analyst).backup(folder / "copy.sqlite")  # whoever may read may copy
    assert Ledger.open(folder / "copy.sqlite").head() == Ledger.open(url).head()


def test_moving_waits_for_a_charge_that_is_being_made(
    location: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdtally.ledger.database.sqlite.BUSY_SECONDS", 0.2)
    monkeypatch.setattr("crowdtally.ledger.database.postgres.LOCK_SECONDS", 1)
    life(location)
    holder = store.Store(place(location))

    def hold(page: Any) -> None:
        page.header()
        with pytest.raises(LedgerError, match="locked"):
            Ledger.import_from(location, folder / "new.sqlite")

    holder.write(hold)
    assert Ledger.open(location).closed() is None


UNPRIVILEGED = """
import os, sys, tempfile
from crowdtally.ledger import Ledger
from crowdtally.errors import CrowdtallyError
closed, own, uid = sys.argv[1:]
with tempfile.TemporaryDirectory() as warm:  # Python may lie where nobody else may read
    ledger = Ledger.open(f"{warm}/a", create=True)
    ledger.create("data", epsilon=1)
    ledger.backup(f"{warm}/b")
    Ledger.import_from(f"{warm}/a", f"{warm}/c")
os.setgroups([])
os.setgid(int(uid))
os.setuid(int(uid))
ledger = Ledger.open(f"{closed}/ledger.sqlite")
for attempt in (
    lambda: ledger.backup(f"{closed}/copy.sqlite"),
    lambda: Ledger.import_from(f"{closed}/ledger.sqlite", f"{own}/new.sqlite"),
    lambda: Ledger.import_from(f"{closed}/older.sqlite", f"{own}/new.sqlite"),
):
    try:
        attempt()
        print("done")
    except CrowdtallyError as error:
        print(error.exit_code, str(error))
"""


def test_without_rights(folder: Path) -> None:
    if os.getuid() != 0:
        skip("only root can become somebody else")
    folder.chmod(0o755)
    closed, own = folder / "closed", folder / "own"
    closed.mkdir()
    own.mkdir()
    os.chown(own, NOBODY, NOBODY)
    life(str(closed / "ledger.sqlite"))
    Ledger.open(closed / "ledger.sqlite").backup(closed / "older.sqlite")
    for path in closed.iterdir():
        path.chmod(0o644)
    before = {path.name: path.read_bytes() for path in closed.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, closed, own, str(NOBODY)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    backup, moved, restored = done.stdout.splitlines()
    assert backup.startswith("1 the backup ")
    assert "cannot be written: permission denied. No backup was made." in backup
    assert moved.startswith("1 the ledger ")
    assert "cannot be written. Make the file and its folder writable" in moved
    assert restored.startswith("2 the ledger that this backup was made of is still in use")
    assert not list(own.iterdir())
    assert {path.name: path.read_bytes() for path in closed.iterdir()} == before


def test_on_the_command_line(folder: Path) -> None:
    here, copy, there = (folder / f"{name}.sqlite" for name in ("here", "copy", "there"))
    head = str(life(str(here)).head())
    made = crowdtally("ledger", "backup", copy, "--ledger", here)
    assert (made.code, head in made.out) == (0, True), made
    again = crowdtally("ledger", "backup", copy, "--ledger", here)
    assert (again.code, again.out) == (USAGE, ""), again
    assert "exists already" in again.err
    shown = crowdtally("ledger", "show", "--ledger", copy)
    assert "Nothing can be added" in shown.out
    assert "it is a backup" in shown.out
    assert crowdtally("ledger", "verify", "--anchor", head, "--ledger", copy).code == 0
    refused = crowdtally("ledger", "create", "c", "--epsilon", 1, "--ledger", copy)
    assert (refused.code, "it is a backup" in refused.err) == (FAILED, True), refused
    wrong = crowdtally("ledger", "import", here, "--anchor", "99:0", "--ledger", there)
    assert (wrong.code, "a ledger head looks like" in wrong.err) == (USAGE, True), wrong
    assert not there.exists()
    moved = crowdtally("ledger", "import", here, "--anchor", head, "--ledger", there)
    assert (moved.code, head in moved.out) == (0, True), moved
    assert f"to {there}, and goes on there" in moved.out
    elsewhere = crowdtally("ledger", "import", here, "--ledger", folder / "third.sqlite")
    assert (elsewhere.code, "was moved" in elsewhere.err) == (USAGE, True), elsewhere


def test_a_file_system_without_hard_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = life(str(folder / "ledger.sqlite"))

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(LedgerError, match="Make it on a local disk, and copy that file"):
        ledger.backup(folder / "copy.sqlite")
    assert [path.name for path in folder.iterdir()] == ["ledger.sqlite"]


@pytest.mark.parametrize("version", [1, 2, 4])
def test_another_format_is_neither_read_nor_moved(folder: Path, version: int) -> None:
    path = folder / "ledger.sqlite"
    ledger = life(str(path))
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(f"UPDATE crowdtally_ledger SET version = {version}")
    before = path.read_bytes()
    attempts: list[Callable[[], object]] = [
        lambda: Ledger.open(path),
        ledger.datasets,
        ledger.verify,
        lambda: ledger.create("new", epsilon=1),
        lambda: ledger.backup(folder / "copy.sqlite"),
        lambda: Ledger.import_from(path, folder / "new.sqlite"),
    ]
    for attempt in attempts:
        with pytest.raises(LedgerError, match=rf"has format {version}, .*reads format 3 alone"):
            attempt()
    assert path.read_bytes() == before
    assert [found.name for found in folder.iterdir()] == ["ledger.sqlite"]
    shown = crowdtally("ledger", "show", "--ledger", path)
    assert (shown.code, "Use the version that wrote it" in shown.err) == (FAILED, True), shown
