"""``kill -9`` of a backup and an import, at every write, flush, link and removal.

After each: never half a backup, never two ledgers that can be charged, no entry lost, and the same
command again finishes what was begun. Of the calls that write a page `make test` takes every sixth,
as in ``test_ledger_kill.py``.
"""

from __future__ import annotations

import pytest

from system.test_ledger_kill import SEED, STEPS, kills_of, with_shim


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("how", ["whole", "torn"])
@pytest.mark.parametrize("what", ["backup", "import"])
def test_killed_at_every_call(what: str, how: str, step: int) -> None:
    found = with_shim("keeping", how, what, step, SEED)
    assert found["failures"] == []
    assert found["kills"] == kills_of(found["calls"], how, step) >= 10 // step
    assert {"pwrite", "fsync", "unlink"} <= set(found["calls"])
