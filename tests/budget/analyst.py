"""Use a ledger without rights: ``analyst.py LEDGER``, with what to try, as JSON, on stdin.

Each attempt is a method of ``Ledger`` and its parameters; what is printed is ``null`` where it went
well, else the exit code, the kind of error and the message. Python itself may lie where nobody else
may read, so everything is imported, by using it once, before the rights are dropped.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from budget.ledger_kit import NOBODY, USER, charge
from crowdtally.budget import Ledger
from crowdtally.errors import CrowdtallyError


def attempt(ledger: Ledger, method: str, options: dict[str, Any]) -> object:
    """What became of one call."""
    try:
        if method == "reserve":
            asked = charge(options.pop("epsilon"), options.pop("delta", 0))
            ledger.reserve(options.pop("name"), USER, asked, **options)
        else:
            getattr(ledger, method)(**options)
    except CrowdtallyError as error:
        return [error.exit_code, type(error).__name__, str(error)]
    return None


def warm_up() -> None:
    """Use everything once."""
    with tempfile.TemporaryDirectory() as name:
        limits = Path(name) / "limits.toml"
        limits.write_text('[data]\nepsilon = 1\nreason = "to try"\n')
        limits.chmod(0o644)
        ledger = Ledger.open(Path(name) / "ledger.sqlite", create=True)
        ledger.use_limits_file(limits, reason="to try")
        ledger.reserve("data", USER, charge("0.1"), new_dataset=True)
        ledger.charges()
        ledger.verify()
        attempt(ledger, "reserve", {"name": "dta", "epsilon": 1})
        Ledger.import_from(Path(name) / "ledger.sqlite", Path(name) / "moved.sqlite")


def main() -> None:
    attempts = json.load(sys.stdin)
    warm_up()
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    ledger = Ledger.open(sys.argv[1])
    print(json.dumps([attempt(ledger, method, options) for method, options in attempts]))


if __name__ == "__main__":
    main()
