"""A comparison's folder: whole files, and never runs of other records or settings."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from crowdtally.errors import UsageError
from crowdtally.lab.comparison import run
from crowdtally.lab.comparison.run import Folder, Outcome, Unit, check_folder
from crowdtally.lab.comparison.summary import Setting

DATA = {"records": 7, "users": 3, "digest": "ab"}
SETTINGS = {"count": "records", "cap": "5"}
UNIT = Unit(Setting("sra/filter", "1/3", 10), 0)
OUTCOME = Outcome(UNIT, ((("items", "mae", None, 0.5), ("items", "precision", 3, 1.0)),) * 2)


def _open(path: Path) -> Folder:
    return Folder.open(path, DATA, SETTINGS)


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    folder = _open(tmp_path / "cmp")
    assert folder.outcome(UNIT) is None
    folder.keep(OUTCOME)
    again = _open(tmp_path / "cmp")
    assert again.outcome(UNIT, 2) == OUTCOME
    assert (again.seed, again.started) == (folder.seed, folder.started)
    assert again.outcome(Unit(UNIT.setting, 1)) is None
    assert again.outcome(Unit(Setting("sra/filter", "3", 10), 0)) is None


def test_fewer_noises_than_asked_for_are_not_enough(tmp_path: Path) -> None:
    folder = _open(tmp_path / "cmp")
    folder.keep(OUTCOME)
    assert folder.outcome(UNIT, 3) is None
    assert len(list(OUTCOME.measured(1))) == 2


def test_a_damaged_unit_is_run_again(tmp_path: Path) -> None:
    folder = _open(tmp_path / "cmp")
    folder.keep(OUTCOME)
    (file,) = (tmp_path / "cmp" / "runs").iterdir()
    for damage in (b"", file.read_bytes()[:50], b"[]", b'{"unit": 1}'):
        file.write_bytes(damage)
        assert folder.outcome(UNIT) is None


def test_each_folder_draws_its_own_keys(tmp_path: Path) -> None:
    assert _open(tmp_path / "a").seed != _open(tmp_path / "b").seed


def test_a_folder_of_other_data_is_refused_and_left(tmp_path: Path) -> None:
    _open(tmp_path / "cmp").keep(OUTCOME)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.json")}
    with pytest.raises(UsageError, match=r"other data.*7 of 3 there and are 8 of 3 here.*-o DIR"):
        Folder.open(tmp_path / "cmp", {**DATA, "records": 8, "digest": "cd"}, SETTINGS)
    with pytest.raises(UsageError, match=r"other data.*as many records and users"):
        Folder.open(tmp_path / "cmp", {**DATA, "digest": "cd"}, SETTINGS)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.json")} == before


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({**SETTINGS, "cap": "6"}, "cap: 5 there, 6 here"),
        ({"count": "records"}, "cap: 5 there, not given here"),
        ({**SETTINGS, "size": "1"}, "size: not given there, 1 here"),
    ],
)
def test_a_folder_with_other_settings_is_refused(
    tmp_path: Path, settings: dict[str, str], words: str
) -> None:
    _open(tmp_path / "cmp")
    with pytest.raises(UsageError, match=words):
        Folder.open(tmp_path / "cmp", DATA, settings)


def test_places_that_are_not_free_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("x")
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "release.json").write_text("{}")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "compare.json").write_text('{"seed": 1}')
    for place, words in {
        "file": "is a file",
        "full": "holds other things",
        "release": "lies in the release",
        "release/inside": "lies in the release",
        "no/such": "there is no folder",
    }.items():
        with pytest.raises(UsageError, match=words):
            check_folder(tmp_path / place)
    with pytest.raises(UsageError, match="damaged"):
        _open(tmp_path / "damaged")
    (tmp_path / "empty").mkdir()
    check_folder(tmp_path / "empty")


def test_every_file_says_that_it_is_not_private(tmp_path: Path) -> None:
    _open(tmp_path / "cmp").keep(OUTCOME)
    files = list((tmp_path / "cmp").rglob("*.json"))
    assert len(files) == 2
    for file in files:
        assert next(iter(json.loads(file.read_bytes()))) == "warning"
        assert b"NOT PRIVATE" in file.read_bytes()[:40]


def test_what_was_kept_first_stays(tmp_path: Path) -> None:
    """Two processes with one folder show the same numbers: those that are there."""
    folder = _open(tmp_path / "cmp")
    folder.keep(OUTCOME)
    folder.keep(Outcome(UNIT, ((("items", "mae", None, 9.0),),) * 2))
    assert folder.outcome(UNIT) == OUTCOME
    longer = Outcome(UNIT, ((("items", "mae", None, 9.0),),) * 3)
    folder.keep(longer)
    assert folder.outcome(UNIT) == longer


@pytest.mark.parametrize("links", [True, False])
def test_of_two_that_begin_at_once_the_first_has_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Another process, of other data, made the manifest after we found none."""
    begin = run._begin

    def late(manifest: Path, data: dict[str, object], settings: dict[str, object]) -> None:
        begin(manifest, {**DATA, "digest": "cd"}, SETTINGS)
        begin(manifest, data, settings)

    def no_links(*paths: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if links:
        monkeypatch.setattr(run, "_begin", late)
        with pytest.raises(UsageError, match="other data"):
            _open(tmp_path / "cmp")
    else:
        monkeypatch.setattr(os, "link", no_links)
        assert _open(tmp_path / "cmp").seed == _open(tmp_path / "cmp").seed
    assert [path.name for path in (tmp_path / "cmp").iterdir()] == ["compare.json"]


def test_a_full_disk_names_the_file_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _open(tmp_path / "cmp")

    def full(path: Path, text: str, encoding: str) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*sra_filter-l10-e1_3-k0\.json'"):
        folder.keep(OUTCOME)
    assert list((tmp_path / "cmp" / "runs").iterdir()) == []


@pytest.mark.parametrize(
    "damage",
    [{"seed": "x"}, {"started": "2"}, {"started": 2}, {"data": [1]}, {"settings": "a"}],
)
def test_a_manifest_with_other_fields_is_damaged(tmp_path: Path, damage: dict[str, object]) -> None:
    _open(tmp_path / "cmp")
    manifest = tmp_path / "cmp" / "compare.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_bytes()) | damage))
    with pytest.raises(UsageError, match="is damaged, or of something else"):
        _open(tmp_path / "cmp")
