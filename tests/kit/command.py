"""The command line as a person meets it, in a town of secrets, and at a pseudo-terminal."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import typer.main

from crowdtally import cli
from crowdtally.cli.plugins import GROUP
from crowdtally.ledger import Ledger
from kit.warm import start

# ---- The command line as a person meets it: what it printed, where, and how it ended -------------


PROGRAM: Any
"""What ``cli.app`` builds anew at each start: here once, for all commands of a run."""
COMMANDS: dict[str, Any]
"""Every command by its whole name, found by looking at the program."""
PLUGGED: set[str]
"""Those of them that another distribution adds."""
FAILURE, USAGE, BUDGET, INPUT = 1, 2, 3, 4
"""Exit codes, as docs/cli.md states them."""
INSTALLED = Path(sys.executable).parent / "crowdtally"
"""The program that was installed beside this Python."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def crowdtally(*arguments: object) -> Ended:
    """Run the command line in this process: as the installed program does, without its start."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["crowdtally", *map(str, arguments)]
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.object(cli, "app", PROGRAM),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return Ended(code, out.getvalue(), err.getvalue())


def installed(*arguments: object, env: dict[str, str] | None = None) -> Ended:
    """Run the installed program in a process of its own."""
    return _run([str(INSTALLED), *map(str, arguments)], env)


def without_rights(folder: Path, uid: int, *arguments: object, env: dict[str, str]) -> Ended:
    """Run the command line in ``folder`` as another user, who owns nothing but what it is given."""
    with (
        open(os.devnull) as nothing,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        running = start(
            [*map(str, arguments)], folder, (nothing.fileno(), out.fileno(), err.fileno()),
            {**os.environ, **env}, uid=uid,
        )  # fmt: skip
        code = running.wait()
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read().decode(), err.read().decode())


def _run(command: list[str], env: dict[str, str] | None) -> Ended:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, **(env or {})},
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    yield " ".join(path), command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from _commands(command.get_command(None, name), (*path, name))


PROGRAM = typer.main.get_command(cli.app)
COMMANDS = dict(_commands(PROGRAM, ("crowdtally",)))
PLUGGED = {f"crowdtally lab {entry.name}" for entry in entry_points(group=GROUP)}


# ---- The program at a real (pseudo-)terminal: what it shows, and what is typed -------------------


@dataclass(frozen=True)
class Session:
    """What was seen until the program ended."""

    code: int
    """Its exit code."""
    shown: str
    """All that came to the terminal, control codes included."""
    out: str
    """What went to stdout, where that was not the terminal."""


def at_terminal(
    *arguments: str,
    folder: Path,
    answers: dict[str, str] | None = None,
    script: str | None = None,
    env: dict[str, str] | None = None,
    seconds: float = 300,
) -> Session:
    """Run with stdin and stderr at a terminal; type each answer once its words have been shown.

    A ``script`` runs in the program's place.
    """
    ours, theirs = pty.openpty()
    waiting = dict(answers or {})
    shown = b""
    with tempfile.TemporaryFile("w+b") as out:
        running = start(
            arguments, folder, (theirs, out.fileno(), theirs),
            {**os.environ, "TERM": "xterm", "COLUMNS": "80", **(env or {})}, script=script,
        )  # fmt: skip
        os.close(theirs)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ready, _, _ = select.select([ours], [], [], 0.1)
            try:
                piece = os.read(ours, 65536) if ready else b""
            except OSError:  # the other end was closed
                break
            shown += piece
            for words in [words for words in waiting if words.encode() in shown]:
                os.write(ours, waiting.pop(words).encode())
            if ready and not piece:
                break
        else:
            os.kill(running.pid, signal.SIGKILL)
        code = running.wait()
        out.seek(0)
        written = out.read().decode()
    os.close(ours)
    return Session(code, shown.decode(errors="replace"), written)


# ---- A small town of records with recognisable secrets, and a watch on what a command leaves
#      behind
#
# A message that repeats a user id or a value of a record repeats one of ``SECRETS``.


SECRETS = ("Zaphod", "Xanadu", "Qwghlm", "unspoken", "8675309")
"""Pieces of user ids, items, contexts, notes and numbers that stand in the records alone."""
PUBLIC = ("user_id", "place", "place_id", "weekday", "note", "price", "visit", "count")


def records(rows: int = 240) -> pa.Table:
    """Records of 37 users; a quarter have an item outside the list, a third an odd weekday."""
    return pa.table(
        {
            "user_id": [f"Zaphod-{i % 37}" for i in range(rows)],
            "place": [("bar", "cafe", "park", "Xanadu")[i % 4] for i in range(rows)],
            "place_id": [i % 5 for i in range(rows)],
            "weekday": [("Mon", "Tue", "Qwghlm")[i % 3] for i in range(rows)],
            "note": ["12" if i % 3 else "unspoken" for i in range(rows)],
            "price": [1.5 * i for i in range(rows)],
            "visit": [8675309_000 + i for i in range(rows)],
            "count": [1] * rows,
        }
    )


@dataclass(frozen=True)
class Town:
    """A folder with records, lists and a ledger, and commands run in it."""

    folder: Path
    """The current folder of every command."""
    ledger: Path
    """The ledger, outside the folder."""
    scratch: Path
    """Where temporary files go, outside the folder."""

    @classmethod
    def entered(cls, base: Path, patch: pytest.MonkeyPatch) -> Town:
        """A new town, with its folder, ledger and scratch in use until the test ends."""
        town = cls.build(base)
        patch.chdir(town.folder)
        patch.setenv("CROWDTALLY_LEDGER", str(town.ledger))
        patch.setenv("TMPDIR", str(town.scratch))
        patch.setattr(tempfile, "tempdir", None)  # read $TMPDIR anew
        return town

    @classmethod
    def build(cls, base: Path) -> Town:
        """Records as Parquet and CSV, a list of places, nothing else."""
        town = cls(base / "town", base / "budget" / "ledger.sqlite", base / "scratch")
        for folder in (town.folder, town.ledger.parent, town.scratch):
            folder.mkdir()
        table = records()
        pyarrow.parquet.write_table(table, town.folder / "records.parquet", compression="none")
        pyarrow.csv.write_csv(table, town.folder / "records.csv")
        town.write("places.csv", "place\nbar\ncafe\npark\n")
        return town

    def write(self, name: str, content: str | bytes) -> Path:
        """A file in the town."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def table(self, name: str, **columns: object) -> Path:
        """A Parquet file in the town."""
        pyarrow.parquet.write_table(pa.table(columns), self.folder / name)
        return self.folder / name

    def arguments(self, records: str = "records.parquet", **options: str | None) -> list[str]:
        """A whole ``release``, of a dataset that may be new; an option set to None is left out."""
        given = {
            "user": "user_id", "item": "place", "items": "places.csv", "epsilon": "1",
            "output": "out", "method": "sra:max-records=10",
        } | options  # fmt: skip
        pairs = [(f"--{k.replace('_', '-')}", v) for k, v in given.items() if v is not None]
        return ["release", records, *(word for pair in pairs for word in pair), "--new-dataset"]

    def charged(self) -> list[str]:
        """Every entry of the ledger; none where there is no ledger."""
        return (
            list(map(repr, Ledger.open(self.ledger, create=True).entries()))
            if self.ledger.exists()
            else []
        )

    def state(self) -> dict[str, str]:
        """Every file, folder and link with its content, and every temporary one."""
        found = {}
        for base in (self.folder, self.scratch):
            for path in sorted(base.rglob("*")):
                if path.is_symlink():
                    content = os.readlink(path)
                elif path.is_file():
                    content = hashlib.sha256(path.read_bytes()).hexdigest()
                else:
                    content = "folder"
                found[str(path)] = content
        return found

    def refuses(self, arguments: list[str], code: int, *words: str) -> Ended:
        """Check that the command ends with ``code``, says ``words``, and leaves nothing behind."""
        entries, state = self.charged(), self.state()
        ended = crowdtally(*arguments)
        self.check(ended, code, *words)
        assert self.state() == state, f"something was written\n{ended}"
        assert self.charged() == entries, f"something was charged\n{ended}"
        return ended

    @staticmethod
    def check(ended: Ended, code: int, *words: str) -> None:
        """The exit code, a message on stderr alone, all the words in it and no secret."""
        assert ended.code == code, str(ended)
        assert ended.out == "", str(ended)
        assert "Traceback" not in ended.err, str(ended)
        assert "unforeseen" not in ended.err, str(ended)
        for word in words:
            assert word in ended.err, f"{word!r} is not said\n{ended}"
        for secret in SECRETS:
            assert secret not in ended.err, f"{secret!r} is told\n{ended}"
