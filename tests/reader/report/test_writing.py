"""A report is a new file, whole or not at all."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.core.files import write_new
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.reader.report import page as writing
from crowdtally.web import pages
from kit.stored import stored


@pytest.fixture(scope="module")
def release() -> ct.Release:
    return ct.load(stored("sra-one-context"))


def test_the_ending_says_as_what(release: ct.Release, tmp_path: Path) -> None:
    page = release.report(tmp_path / "report.html")
    assert page.read_text("utf-8").startswith("<!doctype html>")
    told = json.loads(release.report(str(tmp_path / "REPORT.JSON")).read_text("utf-8"))
    assert told == json.loads(release.report_facts().to_json())
    assert sorted(one.name for one in tmp_path.iterdir()) == ["REPORT.JSON", "report.html"]


def test_nothing_is_replaced(release: ct.Release, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    (tmp_path / "link.html").symlink_to(tmp_path / "nowhere")
    for name in ("report.html", "link.html"):
        with pytest.raises(UsageError, match="is never replaced"):
            release.report(tmp_path / name)
    assert (tmp_path / "report.html").read_text() == "mine"
    with pytest.raises(UsageError, match="is never replaced"):
        write_new(tmp_path / "report.html", b"too late")  # it came while the report was made
    assert (tmp_path / "report.html").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [("report", "Type -o report.html"), ("a.docx", "'a.docx'"), ("no/report.html", "create it")],
)
def test_what_cannot_be_written(release: ct.Release, tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        release.report(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing(
    release: ct.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("crowdtally.core.files.flush", full)
    with pytest.raises(CrowdtallyError, match=r"No space left on device\. Check"):
        release.report(tmp_path / "report.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("missing", "name", "extra"),
    [
        ("weasyprint", "a.pdf", "pdf"),
        ("jinja2", "a.html", "report"),
        ("vl_convert", "a.html", "report"),
    ],
)
def test_what_is_not_installed_is_named(
    release: ct.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, name: str,
    extra: str,
) -> None:  # fmt: skip
    pages._environment.cache_clear()  # what an earlier test compiled would do without
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=rf"pip install 'crowdtally\[{extra}\]'"):
        release.report(tmp_path / name)
    assert not list(tmp_path.iterdir())
    release.report(tmp_path / "a.json")  # needs none of them


def test_a_pdf_is_made_without_fetching_anything(tmp_path: Path) -> None:
    pytest.importorskip("weasyprint")
    made = ct.load(stored("sra-items")).report(tmp_path / "report.pdf").read_bytes()
    assert made.startswith(b"%PDF-")
    assert len(made) < 500_000
    with pytest.raises(ValueError, match="nothing from outside"):
        writing._refuse("file:///etc/hostname")
