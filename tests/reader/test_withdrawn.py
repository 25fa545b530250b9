"""Every reader says first that a release was withdrawn, in words that nothing obeys."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.format.withdrawal import FILE, write_note
from kit.command import crowdtally
from kit.stored import stored

TIME = "2026-11-17T08:00:00+00:00"
EVIL = "<script>alert(1)</script>\x1b[2J\n\x9b2J\u202e"
SHOWN = repr(EVIL)
VERBS = [("top",), ("sum",), ("describe",), ("report", "--json"), ("check",)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A stored release, withdrawn for a reason that would like to run."""
    copy = shutil.copytree(stored("sra-one-context"), tmp_path / "release")
    write_note(copy, ct.load(copy).metadata["id"], TIME, EVIL)
    return copy


def is_harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("verb", VERBS)
def test_it_is_the_first_thing_on_stderr(verb: tuple[str, ...], folder: Path) -> None:
    whole = stored("sra-one-context")
    for more in ((), ("--json",)):
        ended = crowdtally(*verb, folder, *more)
        assert ended.code == 0, str(ended)
        first = f"withdrawn on 2026-11-17: {SHOWN} (the release {str(folder)!r})"
        assert ended.err.splitlines()[0] == first
        assert is_harmless(ended.err)
        assert is_harmless(ended.out)
        before = crowdtally(*verb, whole, *more)
        assert (before.code, before.err) == (0, "")
        if verb[0] in ("top", "sum"):
            assert ended.out == before.out, "its answers stay what they were"


@pytest.mark.parametrize("verb", VERBS[:3])
def test_a_damaged_note_is_not_ignored(verb: tuple[str, ...], folder: Path) -> None:
    (folder / FILE).write_bytes(b"\x1b[2J")
    ended = crowdtally(*verb, folder)
    assert ended.code == 0, str(ended)
    assert ended.err.startswith("marked as withdrawn, but the note that says when and why is dam")


def test_a_description_begins_with_it(folder: Path) -> None:
    found = ct.load(folder).describe()
    assert [section.name for section in found.sections][:2] == ["withdrawal", "what"]
    assert str(found).splitlines()[0] == "Withdrawn"
    assert f"This release was withdrawn on 2026-11-17: {SHOWN}." in found.sections[0].lines
    assert "its charge stays" in found.sections[0].lines[1]
    told = json.loads(found.to_json())
    assert told["withdrawn"] == {"time": TIME, "reason": EVIL, "damage": None}
    before = json.loads(ct.load(stored("sra-one-context")).describe().to_json())
    assert before["withdrawn"] is None
    assert "withdrawal" not in before
    (folder / FILE).write_bytes(b"{}")
    torn = json.loads(ct.load(folder).describe().to_json())
    assert torn["withdrawn"]["damage"] == "withdrawn.json: it lacks 'schema'"


def test_a_reason_that_ends_with_a_stop_gets_no_second_one(folder: Path) -> None:
    write_note(folder, ct.load(folder).metadata["id"], TIME, "A slip.")
    assert ct.load(folder).describe().sections[0].lines[0].endswith(": A slip.")


def test_in_python(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="crowdtally"):
        release = ct.load(folder)
    (told,) = caplog.messages
    assert told.startswith(f"withdrawn on 2026-11-17: {SHOWN}")
    assert release.withdrawn is not None
    assert (release.withdrawn.time, release.withdrawn.reason) == (TIME, EVIL)
    assert repr(release).startswith("<Release withdrawn on 2026-11-17: '<script>")
    assert repr(release).isprintable()
    html = release._repr_html_()
    assert html.index("This release was withdrawn on 2026-11-17") < html.index("<table")
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert html.isprintable()
    for shown in (html, release.describe()._repr_html_()):
        assert "<script" not in shown


def test_releases_without_a_note_are_shown_as_before(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="crowdtally"):
        release = ct.load(stored("sra-one-context"))
    assert caplog.messages == []
    assert release.withdrawn is None
    assert "ithdrawn" not in repr(release) + release._repr_html_() + str(release.describe())
