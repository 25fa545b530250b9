"""The demo and the check."""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.errors import CrowdtallyError, UsageError

_FEWEST = 1000


@options.command
def demo(
    output: Path | None = None,
    records: int = 1_000_000,
    epsilon: str = "1",
) -> None:
    """Invent a million visits, release who went where, and show the top places beside the truth.

    Options:
        output (-o DIR): A new folder; else crowdtally-demo.
        records (N): How many records.
    """
    from crowdtally.api import read, release
    from crowdtally.core.domain import Domain
    from crowdtally.core.privacy import Epsilon
    from crowdtally.curator.request.declare import read_list
    from crowdtally.errors import UsageError
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
    numbered = (Path(name if n == 1 else f"{name}-{n}") for n in itertools.count(1))
    return next(path for path in numbered if not path.exists())


_CheckedArgument = Annotated[
    str | None,
    typer.Argument(metavar="[RELEASE]", help="A release's folder; without one, a self-test."),
]


@options.command
def check(
    release: _CheckedArgument = None,
    ledger: str | None = None,
    as_json: bool = False,
) -> None:
    """Check all of RELEASE; without one, test noise, engine, ledger and files on this machine.

    Options:
        ledger (PATH|URL): Compare with the ledger that it was charged to.
    """
    if release is not None:
        _check_release(release, ledger, as_json)
    elif ledger is not None:
        raise UsageError(
            "--ledger is compared with a release: crowdtally check RELEASE --ledger L."
        )
    else:
        _self_test(as_json)


def _check_release(release: str, ledger: str | None, as_json: bool) -> None:
    from crowdtally import format
    from crowdtally.check import check_release
    from crowdtally.core.display import printable_json

    found, books = format.load(release), None
    if ledger is not None:
        from crowdtally.ledger import Ledger

        books = Ledger.open(ledger, create=False)
    checkup = check_release(found, books)
    if checkup.withdrawn is not None:
        options.remark(quiet=False)(f"{checkup.withdrawn} (the release {release!r})")
    if as_json:
        print(printable_json(checkup.to_dict()))
        return
    for words in checkup.checked:
        print(f"ok    {words}")
    if checkup.incomplete is not None:
        print(f"note  {checkup.incomplete}.")


def _self_test(as_json: bool) -> None:
    from crowdtally.check import run
    from crowdtally.curator.manifest import versions

    results, ledger = run(), _ledger_in_use()
    if as_json:
        print(json.dumps({"versions": versions(), "checks": results, "ledger": ledger}))
    else:
        print("  ".join(f"{name} {number}" for name, number in versions().items()))
        for name, words in results.items():
            print(f"ok    {name}" if words is None else f"FAIL  {name}: {words}")
        print(_ledger_words(ledger))
    _fail_on_failure(results)
    if ledger["problem"] is not None:
        raise CrowdtallyError(f"the ledger in use cannot be used: {ledger['problem']}")


def _ledger_in_use() -> dict[str, Any]:
    """Which ledger a release would be charged to, why, and whether that would work."""
    from crowdtally.ledger import Ledger, MissingLedgerError
    from crowdtally.ledger.database.location import choose

    found: dict[str, Any] = dict.fromkeys(("location", "by", "why", "exists", "problem"))
    try:
        chosen = choose(None)
        found |= {"location": str(chosen.place), "by": chosen.by, "why": chosen.why}
        Ledger.open().close()
        found["exists"] = True
    except MissingLedgerError:
        found["exists"] = False
    except CrowdtallyError as error:
        found["problem"] = str(error)
    return found


def _ledger_words(ledger: dict[str, Any]) -> str:
    if ledger["location"] is None:
        return f"FAIL  ledger in use: {ledger['problem']}"
    where = f"ledger in use: {ledger['location']} ({ledger['why']})"
    if ledger["problem"] is not None:
        return f"FAIL  {where}: {ledger['problem']}"
    if not ledger["exists"]:
        return f"none  {where}: there is none yet"
    return f"ok    {where}"


def _fail_on_failure(results: dict[str, Any]) -> None:
    failed = [name for name, words in results.items() if words is not None]
    if failed:
        raise CrowdtallyError(f"the self-test failed: {', '.join(failed)}. Reinstall crowdtally.")
