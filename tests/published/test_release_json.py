"""``release.json``: every field is documented, and none tells anything about the records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.format.load import what_counts
from kit.adaptive import adaptive
from kit.auto_made import release_way
from kit.hamlet import CELLS, DAYS, PLACES, hamlet
from kit.made import made, visits

DOCUMENT = Path(__file__).parents[2] / "docs" / "release-format.md"


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "chosen": {"choose": "rank"},
    "hpa": {"bounding": "hpa"},
    "dpsense": {"bounding": "dpsense", "count": "users", "max_records": 2},
    "norm": {
        "bounding": "dpsense",
        "norm": "l2",
        "count": "users",
        "max_records": 2,
        "delta": "1e-6",
    },
    "interval": {"count": "users", "noise": "interval"},
    "discovered": {"discover_items": True, "delta": "1e-2", "epsilon": 20},
    "discovered by laplace": {
        "discover_items": True,
        "delta": "1e-2",
        "epsilon": 20,
        "noise": "laplace",
    },
    "discovered contexts": {"discover": "day", "delta": "1e-2", "epsilon": 20},
    "discovered attributes": {"discover": "day", "delta": "1e-2", "epsilon": 20},
    "auto by rho": {"noise": "gaussian", "delta": "1e-2", "epsilon": 20},
    "pairs": {"pairs": True},
    "filter": {"publishing": "filter", "cut": 2},
    "threshold": {"publishing": "threshold", "threshold": "3"},
    "priority": {"publishing": "priority", "size": 3},
    "dyadic": {"transform": "dyadic", "ordered": "item"},
    "haar": {"transform": "haar", "ordered": "item"},
    "sketch": {"transform": "sketch", "buckets": 4},
    "rows": {},
    "bounded elsewhere": {},
    "quantities": {},
    "attributes": {},
    "long list": {},
    "auto": {"for_": "recommend", "context_per_user": "day"},
}


REAL = ("tastes", "split head", "counts", "small in contexts", "top in contexts")
"""Real releases of ``auto``, whose steps say what they decided."""


def of_kind(folder: Path, kind: str) -> ct.Release:
    if kind == "auto":
        return ct.load(adaptive(folder, **KINDS[kind]))
    domain: ct.Domain | None = ct.Domain(PLACES, {"day": DAYS})
    roles: dict[str, Any] = {}
    rows = visits(CELLS, "day")
    if kind in ("discovered", "discovered by laplace"):
        domain = None
    if kind == "discovered contexts":
        domain = ct.Domain(PLACES)
        roles = {"contexts": ["day"]}
    if kind == "discovered attributes":
        domain = ct.Domain(attributes={"item": PLACES})
        roles = {"item": None, "contexts": [], "attributes": ["item", "day"]}
    if kind == "pairs":
        domain = ct.Domain(PLACES)
    if kind == "rows":
        roles = {"user": None, "user_per_row": True}
    if kind == "bounded elsewhere":
        roles = {"user": None, "bounded_to": 3, "cells_once": True}
    if kind == "quantities":
        rows = rows.append_column("bought", [[1 + n % 4 for n in range(len(rows))]])
        roles = {"quantity": "bought", "max_quantity": 3, "types": {"bought": "int64"}}
    if kind == "attributes":
        domain = ct.Domain(attributes={"item": PLACES, "day": DAYS})
        roles = {"item": None, "contexts": [], "attributes": ["item", "day"]}
    if kind == "long list":
        domain = ct.Domain([*PLACES, *(f"p{n}" for n in range(10_000))])
    return made(folder, rows, domain, roles=roles, **KINDS[kind])


def paths(value: Any, prefix: str = "") -> Iterator[str]:
    """Every field by its path; the keys of maps from names to values are written as NAME."""
    maps = {"split", "versions", "method.bounds", "records.contexts", "records.types",
            "tables[].merged"}  # fmt: skip
    if isinstance(value, dict):
        for key, inner in value.items():
            step = "NAME" if prefix in maps else key
            yield from paths(inner, f"{prefix}.{step}" if prefix else step)
    elif isinstance(value, list):
        yield prefix
        for inner in value:
            if isinstance(inner, dict):
                yield from paths(inner, f"{prefix}[]")
    else:
        yield prefix


def documented() -> set[str]:
    """The first column of the document's tables of fields."""
    return set(re.findall(r"^\| `([^`]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))


def test_documented_fields_are_exactly_the_written_ones(tmp_path: Path) -> None:
    written = set()
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        written |= set(paths(dict(of_kind(tmp_path / kind, kind).metadata)))
    for name in REAL:
        written |= set(paths(dict(release_way(tmp_path, name).metadata)))
    assert written - documented() == set(), "fields that docs/release-format.md does not mention"
    assert documented() - written == set(), "documented fields that nothing writes"


def test_release_json_is_plain_json_of_a_known_schema(tmp_path: Path) -> None:
    release = hamlet(tmp_path, epsilon="1/3")
    text = (release.folder / "release.json").read_text(encoding="utf-8")
    facts = json.loads(text, parse_constant=lambda _: pytest.fail("NaN or infinity in JSON"))
    assert facts == release.metadata
    assert facts["schema"] == "crowdtally-release/1"
    assert facts["guarantee"]["epsilon"] == "1/3"
    assert facts["guarantee"]["unit"] == {"kind": "user", "column": "user"}
    assert "all records of one user" in facts["guarantee"]["words"]
    assert facts["charged"]["spent_after"] == "1/3"
    assert sum(map(Fraction, facts["split"].values())) == 1
    total = sum(Fraction(table["epsilon"]) for table in facts["tables"])
    assert total == Fraction(1, 3)


def test_release_json_tells_no_count_of_the_records(tmp_path: Path) -> None:
    """Numbers of users, rows, kept and dropped records that occur nowhere else."""
    users, each = 1237, 3  # of which 2 are kept: 2474 of 3711, after 611 dropped
    rows = pa.table(
        {
            "user": [f"u{n % users}" for n in range(users * each)] + ["u0"] * 611,
            "item": ["zoo"] * (users * each) + ["elsewhere"] * 611,
            "day": ["Mon"] * (users * each + 611),
        }
    )
    domain = ct.Domain(PLACES, {"day": DAYS})
    told = {users, users * each, users * 2, 611, users * each + 611, users - 1, users + 1}
    for number, options in enumerate(
        [{}, {"count": "users"}, {"choose": "rank"}, {"publishing": "filter", "cut": 5}]
    ):
        release = made(tmp_path, rows, domain, name=f"out-{number}", max_records=2, **options)
        text = (release.folder / "release.json").read_text(encoding="utf-8")
        numbers = {int(found) for found in re.findall(r"(?<![\w.])\d+(?![\w.])", text)}
        assert not numbers & told
        schema = pyarrow.parquet.read_metadata(release.folder / "items.parquet").metadata or {}
        assert not any(b"1237" in value for value in schema.values())


def test_counts_of_persons_with_several_ids_are_not_described_as_weighed_rows(
    tmp_path: Path,
) -> None:
    rows, same = visits({"a": 3}), pa.table({"user": ["u0", "u1"], "person": ["p", "p"]})
    release = made(tmp_path, rows, ct.Domain(["a"]), roles={"same_person": same}, max_records=2)
    (table,) = release._published.tables
    words = what_counts(release._published, table).words()
    assert words == "at most 2 records of each user are counted"
