"""``crowdtally withdraw``: in the ledger first, then for the readers; the charge stays."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally import api
from crowdtally.core import files
from crowdtally.core.privacy import Epsilon, PrivacyUnit
from crowdtally.format.withdrawal import FILE
from crowdtally.ledger import Charge, Ledger, Part
from crowdtally.ledger.events import Withdrawn
from kit.command import FAILURE, INPUT, USAGE, Ended, crowdtally
from kit.damage import edit
from kit.stored import hamlet

REASON = "a district was missing in the list"
NOBODY = 65534
DIES = """
import os, signal, sys
from crowdtally import cli, api as withdrawing
from crowdtally.ledger import Ledger

owner, name = {"entry": (Ledger, "withdraw"), "note": (withdrawing, "write_note"),
               "name": (os, "replace")}[sys.argv.pop(1)]
setattr(owner, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
cli.main()
"""
WITHOUT_RIGHTS = """
import contextlib, os, sys
from crowdtally import cli

first, second, ledger, uid = sys.argv[1:]
sys.argv[1:] = ["withdraw", first, "--reason", "loads all modules", "--ledger", ledger]
with contextlib.suppress(SystemExit):
    cli.main()
os.setgroups([])
os.setgid(int(uid))
os.setuid(int(uid))
sys.argv[2] = second
cli.main()
"""


@dataclass(frozen=True)
class Place:
    """A release and the ledger that paid for it."""

    folder: Path
    books: Path

    def withdraw(self, reason: str = REASON) -> Ended:
        return crowdtally("withdraw", self.folder, "--reason", reason, "--ledger", self.books)

    def check(self, *more: str) -> Ended:
        return crowdtally("check", self.folder, "--ledger", self.books, *more)

    @property
    def note(self) -> Path:
        return self.folder / FILE

    @property
    def id(self) -> str:
        return str(json.loads((self.folder / "release.json").read_text())["id"])

    def recorded(self) -> list[str]:
        """The reasons of all withdrawals in the ledger."""
        with Ledger.open(self.books) as ledger:
            assert ledger.verify().ok
            events = [entry.event for entry in ledger.entries()]
        return [event.reason for event in events if isinstance(event, Withdrawn)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(hamlet(tmp_path).folder, tmp_path / "ledger.sqlite")


def test_it_is_recorded_noted_and_the_charge_stays(place: Place) -> None:
    before, spent = (place.folder / "release.json").read_bytes(), _spent(place)
    ended = place.withdraw()
    assert (ended.code, ended.err) == (0, ""), str(ended)
    with Ledger.open(place.books) as ledger:
        (charged,) = ledger.charges()
    assert charged.withdrawn is not None
    assert json.loads(place.note.read_text()) == {
        "schema": "crowdtally-withdrawal/1", "release": place.id,
        "time": charged.withdrawn.time, "reason": REASON,
    }  # fmt: skip
    first, *_, last = ended.out.splitlines()
    assert first == f"withdrawn on {charged.withdrawn.time[:10]}: {REASON}"
    assert last.startswith(f"The charge stays (entry {charged.id} of dataset 'made': epsilon 1")
    assert (_spent(place), charged.state) == (spent, "published")
    assert (place.folder / "release.json").read_bytes() == before
    assert place.check().code == 0
    assert crowdtally("top", place.folder).err.startswith(first)


def _spent(place: Place) -> object:
    with Ledger.open(place.books) as ledger:
        return ledger.balance("made").spent


def test_what_was_said_first_stands(place: Place) -> None:
    assert place.withdraw().code == 0
    content = place.note.read_bytes()
    same = place.withdraw()
    assert same.code == 0
    assert "got no second entry.\nIts note was there already" in same.out
    other = place.withdraw("something else")
    assert other.code == 0
    assert other.out.splitlines()[0].endswith(REASON)
    assert "What was said first stands: the reason given now was not recorded." in other.out
    assert (place.recorded(), place.note.read_bytes()) == ([REASON], content)


def test_the_entry_comes_before_the_note(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    write, seen = api.write_note, []

    def look(*given: object) -> None:
        seen.append(place.recorded())
        write(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(api, "write_note", look)
    assert place.withdraw().code == 0
    assert seen == [[REASON]]


@pytest.mark.parametrize("moment", ["entry", "note", "name"])
def test_killed_at_any_step_and_run_again(moment: str, place: Place) -> None:
    words = ["withdraw", str(place.folder), "--reason", REASON, "--ledger", str(place.books)]
    done = subprocess.run([sys.executable, "-c", DIES, moment, *words], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not place.note.exists()
    assert place.recorded() == ([] if moment == "entry" else [REASON])
    if moment != "entry":
        told = place.check()
        assert told.code == 0, str(told)
        assert told.err.startswith("withdrawn on ")
        assert f"note  the ledger says that it was withdrawn, and this folder has no {FILE}" in (
            told.out
        )
        assert f"`crowdtally withdraw {place.folder} --ledger {place.books} --reason TEXT`" in (
            told.out
        )
        assert "no withdrawn.json" in json.loads(place.check("--json").out)["incomplete"]
    again = place.withdraw("later words")
    assert again.code == 0, str(again)
    assert ("Its note was missing, and is written now" in again.out) == (moment != "entry")
    said = "later words" if moment == "entry" else REASON
    assert place.recorded() == [said]
    assert json.loads(place.note.read_text())["reason"] == said
    assert json.loads(place.check("--json").out)["incomplete"] is None


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("", "--reason must say why the release is withdrawn, in words for its readers"),
        (" \n", "--reason must say why"),
        ("x" * 2001, "--reason must have at most 2000 characters, and has 2001"),
        ("\udcff", "--reason must be text in UTF-8"),
    ],
)
def test_a_reason_that_is_none(reason: str, words: str, place: Place) -> None:
    ended = place.withdraw(reason)
    assert (ended.code, ended.out) == (USAGE, "")
    assert words in ended.err
    assert "Nothing was changed." in ended.err
    assert (place.recorded(), place.note.exists()) == ([], False)


def test_without_a_reason_or_a_release(place: Place, tmp_path: Path) -> None:
    missing = crowdtally("withdraw", place.folder, "--ledger", place.books)
    assert missing.code == USAGE
    assert "Missing option '--reason'" in missing.err
    assert crowdtally("withdraw", "--reason", REASON).code == USAGE
    nowhere = crowdtally("withdraw", tmp_path, "--reason", REASON, "--ledger", place.books)
    assert nowhere.code == INPUT
    assert "is not a release: it has no release.json" in nowhere.err
    assert place.recorded() == []


def test_a_ledger_that_does_not_know_it(place: Place, tmp_path: Path) -> None:
    none = Place(place.folder, tmp_path / "none.sqlite")
    assert none.withdraw().code == FAILURE
    assert not none.books.exists(), "a ledger is not made for this"
    other = Place(place.folder, tmp_path / "other.sqlite")
    Ledger.open(other.books, create=True).close()
    ended = other.withdraw()
    assert ended.code == USAGE
    assert f"knows no release '{place.id}'. Name the ledger" in ended.err
    assert not place.note.exists()


@pytest.mark.parametrize("state", ["reserved", "drawing", "voided"])
def test_what_was_not_published_is_not_withdrawn(state: str, place: Place, tmp_path: Path) -> None:
    books, one = tmp_path / "other.sqlite", Epsilon.of("1")
    with Ledger.open(books, create=True) as ledger:
        charge = Charge(place.id, one, (Part("items", one, "discrete-laplace"),))
        user = PrivacyUnit("user", "user")
        made = ledger.reserve("made", user, charge, new_dataset=True)
        if state == "drawing":
            ledger.start_drawing(made.id)
        if state == "voided":
            ledger.void(made.id, "a try")
    ended = Place(place.folder, books).withdraw()
    assert ended.code == USAGE
    assert f"is {state}, and only what was published can be withdrawn. Nothing" in ended.err
    assert not place.note.exists()
    assert Place(place.folder, books).recorded() == []


def test_a_folder_that_is_another_release_under_its_id(place: Place) -> None:
    edit(place.folder, lambda facts: facts["versions"].update(crowdtally="9"))
    ended = place.withdraw()
    assert ended.code == INPUT
    assert "is not the release that the ledger knows by its id" in ended.err
    assert (place.recorded(), place.note.exists()) == ([], False)


def test_a_note_that_cannot_be_put_there(place: Place) -> None:
    place.note.mkdir()
    (place.note / "something").touch()
    ended = place.withdraw()
    assert (ended.code, ended.out) == (FAILURE, "")
    assert "the ledger says now that the release was withdrawn on" in ended.err
    assert f"'{place.note}', could not be written: " in ended.err
    assert "Readers of this folder are not told yet." in ended.err
    assert "The charge stays." in ended.err
    assert place.recorded() == [REASON]
    shutil.rmtree(place.note)
    assert place.withdraw().code == 0
    assert place.recorded() == [REASON]


@pytest.mark.skipif(os.geteuid() != 0, reason="rights can be dropped by root only")
def test_a_folder_that_one_may_only_read() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as base:  # where everybody may look
        Path(base).chmod(0o755)
        _only_read(Path(base))


def _only_read(tmp_path: Path) -> None:
    places = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        places.append(hamlet(tmp_path, name=f"{name}/out").folder)
    books = tmp_path / "ledger.sqlite"
    for path in (tmp_path, books):
        os.chown(path, NOBODY, NOBODY)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_RIGHTS, *map(str, (*places, books, NOBODY))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == FAILURE, done.stderr
    assert f"'{places[1] / FILE}', could not be written: Permission denied." in done.stderr
    assert [path.name for path in places[1].iterdir() if "withdrawn" in path.name] == []
    assert len(Place(places[1], books).recorded()) == 2


def test_a_disk_that_does_not_confirm_is_told_and_asked_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush, asked = files.flush, []

    def unsure(path: Path) -> None:
        asked.append(path)
        raise OSError(5, "Input/output error")

    assert place.withdraw().code == 0
    monkeypatch.setattr(files, "flush", unsure)
    ended = place.withdraw()
    assert ended.code == FAILURE
    assert "Input/output error" in ended.err
    monkeypatch.setattr(files, "flush", lambda path: (asked.append(path), flush(path)))
    asked.clear()
    assert place.withdraw().code == 0
    assert asked == [place.note, place.folder], "a note that is there is flushed again"


def test_a_copy_elsewhere(place: Place, tmp_path: Path) -> None:
    before = Place(shutil.copytree(place.folder, tmp_path / "before"), place.books)
    assert place.withdraw().code == 0
    after = Place(shutil.copytree(place.folder, tmp_path / "after"), place.books)
    assert crowdtally("top", after.folder).err.startswith("withdrawn on ")
    assert crowdtally("top", before.folder).err == "", "an earlier copy cannot know"
    assert before.withdraw().code == 0
    assert before.note.read_bytes() == place.note.read_bytes()
    assert place.recorded() == [REASON]


def test_check_compares_the_note_with_the_ledger(place: Place) -> None:
    place.note.write_text(
        json.dumps({"schema": "crowdtally-withdrawal/1", "release": place.id,
                    "time": "2024-05-06T07:08:09+00:00", "reason": "mischief"})
    )  # fmt: skip
    alone = crowdtally("check", place.folder)
    assert alone.code == 0
    assert alone.err.startswith("withdrawn on 2024-05-06: mischief")
    assert f"ok    {FILE}: the fields of crowdtally-withdrawal/1, about this release" in alone.out
    unknown = place.check()
    assert (unknown.code, unknown.out) == (INPUT, "")
    assert "the ledger does not say that it was withdrawn" in unknown.err
    mended = place.withdraw()
    assert mended.code == 0
    assert "said something else, and was written anew" in mended.out
    assert place.check().out.splitlines()[-1].endswith("SHA-256 of release.json; withdrawn")
    for wrong in (("district", "street"), ("T", "T0")):
        whole = place.note.read_text()
        facts = json.loads(whole)
        facts["reason"] = facts["reason"].replace(*wrong)
        facts["time"] = facts["time"].replace("+00:00", "+01:00" if wrong[0] == "T" else "+00:00")
        place.note.write_text(json.dumps(facts))
        other = place.check()
        assert (other.code, other.out) == (INPUT, "")
        assert "writes it anew, as the ledger has it" in other.err
        place.note.write_text(whole)
    place.note.write_text("{}")
    for torn in (crowdtally("check", place.folder), place.check()):
        assert torn.code == INPUT
        assert "the note that says when and why is damaged: withdrawn.json: it lacks" in torn.err
    assert place.withdraw().code == 0
    assert place.check().code == 0


def test_in_python(place: Place) -> None:
    release = ct.load(place.folder)
    with pytest.raises(ct.UsageError, match=r"^reason must say why"):
        ct.withdraw(release, reason="", ledger=place.books)
    with pytest.raises(ct.UsageError, match="received a int"):
        ct.withdraw(7, reason=REASON, ledger=place.books)  # type: ignore[arg-type]
    with Ledger.open(place.books) as ledger:
        done = ct.withdraw(release, reason=REASON, ledger=ledger)
    assert done.note == release.withdrawn
    assert (done.again, done.charged.dataset) == (False, "made")
    assert ct.withdraw(place.folder, reason=REASON, ledger=place.books).again
    assert place.recorded() == [REASON]


def test_reasons_are_printed_harmless(place: Place) -> None:
    ended = place.withdraw("\x1b[2J<b>\nx")
    assert ended.code == 0
    assert ended.out.startswith("withdrawn on ")
    assert all(line.isprintable() for line in ended.out.split("\n"))
    assert place.recorded() == ["\x1b[2J<b>\nx"]
