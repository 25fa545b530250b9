"""Wrote the ledgers of this folder, with the sources of earlier versions on PYTHONPATH.

PYTHONPATH=EARLIEST/src python write.py first    # sources of commit 7e98115
PYTHONPATH=LAST/src python write.py last         # sources of commit 5cc65f5; goes on with grown
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
import unicodedata
from pathlib import Path
from typing import Any

from crowdtally.budget import Charge, Ledger, Part
from crowdtally.values.epsilon import Delta, Epsilon
from crowdtally.values.unit import PrivacyUnit

HERE = Path(__file__).parent
USER, ROW = PrivacyUnit("user", "driver"), PrivacyUnit("row")
NFD = unicodedata.normalize("NFD", "Zürich café")
STAGED = "/tmp/.crowdtally-corpus.0123456789abcdef.part"
SHA = "5a" * 32


def charge(release: str, epsilon: str, delta: str = "0") -> Charge:
    total, rest = Epsilon.of(epsilon), Delta.of(delta)
    part = Part("items", total, "discrete-laplace", {"l1_bound": 4}, rest)
    return Charge(release, total, (part,), rest, {"crowdtally": "0.1.0"})


def first(path: Path) -> None:
    """Every kind and version that the earliest version wrote."""
    path.unlink(missing_ok=True)
    ledger: Any = Ledger.open(path)
    ledger.create("taxi", USER, epsilon=2, delta="1e-6")
    ledger.create("visits", epsilon=1)
    published = ledger.reserve("taxi", USER, charge("taxi-1", "1/3"))
    ledger.mark_published(published.id)
    ledger.set_limit("taxi", epsilon=3, delta="1e-6")
    voided = ledger.reserve("taxi", USER, charge("taxi-2", "0.1", "1e-9"))
    ledger.void(voided.id, "the disk was full before anything was written")
    ledger.reserve("visits", ROW, charge("visits-1", "0.25"))
    ledger.reserve(NFD, USER, charge("zurich-1", "1/7"))
    ledger.set_limit("visits", epsilon=None)


def last(path: Path) -> None:
    """What the last version of format 1 added: staged folders, hashes of releases, sources."""
    ledger: Any = Ledger.open(path)
    if "taxi" not in [balance.dataset for balance in ledger.datasets()]:
        ledger.create("taxi", USER, epsilon=2, delta="1e-6")
    sources = ["/srv/trips.parquet", "/srv/stops.parquet"]
    made = ledger.reserve("taxi", USER, charge("taxi-3", "1/7"), sources=sources)
    ledger.mark_published(made.id, SHA)
    ledger.reserve("taxi", USER, charge("taxi-4", "0.2", "1e-9"), staged=STAGED, sources=sources)
    gone = ledger.reserve("taxi", USER, charge("taxi-5", "0.3"), staged=STAGED)
    ledger.void(gone.id, "the run was stopped")
    ledger.reserve("taxi", USER, charge("taxi-6", "1/9"))


def says(path: Path) -> dict[str, Any]:
    """What the version that wrote it says of it."""
    ledger: Any = Ledger.open(path)
    assert ledger.verify().ok
    return {
        "id": ledger.export()["ledger"],
        "head": str(ledger.head()),
        "spent": {
            balance.dataset: [str(balance.spent.epsilon), str(balance.spent.delta)]
            for balance in ledger.datasets()
        },
        "limits": {
            balance.dataset: balance.limit
            and [str(balance.limit.epsilon), str(balance.limit.delta)]
            for balance in ledger.datasets()
        },
        "states": {charged.id: charged.state for charged in ledger.charges()},
        "entries": [
            [entry["content"]["event"]["kind"], entry["content"]["event"]["version"], entry["hash"]]
            for entry in ledger.export()["entries"]
        ],
    }


def main() -> None:
    paths = [HERE / "first.sqlite", HERE / "grown.sqlite"]
    if sys.argv[1] == "first":
        first(paths[0])
        shutil.copy(paths[0], paths[1])
        paths = paths[:1]
    else:
        paths = [HERE / "last.sqlite", HERE / "grown.sqlite"]
        paths[0].unlink(missing_ok=True)
        for path in paths:
            last(path)
    for path in paths:
        found = json.dumps(says(path), indent=1, ensure_ascii=False)
        path.with_suffix(".json").write_text(found + "\n", encoding="utf-8")


if __name__ == "__main__":
    platform.node = lambda: "archive"  # recorded beside a staged folder
    main()
