"""A pipe or a device in place of a file of a release is refused, and nobody waits for it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.core import files
from crowdtally.errors import InputError
from crowdtally.format import tables
from kit.command import crowdtally
from kit.served import serving
from kit.stored import stored

SECONDS = 20
Fresh = Callable[..., Path]
INSTEAD: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "link to a pipe": lambda path: (os.mkfifo(path.with_name("p")), path.symlink_to("p")),
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "empty device": lambda path: path.symlink_to("/dev/null"),
}
FILES = ("release.json", "datapackage.json", "items.parquet", "withdrawn.json")


@contextmanager
def _at_once() -> Iterator[None]:
    """Fail where somebody waits."""

    def stop(*_: object) -> None:
        pytest.fail("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _replaced(path: Path, instead: str) -> Path:
    path.unlink(missing_ok=True)
    INSTEAD[instead](path)
    return path


OPENED: dict[str, Callable[[Path], Any]] = {
    "content": files.content,
    "digest": files.digest,
    "columns": tables.opened,
    "notes": tables.notes_in,
    "rows": lambda path: list(tables.read(path, ["count"], 10)),
    "question": lambda path: tables.ask(path, "SELECT count(*) FROM release"),
    "relation": tables.relation,
}


@pytest.mark.parametrize("how", OPENED)
@pytest.mark.parametrize("instead", INSTEAD)
def test_nothing_but_a_regular_file_is_opened(how: str, instead: str, tmp_path: Path) -> None:
    path = _replaced(tmp_path / "table.parquet", instead)
    with _at_once(), pytest.raises((OSError, InputError), match=r"regular file|cannot be read"):
        OPENED[how](path)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("instead", ["pipe", "endless device"])
def test_commands_refuse_a_folder_with_such_a_file(name: str, instead: str, fresh: Fresh) -> None:
    folder = fresh("plain")
    path = _replaced(folder / name, instead)
    for verb in ("check", "top", "describe"):
        with _at_once():
            ended = crowdtally(verb, folder)
        assert "Traceback" not in ended.err
        assert "unforeseen" not in ended.err
        if name in ("release.json", "items.parquet"):
            assert ended.code == 4
            assert f"'{path}' cannot be read: it is not a regular file." in ended.err


@pytest.mark.parametrize("name", FILES)
def test_a_copy_of_such_a_folder_is_refused(name: str, fresh: Fresh, tmp_path: Path) -> None:
    release = ct.load(fresh("plain"))
    _replaced(release.folder / name, "pipe")
    with _at_once(), pytest.raises(InputError, match="regular file"):
        release.save(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="files cannot be opened again")
def test_a_table_that_is_exchanged_after_it_was_looked_at(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB opens the very file that was found to be a regular one."""
    path = fresh("plain") / "items.parquet"
    wanted = tables.ask(path, "SELECT count FROM release").fetchall()
    really = files.again

    def exchanged(file: Any, name: Path) -> Path:
        found = really(file, name)
        _replaced(path, "pipe")
        return found

    monkeypatch.setattr(files, "again", exchanged)
    with _at_once():
        assert tables.ask(path, "SELECT count FROM release").fetchall() == wanted


def test_two_tables_in_turn_are_not_mixed_up(fresh: Fresh, tmp_path: Path) -> None:
    """Both are opened again under the same number."""
    one = fresh("plain") / "items.parquet"
    other = shutil.copy(one, tmp_path / "other.parquet")
    connection = tables._database(os.getpid(), True).cursor()
    connection.execute(f"COPY (SELECT 7 AS count FROM range(3)) TO '{other}' (FORMAT parquet)")
    for _ in range(3):
        assert tables.ask(one, "SELECT count(*) FROM release").fetchall() != [(3,)]
        assert tables.ask(Path(other), "SELECT sum(count) FROM release").fetchall() == [(21,)]


@pytest.mark.parametrize("name", ["release.json", "datapackage.json", "items.parquet"])
def test_a_server_answers_others_meanwhile(name: str, fresh: Fresh) -> None:
    """Each question to such a folder took a thread for ever."""
    folder = fresh("plain")
    releases = [ct.load(folder), ct.load(stored("sra-one-context"))]
    with serving(releases) as server:
        server.until_ready()
        _replaced(folder / name, "pipe")
        for _ in range(8):
            for page in ("top.json", f"files/{name}"):
                assert server.ask(f"/r/release/{page}").status in (200, 409, 410)
        assert server.ask("/r/release/files/items.parquet").status in (200, 410)
        assert server.ask("/r/sra-one-context/top.json").status == 200
