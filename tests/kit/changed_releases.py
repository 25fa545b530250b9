"""Releases made from counts, for comparing: of items, and perhaps of items in contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdtally.core.layout import grid
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.request.options import ReleaseOptions
from crowdtally.curator.request.table_specs import formed
from crowdtally.format import Published
from crowdtally.reader.release import Release
from kit.releases import DRAWS, GUARANTEE, METHOD, RECORDS, axes_of, counts_of, named_form, write


def release_of(
    folder: Path,
    lists: Mapping[str, Sequence[object]],
    table: np.ndarray,
    *,
    form: ReleaseOptions | None = None,
    epsilon: str = "1",
    bound: int = 1,
    dataset: str | None = None,
    **given: Any,
) -> Release:
    """A release of these counts: (items) or (items, contexts), each user bounded by ``bound``.

    ``given`` replaces what ``release.json`` says: ``counted``, ``guarantee``, ``method``.
    """
    folder.mkdir()
    axes, options = axes_of(lists), named_form(form or {})
    tables = {"items": (axes[:1], table.reshape(len(axes[0]), -1).sum(axis=1))}
    if len(axes) > 1:
        tables["edges"] = (axes, table)
    made = []
    for name, (own, counts) in tables.items():
        asked = formed(name, grid(own), Epsilon.of(epsilon), options, bound=bound)
        made.append(asked.publish(counts_of(own, counts, bound), DRAWS))
    listed = [
        {"name": a.name, "kind": a.kind, "size": len(a), "values": a.values.tolist()} for a in axes
    ]
    bounds = {one.name: {"bound": bound, "scaling": "1"} for one in made}
    facts: dict[str, Any] = {
        "id": folder.name,
        "created": "2026-01-01T00:00:00+00:00",
        "tables": [write(folder / f"{one.name}.parquet", one) for one in made],
        "domain": {"items": listed[0], "contexts": listed[1:]},
        "counted": given.pop("counted", "records"),
        "guarantee": GUARANTEE | {"epsilon": epsilon} | given.pop("guarantee", {}),
        "records": RECORDS,
        "method": METHOD | {"bounds": bounds} | given.pop("method", {}),
        "charged": {"dataset": dataset},
    }
    return Release(Published(folder, facts | given))
