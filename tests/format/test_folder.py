"""A release's folder: whole or not at all, while it is written, copied or piped."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.check import check_release
from crowdtally.core import files
from crowdtally.core import files as durable
from crowdtally.errors import InputError
from crowdtally.format import load, staging, tables
from crowdtally.format.withdrawal import FILE as NOTE
from crowdtally.format.withdrawal import write_note
from crowdtally.ledger import Ledger
from kit.command import crowdtally
from kit.pages import serving
from kit.stored import hamlet, stored

# ---- A release is there whole or not at all, whatever happens while it is written ----------------


def test_a_failure_in_the_middle_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = durable.flush

    def fail_at_the_tables(path: Path) -> None:
        if path.suffix == ".parquet":
            raise OSError(28, "No space left on device")
        flush(path)

    monkeypatch.setattr(durable, "flush", fail_at_the_tables)
    with pytest.raises(ct.CrowdtallyError, match=r"No space left.*The charge stands") as caught:
        hamlet(tmp_path)
    assert caught.value.exit_code == 1
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.sqlite"]
    (charge,) = Ledger.open(tmp_path / "ledger.sqlite", create=True).charges()
    assert charge.state == "drawing"


def test_an_unforeseen_failure_says_that_the_charge_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("Zaphod's records")

    monkeypatch.setattr(tables, "write", fail)
    with pytest.raises(ct.CrowdtallyError, match="The charge stands") as caught:
        hamlet(tmp_path)
    assert "Zaphod" not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.sqlite"]


KILLED = """
import os, signal, sys
from pathlib import Path
from crowdtally.core import files as durable
from crowdtally.format import tables as parquet
from kit.stored import hamlet

folder = Path(sys.argv[1])
for moment in range(1, 40):
    place = folder / str(moment)
    place.mkdir()
    child = os.fork()
    if child == 0:
        seen = 0

        def dies(function):
            def step(*given, **named):
                global seen
                seen += 1
                if seen == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*given, **named)
            return step

        durable.flush, parquet.write = dies(durable.flush), dies(parquet.write)
        os.rename = dies(os.rename)
        hamlet(place)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(moment, os.waitstatus_to_exitcode(status), flush=True)
    if status == 0:
        break
