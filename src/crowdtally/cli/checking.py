"""``crowdtally check``: versions, and a self-test of the installation."""

from __future__ import annotations

import json
from typing import Any

from crowdtally.cli import options


def check(as_json: options.JsonOption = False, debug: options.DebugOption = False) -> None:
    """Print versions and test that noise, engine, ledger and files work on this machine."""
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
