"""What happens to a release while it is served, which of its files are given, and what is not."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.core.deadline import TooMuchError
from crowdtally.errors import InputError
from crowdtally.format import tables
from crowdtally.format.withdrawal import write_note
from crowdtally.reader.server import releases as module
from crowdtally.reader.server.releases import Opened, Shelf, slug
from kit.pages import Served, serving
from kit.stored import hamlet, stored

ASKED = ("", "top", "top.json", "sum.json", "downloads", "files/items.parquet", "search?q=zoo")
Two = tuple[Served, Path]
"""A server, and the folder of its first release."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release that is copied, not changed."""
    folder = tmp_path_factory.mktemp("made")
    return hamlet(folder, name="first").folder


@contextmanager
def _looked_at(folder: Path) -> Iterator[Two]:
    """A server of two releases, of which the first has been looked at."""
    with serving([ct.load(folder), ct.load(stored("sra-items"))]) as server:
        server.until_ready()
        for path in ASKED:
            assert server.ask(f"/r/first/{path}").status == 200, path
        yield server, folder


@pytest.fixture
def two(tmp_path: Path, made: Path) -> Iterator[Two]:
    """Of these the first may be changed."""
    with _looked_at(Path(shutil.copytree(made, tmp_path / "first"))) as found:
        yield found


@pytest.fixture(scope="module")
def still(made: Path) -> Iterator[Two]:
    """These stay as they are."""
    with _looked_at(made) as found:
        yield found


def _refused(server: Served, words: str, folder: Path) -> None:
    for path in ASKED:
        answer = server.ask(f"/r/first/{path}")
        assert answer.status == 410, path
        assert words in answer.text, path
        assert str(folder.parent) not in answer.text, "where it lies is nobody's business"
    assert server.ask("/compare?earlier=first&later=sra-items").status == 410
    assert server.ask("/r/sra-items/top.json").status == 200, "the other is served"
    assert server.ask("/").status == 200
    assert server.ask("/releases.json").status == 200


def _withdraw(folder: Path) -> None:
    write_note(
        folder,
        ct.load(folder).metadata["id"],
        "2026-11-17T08:00:00+00:00",
        "a <b>list</b> was wrong",
    )


def test_one_that_is_withdrawn_is_not_answered_any_more(two: Two) -> None:
    server, folder = two
    _withdraw(folder)
    _refused(server, "was wrong", folder)
    assert "<b>list" not in server.ask("/r/first/").text
    assert "Withdrawn." in server.ask("/").text


def test_a_note_that_is_damaged_counts_too(two: Two) -> None:
    server, folder = two
    (folder / "withdrawn.json").write_text("{")
    _refused(server, "the note that says when and why is damaged", folder)


