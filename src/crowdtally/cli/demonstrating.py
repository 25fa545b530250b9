"""``crowdtally demo``."""

from __future__ import annotations

import itertools
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from crowdtally.cli import options

_FEWEST = 1000


def demo(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="A new folder; else crowdtally-demo."),
    ] = None,
    records: Annotated[
        int, typer.Option(metavar="N", parser=options.typed_whole, help="How many records.")
    ] = 1_000_000,
    epsilon: options.EpsilonOption = "1",
    debug: options.DebugOption = False,
) -> None:
    """Invent a million visits, release who went where, and show the top places beside the truth."""
    from crowdtally.core.domain import Domain
    from crowdtally.core.privacy import Epsilon
    from crowdtally.curator.request.declare import read_list
    from crowdtally.errors import UsageError
    from crowdtally.facade import read, release
    from crowdtally.format import refuse_existing
    from crowdtally.lab.demo import DAYS, generate
    from crowdtally.reader.questions.text import believed_interval, whole

    Epsilon.of(epsilon)
    if records < _FEWEST:
        raise UsageError(f"--records must be at least {_FEWEST}: received {records}.")
    folder = output or _free("crowdtally-demo")
    refuse_existing(folder)
    folder.mkdir(parents=True)
    print(f"Inventing about {records:,} visits to an imaginary city …", file=sys.stderr)
    made_up = generate(folder, records)
    print(f"Releasing them with epsilon {epsilon} for each visitor …", file=sys.stderr)
    released = release(
        read(
            made_up.records, user="user_id", item="place", contexts=["weekday"],
            record_id="visit_id",
        ),
        Domain(read_list(made_up.places, "place"), {"weekday": DAYS}),
        epsilon=epsilon, count="users", output=folder / "release",
        ledger=folder / "ledger.sqlite", dataset="demo visits", new_dataset=True,
    )  # fmt: skip
    top = released.top(10)
    truth = made_up.visitors([str(row.item) for row in top])
    if not any(row.above_floor for row in top):
        print(
            "None of these places is told apart from noise.\nSo few visits to so many places need "
            "a larger --epsilon, or more --records."
        )
    print(f"{'':>2}  {'place':<22} {'visitors':>9}  {'95% within':>17}  {'truth':>7}")
    for row in top:
        interval, true = believed_interval(row), truth.get(str(row.item), 0)
        print(f"{row.rank:>2}  {row.item:<22} {whole(row.estimate):>9}  {interval:>17}  {true:>7}")
    inside = sum(
        (row.estimate_low or 0) <= truth.get(str(row.item), 0) <= (row.estimate_high or 0)
        for row in top
    )
    print(
        f"\n{inside} of these {len(top)} intervals contain the truth (known only because it was "
        f"invented).\n{top.estimate_words}"
    )
    print(f"\nThe release lies in {released.folder}. Ask it more:", file=sys.stderr)
    # As it was called here: `make demo` installs it beside the checkout, not on the path.
    program = "crowdtally" if shutil.which("crowdtally") else sys.argv[0]
    command = shlex.join([program, "top", str(released.folder), "--context", "weekday=Saturday"])
    print(f"  {command}", file=sys.stderr)


def _free(name: str) -> Path:
    """The first of name, name-2, name-3 … that does not exist."""
    numbered = (Path(name if n == 1 else f"{name}-{n}") for n in itertools.count(1))
    return next(path for path in numbered if not path.exists())
