"""``crowdtally person levels``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.cli.person import asking
from crowdtally.cli.person.tables import table


@asking.takes_plan
def levels(
    make_plan: Callable[[], Any],
    history: Annotated[
        str | None,
        typer.Option(
            "--history", metavar="HISTORY",
            help="Show your own counts too, on stderr: FILE[:COLUMN], a .txt, or -.",
        ),
    ] = None,
    drop_unknown: asking.DropUnknownOption = False,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:  # fmt: skip
    """List the categories: their items, the level of each, and the noise that it means."""
    from crowdtally.core.display import printable_json
    from crowdtally.person.words import category_rows, own_counts

    plan = make_plan()
    rows = category_rows(plan)
    if as_json:
        print(printable_json([row.as_json() for row in rows]))
    else:
        shown = [(row.category, row.items, row.level, row.half_width) for row in rows]
        print("\n".join(table(("category", "items", "level", "noise ±"), shown)))
    if history is not None:  # private: never on stdout, where a file may take it along
        own = asking.history_from(history, plan.catalogue, drop_unknown=drop_unknown)
        mine = list(own_counts(own).items())
        print("\n".join(table(("category", "yours"), mine)), file=sys.stderr)
