"""Releases of every kind, and hundreds of ways to damage them, from a seed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import crowdtally as ct
from crowdtally.core.files import digest
from crowdtally.format.parse import sealed
from kit.auto import adaptive
from kit.publishing import made, visits

# ---- Releases of every kind, and what a reader is told by them, whole or damaged -----------------


PLACES, DAYS = ["zoo", "arena", "mill", "quay", "pier"], ["Tue", "Mon", "Sun"]
CELLS = {
    (place, day): 7 + 5 * p + 3 * d for p, place in enumerate(PLACES) for d, day in enumerate(DAYS)
}

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "hand-picked": {"method": ct.HPA()},
    "scaled": {"method": ct.DPSenseS(2, scalings="1.2"), "count": "users"},
    "interval": {"count": "users", "noise": "interval"},
    "pairs": {"pairs": True},
    "by rho": {"count": "users", "noise": "gaussian", "delta": "1e-6", "method": ct.SRA(50)},
    "stated": {"noise": "gaussian", "delta": "1e-6"},
    "discovered": {"method": ct.Discover("item"), "delta": "1e-2", "epsilon": 20},
    "filter": {"summary": ct.Filter(cut=9)},
    "threshold": {"summary": ct.Threshold("14")},
    "priority": {"summary": ct.Priority(4)},
    "dyadic": {"transform": ct.Dyadic("day")},
    "haar": {"transform": ct.Haar("day")},
    "sketch": {"transform": ct.Sketch(4)},
    "attributes": {"summary": ct.FilterPriority(6, sides="one")},
    "long list": {},
    "auto": {"method": ct.Auto("recommend", repeats=False, context_per_user="day")},
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


# ---- Hundreds of ways to damage a release, from a seed -------------------------------------------


Damage = Callable[[Path], None]
"""Something that happens to a folder."""
Steps = tuple[str | int, ...]
"""The way to a field of ``release.json``."""

WRONG: list[Any] = [
    None, True, -1, 0, 1.5, 10**400, "", "nan", "1/0", "-3", "../x", "\ud800", [], {}, [[]],
    [None], {"a": 1}, "9" * 5000, -(2**63) - 1,
]  # fmt: skip
"""What no field of its own kind may hold, at least not all of them."""


def fields(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    """Every field and element of some JSON."""
    if steps:
        yield steps
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from fields(inner, (*steps, step))


def edited(folder: Path, change: Callable[[Any], None]) -> None:
    """Change ``release.json``."""
    path = folder / "release.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    change(facts)
    path.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _holder(facts: Any, steps: Steps) -> Any:
    for step in steps[:-1]:
        facts = facts[step]
    return facts


def removed(steps: Steps) -> Damage:
    return lambda folder: edited(folder, lambda f: _holder(f, steps).pop(steps[-1]))


def renamed(steps: Steps) -> Damage:
    def change(facts: Any) -> None:
        holder = _holder(facts, steps)
        holder[f"{steps[-1]}_"] = holder.pop(steps[-1])

    return lambda folder: edited(folder, change)


def replaced(steps: Steps, value: Any) -> Damage:
    def change(facts: Any) -> None:
        _holder(facts, steps)[steps[-1]] = copy.deepcopy(value)

    return lambda folder: edited(folder, change)


def flipped(file: str, share: float, mask: int) -> Damage:
    """One byte of a file is another; ``share`` says how far into it."""

    def happens(folder: Path) -> None:
        raw = bytearray((folder / file).read_bytes())
        raw[int(share * len(raw))] ^= mask
        (folder / file).write_bytes(raw)

    return happens


def cut(file: str, share: float) -> Damage:
    def happens(folder: Path) -> None:
        raw = (folder / file).read_bytes()
        (folder / file).write_bytes(raw[: int(share * len(raw))])

    return happens


def reshaped(file: str, change: Callable[[pa.Table], pa.Table]) -> Damage:
    """A table written again with other rows or columns."""

    def happens(folder: Path) -> None:
        pq.write_table(change(pq.read_table(folder / file)), folder / file)

    return happens


def _with(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def _nulled(table: pa.Table, name: str) -> pa.Table:
    first = pa.array(np.arange(table.num_rows) == 0)
    return _with(table, name, pc.if_else(first, pa.scalar(None, table[name].type), table[name]))


def _nan(table: pa.Table) -> pa.Table:
    values = table["count"].to_numpy().astype(float)
    values[0] = np.nan
    return _with(table, "count", pa.array(values))


def _more(table: pa.Table) -> pa.Table:
    """One count is another, and its interval with it."""
    first = pa.array((np.arange(table.num_rows) == 0).astype(np.int64))
    return _with(table, "count", pc.add(table["count"], first.cast(table["count"].type)))


def _repeated(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 1), table.slice(0, 1), table.slice(2)])


def _short(table: pa.Table) -> pa.Table:
    return _with(table, "count", pa.array(table["count"].to_numpy().astype(np.int32)))


def _elsewhere(table: pa.Table) -> pa.Table:
    named = 99 if table.schema[0].type == pa.int64() else "nowhere"
    return _with(table, table.column_names[0], pa.array([named] * table.num_rows))


def _crossed(table: pa.Table) -> pa.Table:
    other = {"count": "low", "low": "count"}
    return table.rename_columns([other.get(name, name) for name in table.column_names])


ROWS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "first row dropped": lambda t: t.slice(1),
    "last row dropped": lambda t: t.slice(0, t.num_rows - 1),
    "emptied": lambda t: t.slice(0, 0),
    "a row doubled": lambda t: pa.concat_tables([t, t.slice(0, 1)]),
    "a row instead of another": _repeated,
    "all doubled": lambda t: pa.concat_tables([t, t]),
    "backwards": lambda t: t.take(list(range(t.num_rows - 1, -1, -1))),
    "a count that is NaN": _nan,
    "a count that is NULL": lambda t: _nulled(t, "count"),
    "a name that is NULL": lambda t: _nulled(t, t.column_names[0]),
    "another count": _more,
    "counts as text": lambda t: _with(t, "count", t["count"].cast(pa.string())),
    "counts as 32-bit numbers": _short,
    "no column of counts": lambda t: t.drop_columns(["count"]),
    "a column more": lambda t: t.append_column("more", t["count"]),
    "columns in another order": lambda t: t.select(t.column_names[::-1]),
    "counts and lows swapped": _crossed,
    "a name that is not listed": _elsewhere,
}
"""What can happen to the rows of a table; each is damage in every table of two rows and more."""


def file_damages(folder: Path, random: Random, times: int) -> dict[str, Damage]:
    """Damage to the tables' files: rows, bytes, lengths, swaps."""
    files = sorted(path.name for path in folder.glob("*.parquet"))
    found: dict[str, Damage] = {}
    for file in files:
        found |= {f"{file}: {words}": reshaped(file, change) for words, change in ROWS.items()}
        found[f"{file}: gone"] = lambda f, file=file: (f / file).unlink()
        found[f"{file}: a folder"] = lambda f, file=file: ((f / file).unlink(), (f / file).mkdir())
        found[f"{file}: no Parquet"] = lambda f, file=file: (f / file).write_text("item,count\n")
        for _ in range(times):
            share, mask = random.random(), 1 << random.randrange(8)
            found[f"{file}: byte at {share:.4f} ^ {mask}"] = flipped(file, share, mask)
        for share in (0.0, 0.3, 0.9, 0.999):
            found[f"{file}: cut at {share}"] = cut(file, share)
    if len(files) > 1:
        found["tables swapped"] = lambda f: _swap(f / files[0], f / files[1])
    return found


def _swap(one: Path, other: Path) -> None:
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)


def json_damages(folder: Path, random: Random, times: int) -> dict[str, Damage]:
    """Damage to ``release.json``: fields that are gone, renamed or hold something else; bytes."""
    facts = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    known = list(fields(facts))
    found: dict[str, Damage] = {}
    for steps in random.sample(known, min(times, len(known))):
        words = ".".join(map(str, steps))
        found[f"{words} is gone"] = removed(steps)
        if isinstance(steps[-1], str):
            found[f"{words} is renamed"] = renamed(steps)
        for value in random.sample(WRONG, 3):
            found[f"{words} is {value!r:.30}"] = replaced(steps, value)
    for _ in range(times):
        share, mask = random.random(), 1 << random.randrange(8)
        found[f"release.json: byte at {share:.4f} ^ {mask}"] = flipped("release.json", share, mask)
    return found