def test_one_that_was_withdrawn_before_says_so_on_every_page(tmp_path: Path, made: Path) -> None:
    shutil.copytree(made, tmp_path / "first")
    _withdraw(tmp_path / "first")
    with serving([ct.load(tmp_path / "first")]) as server:
        server.until_ready()
        for path in ("", "top", "map", "sum", "report", "downloads", "search", "item?item=zoo"):
            answer = server.ask(f"/r/first/{path}")
            assert answer.status == 200
            assert 'aria-label="Withdrawn"' in answer.text or "Withdrawn" in answer.text, path


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a bit": (lambda folder: _flip(folder / "items.parquet"), "not the file that was released"),
    "another table": (
        lambda folder: shutil.copy(folder / "edges.parquet", folder / "items.parquet"),
        "not the file that was released",
    ),
    "no table": (lambda folder: (folder / "edges.parquet").unlink(), "gone"),
    "an empty table": (
        lambda folder: (folder / "items.parquet").write_bytes(b""),
        "not the file that was released",
    ),
    "a folder": (
        lambda folder: ((folder / "items.parquet").unlink(), (folder / "items.parquet").mkdir()),
        "lacks its table",
    ),
    "metadata": (
        lambda folder: (folder / "release.json").write_text("{}"), "not the one that was opened",
    ),
    "the whole folder": (lambda folder: folder.rename(folder.with_name("gone")), "gone"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_one_that_is_damaged_is_not_answered_any_more(two: Two, damage: str) -> None:
    server, folder = two
    do, words = DAMAGES[damage]
    do(folder)
    _refused(server, words, folder)


def test_one_that_is_put_right_is_answered_again(two: Two) -> None:
    server, folder = two
    before = server.ask("/r/first/top.json").text
    folder.rename(folder.with_name("elsewhere"))
    assert server.ask("/r/first/top.json").status == 410
    folder.with_name("elsewhere").rename(folder)
    assert server.ask("/r/first/top.json").text == before


def test_another_release_in_its_place_is_not_mistaken_for_it(two: Two) -> None:
    server, folder = two
    shutil.rmtree(folder)
    shutil.copytree(stored("sra-items"), folder)
    _refused(server, "gone", folder)


def test_files_are_given_as_they_are(still: Two) -> None:
    server, folder = still
    for name in ("release.json", "items.parquet", "edges.parquet", "datapackage.json"):
        answer = server.ask(f"/r/first/files/{name}")
        wanted = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        assert hashlib.sha256(answer.body).hexdigest() == wanted
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        part = server.ask(f"/r/first/files/{name}", headers={"Range": "bytes=2-5"})
        assert (part.status, part.body) == (206, (folder / name).read_bytes()[2:6])


@pytest.mark.parametrize(
    "name",
    ["..", "../first/release.json", "..%2fsecret.txt", "%2e%2e%2fsecret.txt", "secret.txt",
     "..%5csecret.txt", "%2fetc%2fpasswd", "release.json%00", "release.json%2f", "RELEASE.JSON",
     "withdrawn.json", "ledger.sqlite", "nothing.parquet", ".", "release.json/../secret.txt",
     "....//secret.txt", "%252e%252e%252fsecret.txt", "release.json;x"],
)  # fmt: skip
def test_no_other_file_is_given(still: Two, name: str) -> None:
    server, folder = still
    for place in (folder, folder.parent):
        (place / "secret.txt").write_text("unspoken")
    answer = server.ask(f"/r/first/files/{name}")
    assert answer.status == 404
    assert b"unspoken" not in answer.body


def test_a_link_out_of_the_folder_is_not_followed(two: Two) -> None:
    server, folder = two
    outside = folder.with_name("outside.parquet")
    (folder / "items.parquet").rename(outside)
    (folder / "items.parquet").symlink_to(outside)
    assert server.ask("/r/first/files/items.parquet").status == 404
    assert server.ask("/r/first/files/release.json").status == 200


@pytest.mark.parametrize(
    "given", ["bytes=5-1", "bytes=abc", "bytes=-", "lines=1-2", "bytes=99999999999-", "bytes=0-0,"
              + ",".join(f"{one}-{one + 1}" for one in range(0, 900, 3))]
)  # fmt: skip
def test_ranges_that_are_none_are_no_failure(still: Two, given: str) -> None:
    server, _ = still
    answer = server.ask("/r/first/files/release.json", headers={"Range": given})
    assert answer.status in (200, 206, 400, 416)
    assert server.ask("/r/first/").status == 200


@contextmanager
def _while_computing(
    release: ct.Release, monkeypatch: pytest.MonkeyPatch, failing: Exception | None = None
) -> Iterator[tuple[Served, threading.Event]]:
    """A server whose estimates wait until they are let go; then they may fail."""
    go, made = threading.Event(), Opened._made_index

    def wait(self: Opened) -> object:
        go.wait(30)
        if failing is not None:
            raise failing
        return made(self)

    monkeypatch.setattr(Opened, "_made_index", wait)
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    with serving([release]) as server:
        try:
            yield server, go
        finally:
            go.set()


def test_before_there_are_estimates_pages_say_so(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = ct.load(shutil.copytree(made, tmp_path / "town"))
    with _while_computing(town, monkeypatch) as (server, go):
        assert server.ask("/releases.json").json[0]["estimates"] == "computing"
        for path in ("", "top", "top?sort=count", "downloads"):
            answer = server.ask(f"/r/town/{path}")
            assert (answer.status, "Estimates are being computed" in answer.text) == (200, True)
            assert "<noscript><meta" in answer.text
        assert "zoo" in server.ask("/r/town/top").text, "noisy counts are there"
        for path in ("search?q=zoo", "map", "sum?value=day%3DMon", "report", "item?item=zoo"):
            answer = server.ask(f"/r/town/{path}")
            assert answer.status == 200
            assert "as soon as they are there" in answer.text
            query = path.partition("?")[2]
            assert f'hx-get="?{query}"' in answer.text, "what was asked is asked again"
            assert 'hx-target="#content"' in answer.text
        for path in ("top.json", "sum.json", "search.json?q=zoo", "recommend.json", "map.svg"):
            answer = server.ask(f"/r/town/{path}")
            assert answer.status == 409
            assert answer.headers["retry-after"] == "2"
        assert server.ask("/r/town/top.json?raw=yes").status == 200
        go.set()
        server.until_ready()
        assert "being computed" not in server.ask("/r/town/").text
        assert server.ask("/r/town/top.json").json[0]["item"] == "arena"


@pytest.mark.parametrize("failure", [InputError("a table is damaged."), ValueError("nobody knew")])
def test_estimates_that_fail_are_told_and_others_are_made(
    tmp_path: Path, made: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    town = ct.load(shutil.copytree(made, tmp_path / "town"))
    with _while_computing(town, monkeypatch, failure) as (server, go):
        go.set()
        server.until_ready()
        assert server.ask("/releases.json").json[0]["estimates"] == "failed"
        answer = server.ask("/r/town/")
        assert answer.status == 200
        assert "could not be computed" in answer.text
        search = server.ask("/r/town/search?q=zoo")
        assert search.status == (410 if isinstance(failure, InputError) else 500)
        assert "no items to search" not in search.text


def test_one_that_fails_does_not_keep_the_next_from_its_estimates(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = Opened._made_index

    def first_fails(self: Opened) -> object:
        if self.name == "first":
            raise ZeroDivisionError
        return really(self)

    monkeypatch.setattr(Opened, "_made_index", first_fails)
    with serving([ct.load(made), ct.load(stored("sra-items"))]) as server:
        states = [one["estimates"] for one in server.until_ready().ask("/releases.json").json]
    assert states == ["failed", "ready"]


def test_names_in_addresses_are_plain_and_unlike(tmp_path: Path, made: Path) -> None:
    release = ct.load(shutil.copytree(made, tmp_path / "Town (new)!"))
    shelf = Shelf([release, release, ct.load(stored("sra-items"))])
    assert [one.name for one in shelf] == ["town-new", "town-new-2", "sra-items"]
    assert slug(Path("/x/" + "y" * 500)) == "y" * 60
    assert slug(Path("/x/..%2f")) == "2f"


def test_a_release_named_like_anything_is_found_by_its_slug(tmp_path: Path, made: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "<script>alert(1)")
    with serving([ct.load(folder)]) as server:
        answer = server.ask("/r/script-alert-1/")
        assert answer.status == 200
        assert "<script>alert" not in answer.text


def test_questions_at_once_are_all_answered(still: Two) -> None:
    server, _ = still
    found: list[int] = []

    def ask(number: int) -> None:
        found.append(server.ask(f"/r/first/{ASKED[number % len(ASKED)]}").status)

    threads = [threading.Thread(target=ask, args=(one,)) for one in range(60)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [200] * 60


def test_a_question_that_needs_too_much_memory_is_refused(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdtally.reader.server.app.MEMORY", "20MB")
    large = "SELECT count(DISTINCT hash(range)) FROM range(3000000)"
    with serving([ct.load(made)]) as server:
        server.until_ready()
        with pytest.raises(TooMuchError, match="too much memory"):
            tables.ask(made / "items.parquet", large)
        assert server.ask("/r/first/top.json").status == 200
    assert tables.ask(made / "items.parquet", large).fetchall() == [(3_000_000,)]


def test_nothing_is_written_into_a_release(still: Two) -> None:
    server, folder = still
    before = {one.name: one.stat().st_mtime_ns for one in folder.iterdir()}
    for path in ASKED:
        server.ask(f"/r/first/{path}")
    assert {one.name: one.stat().st_mtime_ns for one in folder.iterdir()} == before
    assert os.listdir(folder.parent).count("first") == 1
