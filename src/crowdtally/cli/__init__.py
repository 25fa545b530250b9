"""The command line: parse, one library call, print.

Data go to stdout, everything else to stderr. Heavy libraries are imported inside the commands, so
that ``crowdtally --help`` answers at once.
"""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from crowdtally.cli.options import GROUPED, GroupedCommand
from crowdtally.cli.output import printing, spelled_out
from crowdtally.cli.plugins import as_command
from crowdtally.core import memory
from crowdtally.errors import CrowdtallyError, StoppedError

_COMMANDS = {
    "demo": "start:demo",
    "release": "release:release",
    "plan": "release:plan",
    "inspect": "release:inspect",
    "top": "ask:top",
    "recommend": "ask:recommend",
    "sum": "ask:sum_cells",
    "changes": "ask:changes",
    "describe": "ask:describe",
    "report": "share:report",
    "serve": "share:serve",
    "export": "share:export",
    "withdraw": "share:withdraw",
    "ledger": "ledger:app",
    "person": "person:app",
    "lab": "lab:app",
    "check": "start:check",
}
"""Where each command is defined, in the order of the help."""
_COUNTING = {"demo", "release", "inspect", "lab"}
"""What reads records. Its libraries abort, when they are loaded, within too little memory."""


class _Commands(TyperGroup):
    """Imports a command when it is asked for: a reader needs nothing of the curator's."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _COMMANDS:
            return None
        if cmd_name not in self.commands:
            if cmd_name in _COUNTING:
                memory.require()
            module, _, name = _COMMANDS[cmd_name].partition(":")
            found = getattr(import_module(f"crowdtally.cli.{module}"), name)
            made = as_command(cmd_name, found, GroupedCommand if cmd_name in GROUPED else None)
            made.context_settings = dict(self.context_settings)
            self.add_command(made, cmd_name)
        return self.commands[cmd_name]


app = typer.Typer(
    name="crowdtally",
    cls=_Commands,
    help="Publish counts about a crowd without publishing anyone in it.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"crowdtally {version('crowdtally')}")
        raise typer.Exit


@app.callback()
def crowdtally(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Publish counts about a crowd without publishing anyone in it."""


_ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]  # Windows has no SIGHUP
_INTERRUPTED = "interrupted. `crowdtally ledger show` says whether it was charged before."


def main() -> None:
    """Run the command line; every failure is one message and one exit code."""
    debug = "--debug" in sys.argv
    with printing(), _noted_signals() as stopped:
        try:
            try:
                app()
            finally:
                sys.stdout.flush()  # here, where a full disk is still told
        except BaseException as error:
            if debug and not isinstance(error, SystemExit):
                traceback.print_exc()
            if stopped:
                words = str(error) if isinstance(error, StoppedError) else _INTERRUPTED
                _fail(128 + stopped[0], words)
            if isinstance(error, SystemExit):
                raise
            _explain(error)


def _explain(error: BaseException) -> NoReturn:
    match error:
        case CrowdtallyError():
            _fail(error.exit_code, str(error))
        case KeyboardInterrupt():
            _fail(130, _INTERRUPTED)
        case OSError():
            _fail(
                1,
                f"{error.filename or 'a file'}: {error.strerror or 'cannot be used'}. "
                "Check the path, its permissions and the free space.",
            )
    # A last net: no traceback, no record's value, unless asked for.
    _fail(
        1,
        f"an unforeseen failure ({type(error).__name__}); run again with --debug and report what "
        "it shows, without private values.",
    )


def _fail(code: int, words: str) -> NoReturn:
    print(f"crowdtally: {spelled_out(words)}", file=sys.stderr)
    sys.exit(code)


@contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """Note that a signal interrupted the program, whatever libraries turn it into."""
    noted: list[int] = []

    def note(number: int, frame: object) -> None:
        noted.append(number)
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in _ENDING}
    ours = [n for n, how in before.items() if how in (signal.default_int_handler, signal.SIG_DFL)]
    if threading.current_thread() is not threading.main_thread():
        ours = []  # only the main thread may
    for number in ours:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        for number in ours:
            signal.signal(number, before[number])
