"""``crowdtally serve``: releases as pages to explore, on this machine."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from crowdtally.cli import answering, options
from crowdtally.errors import UsageError

_HIGHEST = 65535


def serve(
    releases: Annotated[
        list[str], typer.Argument(metavar="RELEASE…", help="Folders of releases.")
    ],
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="PORT", parser=options.typed_whole,
            help="Where to listen; 0 takes one that is free.",
        ),
    ] = 8765,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="ADDRESS",
            help="Listen at another address of this machine, which others can reach.",
        ),
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", metavar="HOST",
            help="A further name by which browsers reach it, such as a proxy's. Repeatable.",
        ),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the first page in a browser.")
    ] = False,
    labels: answering.LabelsOption = None,
    debug: options.DebugOption = False,
) -> None:  # fmt: skip
    """Serve releases as pages to explore, on this machine, until stopped with Ctrl-C."""
    from crowdtally.reader.server.app import serve as run

    if not 0 <= port <= _HIGHEST:
        raise UsageError(f"a port is a number from 0 to {_HIGHEST}: received {port}.")
    opened = [answering.opened(one, labels) for one in releases]

    def ready(url: str) -> None:
        print(url, flush=True)
        print("Press Ctrl-C to stop.", file=sys.stderr)
        if open_browser:
            import webbrowser

            webbrowser.open(url)

    def tell(words: str) -> None:
        print(f"crowdtally: {words}", file=sys.stderr)

    run(opened, host=host, port=port, names=name or (), ready=ready, tell=tell)
    print("stopped.", file=sys.stderr)
