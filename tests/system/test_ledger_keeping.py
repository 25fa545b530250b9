"""``kill -9`` of a backup, an import and an upgrade, at every write, flush, link and removal.

After each: never half a backup, never two ledgers that can be charged, no entry lost, and the same
command again finishes what was begun.
"""

from __future__ import annotations

import pytest

from system.test_ledger_kill import with_shim


@pytest.mark.parametrize("how", ["whole", "torn"])
@pytest.mark.parametrize("what", ["backup", "import", "upgrade"])
def test_killed_at_every_call(what: str, how: str) -> None:
    found = with_shim("keeping", how, what)
    assert found["failures"] == []
    calls = [call for call in found["calls"] if how == "whole" or "write" in call]
    assert found["kills"] == len(calls) >= 10
    assert {"pwrite", "fsync", "unlink"} <= set(found["calls"])
