"""Who reads a release does not wait for what only who makes one needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.reader import tables
from kit.damaged import of_kind
from kit.stored import stored

RELEASE = stored("sra-one-context")
CURATORS = ("crowdtally.curator", "crowdtally.noise", "crowdtally.api", "crowdtally.ledger")
HEAVY = ("ibis", "sqlalchemy", "pandas", "pyarrow", "polars", "pyspark", "cryptography", "scipy")
ASKED = """
import contextlib, io, sys
with contextlib.redirect_stdout(io.StringIO()):
    {asked}
print("\\n".join(sorted(sys.modules)))
"""
COMMAND = """
    import crowdtally.cli
    sys.argv = ["crowdtally", {words}]
    with contextlib.suppress(SystemExit):
        crowdtally.cli.main()
"""


def loaded(asked: str) -> set[str]:
    """The modules that a fresh process has after this."""
    code = ASKED.format(asked=asked.strip())
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def command(*words: str) -> str:
    return COMMAND.format(words=", ".join(map(repr, words)))


QUESTIONS = {
    "top": command("top", str(RELEASE)),
    "sum": command("sum", str(RELEASE)),
    "sum of a condition": command("sum", str(RELEASE), "--where", "day = 'Mon'"),
    "check": command("check", str(RELEASE)),
    "describe": command("describe", str(RELEASE)),
    "load": f"import crowdtally as ct; release = ct.load({str(RELEASE)!r}); release.top(3)",
    "sum of values": f"import crowdtally as ct; ct.load({str(RELEASE)!r}).sum(day='Mon')",
}


@pytest.mark.parametrize("asked", QUESTIONS)
def test_a_reader_imports_nothing_of_the_curator(asked: str) -> None:
    found = loaded(QUESTIONS[asked])
    assert {"crowdtally.format.load", "crowdtally.format.tables"} <= found, "it was asked"
    unwanted = (*CURATORS, *HEAVY, "sqlglot")
    assert [name for name in found if name.startswith(unwanted)] == []


def test_a_long_list_of_items_is_not_read_for_a_top_list(tmp_path: Path) -> None:
    release = ct.load(of_kind(tmp_path, "long list"))
    read: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        column = tables.column
        patch.setattr(tables, "column", lambda p, name: (read.append(name), column(p, name))[1])
        assert len(release.top(3)) == 3
        assert release.sum().cells == 10_005
        assert set(read) <= {"count"}  # estimates need all counts, and no name
        release.sum(item="zoo")
    assert [name for name in read if name != "count"] == ["item"]
