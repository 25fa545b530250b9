"""``crowdtally lab audit`` and ``crowdtally lab audit-request``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.cli.requesting import takes_request

if TYPE_CHECKING:
    from crowdtally.lab.audit.certify import Audit

SecondsOption = Annotated[
    str,
    typer.Option(
        "--seconds", metavar="S", rich_help_panel="budget",
        help="How long each row is attacked; longer certifies more.",
    ),
]  # fmt: skip
PageOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", rich_help_panel="output",
        help="Write the table as Markdown too; what was there is replaced.",
    ),
]  # fmt: skip


def audit(
    methods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="METHOD",
            help="BOUNDING[+CHOICE][/TRANSFORM][/PUBLISHING], such as sra, hpa/filter or "
            "dpsense-s+dpsense; or contexts, discovery, pairs, quantity, rows.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every method, as without METHOD.")] = False,
    epsilon: Annotated[
        str, typer.Option("--epsilon", metavar="E", help="Of each release that is attacked.")
    ] = "1",
    seconds: SecondsOption = "20",
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=options.positive, help="Rows at once; by default one a core."
        ),
    ] = None,
    output: PageOption = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Attack methods on made-up databases: a certified lower bound on their epsilon."""
    from crowdtally.lab.libraries import check_libraries

    check_libraries()  # before what is imported below, which cannot do without them
    from crowdtally.errors import UsageError
    from crowdtally.lab.audit.attack import audit_methods

    if every and methods:
        raise UsageError("--all is every method: remove it, or the names beside it.")
    _check(output)
    with _interrupted():
        found = audit_methods(methods or [], epsilon, seconds, processes, options.remark(quiet))
    _show(found, output, as_json)


@takes_request
def audit_request(
    make_request: Callable[..., Any],
    epsilon: options.PerhapsEpsilonOption = None,
    seconds: SecondsOption = "20",
    output: PageOption = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Attack a request of your own, typed as for release: its records are not read."""
    from crowdtally.lab.libraries import check_libraries

    check_libraries()
    from crowdtally.errors import UsageError
    from crowdtally.lab.audit.attack import attack_request, checked_seconds

    if epsilon is None:
        raise UsageError("say what your release would cost: --epsilon E.")
    each = checked_seconds(seconds)
    _check(output)
    request = make_request(None, epsilon=epsilon)
    with _interrupted():
        found = attack_request(request, each, options.remark(quiet))
    _show(found, output, as_json)


@contextmanager
def _interrupted() -> Iterator[None]:
    """An interruption says that there is nothing to look after."""
    from crowdtally.errors import StoppedError

    try:
        yield
    except KeyboardInterrupt as error:
        raise StoppedError(
            "interrupted: an audit keeps nothing, and charges nothing. Fewer METHODs or --seconds "
            "end sooner."
        ) from error


def _check(output: Path | None) -> None:
    from crowdtally.errors import UsageError
    from crowdtally.lab.methods import check_apart

    if output is None:
        return
    check_apart(output)
    if output.is_dir() or not output.absolute().parent.is_dir():
        raise UsageError(f"-o names the file to write, in a folder that exists: received {output}.")


def _show(found: Audit, output: Path | None, as_json: bool) -> None:
    """Print what was found; exit code 1 where a claim is refuted."""
    if output is not None:
        output.write_text(found.markdown(), encoding="utf-8")
    print(json.dumps(found.as_dict(), ensure_ascii=False) if as_json else found)
    if found.leaks:
        for row in found.leaks:
            print(f"crowdtally: {row.sentence()}", file=sys.stderr)
        raise typer.Exit(1)
