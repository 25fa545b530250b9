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
from crowdtally.budget import Ledger, StagedFolder
from crowdtally.errors import UsageError

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


def refused(ledger: Ledger, reservation_id: str, words: str, **options: bool) -> None:
    head = ledger.head()
    with pytest.raises(UsageError, match=words):
        ledger.void(reservation_id, "certain", **options)
    assert ledger.head() == head
    assert ledger.charges()[0].state == "reserved"


def test_the_folder_is_recorded_where_it_really_is(
    ledger: Ledger, staged: Path, monkeypatch: Patch
) -> None:
    (staged.parent / "link").symlink_to(staged)
    monkeypatch.chdir(staged.parent)
    ledger.reserve("d", USER, charge(1), staged="link", new_dataset=True)
    ledger.reserve("d", USER, charge(1), new_dataset=True)
    first, second = ledger.charges()
    assert first.staged == StagedFolder(platform.node(), str(staged))
    assert second.staged is None
    assert ledger.verify().ok


def test_no_void_while_the_folder_exists(ledger: Ledger, staged: Path) -> None:
    made = ledger.reserve("d", USER, charge(1), staged=staged, new_dataset=True)
    refused(ledger, made.id, rf"exists, in {staged}.*--delete-staged")
    shutil.rmtree(staged)
    assert ledger.void(made.id, "it failed").spent.epsilon == 0


def test_void_deletes_the_folder_on_demand(ledger: Ledger, staged: Path) -> None:
    made = ledger.reserve("d", USER, charge(1), staged=staged, new_dataset=True)
    assert ledger.void(made.id, "killed", delete_staged=True).spent.epsilon == 0
    assert list(staged.parent.iterdir()) == []
    gone = ledger.reserve("d", USER, charge(1), staged=staged, new_dataset=True)
    assert ledger.void(gone.id, "there was none", delete_staged=True).spent.epsilon == 0


def test_only_what_looks_like_an_unfinished_release_is_deleted(
    ledger: Ledger, staged: Path
) -> None:
    made = ledger.reserve("d", USER, charge(1), staged=staged.parent, new_dataset=True)
    refused(ledger, made.id, "is not deleted.*delete it yourself", delete_staged=True)
    assert (staged / "release.json").exists()


@pytest.mark.parametrize("delete", [False, True])
@pytest.mark.parametrize("exists", [False, True])
def test_no_void_from_another_computer(
    ledger: Ledger, staged: Path, monkeypatch: Patch, delete: bool, exists: bool
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(platform, "node", lambda: "elsewhere")
        made = ledger.reserve("d", USER, charge(1), staged=staged, new_dataset=True)
    if not exists:
        shutil.rmtree(staged)
    refused(
        ledger, made.id, "on the computer 'elsewhere'.*Run the command there", delete_staged=delete
    )
    assert staged.exists() == exists
    assert ledger.charges()[0].hint() is None


@pytest.mark.parametrize("lost", ["parent", "parent is a file"])
def test_no_void_while_the_disk_may_be_elsewhere(ledger: Ledger, staged: Path, lost: str) -> None:
    made = ledger.reserve("d", USER, charge(1), staged=staged, new_dataset=True)
    shutil.move(staged.parent, staged.parent.with_name("unmounted"))
    if lost == "parent is a file":
        staged.parent.write_text("")
    for delete in (False, True):
        refused(ledger, made.id, r"disk is not there\. Mount its disk", delete_staged=delete)
    staged.parent.unlink(missing_ok=True)
    staged.parent.mkdir()  # as the message says
    assert ledger.void(made.id, "deleted for good").spent.epsilon == 0


def test_no_void_where_one_may_not_look(ledger: Ledger, staged: Path, monkeypatch: Patch) -> None:
    made = ledger.reserve("d", USER, charge(1), staged=staged, new_dataset=True)
    look = os.lstat

    def forbidden(path: object, **more: object) -> os.stat_result:
        if str(path) == str(staged):
            raise PermissionError(13, "Permission denied")
        return look(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "lstat", forbidden)
    refused(ledger, made.id, r"cannot be checked: Permission denied\. Run the command as the user")


def test_no_void_where_it_cannot_be_deleted(
    ledger: Ledger, staged: Path, monkeypatch: Patch
) -> None:
    made = ledger.reserve("d", USER, charge(1), staged=staged, new_dataset=True)
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
    refused(ledger, made.id, "cannot be deleted, so its charge stands", delete_staged=True)


def test_a_published_folder_is_never_deleted(ledger: Ledger, staged: Path) -> None:
    """Killed between the mark and the rename: it is paid for, and may be renamed."""
    made = ledger.reserve("d", USER, charge(1), staged=staged, new_dataset=True)
    ledger.mark_published(made.id, SHA)
    with pytest.raises(UsageError, match="published and cannot be voided"):
        ledger.void(made.id, "killed", delete_staged=True)
    assert (staged / "release.json").exists()


CASES: dict[str, tuple[Callable[[Ledger, str, Path], object], str | None]] = {
    "reserved": (lambda *_: None, "unfinished: .*--delete-staged"),
    "published": (lambda ledger, made, _: ledger.mark_published(made, SHA), "paid for, but not in"),
    "voided": (lambda ledger, made, _: ledger.void(made, "x", delete_staged=True), None),
    "removed": (lambda _, __, staged: shutil.rmtree(staged), None),
}


@pytest.mark.parametrize("case", CASES)
def test_hints(ledger: Ledger, staged: Path, case: str) -> None:
    happen, words = CASES[case]
    made = ledger.reserve("d", USER, charge(1), staged=staged, new_dataset=True)
    happen(ledger, made.id, staged)
    if case == "voided":
        staged.mkdir()  # another run's, perhaps
    hint = ledger.charges()[0].hint()
    if words is None:
        assert hint is None
    else:
        assert re.search(words, hint or "")
        assert str(staged) in (hint or "")
