"""Hundreds of ways to damage a release, from a seed."""

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
