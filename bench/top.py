"""CPU seconds of ``crowdtally top RELEASE`` in a fresh process: what a reader waits for.

Run ``python bench/top.py [--cells 1e6] [--contexts 1] [--runs 9]``. A release folder of so many
cells is made directly, without records: items × contexts, or items alone with ``--contexts 1``.
Printed are user and system CPU seconds of the whole command, best and median of the runs, computed
without a cache of estimates but for the one that says so; the last line is all figures as one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np

from crowdtally.core.domain import Axis
from crowdtally.core.layout import grid
from crowdtally.errors import InputError
from crowdtally.format import SCHEMA, NoisyTable, staging
from crowdtally.format.contents import list_hash
from crowdtally.format.manifest import Manifest
from crowdtally.format.parse import ZEROS, shaped
from crowdtally.laws.laplace import DiscreteLaplace

_LISTED = 10_000


def release(folder: Path, cells: int, contexts: int, *, named: bool = False) -> Path:
    """A release of items, and of items × contexts where there are several.

    Args:
        folder: where to.
        cells: items × contexts.
        contexts: how many an item has.
        named: whether items are texts instead of numbers.
    """
    numbers = np.arange(cells // contexts, dtype=np.int64) * 7 + 3
    items = Axis("item", numbers)
    if named:
        items = Axis.of("item", [f"Place {n % 89} of street {n}" for n in numbers.tolist()])
    axes = [items, *([Axis.of("hour", range(contexts))] if contexts > 1 else [])]
    law, rng = DiscreteLaplace(Fraction(20)), np.random.default_rng(7)
    facts = {"epsilon": "0.5", "sensitivity": 10, "publishing": "dense"}
    facts |= {"transform": {"kind": "none", "ordered": []}}
    tables = []
    for name, over in (("items", axes[:1]), ("edges", axes))[: len(axes)]:
        layout = grid(over)
        counts = rng.zipf(1.5, layout.size).clip(max=10**6) + rng.integers(-20, 20, layout.size)
        tables.append(NoisyTable(name, layout, counts.astype(np.int64), law, facts))
    with staging(folder / "release") as staged:
        staged.write(described(axes, tables), tables)
        staged.commit()
    return folder / "release"


def described(axes: list[Axis], tables: list[NoisyTable]) -> Manifest:
    """What ``release.json`` says, as the curator would."""
    cost = str(Fraction(1, 2) * len(tables))
    items, *contexts = ({"name": axis.name, "kind": axis.kind, "size": len(axis)} for axis in axes)
    if len(axes[0]) <= _LISTED:
        items |= {"values": axes[0].values.tolist()}
    else:
        items |= {"sha256": list_hash(axes[0].values.tolist()), "listed_in": "items.parquet"}
    for one, axis in zip(contexts, axes[1:], strict=True):
        one |= {"values": axis.values.tolist()}
    bounds = {table.name: {"bound": 10, "scaling": "1"} for table in tables}
    facts = {
        "schema": SCHEMA,
        "id": "0" * 32,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "guarantee": {
            "words": "made up", "epsilon": cost, "delta": "0",
            "unit": {"kind": "user", "column": "user"}, "neighbours": "made up",
        },
        "counted": "records",
        "records": {
            "user": ["user"], "same_person": False, "item": axes[0].name, "item_expression": None,
            "contexts": {axis.name: None for axis in axes[1:]}, "where": None, "timezone": "UTC",
        },
        "method": {
            "bounding": "sra", "bounds": bounds, "chosen_by": None, "largest_candidate": None,
            "popularity_records": None, "cap": None, "record_id": None,
        },
        "split": {table.name: str(Fraction(1, len(tables))) for table in tables},
        "tables": [table.description() | {"rows": 0, "sha256": ZEROS} for table in tables],
        "domain": {"items": items, "contexts": contexts},
        "charged": {
            "entry": "1", "dataset": None, "epsilon": cost, "delta": "0", "spent_before": "0",
            "spent_after": cost, "limit": None,
        },
        "versions": {},
        "datapackage": {"sha256": ZEROS},
        "sha256": ZEROS,
    }  # fmt: skip
    return shaped(facts, Manifest, InputError)


def cpu_seconds(command: list[str], cache: str = "") -> float:
    """User and system CPU of a process, children and threads included."""
    settings = os.environ | {"CROWDTALLY_CACHE": cache}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=settings)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}.")
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=float, default=1e6, help="cells of the largest table")
    parser.add_argument("--contexts", type=int, default=1, help="how many of them an item has")
    parser.add_argument("--runs", type=int, default=9, help="fresh processes of each command")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = str(release(Path(folder), int(given.cells), given.contexts))
        questions = {"top, raw": ["top", made, "--raw"], "top": ["top", made]}
        if given.contexts > 1:
            questions["top in a context"] = ["top", made, "--context", "hour=0"]
        questions["sum"] = ["sum", made]
        questions["sum of a condition"] = ["sum", made, "--where", "item <= 100"]
        figures = {}
        timed = [(words, asked, "") for words, asked in questions.items()]
        timed.append(("top, estimates kept", questions["top"], f"{folder}/cache"))
        for words, asked, cache in timed:
            command = [sys.executable, "-m", "crowdtally", *asked]
            if cache:
                cpu_seconds(command, cache)  # writes what the others read
            runs = [cpu_seconds(command, cache) for _ in range(given.runs)]
            figures[words] = {"best": min(runs), "median": statistics.median(runs)}
            print(f"{words:20} CPU s: best {min(runs):.3f}, median {statistics.median(runs):.3f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
