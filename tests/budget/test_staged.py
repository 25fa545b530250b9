"""A charge is not given back while its unfinished release exists, or may exist."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from budget.ledger_kit import SHA, USER, charge
from crowdtally.errors import UsageError
from crowdtally.ledger import Drawing, Ledger, StagedFolder, VoidedError

Patch = pytest.MonkeyPatch


@pytest.fixture
def ledger(folder: Path) -> Ledger:
    return Ledger.open(folder / "ledger.sqlite", create=True)


@pytest.fixture
def staged(folder: Path) -> Path:
    """A folder with something in it, in a folder of its own."""
    made = folder / "disk" / ".out.0123.part"
    made.mkdir(parents=True)
    (made / "release.json").write_text("{}")
    return made


Begin = Callable[[Path], str]


@pytest.fixture
def begin(ledger: Ledger) -> Begin:
    """Charge a release whose folder the ledger knows; its id."""

    def drawing(staged: Path) -> str:
        made = ledger.reserve("d", USER, charge(1), new_dataset=True)
        ledger.start_drawing(made.id, staged=staged)
        return made.id

    return drawing


def refused(ledger: Ledger, reservation_id: str, words: str, **options: bool) -> None:
    head, state = ledger.head(), ledger.charges()[0].state
    assert state in {"drawing", "reserved"}
    with pytest.raises(UsageError, match=words):
        ledger.void(reservation_id, "certain", **options)
    assert ledger.head() == head
    assert ledger.charges()[0].state == state


def test_the_folder_is_recorded_where_it_really_is(
    ledger: Ledger, staged: Path, monkeypatch: Patch
) -> None:
    (staged.parent / "link").symlink_to(staged)
    monkeypatch.chdir(staged.parent)
    for staged_as in ("link", None):
        made = ledger.reserve("d", USER, charge(1), new_dataset=True)
        ledger.start_drawing(made.id, staged=staged_as)
    first, second = ledger.charges()
    assert first.state == second.state == "drawing"
    assert first.staged == StagedFolder(platform.node(), str(staged))
    assert second.staged is None
    assert ledger.verify().ok


def test_no_void_while_the_folder_exists(ledger: Ledger, begin: Begin, staged: Path) -> None:
    made = begin(staged)
    refused(ledger, made, rf"exists, in {staged}.*--delete-staged")
    shutil.rmtree(staged)
    assert ledger.void(made, "it failed").spent.epsilon == 0


def test_before_the_first_draw_there_is_no_folder_to_look_for(ledger: Ledger, staged: Path) -> None:
    """The run cannot draw any more: starting to is refused."""
    made = ledger.reserve("d", USER, charge(1), new_dataset=True)
    assert ledger.void(made.id, "not wanted any more").spent.epsilon == 0
    head = ledger.head()
    with pytest.raises(VoidedError, match=r"was voided.*must not be published"):
        ledger.start_drawing(made.id, staged=staged)
    assert ledger.head() == head
    assert (staged / "release.json").exists()


def test_void_deletes_the_folder_on_demand(ledger: Ledger, begin: Begin, staged: Path) -> None:
    made = begin(staged)
    assert ledger.void(made, "killed", delete_staged=True).spent.epsilon == 0
    assert list(staged.parent.iterdir()) == []
    gone = begin(staged)
    assert ledger.void(gone, "there was none", delete_staged=True).spent.epsilon == 0


def test_only_what_looks_like_an_unfinished_release_is_deleted(
    ledger: Ledger, begin: Begin, staged: Path
) -> None:
    made = begin(staged.parent)
    refused(ledger, made, "is not deleted.*delete it yourself", delete_staged=True)
    assert (staged / "release.json").exists()


@pytest.mark.parametrize("delete", [False, True])
@pytest.mark.parametrize("path", ["/a\0b", "/\ud800", ".out.0123.part"])
def test_no_void_where_the_record_names_what_no_run_wrote(
    ledger: Ledger, monkeypatch: Patch, staged: Path, path: str, delete: bool
) -> None:
    """On a server others can record any text."""
    monkeypatch.chdir(staged.parent)
    made = ledger.reserve("d", USER, charge(1), new_dataset=True)
    event = Drawing(made.id, StagedFolder(platform.node(), path))
    ledger._access.write(lambda book: book.append("d", event))
    refused(ledger, made.id, "cannot be checked.*Nothing was voided", delete_staged=delete)
    assert staged.exists()


@pytest.mark.parametrize("delete", [False, True])
@pytest.mark.parametrize("exists", [False, True])
def test_no_void_from_another_computer(
    ledger: Ledger, begin: Begin, staged: Path, monkeypatch: Patch, delete: bool, exists: bool
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(platform, "node", lambda: "elsewhere")
        made = begin(staged)
    if not exists:
        shutil.rmtree(staged)
    refused(
        ledger, made, "on the computer 'elsewhere'.*Run the command there", delete_staged=delete
    )
    assert staged.exists() == exists
    assert ledger.charges()[0].hint() is None


@pytest.mark.parametrize("lost", ["parent", "parent is a file"])
def test_no_void_while_the_disk_may_be_elsewhere(
    ledger: Ledger, begin: Begin, staged: Path, lost: str
) -> None:
    made = begin(staged)
    shutil.move(staged.parent, staged.parent.with_name("unmounted"))
    if lost == "parent is a file":
        staged.parent.write_text("")
    for delete in (False, True):
        refused(ledger, made, r"disk is not there\. Mount its disk", delete_staged=delete)
    staged.parent.unlink(missing_ok=True)
    staged.parent.mkdir()  # as the message says
    assert ledger.void(made, "deleted for good").spent.epsilon == 0


def test_no_void_where_a_link_leads_elsewhere(ledger: Ledger, begin: Begin, staged: Path) -> None:
    """The folder around it was moved, and its name given to a link."""
    made = begin(staged)
    disk = staged.parent
    disk.rename(disk.with_name("moved"))
    disk.with_name("another").mkdir()
    disk.symlink_to("another")
    for delete in (False, True):
        refused(ledger, made, "leads to another folder now", delete_staged=delete)
    assert (disk.with_name("moved") / staged.name / "release.json").exists()


def test_no_void_where_one_may_not_look(
    ledger: Ledger, begin: Begin, staged: Path, monkeypatch: Patch
) -> None:
    made = begin(staged)
    look = os.lstat

    def forbidden(path: object, **more: object) -> os.stat_result:
        if str(path) == str(staged):
            raise PermissionError(13, "Permission denied")
        return look(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "lstat", forbidden)
    refused(ledger, made, r"cannot be checked: Permission denied\. Run the command as the user")


def test_no_void_where_it_cannot_be_deleted(
    ledger: Ledger, begin: Begin, staged: Path, monkeypatch: Patch
) -> None:
    made = begin(staged)
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    refused(ledger, made, "cannot be deleted, so its charge stands", delete_staged=True)


def test_a_published_folder_is_never_deleted(ledger: Ledger, begin: Begin, staged: Path) -> None:
    """Killed between the mark and the rename: it is paid for, and may be renamed."""
    made = begin(staged)
    ledger.mark_published(made, SHA)
    with pytest.raises(UsageError, match="published and cannot be voided"):
        ledger.void(made, "killed", delete_staged=True)
    assert (staged / "release.json").exists()


CASES: dict[str, tuple[Callable[[Ledger, str, Path], object], str | None]] = {
    "reserved": (lambda *_: None, "unfinished: .*--delete-staged"),
    "published": (lambda ledger, made, _: ledger.mark_published(made, SHA), "paid for, but not in"),
    "voided": (lambda ledger, made, _: ledger.void(made, "x", delete_staged=True), None),
    "removed": (lambda _, __, staged: shutil.rmtree(staged), None),
}


@pytest.mark.parametrize("case", CASES)
def test_hints(ledger: Ledger, begin: Begin, staged: Path, case: str) -> None:
    happen, words = CASES[case]
    made = begin(staged)
    happen(ledger, made, staged)
    if case == "voided":
        staged.mkdir()  # another run's, perhaps
    hint = ledger.charges()[0].hint()
    if words is None:
        assert hint is None
    else:
        assert re.search(words, hint or "")
        assert str(staged) in (hint or "")
