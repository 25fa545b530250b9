"""``crowdtally check``: a self-test of the installation, or a release looked at as a whole."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from crowdtally.cli import options

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
    from crowdtally.errors import UsageError

    if release is not None:
        _check_release(release, ledger, as_json)
    elif ledger is not None:
        raise UsageError(
            "--ledger is compared with a release: crowdtally check RELEASE --ledger L."
        )
    else:
        _self_test(as_json)


def _check_release(release: str, ledger: str | None, as_json: bool) -> None:
    from crowdtally import published
    from crowdtally.checkup import check_release
    from crowdtally.showing import printable_json

    found, books = published.load(release), None
    if ledger is not None:
        from crowdtally.budget import Ledger

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
    from crowdtally.curator.describe import versions
    from crowdtally.selftest import run

    results = run()
    if as_json:
        print(json.dumps({"versions": versions(), "checks": results}))
    else:
        print("  ".join(f"{name} {number}" for name, number in versions().items()))
        for name, words in results.items():
            print(f"ok    {name}" if words is None else f"FAIL  {name}: {words}")
    _fail_on_failure(results)


def _fail_on_failure(results: dict[str, Any]) -> None:
    from crowdtally.errors import CrowdtallyError

    failed = [name for name, words in results.items() if words is not None]
    if failed:
        raise CrowdtallyError(f"the self-test failed: {', '.join(failed)}. Reinstall crowdtally.")
