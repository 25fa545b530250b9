"""``crowdtally person page``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.cli.person import asking
from crowdtally.errors import UsageError

_HIGHEST = 65535


@asking.takes_public
def page(
    read: Callable[[], Any],
    history: asking.HistoryArgument,
    output_folder: Annotated[
        str,
        typer.Option(
            "--output-folder", metavar="DIR",
            help="Where “Release” writes its files; else the current folder.",
        ),
    ] = ".",
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="PORT", parser=options.typed_whole,
            help="Where to listen on this machine; 0 takes a port that is free.",
        ),
    ] = 0,
    popularity: asking.PopularityOption = None,
    drop_unknown: asking.DropUnknownOption = False,
    store: asking.StoreOption = None,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:  # fmt: skip
    """Choose, look and draw on a page of your own, which this machine alone can reach.

    Prints its address, with a secret in it, and runs until stopped with Ctrl-C. Looking draws
    nothing; a draw is charged and stored before it is shown; “Release” writes a file.
    """
    from crowdtally.person.page.actions import POLICY, Choice, Desk
    from crowdtally.person.page.app import serve
    from crowdtally.person.plan import Policy
    from crowdtally.person.store import Store

    remark = options.remark(quiet)
    if not 0 <= port <= _HIGHEST:
        raise UsageError(f"a port is a number from 0 to {_HIGHEST}: received {port}.")
    folder = Path(output_folder).absolute()
    if not folder.is_dir():
        raise UsageError(f"{output_folder!r} is not a folder: create it first.")
    public, kept = read(), Store(store)
    own = asking.history_from(history, public.catalogue, drop_unknown=drop_unknown)
    kept.home.require_ours()
    place = {name: number for number, name in enumerate(public.catalogue.categories)}
    start = Choice(
        POLICY if public.policy is not None else str(public.epsilon or ""),
        {place[name]: level for name, level in public.levels.as_json().items()},
    )
    weights = asking.popularity_from(popularity, public.catalogue)
    desk = Desk(own, kept, folder, public.policy or Policy(), start, weights)

    def ready(url: str) -> None:
        print(url, flush=True)
        remark("Open this address in a browser on this machine, and tell nobody.")
        remark("Press Ctrl-C to stop.")

    serve(desk, port=port, ready=ready, tell=lambda words: print(words, file=sys.stderr))
    remark("stopped.")
