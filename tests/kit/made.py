"""Whole releases of small records with draws of one's own: silent, or with a given noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import crowdtally as ct
from crowdtally.curator.request.request import make_request
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.reader.release import Release
from kit.publishing import publish


class GivenNoise(SystemDraws):
    """The first table gets the first noise, the second the second; after that there is none."""

    def __init__(self, *noises: Iterable[int]) -> None:
        super().__init__()
        self._noises = [np.array(list(noise), dtype=np.int64) for noise in noises]

    def laplace(self, scale: Fraction, size: int) -> Any:
        noise = self._noises.pop(0) if self._noises else np.zeros(size, dtype=np.int64)
        assert len(noise) == size, "the noise given does not fit the table"
        return noise


def made(
    folder: Path,
    rows: pa.Table,
    domain: ct.Domain | None,
    *,
    draws: Draws | None = None,
    name: str = "out",
    roles: Mapping[str, Any] | None = None,
    **options: Any,
) -> Release:
    """A release of ``rows`` (columns user, item and contexts) in ``folder / name``."""
    contexts = [axis.name for axis in domain.contexts] if domain else []
    declared = {"user": "user", "item": "item", "contexts": contexts} | dict(roles or {})
    if declared["user"] is not None and not {"top", "noise"} & set(options):
        options = {"bounding": "sra"} | options  # unless a test is about another rule
    request = make_request(ct.read(rows, **declared), domain, **({"epsilon": 1} | options))
    ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    drawn = draws or SystemDraws()
    publish(request, "made", folder / name, ledger=ledger, draws=drawn, tell=lambda _: None)
    return ct.load(folder / name)


def visits(counts: Mapping[Any, int], *contexts: str) -> pa.Table:
    """A user of their own for each record of the cells (item, context, …)."""
    cells = [cell if isinstance(cell, tuple) else (cell,) for cell in counts]
    rows = [cell for cell, times in zip(cells, counts.values(), strict=True) for _ in range(times)]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("item", *contexts))}
    return pa.table({"user": [f"u{n}" for n in range(len(rows))], **columns})
