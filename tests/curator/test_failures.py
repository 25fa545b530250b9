"""Each stage of a run fails with words that are true: what is charged, what is released."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crowdtally import format
from crowdtally.core import files
from crowdtally.core.privacy import Epsilon
from crowdtally.curator import publish
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger import (
    Charged,
    Ledger,
    LedgerError,
    OverBudgetError,
    UnknownOutcomeError,
    VoidedError,
)
from kit.ledgers import PostgresServer, folder, server
from kit.publishing import DATASET, UNIT, Talk, bare_publish, nothing_to_count

__all__ = ["folder", "server"]


Patch = pytest.MonkeyPatch
NOTHING = "Nothing was released: the unfinished folder was removed."
STANDS = "The charge stands (entry "


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    with (
        nothing_to_count(Epsilon.of(1)),
        Ledger.open(folder / "ledger.sqlite", create=True) as opened,
    ):
        yield opened


def before(patch: Patch, owner: object, name: str, happen: Callable[[], object]) -> None:
    """Let something happen just before a function of the run."""
    original = getattr(owner, name)

    def after_it(*given: object, **named: object) -> object:
        happen()
        return original(*given, **named)

    patch.setattr(owner, name, after_it)


def fails(ledger: Ledger, folder: Path, kind: type[CrowdtallyError]) -> tuple[str, Charged | None]:
    """What a run says, and its charge; nothing of a release is left, whatever the stage."""
    with pytest.raises(kind) as caught:
        bare_publish(ledger, folder / "out")
    assert type(caught.value) is kind
    said = str(caught.value)
    left = [path.name for path in folder.iterdir() if path.is_dir()]
    assert left == [], said
    charges = ledger.charges()
    return said, charges[-1] if charges else None


def test_in_order(ledger: Ledger, folder: Path, monkeypatch: Patch) -> None:
    events: list[str] = []
    for owner, name in (
        (Ledger, "check"), (publish, "prepare"), (Ledger, "reserve"), (Ledger, "start_drawing"),
        (Talk, "finish"), (format.Staged, "write"), (Ledger, "mark_published"),
        (os, "rename"),
    ):  # fmt: skip
        before(monkeypatch, owner, name, lambda name=name: events.append(name))
    bare_publish(ledger, folder / "out")
    assert events == [
        "check", "prepare", "reserve", "start_drawing", "finish", "write", "mark_published",
        "rename",
    ]  # fmt: skip
    (charged,) = ledger.charges()
    assert charged.sha256 == ledger.charge_of_release(charged.charge.release_id).sha256  # type: ignore[union-attr]
    assert charged.staged is not None
    assert Path(charged.staged.path).parent == folder.resolve()


def test_over_budget_meanwhile(ledger: Ledger, folder: Path, monkeypatch: Patch) -> None:
    ledger.create(DATASET, UNIT, epsilon=1)
    before(
        monkeypatch,
        Ledger,
        "reserve",
        lambda: ledger.set_limit(DATASET, epsilon="1/2", reason="decided"),
    )
    said, charged = fails(ledger, folder, OverBudgetError)
    assert "Nothing was charged" in said
    assert charged is None


def test_sources_of_another_dataset(ledger: Ledger, folder: Path, monkeypatch: Patch) -> None:
    """Seen by the check, before anything is read, and by the charge if it happens in between."""
    file = "/data/a.csv"

    def charge_elsewhere() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "reserve", reserve)
            bare_publish(ledger, folder / "other", dataset="/data/*.csv", sources=[file])

    reserve = Ledger.reserve
    before(monkeypatch, Ledger, "reserve", charge_elsewhere)
    with pytest.raises(UsageError, match=r"budget of '/data/\*\.csv' already"):
        bare_publish(ledger, folder / "out", dataset=file, sources=[file], chosen=False)
    before(monkeypatch, format.staging, "__enter__", lambda: pytest.fail("too late"))
    with pytest.raises(UsageError, match=r"budget of '/data/\*\.csv' already"):
        bare_publish(ledger, folder / "out", dataset=file, sources=[file], chosen=False)
    assert sorted(path.name for path in folder.iterdir()) == ["ledger.sqlite", "other"]
    assert [charged.dataset for charged in ledger.charges()] == ["/data/*.csv"]


class OtherWriter:
    """Another process in the middle of a write that does not end."""

    def __init__(self, path: Path) -> None:
        self._file = sqlite3.connect(path, isolation_level=None)

    def begin(self) -> None:
        self._file.execute("BEGIN IMMEDIATE")

    def end(self) -> None:
        self._file.close()


@pytest.fixture
def other(ledger: Ledger, folder: Path, monkeypatch: Patch) -> Iterator[OtherWriter]:
    monkeypatch.setattr("crowdtally.ledger.database.sqlite.BUSY_SECONDS", 0.05)
    writer = OtherWriter(folder / "ledger.sqlite")
    yield writer
    writer.end()


@pytest.mark.parametrize("stage", ["reserve", "start_drawing", "mark_published"])
def test_a_locked_ledger(
    ledger: Ledger, other: OtherWriter, folder: Path, monkeypatch: Patch, stage: str
) -> None:
    before(monkeypatch, Ledger, stage, other.begin)
    said, charged = fails(ledger, folder, LedgerError)
    other.end()
    assert "is locked" in said
    if stage == "reserve":
        assert said.endswith("No noise was drawn and nothing was released.")
        assert charged is None
    else:
        assert NOTHING in said
        assert f"{STANDS}{charged.id})" in said  # type: ignore[union-attr]
        undrawn = stage == "start_drawing"
        assert ("No noise was drawn" in said) == undrawn
        assert charged.state == ("reserved" if undrawn else "drawing")  # type: ignore[union-attr]
        assert ledger.void(charged.id, "locked").spent.epsilon == 0  # type: ignore[union-attr]


def test_a_failure_while_reading(ledger: Ledger, folder: Path, monkeypatch: Patch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("Zaphod's records")

    monkeypatch.setattr(publish, "prepare", fail)
    said, charged = fails(ledger, folder, CrowdtallyError)
    assert "Zaphod" not in said
    assert "Nothing was charged" in said
    assert charged is None


def test_a_failure_to_tell_where_the_dataset_stands(
    ledger: Ledger, folder: Path, monkeypatch: Patch
) -> None:
    """Between the charge and the draw, too, a run says what is true."""

    def fail(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(publish, "tell_standing", fail)
    said, charged = fails(ledger, folder, CrowdtallyError)
    assert "No noise was drawn. The charge stands (entry " in said
    assert charged.state == "reserved"  # type: ignore[union-attr]


def test_a_failure_while_drawing(ledger: Ledger, folder: Path, monkeypatch: Patch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("Zaphod's records")

    monkeypatch.setattr(Talk, "finish", fail)
    said, charged = fails(ledger, folder, CrowdtallyError)
    assert "Zaphod" not in said
    assert NOTHING in said
    assert f"{STANDS}{charged.id}), because noise may have been drawn" in said  # type: ignore[union-attr]
    assert f"ledger void {charged.id}" in said  # type: ignore[union-attr]
    ledger.void(charged.id, "nothing left")  # type: ignore[union-attr]


def test_a_target_that_came_meanwhile_is_seen_before_the_mark(
    ledger: Ledger, folder: Path, monkeypatch: Patch
) -> None:
    before(monkeypatch, Talk, "finish", lambda: (folder / "out").write_text("mine"))
    said, charged = fails(ledger, folder, UsageError)
    assert "never replaces anything" in said
    assert charged.state == "drawing"  # type: ignore[union-attr]
    assert (folder / "out").read_text() == "mine"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize(
    ("owner", "name", "state"),
    [
        (Ledger, "start_drawing", "reserved"),
        (Talk, "finish", "drawing"),
        (format.Staged, "ready", "drawing"),
        (Ledger, "mark_published", "drawing"),
        (format.Staged, "commit", "published"),
        (os, "rename", "published"),
    ],
)
def test_an_interruption_leaves_no_folder(
    ledger: Ledger,
    folder: Path,
    monkeypatch: Patch,
    kind: type,
    owner: object,
    name: str,
    state: str,
) -> None:
    def interrupt() -> None:
        raise kind

    before(monkeypatch, owner, name, interrupt)
    with pytest.raises(kind):
        bare_publish(ledger, folder / "out")
    assert [path.name for path in folder.iterdir()] == ["ledger.sqlite"]
    assert ledger.charges()[0].state == state


def test_voided_meanwhile(ledger: Ledger, folder: Path, monkeypatch: Patch) -> None:
    def void() -> None:
        (charged,) = ledger.charges()
        with pytest.raises(UsageError, match="cannot be voided while its unfinished release"):
            ledger.void(charged.id, "a slip")
        ledger.void(charged.id, "a slip", delete_staged=True)

    before(monkeypatch, Ledger, "mark_published", void)
    said, charged = fails(ledger, folder, VoidedError)
    assert "was voided while its release was being made, and its charge was given back" in said
    assert NOTHING in said
    assert "stands" not in said
    assert charged.state == "voided"  # type: ignore[union-attr]


def test_voided_before_the_first_draw(ledger: Ledger, folder: Path, monkeypatch: Patch) -> None:
    """Nothing was drawn and nothing can be any more, so no folder stands in the way."""

    def void() -> None:
        (charged,) = ledger.charges()
        assert (charged.state, charged.staged) == ("reserved", None)
        ledger.void(charged.id, "a slip")

    before(monkeypatch, Ledger, "start_drawing", void)
    before(monkeypatch, Talk, "finish", lambda: pytest.fail("drawn for nothing"))
    said, charged = fails(ledger, folder, VoidedError)
    assert NOTHING in said
    assert "Run again to charge and release." in said
    assert charged.state == "voided"  # type: ignore[union-attr]
    assert ledger.balance(DATASET).spent.epsilon == 0


@pytest.mark.parametrize("moment", ["before the mark", "before the rename"])
def test_a_folder_deleted_meanwhile(
    ledger: Ledger, folder: Path, monkeypatch: Patch, moment: str
) -> None:
    def delete() -> None:
        (charged,) = ledger.charges()
        assert charged.staged is not None
        shutil.rmtree(charged.staged.path)

    where = format.Staged, "ready" if moment == "before the mark" else "commit"
    before(monkeypatch, *where, delete)
    said, charged = fails(ledger, folder, CrowdtallyError)
    assert NOTHING in said
    published_already = "lists it as published already" in said
    assert published_already == (charged.state == "published") == (moment == "before the rename")  # type: ignore[union-attr]


def test_a_rename_that_fails_after_the_mark(
    ledger: Ledger, folder: Path, monkeypatch: Patch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", fail)
    said, charged = fails(ledger, folder, CrowdtallyError)
    assert "No space left" in said
    assert NOTHING in said
    assert "lists it as published already" in said
    assert "the charge stands and cannot be voided" in said
    assert charged.state == "published"  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="cannot be voided"):
        ledger.void(charged.id, "it failed")  # type: ignore[union-attr]


def test_a_release_in_place_is_not_denied(ledger: Ledger, folder: Path, monkeypatch: Patch) -> None:
    """The rename was done, and only the disk's confirmation of it is missing."""
    flush = files.flush

    def fail(path: Path) -> None:
        if (folder / "out").exists():
            raise OSError(5, "Input/output error")
        flush(path)

    monkeypatch.setattr(files, "flush", fail)
    with pytest.raises(CrowdtallyError, match="whole and in place") as caught:
        bare_publish(ledger, folder / "out")
    assert "Nothing was released" not in str(caught.value)
    assert (folder / "out" / "release.json").exists()
    assert ledger.charges()[0].state == "published"


