"""Processes that make the same request at once."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from budget.driven import EACH, UNIT, in_child
from budget.killing import Noted, in_order
from crowdtally.ledger import DrawnBeforeError, Ledger
from kit.bare import DATASET, released


def same_request(location: str, home: Path, processes: int, rounds: int) -> dict[str, object]:
    """In each round all make one request, with budget for it alone; one of them is to be told."""
    noted, ended, wrong = Noted(home / "draws"), Counter[str](), 0
    ledger = Ledger.open(location, create=True)
    ledger.create(DATASET, UNIT, epsilon=EACH * rounds)
    with in_order("mark-first", noted):
        for turn in range(rounds):
            ledger.set_limit(DATASET, epsilon=EACH * (turn + 1), reason="one more")
            key, target = f"request {turn}", home / f"out-{turn}"
            ended += _all_at_once(location, key, target, noted, processes)
            noted.run(ledger, target, key)  # whoever comes later is shown the release
            made = [c for c in ledger.charges() if c.asked and c.asked.request_id == key]
            wrong += len(made) != 1 or made[0].state != "published" or noted.draws()[key] != 1
    return {
        "ended": ended,
        "wrong": wrong,
        "releases": len(released(home)),
        "exact": ledger.balance(DATASET).spent.epsilon == EACH * rounds,
        "whole": ledger.verify().ok,
        "left": [path.name for path in home.iterdir() if path.name.endswith(".part")],
    }


def _all_at_once(
    location: str, key: str, target: Path, noted: Noted, processes: int
) -> Counter[str]:
    go_read, go_write = os.pipe()
    said_read, said_write = os.pipe()

    def ask() -> None:
        os.close(go_write)
        ledger = Ledger.open(location)
        os.read(go_read, 1)  # returns when the parent closes its end
        try:
            noted.run(ledger, target, key)
            said = "released or shown"
        except DrawnBeforeError as error:
            said = "stopped" if "request id" in str(error) else f"stopped: {error}"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        os.write(said_write, f"{said}\n".encode())

    children = [in_child(ask) for _ in range(processes)]
    for end in (go_read, go_write, said_write):
        os.close(end)
    with os.fdopen(said_read) as lines:
        said = Counter(line.strip() for line in lines)
    for child in children:
        os.waitpid(child, 0)
    return said
