"""The command line as a person meets it: what it printed, where, and how it ended."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main

from crowdtally import cli
from crowdtally.cli.plugins import GROUP
from kit.warm import start

PROGRAM: Any
"""What ``cli.app`` builds anew at each start: here once, for all commands of a run."""
COMMANDS: dict[str, Any]
"""Every command by its whole name, found by looking at the program."""
PLUGGED: set[str]
"""Those of them that another distribution adds."""
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