def test_a_folder_that_cannot_be_removed_is_named(
    ledger: Ledger, other: OtherWriter, folder: Path, monkeypatch: Patch
) -> None:
    with monkeypatch.context() as patch:
        before(patch, Ledger, "mark_published", other.begin)
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(LedgerError) as caught:
            bare_publish(ledger, folder / "out")
    other.end()
    said, (charged,) = str(caught.value), ledger.charges()
    assert "Nothing was released" not in said
    assert f"{charged.staged.path} could not be removed: delete it" in said  # type: ignore[union-attr]
    assert STANDS in said
    with pytest.raises(UsageError, match="exists"):
        ledger.void(charged.id, "it failed")
    ledger.void(charged.id, "it failed", delete_staged=True)


@pytest.mark.parametrize("stage", ["reserve", "start_drawing", "mark_published"])
def test_a_connection_lost_at_the_commit(
    server: PostgresServer, folder: Path, monkeypatch: Patch, stage: str
) -> None:
    from sqlalchemy import Connection, event

    def cut(connection: Connection) -> None:
        pid = connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]
        server.execute(f"SELECT pg_terminate_backend({pid}, 5000)")

    with nothing_to_count(Epsilon.of(1)), Ledger.open(server.new_schema(), create=True) as ledger:
        engine = ledger._store.engine
        before(monkeypatch, Ledger, stage, lambda: event.listen(engine, "commit", cut))
        with pytest.raises(UnknownOutcomeError) as caught:
            bare_publish(ledger, folder / "out")
        event.remove(engine, "commit", cut)
        said, charges = str(caught.value), ledger.charges()
        assert server.password not in said
        assert "whether it was is not known" in said
        assert list(folder.iterdir()) == []
        if stage == "reserve":
            assert "No noise was drawn and nothing was released" in said
            assert charges == []
        else:
            assert NOTHING in said
            assert STANDS in said
            expected = "reserved" if stage == "start_drawing" else "drawing"
            assert charges[0].state == expected
            assert ledger.void(charges[0].id, "the connection broke").spent.epsilon == 0


