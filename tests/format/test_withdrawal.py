"""The note beside a release that calls it back: whole or not at all, and never ignored."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import crowdtally as ct
from crowdtally import format
from crowdtally.core import files
from crowdtally.format.withdrawal import FILE, SCHEMA, command, note_in, write_note
from kit.stored import hamlet

TIME, REASON = "2026-11-17T08:00:00+00:00", "a district was missing in the list"


def noted(folder: Path, **other: Any) -> Path:
    """A folder with a note; of the release ``r1`` unless told otherwise."""
    facts = {"schema": SCHEMA, "release": "r1", "time": TIME, "reason": REASON} | other
    left = {name: value for name, value in facts.items() if value is not ...}
    (folder / FILE).write_text(json.dumps(left))
    return folder


def test_what_is_written_is_read(tmp_path: Path) -> None:
    for reason in (REASON, "zwei\nZeilen\x1b[2J", "<b>& \u202eback</b>", "é" * 2000):
        write_note(tmp_path, "r1", TIME, reason)
        note = note_in(tmp_path, "r1")
        assert note is not None
        assert (note.time, note.reason, note.damage, note.date) == (
            TIME, reason, None, "2026-11-17",
        )  # fmt: skip
        assert str(note).isprintable()
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_no_note(tmp_path: Path) -> None:
    assert note_in(tmp_path, "r1") is None
    assert note_in(tmp_path / "nowhere", "r1") is None


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            {"schema": "crowdtally-withdrawal/2"},
            "schema must be one of the known texts, and is",
        ),
        ({"schema": ...}, "it lacks 'schema'"),
        ({"release": "r2"}, "is about the release 'r2', and this one is 'r1'"),
        ({"release": ...}, "it lacks 'release'"),
        ({"time": "yesterday"}, "it must have a time with its zone"),
        ({"time": "2026-11-17T08:00:00"}, "it must have a time with its zone"),
        ({"time": 7}, "time must be a text, and is 7"),
        ({"reason": ""}, "it must have a reason"),
        ({"reason": None}, "reason must be a text, and is null"),
        ({"reason": "\udcff"}, "it is not the JSON"),
    ],
)
def test_a_note_that_says_something_else_is_a_damaged_one(
    other: dict[str, Any], words: str, tmp_path: Path
) -> None:
    note = note_in(noted(tmp_path, **other), "r1")
    assert note is not None
    assert words in str(note.damage)
    assert (note.time, note.reason, note.date) == (None, None, None)
    assert str(note).startswith("marked as withdrawn, but the note that says when and why is")


def test_fields_that_a_later_version_adds_are_left_alone(tmp_path: Path) -> None:
    note = note_in(noted(tmp_path, successor="r2"), "r1")
    assert note is not None
    assert note.reason == REASON


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 10**5, b" " * (1 << 20) + b"{}",
     b'{"reason": "a", "reason": "b"}', b'{"reason": NaN}'],
)  # fmt: skip
def test_bytes_that_are_no_note(content: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content)
    note = note_in(tmp_path, "r1")
    assert note is not None
    assert FILE in str(note.damage)


def test_what_is_not_a_file_is_not_waited_for(tmp_path: Path) -> None:
    for number, make in enumerate((os.mkdir, os.mkfifo, lambda path: os.symlink("nowhere", path))):
        folder = tmp_path / str(number)
        folder.mkdir()
        make(folder / FILE)
        note = note_in(folder, "r1")
        assert note is not None, make
        reasons = ("Is a directory", "it is not a regular file", "No such file or directory")
        assert note.damage == f"{FILE} cannot be read: {reasons[number]}"


@pytest.mark.parametrize("fails", ["write", "flush", "replace"])
def test_a_failure_leaves_the_note_that_was_there(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def half(path: Path, raw: bytes) -> None:
        with path.open("wb") as file:
            file.write(raw[:9])
        fail()

    before = noted(tmp_path) / FILE
    content = before.read_bytes()
    match fails:
        case "write":
            monkeypatch.setattr(Path, "write_bytes", half)
        case "flush":
            monkeypatch.setattr(files, "flush", fail)
        case "replace":
            monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_note(tmp_path, "r1", TIME, "another reason")
    assert before.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_the_note_is_flushed_before_it_gets_its_name_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    flush, replace = files.flush, os.replace
    monkeypatch.setattr(files, "flush", lambda path: (events.append(path.suffix), flush(path)))
    monkeypatch.setattr(os, "replace", lambda *a: (events.append("replace"), replace(*a)))
    write_note(tmp_path, "r1", TIME, REASON)
    assert events == [".part", "replace", ""]


def test_a_copy_is_withdrawn_too(tmp_path: Path) -> None:
    release = hamlet(tmp_path)
    assert release.withdrawn is None
    assert release.save(tmp_path / "before").withdrawn is None
    write_note(release.folder, release.metadata["id"], TIME, REASON)
    copy = release.save(tmp_path / "after")
    assert str(copy.withdrawn) == f"withdrawn on 2026-11-17: {REASON}"
    assert (copy.folder / FILE).read_bytes() == (release.folder / FILE).read_bytes()
    (release.folder / FILE).write_bytes(b"torn")
    torn = release.save(tmp_path / "torn").withdrawn
    assert torn is not None
    assert torn.damage is not None
    (release.folder / FILE).unlink()
    (release.folder / FILE).mkdir()
    with pytest.raises(ct.InputError, match=r"withdrawn\.json cannot be read: Is a directory"):
        release.save(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_release_that_is_open_sees_it(tmp_path: Path) -> None:
    release = hamlet(tmp_path)
    answer = str(release.top(3))
    write_note(release.folder, release.metadata["id"], TIME, REASON)
    assert release.withdrawn is not None
    assert str(release.top(3)) == answer
    told: list[str] = []
    format.load(release.folder, told.append)
    assert told == [f"withdrawn on 2026-11-17: {REASON} (the release {str(release.folder)!r})"]


def test_the_command_can_be_typed() -> None:
    assert command(Path("my town"), "a;b.sqlite") == (
        "crowdtally withdraw 'my town' --ledger 'a;b.sqlite' --reason TEXT"
    )
