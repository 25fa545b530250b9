"""``crowdtally check``: a self-test of the installation, or a release looked at as a whole."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.errors import CrowdtallyError, UsageError

_CheckedArgument = Annotated[
    str | None,
    typer.Argument(metavar="[RELEASE]", help="A release's folder; without one, a self-test."),
]
_ComparedOption = Annotated[
    str | None,
    typer.Option(
        "--ledger", metavar="PATH|URL", help="Compare with the ledger that it was charged to."
    ),
]


def check(
    release: _CheckedArgument = None,
    ledger: _ComparedOption = None,
    as_json: options.JsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Check all of RELEASE; without one, test noise, engine, ledger and files on this machine."""
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
    from crowdtally.checkup import check_release
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
    from crowdtally.curator.manifest import versions
    from crowdtally.selftest import run

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
