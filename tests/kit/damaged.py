"""Releases of every kind, and what a reader is told by them, whole or damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import crowdtally as ct
from crowdtally.core.files import digest
from crowdtally.format.parse import sealed
from kit.adaptive import adaptive
from kit.made import made, visits

PLACES, DAYS = ["zoo", "arena", "mill", "quay", "pier"], ["Tue", "Mon", "Sun"]
CELLS = {
    (place, day): 7 + 5 * p + 3 * d for p, place in enumerate(PLACES) for d, day in enumerate(DAYS)
}

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "hand-picked": {"bounding": "hpa"},
    "scaled": {"bounding": "dpsense-s", "count": "users", "scalings": "1.2", "max_records": 2},
    "interval": {"count": "users", "noise": "interval"},
    "pairs": {"pairs": True},
    "by rho": {"count": "users", "noise": "gaussian", "delta": "1e-6", "max_records": 50},
    "stated": {"noise": "gaussian", "delta": "1e-6"},
    "discovered": {"discover_items": True, "delta": "1e-2", "epsilon": 20},
    "filter": {"publishing": "filter", "cut": 9},
    "threshold": {"publishing": "threshold", "threshold": "14"},
    "priority": {"publishing": "priority", "size": 4},
    "dyadic": {"transform": "dyadic", "ordered": "day"},
    "haar": {"transform": "haar", "ordered": "day"},
    "sketch": {"transform": "sketch", "buckets": 4},
    "attributes": {"publishing": "filter-priority", "size": 6, "sides": "one"},
    "long list": {},
    "auto": {"for_": "recommend", "context_per_user": "day", "rows": False},
}
"""The options of each kind of release."""


def of_kind(folder: Path, kind: str) -> Path:
    """A release of one kind, as this version writes it."""
    if kind == "auto":
        return adaptive(folder, **KINDS[kind])
    rows, roles = visits(CELLS, "day"), dict[str, Any]()
    domain: ct.Domain | None = ct.Domain(PLACES, {"day": DAYS})
    if kind == "discovered":
        domain = None
    if kind == "stated":
        roles = {"user": None, "bounded_to": 3, "cells_once": True}
    if kind == "pairs":
        domain = ct.Domain(PLACES)
    if kind == "attributes":
        domain = ct.Domain(attributes={"item": PLACES, "day": DAYS})
        roles = {"item": None, "contexts": [], "attributes": ["item", "day"]}
    if kind == "long list":
        domain = ct.Domain([*PLACES, *(f"p{n}" for n in range(10_000))])
    return made(folder, rows, domain, roles=roles, **({"epsilon": 4} | KINDS[kind])).folder


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change ``release.json`` as somebody who knows how its hash is made."""
    path = folder / "release.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    change(facts)
    path.write_bytes(sealed(facts))


def adopt(folder: Path, name: str) -> None:
    """Make the hash and rows of a table in ``release.json`` those of the file that is there."""
    path = folder / f"{name}.parquet"
    rows = pq.read_metadata(path).num_rows

    def change(facts: dict[str, Any]) -> None:
        (table,) = (table for table in facts["tables"] if table["name"] == name)
        table |= {"rows": rows, "sha256": digest(path)}

    edit(folder, change)


def rehash(folder: Path, name: str) -> None:
    """Make the hash of a table in ``release.json`` that of the file that is there, and no more."""
    found = digest(folder / f"{name}.parquet")

    def change(facts: dict[str, Any]) -> None:
        (table,) = (table for table in facts["tables"] if table["name"] == name)
        table["sha256"] = found

    edit(folder, change)


def answers(folder: Path) -> list[str]:
    """All that a release says: each table, the top, and sums with and without conditions."""
    release = ct.load(folder)
    names = [table["name"] for table in release.metadata["tables"]]
    told = [repr(release), *(str(release.table(name).fetchall()) for name in sorted(names))]
    return told + [_told(ask, release) for ask in _QUESTIONS]


_QUESTIONS: list[Callable[[ct.Release], object]] = [
    lambda release: release.top(4).to_json(),
    lambda release: release.top(4, day="Sun").to_json(),
    lambda release: release.sum().to_json(),
    lambda release: release.sum(item=["zoo", "mill"]).to_json(),
    lambda release: release.sum("item = 'mill' and day = 'Sun'").to_json(),
    lambda release: release.range("day", "Tue", "Mon").to_json(),
    lambda release: release.sum(item="zoo", other_item="mill").to_json(),
]


def _told(ask: Callable[[ct.Release], object], release: ct.Release) -> str:
    """An answer; that the release has no such column is one too."""
    try:
        return str(ask(release))
    except ct.UsageError as error:
        return str(error)
