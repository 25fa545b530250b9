"""The same request again, by its id: one charge, at most one draw, and words that are true."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crowdtally import format
from crowdtally.core.privacy import Epsilon
from crowdtally.curator import publish
from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.format import Published
from crowdtally.ledger import (
    Asked,
    Charge,
    Charged,
    DrawnBeforeError,
    Ledger,
    LedgerError,
    Part,
    VoidedError,
)
from kit.ledgers import folder
from kit.publishing import DATASET, UNIT, Talk, bare_publish, nothing_to_count

__all__ = ["folder"]


Patch = pytest.MonkeyPatch
KEY = "weekly-47"
ONE = Epsilon.of(1)


class Bench:
    """A ledger with room for one release, a request, and what was told and drawn."""

    def __init__(self, home: Path) -> None:
        self.home, self.draws = home, 0
        self.told: list[str] = []
        self.ledger = Ledger.open(home / "ledger.sqlite", create=True)
        self.ledger.create(DATASET, UNIT, epsilon=1)

    def draw(self) -> None:
        self.draws += 1

    def run(self, key: str = KEY, out: str = "out", **more: Any) -> Published:
        return bare_publish(
            self.ledger, self.home / out, request_id=key, tell=self.told.append, **more
        )

    @property
    def charge(self) -> Charged:
        (charged,) = self.ledger.charges()
        assert self.ledger.balance(DATASET).spent.epsilon == (charged.state != "voided")
        return charged

    def left(self) -> list[str]:
        return sorted(path.name for path in self.home.iterdir() if path.is_dir())


@pytest.fixture
def bench(folder: Path) -> Iterator[Bench]:
    made = Bench(folder)
    with nothing_to_count(ONE, made.draw):
        yield made


class Died(BaseException):
    """The process ends here: nothing that would run afterwards does."""


def dies(bench: Bench, patch: Patch, owner: object, name: str, *, after: bool = False) -> None:
    """A run that dies just before a function, or after it, and leaves its folder as a kill does."""
    original: Callable[..., Any] = getattr(owner, name)

    def die(*given: Any, **named: Any) -> None:
        if after:
            original(*given, **named)
        raise Died

    with patch.context() as here:
        here.setattr(owner, name, die)
        here.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(Died):
            bench.run()


def test_a_published_request_is_shown_again(bench: Bench, monkeypatch: Patch) -> None:
    first = bench.run()
    head = bench.ledger.head()
    for name in ("prepare", "staging", "Conversation"):
        monkeypatch.setattr(publish, name, lambda *_, name=name: pytest.fail(name))
    again = bench.run()
    assert (again.folder, again.metadata) == (first.folder, first.metadata)
    assert again.sha256 == bench.charge.sha256
    assert bench.ledger.head() == head
    assert bench.draws == 1
    assert bench.told[-1].startswith("This request was made before")
    assert str(bench.charge.published_at) in bench.told[-1]
    assert "Nothing was charged" in bench.told[-1]


def test_without_an_id_each_run_is_charged(bench: Bench) -> None:
    bench.ledger.set_limit(DATASET, epsilon=2, reason="two of them")
    for name in ("one", "two"):
        bare_publish(bench.ledger, bench.home / name)
    assert [charged.state for charged in bench.ledger.charges()] == ["published"] * 2
    assert bench.draws == 2


@pytest.mark.parametrize("after", [False, True], ids=["before the entry", "the charge is made"])
def test_a_run_that_died_before_the_draw_is_continued(
    bench: Bench, monkeypatch: Patch, after: bool
) -> None:
    """All of the budget is reserved: the check must not refuse the request's own charge."""
    name = "reserve" if after else "start_drawing"
    dies(bench, monkeypatch, Ledger, name, after=after)
    first = bench.charge
    assert (first.state, bench.draws) == ("reserved", 0)
    assert bench.run().metadata == {"entry": first.id}
    assert (bench.charge.id, bench.charge.state, bench.draws) == (first.id, "published", 1)


def test_a_run_that_died_before_the_charge_is_a_new_one(bench: Bench, monkeypatch: Patch) -> None:
    dies(bench, monkeypatch, Ledger, "reserve")
    assert bench.ledger.charges() == []
    bench.run()
    assert (bench.charge.state, bench.draws) == ("published", 1)