"""


def test_a_kill_at_any_step_leaves_a_whole_release_or_none(tmp_path: Path) -> None:
    """Before every write, flush and rename: the name appears only with everything under it."""
    tests = str(Path(__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path)],
        capture_output=True, text=True, env=env, timeout=200,
    )  # fmt: skip
    ends = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert ends, done.stderr
    assert len(ends) > 8
    assert {code for _, code in ends[:-1]} == {-9}, done.stderr
    assert ends[-1][1] == 0, done.stderr
    whole = 0
    for moment, _ in ends:
        folder = tmp_path / str(moment)
        out, ledger = folder / "out", Ledger.open(folder / "ledger.sqlite", create=True)
        if out.exists():
            whole += 1
            assert len(ct.load(out).top(3)) == 3
            assert check_release(load(out)).checked[-1].startswith("datapackage.json")
            assert ledger.charges()[0].state == "published"
            digest = hashlib.sha256((out / "release.json").read_bytes()).hexdigest()
            assert ledger.charges()[0].sha256 == digest
        charged = [charge.state for charge in ledger.charges()]
        assert charged in ([], ["reserved"], ["drawing"], ["published"])
        assert bool(charged) or not out.exists()
        stays = {p.name for p in folder.iterdir()} - {"out"}
        assert all(n.startswith(("ledger.sqlite", ".out.")) for n in stays), stays
    assert 0 < whole < len(ends), "some kills came before the rename, some after"


def test_files_are_flushed_before_the_folder_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    flush, rename = durable.flush, os.rename
    monkeypatch.setattr(durable, "flush", lambda path: (events.append(path.name), flush(path)))
    monkeypatch.setattr(os, "rename", lambda *a: (events.append("rename"), rename(*a)))
    hamlet(tmp_path)
    before, after = events[: events.index("rename")], events[events.index("rename") + 1 :]
    files = {"items.parquet", "edges.parquet", "datapackage.json", "release.json"}
    assert files <= set(before)
    assert before[-1].startswith(".out.")
    assert after == [tmp_path.name]


@pytest.mark.parametrize("obstacle", ["file", "folder", "full folder", "link"])
def test_never_over_what_came_in_between(tmp_path: Path, obstacle: str) -> None:
    target = tmp_path / "out"
    with staging(target) as staged:
        (staged.path / "release.json").write_text("{}")
        if obstacle == "file":
            target.write_text("mine")
        elif obstacle == "link":
            target.symlink_to(tmp_path / "nowhere")
        else:
            target.mkdir()
        if obstacle == "full folder":
            (target / "mine").write_text("mine")
        with pytest.raises(ct.UsageError, match="never replaces anything"):
            staged.commit()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    if obstacle == "file":
        assert target.read_text() == "mine"
    if obstacle == "full folder":
        assert (target / "mine").read_text() == "mine"


# ---- A copy of a release, and the site with one, has nothing that its folder merely leads to -----


Fresh = Callable[..., Path]
SECRET = "root:x:0:0: nobody else's business"
ANOTHER = "it is not the file that was released"
TIME = "2026-11-17T08:00:00+00:00"


def lead(path: Path, out: Path) -> None:
    """Let a name in a release lead to a file outside it."""
    out.write_text(SECRET, "utf-8")
    path.unlink(missing_ok=True)
    path.symlink_to(out)


def copies(folder: Path, tmp_path: Path) -> list[Callable[[], object]]:
    release = ct.load(folder)
    target = tmp_path / "copy"
    return [lambda: release.save(target), lambda: release.export(site=target)]


def nothing_was_written(tmp_path: Path, *there: str) -> None:
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(there)


def test_a_package_that_leads_out_is_not_copied(fresh: Fresh, tmp_path: Path) -> None:
    folder = fresh("plain")
    lead(folder / "datapackage.json", tmp_path / "secret")
    for copy in copies(folder, tmp_path):
        with pytest.raises(ct.InputError, match=rf"datapackage\.json' is damaged: {ANOTHER}"):
            copy()
        nothing_was_written(tmp_path, "release", "secret")


def test_a_note_that_leads_out_is_not_copied(fresh: Fresh, tmp_path: Path) -> None:
    folder = fresh("plain")
    lead(folder / NOTE, tmp_path / "secret")
    for copy in copies(folder, tmp_path):
        with pytest.raises(ct.InputError, match="marked as withdrawn, and a copy would not say so"):
            copy()
        nothing_was_written(tmp_path, "release", "secret")


@pytest.mark.parametrize("name", ["release.json", "items.parquet"])
def test_a_file_that_leads_out_since_it_was_opened(name: str, fresh: Fresh, tmp_path: Path) -> None:
    folder = fresh("plain")
    release = ct.load(folder)
    lead(folder / name, tmp_path / "secret")
    with pytest.raises(ct.InputError, match=f"{name}' is damaged: {ANOTHER}"):
        release.save(tmp_path / "copy")
    nothing_was_written(tmp_path, "release", "secret")


def test_a_release_that_was_just_made_is_held_to_its_own_hash(
    made_once: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(made_once("plain"), tmp_path / "release")
    loaded = ct.load(folder)._published
    fresh = type(loaded)(folder, loaded.metadata)
    assert ct.load(fresh.save(tmp_path / "copy").folder).metadata == loaded.metadata
    lead(folder / "release.json", tmp_path / "secret")
    with pytest.raises(ct.InputError, match=rf"release\.json' is damaged: {ANOTHER}"):
        fresh.save(tmp_path / "another")
    nothing_was_written(tmp_path, "release", "copy", "secret")


def test_a_file_that_is_missing_is_named(fresh: Fresh, tmp_path: Path) -> None:
    folder = fresh("plain")
    release = ct.load(folder)
    (folder / "datapackage.json").unlink()
    with pytest.raises(ct.InputError, match=r"lacks its 'datapackage\.json', or it is not a reg"):
        release.save(tmp_path / "copy")
    nothing_was_written(tmp_path, "release")


def test_links_to_the_files_themselves_are_followed(fresh: Fresh, tmp_path: Path) -> None:
    store, folder = fresh("plain", name="store"), tmp_path / "release"
    write_note(store, ct.load(store).metadata["id"], TIME, "a slip")
    folder.mkdir()
    for file in store.iterdir():
        (folder / file.name).symlink_to(file)
    copy = tmp_path / "copy"
    ct.load(folder).save(copy)
    assert not [one for one in copy.iterdir() if one.is_symlink()]
    assert {one.name: one.read_bytes() for one in copy.iterdir()} == {
        one.name: one.read_bytes() for one in store.iterdir()
    }


# ---- A pipe or a device in place of a file of a release is refused, and nobody waits for it ------


SECONDS = 20
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
