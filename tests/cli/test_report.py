"""``crowdtally report``: files by their ending, facts on stdout, no trace of a refusal."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import crowdtally as ct
from kit.command import crowdtally
from kit.stored import stored

RELEASE = stored("sra-items")


def test_a_page_and_its_facts(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    ended = crowdtally("report", RELEASE, "-o", page)
    assert (ended.code, ended.out, ended.err) == (0, f"{page}\n", "")
    assert "What can undermine it" in page.read_text("utf-8")
    printed = crowdtally("report", RELEASE, "--json")
    stored = crowdtally("report", RELEASE, "-o", tmp_path / "report.json")
    assert stored.code == 0
    assert json.loads(printed.out) == json.loads((tmp_path / "report.json").read_text("utf-8"))


def test_items_are_shown_by_their_labels(tmp_path: Path) -> None:
    items = ct.load(RELEASE).metadata["domain"]["items"]
    rows = [{items["name"]: item, "title": f"Number {n}"} for n, item in enumerate(items["values"])]
    (tmp_path / "names.jsonl").write_text("\n".join(map(json.dumps, rows)))
    page = tmp_path / "report.html"
    ended = crowdtally("report", RELEASE, "-o", page, "--labels", tmp_path / "names.jsonl")
    assert (ended.code, ended.err) == (0, "")
    assert "Number 0 (" in page.read_text("utf-8")


def test_a_pdf_beside_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdtally.reader.report.page.pdf", lambda facts: b"%PDF-")
    ended = crowdtally("report", RELEASE, "-o", tmp_path / "r.html", "--pdf")
    assert ended.out.split() == [str(tmp_path / "r.html"), str(tmp_path / "r.pdf")]
    assert (tmp_path / "r.pdf").read_bytes() == b"%PDF-"
    again = crowdtally("report", RELEASE, "-o", tmp_path / "other.html", "--pdf")
    assert again.code == 0
    refused = crowdtally("report", RELEASE, "-o", tmp_path / "third.pdf", "--pdf")
    assert refused.out == f"{tmp_path / 'third.pdf'}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((RELEASE,), 2, "-o report.html, or --json alone"),
        ((RELEASE, "--pdf", "--json"), 2, "-o report.html --pdf"),
        ((RELEASE, "-o", "report.txt"), 2, "received 'report.txt'"),
        ((RELEASE, "-o", "there.html", "--pdf"), 2, "'there.pdf' exists"),
        ((Path("nothing"), "-o", "r.html"), 4, "is not a release"),
    ],
)
def test_refusals_leave_nothing(
    arguments: tuple[object, ...], code: int, words: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.pdf").touch()
    ended = crowdtally("report", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err
    assert [one.name for one in tmp_path.iterdir()] == ["there.pdf"]


def test_items_are_named_by_their_labels(tmp_path: Path) -> None:
    first = json.loads(crowdtally("top", RELEASE, "-k", "1", "--json").out)[0]["item"]
    items = ct.load(RELEASE).table("items").fetchall()
    column = ct.load(RELEASE).metadata["domain"]["items"]["name"]
    named = [(row[0], "A <b>name</b>" if row[0] == first else "other") for row in items]
    catalogue = tmp_path / "names.csv"
    with catalogue.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([(column, "title"), *named])
    page = tmp_path / "report.html"
    assert crowdtally("report", RELEASE, "-o", page, "--labels", f"{catalogue}:title").code == 0
    assert "A &lt;b&gt;name&lt;/b&gt;" in page.read_text("utf-8")
    short = tmp_path / "short.csv"
    short.write_text(f"{column},title\n{first},x\n")
    refused = crowdtally("report", RELEASE, "-o", tmp_path / "b.html", "--labels", f"{short}:title")
    assert (refused.code, (tmp_path / "b.html").exists()) == (4, False)
    assert "misses" in refused.err