@pytest.mark.parametrize(
    ("owner", "name", "after"),
    [
        (Ledger, "start_drawing", True), (Talk, "finish", False), (Talk, "finish", True),
        (format.Staged, "ready", True), (Ledger, "mark_published", False),
    ],
)  # fmt: skip
def test_a_run_that_died_after_its_drawing_entry_is_not_drawn_again(
    bench: Bench, monkeypatch: Patch, owner: object, name: str, after: bool
) -> None:
    dies(bench, monkeypatch, owner, name, after=after)
    drawn, head = bench.draws, bench.ledger.head()
    with pytest.raises(DrawnBeforeError) as caught:
        bench.run()
    said, charged = str(caught.value), bench.charge
    assert charged.staged is not None
    for words in (
        f"entry {charged.id}", str(charged.drawing_at), str(charged.drawn_by),
        f"{charged.staged.path} is there", "may be alive", "needs a new request id",
        f"ledger void {charged.id} --reason TEXT --delete-staged",
    ):  # fmt: skip
        assert words in said
    assert (bench.draws, bench.ledger.head()) == (drawn, head)
    shutil.rmtree(charged.staged.path)
    with pytest.raises(DrawnBeforeError, match="is gone: that run has ended without a release"):
        bench.run()
    bench.ledger.void(charged.id, "killed")
    with pytest.raises(UsageError, match=r"was given back: 'killed'.*give this request a new one"):
        bench.run()
    bench.run("weekly-47-again")
    assert [c.state for c in bench.ledger.charges()] == ["voided", "published"]


def test_a_drawing_on_another_computer(bench: Bench, monkeypatch: Patch) -> None:
    dies(bench, monkeypatch, Talk, "finish")
    monkeypatch.setattr("crowdtally.ledger.provenance.this_host", lambda: "elsewhere")
    with pytest.raises(DrawnBeforeError, match=r"on the computer '.*': while it is there"):
        bench.run()


def test_a_rename_that_a_killed_run_left_is_finished(bench: Bench, monkeypatch: Patch) -> None:
    dies(bench, monkeypatch, Ledger, "mark_published", after=True)
    (staged,) = bench.left()
    mode = (bench.home / staged).stat().st_mode & 0o777
    made = bench.run()
    assert made.sha256 == bench.charge.sha256
    assert bench.left() == ["out"]
    (bench.home / "usual").mkdir()
    usual = (bench.home / "usual").stat().st_mode & 0o777
    assert ((bench.home / "out").stat().st_mode & 0o777, mode) == (usual, 0o700)
    assert bench.run().metadata == made.metadata
    assert bench.draws == 1


