"""How much longer ``auto`` takes than ``sra``: whole releases of made-up records without an id."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import crowdtally as ct
from made_up import DAYS, ITEMS, generate


def auto_over_sra(number: int, repeats: int) -> dict[str, float]:
    """Seconds of the best of several whole releases of each, and their ratio."""
    times: dict[str, list[float]] = {"auto": [], "sra": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "records.parquet"
        generate(path, number)
        for turn in range(repeats):
            times["sra"].append(_release(path, folder / f"sra-{turn}", {"max_records": 10}))
            times["auto"].append(_release(path, folder / f"auto-{turn}", {"bounding": "auto"}))
    best = {name: min(seconds) for name, seconds in times.items()}
    return {
        "records": number,
        "auto_seconds": round(best["auto"], 3),
        "sra_seconds": round(best["sra"], 3),
        "auto_over_sra": round(best["auto"] / best["sra"], 2),
    }


def _release(path: Path, output: Path, options: dict[str, Any]) -> float:
    records = ct.read(path, user="user", item="item", contexts=["day"])
    domain = ct.Domain(range(ITEMS), {"day": DAYS})
    start = time.perf_counter()
    ct.release(
        records, domain, epsilon=1, output=output, ledger=output.parent / "ledger.sqlite",
        new_dataset=True, **options,
    )  # fmt: skip
    return time.perf_counter() - start
