"""A release is there whole or not at all, whatever happens while it is written."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.check import check_release
from crowdtally.core import files as durable
from crowdtally.format import load, staging, tables
from crowdtally.ledger import Ledger
from kit.hamlet import hamlet


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
from kit.hamlet import hamlet

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