def test_a_run_that_was_interrupted_after_the_mark_is_finished(
    bench: Bench, monkeypatch: Patch
) -> None:
    """Its folder is whole and paid for: an interruption deletes it no more than a kill does."""

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as here:
        here.setattr(format.Staged, "commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            bench.run()
    assert bench.run().sha256 == bench.charge.sha256
    assert bench.left() == ["out"]
    assert bench.draws == 1


def test_a_rename_that_fails_is_left_to_the_same_request(bench: Bench, monkeypatch: Patch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as here:
        here.setattr(os, "rename", full)
        with pytest.raises(CrowdtallyError, match=r"The release lies whole in .*same request id"):
            bench.run()
    (staged,) = bench.left()
    assert staged.endswith(".part")
    assert bench.run().sha256 == bench.charge.sha256
    assert bench.left() == ["out"]
    assert bench.draws == 1


def test_a_rename_that_fails_because_the_folder_is_gone(bench: Bench, monkeypatch: Patch) -> None:
    def vanish(staged: format.Staged) -> None:
        shutil.rmtree(staged.path)
        raise CrowdtallyError("it cannot be renamed.")

    monkeypatch.setattr(format.Staged, "commit", vanish)
    with pytest.raises(CrowdtallyError) as caught:
        bench.run()
    assert "Nothing was released" in str(caught.value)
    assert "lies whole" not in str(caught.value)


def test_a_folder_left_is_not_named_if_it_was_changed(bench: Bench, monkeypatch: Patch) -> None:
    dies(bench, monkeypatch, Ledger, "mark_published", after=True)
    (staged,) = bench.left()
    (bench.home / staged / "release.json").write_text(json.dumps({"entry": "mine"}))
    with pytest.raises(LedgerError, match="does not have the SHA-256 that the ledger recorded"):
        bench.run()
    assert bench.left() == [staged]


def test_a_folder_left_is_not_named_if_it_is_a_link(bench: Bench, monkeypatch: Patch) -> None:
    dies(bench, monkeypatch, Ledger, "mark_published", after=True)
    (staged,) = bench.left()
    (bench.home / staged).rename(bench.home / "elsewhere")
    (bench.home / staged).symlink_to("elsewhere")
    with pytest.raises(LedgerError, match=r"is a link now\..*Nothing was charged"):
        bench.run()
    assert not os.path.lexists(bench.home / "out")


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_in_the_way_of_a_folder_left(bench: Bench, monkeypatch: Patch, kind: str) -> None:
    """The release is whole: it is not called moved or deleted, and gets its name later."""
    dies(bench, monkeypatch, Ledger, "mark_published", after=True)
    out = bench.home / "out"
    made: dict[str, Callable[[], object]] = {
        "file": out.touch,
        "folder": out.mkdir,
        "link": lambda: out.symlink_to("none"),
    }
    made[kind]()
    with pytest.raises(UsageError, match=r"lies whole in .*out' is in the way"):
        bench.run()
    out.rename(bench.home / "away")
    assert bench.run().sha256 == bench.charge.sha256
    assert bench.draws == 1


def test_two_finish_the_same_rename(bench: Bench, monkeypatch: Patch) -> None:
    """The run that wrote it, or a third one, is quicker: what lies there is the release."""
    dies(bench, monkeypatch, Ledger, "mark_published", after=True)
    rename = os.rename

    def quicker(source: Path, target: Path) -> None:
        rename(source, target)
        rename(source, target)  # ours: nothing is left to rename

    monkeypatch.setattr(os, "rename", quicker)
    assert bench.run().sha256 == bench.charge.sha256
    assert bench.left() == ["out"]


def test_a_rename_that_is_finished_while_it_is_looked_at(bench: Bench, monkeypatch: Patch) -> None:
    """The folder was there a moment ago, and has its name now: it is not called deleted."""
    dies(bench, monkeypatch, Ledger, "mark_published", after=True)
    (staged,) = bench.left()
    is_symlink = Path.is_symlink

    def quicker(path: Path) -> bool:
        if path.name == staged:
            (bench.home / staged).rename(bench.home / "out")
        return is_symlink(path)

    monkeypatch.setattr(Path, "is_symlink", quicker)
    assert bench.run().sha256 == bench.charge.sha256


def test_a_run_whose_folder_another_named_has_released(bench: Bench, monkeypatch: Patch) -> None:
    """Between its mark and its rename the same request is made again, which finishes the rename."""
    commit = format.Staged.commit
    again: list[Published] = []

    def late(staged: format.Staged) -> None:
        if not again:
            again.append(format.Published(bench.home, {}))
            again[0] = bench.run()
        commit(staged)

    monkeypatch.setattr(format.Staged, "commit", late)
    assert bench.run().metadata == again[0].metadata
    assert bench.left() == ["out"]
    assert bench.draws == 1


def test_a_release_that_is_gone(bench: Bench, monkeypatch: Patch) -> None:
    bench.run()
    (bench.home / "out").rename(bench.home / "moved")
    with pytest.raises(LedgerError, match=r"moved or deleted.*Nothing was charged now"):
        bench.run()
    monkeypatch.setattr("crowdtally.ledger.provenance.this_host", lambda: "elsewhere")
    with pytest.raises(LedgerError, match=r"on this computer: it was made on"):
        bench.run()
    assert bench.draws == 1


def test_a_release_that_was_replaced_or_damaged(bench: Bench, monkeypatch: Patch) -> None:
    bench.run()
    (bench.home / "out" / "release.json").write_text(json.dumps({"entry": "another"}))
    with pytest.raises(LedgerError, match="holds another one"):
        bench.run()

    def damaged(_: Path) -> Published:
        raise InputError("it is damaged.")

    monkeypatch.setattr("crowdtally.curator.repeat.load", damaged)
    with pytest.raises(InputError, match=r"it is damaged\. Nothing was charged\."):
        bench.run()


def test_a_withdrawn_release_is_shown_with_that_word(bench: Bench) -> None:
    bench.run()
    bench.ledger.withdraw(bench.charge.charge.release_id, "a wrong list")
    bench.run()
    assert "This release was withdrawn on " in bench.told[-1]
    assert bench.told[-1].endswith(": a wrong list")


def test_a_withdrawn_folder_gets_its_name_with_its_note(bench: Bench, monkeypatch: Patch) -> None:
    """It was called back while it lay under its temporary name: its readers are told."""
    dies(bench, monkeypatch, Ledger, "mark_published", after=True)
    bench.ledger.withdraw(bench.charge.charge.release_id, "a wrong list")
    bench.run()
    note = json.loads((bench.home / "out" / "withdrawn.json").read_text())
    assert note["release"] == bench.charge.charge.release_id
    assert note["reason"] == "a wrong list"


def test_an_id_of_another_request(bench: Bench) -> None:
    bench.run()
    head = bench.ledger.head()
    with pytest.raises(UsageError) as caught:
        bench.run(out="other")
    said = str(caught.value)
    assert f"the output was {bench.home / 'out'} and is {bench.home / 'other'}" in said
    with pytest.raises(UsageError, match="--dataset was data and is town"):
        bench.run(dataset="town")
    with (
        nothing_to_count(Epsilon.of(2)),
        pytest.raises(UsageError, match="epsilon was 1 and is 2"),
    ):
        bench.run()
    assert (bench.ledger.head(), bench.draws, bench.left()) == (head, 1, ["out"])


def test_what_a_request_is_for_does_not_make_it_another(bench: Bench) -> None:
    bench.run(purpose="weekly")
    bench.run(purpose="monthly")
    assert bench.charge.asked == Asked(None, str(bench.home / "out"), {}, "weekly", KEY)


def test_of_two_runs_at_once_one_draws(bench: Bench, monkeypatch: Patch) -> None:
    """Both have the charge, which one of them made; the entry before the draw is for one."""
    start, entered = Ledger.start_drawing, []

    def late(ledger: Ledger, *given: Any, **named: Any) -> None:
        entered.append(1)
        if len(entered) == 1:
            bench.run()
        start(ledger, *given, **named)

    monkeypatch.setattr(Ledger, "start_drawing", late)
    with pytest.raises(DrawnBeforeError) as caught:
        bench.run()
    said = str(caught.value)
    assert "This run drew nothing, charged nothing more, and stops" in said
    assert "Run again with the same request id" in said
    assert "void" not in said
    assert (bench.charge.state, bench.draws, bench.left()) == ("published", 1, ["out"])
    bench.run()


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("finish", "that run may be alive"),
        ("mark_published", "has published its release meanwhile"),
    ],
)
def test_a_run_that_comes_late_to_the_charge(
    bench: Bench, monkeypatch: Patch, moment: str, words: str
) -> None:
    reserve, entered = Ledger.reserve, []

    def late(ledger: Ledger, *given: Any, **named: Any) -> Any:
        entered.append(1)
        if len(entered) == 1:
            if moment == "finish":
                dies(bench, monkeypatch, Talk, "finish")
            else:
                bench.run()
        return reserve(ledger, *given, **named)

    monkeypatch.setattr(Ledger, "reserve", late)
    with pytest.raises(DrawnBeforeError, match=words):
        bench.run()
    assert bench.draws == (moment != "finish")
    assert bench.charge.state == ("drawing" if moment == "finish" else "published")


