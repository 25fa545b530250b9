"""The command line: parse, one library call, print.

Data go to stdout, everything else to stderr. Heavy libraries are imported inside the commands, so
that ``crowdtally --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
import traceback

import typer

from crowdtally.cli import checking, demonstrating, ledgering, planning, reading, releasing
from crowdtally.errors import CrowdtallyError

app = typer.Typer(
    name="crowdtally",
    help="Publish counts about a crowd without publishing anyone in it.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demonstrating.demo)
app.command("release")(releasing.release)
app.command("plan")(planning.plan)
app.command("top")(reading.top)
app.command("sum")(reading.sum_cells)
app.add_typer(ledgering.app, name="ledger")
app.command("check")(checking.check)


def main() -> None:
    """Run the command line; every failure is one message and one exit code."""
    debug = "--debug" in sys.argv
    try:
        app()
    except CrowdtallyError as error:
        if debug:
            traceback.print_exc()
        print(f"crowdtally: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output has gone, as in `crowdtally top … | head -1`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        print(
            "crowdtally: interrupted. `crowdtally ledger show` says whether it was charged before.",
            file=sys.stderr,
        )
        sys.exit(130)
    except OSError as error:
        if debug:
            traceback.print_exc()
        print(
            f"crowdtally: {error.filename or 'a file'}: {error.strerror or 'cannot be used'}. "
            "Check the path, its permissions and the free space.",
            file=sys.stderr,
        )
        sys.exit(1)
    except Exception as error:  # a last net: no traceback, no record's value, unless asked for
        if debug:
            traceback.print_exc()
        print(
            f"crowdtally: an unforeseen failure ({type(error).__name__}); run again with --debug "
            "and report what it shows, without private values.",
            file=sys.stderr,
        )
        sys.exit(1)