def test_a_lost_answer_to_a_mark_that_arrived(
    ledger: Ledger, folder: Path, monkeypatch: Patch
) -> None:
    """The mark is recorded and its answer is lost: the words hold for that outcome too."""
    mark = Ledger.mark_published

    def lose(*given: object) -> None:
        mark(*given)  # type: ignore[arg-type]
        raise UnknownOutcomeError("whether it was is not known.")

    monkeypatch.setattr(Ledger, "mark_published", lose)
    said, charged = fails(ledger, folder, UnknownOutcomeError)
    assert "if it is listed as published, nothing can" in said
    assert charged.state == "published"  # type: ignore[union-attr]
    assert NOTHING in said


def test_without_an_output_folder_a_void_stays_possible(ledger: Ledger, monkeypatch: Patch) -> None:
    """The staged folder of a temporary release lies where its parent outlives the run."""

    def fail(*_: object) -> None:
        raise ValueError

    target, held = format.temporary_target()
    with monkeypatch.context() as patch:
        patch.setattr(Talk, "finish", fail)
        with pytest.raises(CrowdtallyError):
            bare_publish(ledger, target)
    del held
    assert not target.parent.exists()
    (charged,) = ledger.charges()
    ledger.void(charged.id, "it failed")
    target, held = format.temporary_target()
    assert bare_publish(ledger, target).folder == target
    assert target.parent.stat().st_mode & 0o777 == 0o700
    assert held is not None