@pytest.mark.parametrize("stage", ["check", "staging"])
def test_what_the_other_run_did_is_not_held_against_this_one(
    bench: Bench, monkeypatch: Patch, stage: str
) -> None:
    """Looked up as new; then its twin spends all of the budget, and its folder is there."""
    owner: Any = Ledger if stage == "check" else publish
    original, entered = getattr(owner, stage), []

    def late(*given: Any, **named: Any) -> Any:
        entered.append(1)
        if len(entered) == 1:
            bench.run()
        return original(*given, **named)

    monkeypatch.setattr(owner, stage, late)
    with pytest.raises(DrawnBeforeError, match=r"begun meanwhile.*Run again with the same request"):
        bench.run()
    assert (bench.charge.state, bench.draws) == ("published", 1)
    bench.run()


def test_a_failure_before_the_draw_can_be_continued(bench: Bench, monkeypatch: Patch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise LedgerError("the ledger is locked.")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "start_drawing", fail)
        with pytest.raises(LedgerError) as caught:
            bench.run()
    assert "No noise was drawn. The charge stands" in str(caught.value)
    assert "with the same request id continues it without another charge" in str(caught.value)
    bench.run()
    assert (bench.charge.state, bench.draws) == ("published", 1)


def test_a_failure_after_the_draw_needs_a_new_id(bench: Bench, monkeypatch: Patch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("Zaphod's records")

    with monkeypatch.context() as patch:
        patch.setattr(Talk, "finish", fail)
        with pytest.raises(CrowdtallyError, match="Run again with a new request id to charge"):
            bench.run()
    with pytest.raises(DrawnBeforeError, match="is gone: that run has ended without a release"):
        bench.run()


@pytest.mark.parametrize("stage", ["start_drawing", "mark_published"])
def test_voided_meanwhile(bench: Bench, monkeypatch: Patch, stage: str) -> None:
    original = getattr(Ledger, stage)

    def void_first(ledger: Ledger, *given: Any, **named: Any) -> None:
        ledger.void(given[0], "a slip", delete_staged=True)
        original(ledger, *given, **named)

    monkeypatch.setattr(Ledger, stage, void_first)
    with pytest.raises(VoidedError, match="Run again with a new request id to charge and release"):
        bench.run()
    assert bench.charge.state == "voided"
    assert bench.left() == []


def test_another_version_continues_and_shows(bench: Bench, monkeypatch: Patch) -> None:
    """An upgrade between the two runs does not make it another request."""

    def charge_of(*_: object, **__: object) -> Charge:
        part = Part("items", ONE, "discrete-laplace")
        return Charge("a-new-id", ONE, (part,), versions={"crowdtally": "99"})

    dies(bench, monkeypatch, Ledger, "start_drawing")
    monkeypatch.setattr(publish, "charge_of", charge_of)
    bench.run()
    bench.run()
    assert bench.draws == 1
    assert bench.charge.charge.release_id != "a-new-id"
