"""``publish`` with a ledger, draws and an engine of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from crowdtally.curator import publish as main_line
from crowdtally.curator.converse import Reading, Released, finish
from crowdtally.curator.dataset import Dataset
from crowdtally.curator.method import steps_of
from crowdtally.curator.request.request import Request
from crowdtally.format import Published
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import Draws
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Engine


def publish(
    request: Request,
    dataset: str,
    target: Path,
    *,
    ledger: Ledger,
    draws: Draws,
    tell: Callable[[str], Any],
    start_engine: Callable[[], Engine] = DuckDBEngine,
    sources: Sequence[str] = (),
    chosen: bool = True,
    **more: Any,
) -> Published:
    """The release of ``request``, charged to ``dataset``, which is made if there is none."""
    charged = Dataset(dataset, tuple(sources), chosen)
    outside = main_line.Outside(
        charged, target, ledger, draws, tell, start_engine, **{"new_dataset": True} | more
    )
    return main_line.publish(request, outside)


def run_steps(request: Request, reading: Reading, draws: Draws) -> Released:
    """All that the steps of production release, without a ledger and without files."""
    steps = steps_of(request)
    return finish(steps, steps[0].count(reading, Released()), reading, draws)
