"""release.json: each field documented, and each damage to it found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.format.load import what_counts
from crowdtally.format.parse import sealed
from kit.auto import adaptive, known_way
from kit.command import crowdtally
from kit.damage import edit
from kit.publishing import made, visits
from kit.stored import CELLS, DAYS, PLACES, hamlet

# ---- ``release.json``: every field is documented, and none tells anything about the records ------


DOCUMENT = Path(__file__).parents[2] / "docs" / "release-format.md"


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "chosen": {"method": ct.SRA(choose="rank")},
    "hpa": {"method": ct.HPA()},
    "dpsense": {"method": ct.DPSense(2), "count": "users"},
    "norm": {
        "method": ct.DPSense(2, norm="l2"),
        "count": "users",
        "delta": "1e-6",
    },
    "interval": {"count": "users", "noise": "interval"},
    "discovered": {"method": ct.Discover("item"), "delta": "1e-2", "epsilon": 20},
    "discovered by laplace": {
        "method": ct.Discover("item"),
        "delta": "1e-2",
        "epsilon": 20,
        "noise": "laplace",
    },
    "discovered contexts": {"method": ct.Discover("day"), "delta": "1e-2", "epsilon": 20},
    "discovered attributes": {"method": ct.Discover("day"), "delta": "1e-2", "epsilon": 20},
    "auto by rho": {"noise": "gaussian", "delta": "1e-2", "epsilon": 20},
    "pairs": {"pairs": True},
    "filter": {"summary": ct.Filter(cut=2)},
    "threshold": {"summary": ct.Threshold("3")},
    "priority": {"summary": ct.Priority(3)},
    "dyadic": {"transform": ct.Dyadic("item")},
    "haar": {"transform": ct.Haar("item")},
    "sketch": {"transform": ct.Sketch(4)},
    "rows": {},
    "bounded elsewhere": {},
    "quantities": {},
    "attributes": {},
    "long list": {},
    "auto": {"method": ct.Auto("recommend", repeats=False, context_per_user="day")},
}


REAL = ("rich", "by user", "gaussian", "sparse", "top in contexts")
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
        written |= set(paths(dict(known_way(name).metadata)))
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
    chosen = {"method": ct.SRA(2, choose="rank")}
    for number, options in enumerate(
        [{}, {"count": "users"}, chosen, {"summary": ct.Filter(cut=5)}]
    ):
        given = {"method": ct.SRA(2)} | options
        release = made(tmp_path, rows, domain, name=f"out-{number}", **given)
        text = (release.folder / "release.json").read_text(encoding="utf-8")
        numbers = {int(found) for found in re.findall(r"(?<![\w.])\d+(?![\w.])", text)}
        assert not numbers & told
        schema = pyarrow.parquet.read_metadata(release.folder / "items.parquet").metadata or {}
        assert not any(b"1237" in value for value in schema.values())


def test_counts_of_persons_with_several_ids_are_not_described_as_weighed_rows(
    tmp_path: Path,
) -> None:
    rows, same = visits({"a": 3}), pa.table({"user": ["u0", "u1"], "person": ["p", "p"]})
    release = made(tmp_path, rows, ct.Domain(["a"]), roles={"same_person": same}, method=ct.SRA(2))
    (table,) = release._published.tables
    words = what_counts(release._published, table).words()
    assert words == "at most 2 records of each user are counted"


# ---- ``release.json`` with a field that is missing, of another type, absurd or at odds with
#      another
#
# All of these have a right hash: they are what somebody else could have written.


Fresh = Callable[..., Path]


def put(way: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of the field at ``way``, such as ``tables.1.noise.scale``."""
    *steps, last = [int(step) if step.isdigit() else step for step in way.split(".")]

    def change(facts: Any) -> None:
        for step in steps:
            facts = facts[step]
        facts[last] = value

    return change


WRONG: list[tuple[str, str, Any, str]] = [
    ("plain", "tables", {}, "tables must be a list, and is an object"),
    ("plain", "tables", [], "tables must be a list of length >= 1, and is a list"),
    ("plain", "domain", 3, "domain must be an object, and is 3"),
    ("plain", "counted", "people", "counted must be one of the known texts, and is 'people'"),
    ("plain", "guarantee.epsilon", 4, "guarantee.epsilon must be an exact number above 0"),
    ("plain", "guarantee.delta", "0.5", "charged.delta is 0, and guarantee.delta is 0.5"),
    ("plain", "charged.epsilon", "5", "charged.epsilon is 5, and guarantee.epsilon is 4"),
    ("plain", "charged.spent_before", "7", "charged.spent_after is not"),
    ("plain", "split.items", "1/3", "the shares of split do not add up to 1"),
    ("plain", "split.items", "3/2", "split[...] must be an exact number from 0 to 1"),
    ("plain", "method.bounds", {}, "method.bounds is about none"),
    ("plain", "method.popularity_records", 3, "those of this domain are edges, items, popularity"),
    ("plain", "tables.0.name", "edges", "it names the table 'edges' 2 times"),
    ("plain", "tables.0.name", "../items", "tables[0].name must be one of the known texts"),
    ("plain", "tables.0.file", "a/items.parquet", "names its file 'a/items.parquet'"),
    ("plain", "tables.0.cells", 6, "has 6 cells, and the lists make 5"),
    ("plain", "tables.0.cells", -5, "tables[0].cells must be a whole number >= 0, and is -5"),
    ("plain", "tables.0.cells", True, "tables[0].cells must be a whole number"),
    ("plain", "tables.0.cells", "5", "tables[0].cells must be a whole number, and is '5'"),
    ("plain", "tables.0.cells", 5.0, "tables[0].cells must be a whole number, and is 5.0"),
    ("plain", "tables.0.epsilon", None, "tables[0].epsilon must be an exact number above 0"),
    ("plain", "charged.spent_before", "-1", "charged must not have spent less than nothing"),
    ("plain", "charged.spent_before", "x", "charged not an exact number"),
    ("plain", "charged.limit", {**dict.fromkeys(("epsilon", "delta", "rho", "pure_rho"), "1")},
     "charged must have sums by zcdp"),
    ("by rho", "charged.spent_before", "0", "charged must have sums by zcdp"),
    ("plain", "domain.attributes", [{"name": "a", "size": 1, "discovered": True}],
     "domain must have items and contexts, or attributes, and not both"),
    ("plain", "tables.0.rows", 4, "has 4 rows for 5 published cells"),
    ("plain", "tables.0.sha256", "x", "tables[0].sha256 must be a text matching regex"),
    ("plain", "tables.0.columns", ["day"], "must have the columns item"),
    ("plain", "tables.0.columns", "item", "tables[0].columns must be a list"),
    ("plain", "tables.0.publishing", "sparse",
     "tables[0].publishing must be one of the known texts"),
    ("plain", "tables.0.publishing", ["dense"], "tables[0].publishing must be a text"),
    ("plain", "tables.0.publishing", "filter", "it lacks 'tables[0].domain_cells'"),
    ("plain", "tables.0.epsilon", "0", "tables[0].epsilon must be an exact number above 0"),
    ("plain", "tables.0.epsilon", "1/0", "tables[0].epsilon must be an exact number above 0"),
    ("plain", "tables.0.epsilon", "1", "has a noise scale that is not its sensitivity"),
    ("plain", "tables.0.epsilon", "3", "the tables cost more epsilon than was charged"),
    ("plain", "tables.0.sensitivity", 11, "has a noise scale that is not its sensitivity"),
    ("plain", "tables.0.noise", [], "tables[0].noise must be an object, and is a list"),
    ("plain", "tables.0.noise.scale", "-1", "noise.scale must be an exact number above 0"),
    ("plain", "tables.0.noise.scale", "1e99999", "noise.scale must be an exact number above 0"),
    ("plain", "tables.0.noise.scale", "6", "has a noise scale that is not its sensitivity"),
    ("plain", "tables.0.noise.unit", "0", "noise.unit must be an exact number above 0"),
    ("plain", "tables.0.noise.unit", "2", "has noise of standard deviation"),
    ("plain", "tables.0.noise.std", 10**400,
     "noise.std must be a number"),
    ("plain", "tables.0.noise.std", 1.0, "has noise of standard deviation 1.0, and its scale"),
    ("plain", "tables.0.noise.interval_level", "1", "must be an exact number between 0 and 1"),
    ("plain", "tables.0.noise.interval_level", "0.9", "a noise interval that does not follow"),
    ("plain", "tables.0.noise.interval_half_width", 3, "a noise interval that does not follow"),
    ("plain", "tables.0.transform", {"kind": "x"}, "transform.kind must be one of the known texts"),
    ("plain", "domain.items.values", "zoo", "domain.items.values must be a list, and is 'zoo'"),
    ("plain", "domain.items.values", ["zoo"], "has 1 values, and its size is 5"),
    ("plain", "domain.items.values", [*"abcd", 5], "said to be of kind 'text', and is not"),
    ("plain", "domain.items.values", [*"abcdd"], "the list of 'item' holds a value twice"),
    ("plain", "domain.items.values", [1, 2, 3, 4, 5], "said to be of kind 'text', and is not"),
    ("plain", "domain.items.values", [*"abcd", "e\u0301"], "is not in Unicode normal form C"),
    ("plain", "domain.items.values", [1, 2, 3, 4, 2**63],
     "values[4] must be a whole number <= 9223372036854775807"),
    ("plain", "domain.items.name", "day", "it names the column 'day' 2 times"),
    ("plain", "domain.items.name", "count", "a column 'count', which is a column of every table"),
    ("plain", "domain.contexts", {}, "domain.contexts must be a list"),
    ("plain", "domain.contexts", [], "and the tables are edges, items"),
    ("stated", "guarantee.unit.kind", "row", "do not agree on whether the bound is a statement"),
    ("stated", "method.bounding", "sra", "do not agree on whether the bound is a statement"),
    ("stated", "records.bounded.to", 4, "another bound than records.bounded.to, which is 4"),
    ("stated", "records.bounded.to", 0, "records.bounded.to must be a whole number >= 1"),
    ("stated", "records.bounded", {"to": 3}, "it lacks 'records.bounded.cells_once'"),
    ("stated", "records.bounded.cells_once", False, "tables[1] (edges) covers fewer rows"),
    ("stated", "tables.0.sensitivity_squared", 3, "tables[0] (items) covers fewer rows"),
    ("stated", "tables.0.sensitivity", 1, "tables[0] (items) covers fewer rows"),
    ("by rho", "guarantee.rho", "9", "guarantee.rho is more than guarantee.epsilon and"),
    ("by rho", "guarantee.rho", "1/1000", "charged.rho is more than guarantee.rho"),
    ("by rho", "guarantee.delta", "1e-9", "charged.delta is 1e-6, and guarantee.delta is 1e-9"),
    ("by rho", "charged.rho", "1/1000", "charged.spent_after is not"),
    ("by rho", "charged.spent_after.delta", "1/100", "charged.spent_after has another delta"),
    ("by rho", "charged.accountant", "sequential",
     "charged.accountant must be one of the known texts"),
    ("by rho", "charged.limit", {}, "it lacks 'charged.limit.epsilon'"),
    ("by rho", "tables.0.rho", "9", "the tables cost more rho than was charged"),
    ("by rho", "tables.0.rho", "1/1000", "has a noise variance that is not sensitivity_squared"),
    ("by rho", "tables.0.rho", 3, "tables[0].rho must be an exact number above 0"),
    ("by rho", "tables.0.sensitivity_squared", 49, "has a noise variance that is not"),
    ("by rho", "tables.0.noise.variance", "9", "has a noise variance that is not"),
    ("by rho", "tables.0.noise.std", 1.0, "has noise of standard deviation 1.0, and its scale"),
    ("plain", "tables.0.rho", "1/100", "it lacks 'tables[0].sensitivity_squared'"),
    ("filter", "tables.1.cut", -1, "tables[1].cut must be a whole number >= 0"),
    ("filter", "tables.1.domain_cells", 16, "has 15 cells and 16 domain_cells"),
    ("filter", "tables.1.published_cells", 16, "has 16 published cells of 15"),
    ("filter", "tables.1.size", 3, "has a size without being a priority sample"),
    ("threshold", "tables.1.cut", 3, "has a cut of 3 without being filtered"),
    ("threshold", "tables.1.estimating_threshold", None, "a threshold sample without a threshold"),
    ("threshold", "tables.1.estimating_threshold", "-1", "above 0, as text"),
    ("priority", "tables.1.size", 2, "has 4 published cells for a size of 2"),
    ("priority", "tables.1.size", 99, "has 4 published cells for a size of 99"),
    ("haar", "tables.1.transform.ordered", ["day", "item"], "a Haar transform of several columns"),
    ("haar", "tables.1.transform.ordered", ["year"], "a transform of columns that are not its own"),
    ("sketch", "tables.1.transform.buckets", 0, "must be a whole number >= 1"),
    ("sketch", "tables.1.transform.rows", 4, "has 20 cells, and the lists make 16"),
    ("sketch", "tables.1.transform.seed", 1.5, "seed must be a whole number, and is 1.5"),
    ("discovered", "tables.0.threshold", "9", "tables[0].threshold must be a whole number"),
    ("discovered", "domain.items.discovered", False,
     "must not say that its values are not discovered"),
    ("discovered", "other", 3, "other must be an object, and is 3"),
    ("auto", "auto", [], "auto must be an object, and is a list"),
    ("auto", "auto.for", "profit", "auto.for must be one of the known texts"),
    ("auto", "auto.repeats", "yes", "auto.repeats must be true or false"),
    ("auto", "auto.context_per_user", ["hour"], "it must be all of them, or none"),
    ("auto", "auto.path", "flat", "auto.path must be one of the known texts"),
    ("auto", "auto.rich", "yes", "auto.rich must be true or false"),
    ("auto", "auto.kappa", "0", "auto.kappa must be a text matching regex"),
    ("auto", "auto.steps", [], "auto.steps must be a list of length >= 1"),
    ("auto", "auto.steps.3.epsilon", "1.5", "the table 'items' cost epsilon 1.5 by auto"),
    ("auto", "auto.steps.3.theta", 0, "auto.steps[3].theta must be a whole number"),
    ("auto", "auto.steps.3.theta", 99, "is not what auto tells of that table"),
    ("auto", "auto.steps.1.name", "sizes", "auto tells of the table 'sizes' 2 times"),
    ("auto", "auto.steps.1.name", "zoom", "auto tells of the table 'zoom', which is not there"),
    ("auto", "auto.steps.1.epsilon", "0", "auto.steps[1].epsilon must be an exact number above 0"),
    ("auto", "auto.steps.1.why", "", "auto.steps[1].why must be a text of length >= 1"),
    ("auto", "method.bounding", "sra", "or method.bounding is 'auto', but not both"),
    ("plain", "method.bounding", "auto", "or method.bounding is 'auto', but not both"),
    ("auto", "method.bounds", {}, "method.bounds lacks the table 'items'"),
    ("auto", "method.bounds.items.bound", 99, "is not what auto tells of that table"),
    ("auto", "method.bounds.items.scaling", "2", "is not what auto tells of that table"),
    ("auto", "method.bounds", {"cells": {"bound": 4, "scaling": "1"}}, "there is no such table"),
    ("auto", "tables.0.cells", 12, "the table 'sizes' has 12 cells, and auto counts 19"),
    ("auto", "tables.4.cells", 2, "the table 'total' has 2 cells, and auto counts 1"),
    ("auto", "tables.0.name", "popularity", "and auto makes sizes, items and some of"),
    ("auto", "tables.7.publishing", "dense", "is published as 'dense', which such a table cannot"),
    ("auto", "tables.1.publishing", "chosen", "is published as 'chosen', which such"),
    ("auto", "tables.7.cells", 6, "has 6 cells, and they are some of 5"),
    ("auto", "tables.7.noise.cells", 3, "interval noise of 3 cells on 2 cells"),
    ("auto", "tables.7.noise.rate", "1", "a noise rate that is not its epsilon divided by"),
    ("long list", "domain.items.listed_in", "/etc/x",
     "must be one of the known texts, and is '/etc/x'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "way", "value", "words"), WRONG, ids=[f"{k}-{w}-{v!r:.20}" for k, w, v, _ in WRONG]
)
def test_a_wrong_field_is_said_in_words(
    kind: str, way: str, value: Any, words: str, fresh: Fresh
) -> None:
    folder = fresh(kind)
    edit(folder, put(way, value))
    with pytest.raises(ct.InputError) as caught:
        ct.load(folder)
    said = str(caught.value)
    assert words in said
    assert said.startswith(f"'{folder / 'release.json'}' is damaged: ")
    assert said.endswith(". Copy the release again.")
    assert len(said) < 600


@pytest.mark.parametrize(
    ("kind", "way", "value"),
    [
        ("sketch", "tables.1.transform.seed", 7),
        ("filter", "tables.1.cut", 8),
        ("haar", "domain.contexts.0.values", ["Mon", "Tue", "Sun"]),
        ("plain", "counted", "users"),
    ],
)
def test_a_change_that_fits_is_seen_by_the_hash(
    kind: str, way: str, value: Any, fresh: Fresh
) -> None:
    """Nothing else tells these values, so nothing but the hash can tell that they are others."""
    folder = fresh(kind)
    path = folder / "release.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    put(way, value)(facts)
    path.write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(ct.InputError, match="it was changed after it was written"):
        ct.load(folder)


def nested(depth: int) -> bytes:
    return b'{"schema": ' + b"[" * depth + b"]" * depth + b"}"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not the JSON"),
        (b"\xef\xbb\xbf{}", "not the JSON"),
        (b'{"a": "\xff"}', "not text in UTF-8"),
        ("{}".encode("utf-16"), "not text in UTF-8"),
        (b'{"schema": NaN}', "not the JSON"),
        (b'{"schema": -Infinity}', "not the JSON"),
        (b'{"schema": "crowdtally-release/1", "schema": "crowdtally-release/1"}', "not the JSON"),
        (b'{"schema": ' + b"9" * 10**5 + b"}", "not the JSON"),
        (nested(10**5), "not the JSON"),
        (b'{"schema": "\\ud800"}', "not the JSON"),
        (b'{"schema": "\\ud83d\\ude00"}', "has layout '\U0001f600'"),
        (b"[]", "it must hold an object, and holds a list"),
        (b"{}", "it lacks 'schema'"),
        (b'{"schema": "crowdtally-release/1"}', "it lacks 'id'"),
    ],
)
def test_bytes_that_are_no_metadata(raw: bytes, words: str, fresh: Fresh) -> None:
    folder = fresh("plain")
    (folder / "release.json").write_bytes(raw)
    with pytest.raises(ct.InputError, match=words):
        ct.load(folder)


def test_a_number_beyond_all_floats(fresh: Fresh) -> None:
    folder = fresh("plain")
    edit(folder, put("tables.0.noise.std", 77777.0))
    path = folder / "release.json"
    raw = path.read_bytes().replace(b"77777.0", b"1e999")
    digest = json.loads(raw)["sha256"].encode()
    right = sha256(raw.replace(digest, b"0" * 64)).hexdigest()
    path.write_bytes(raw.replace(digest, right.encode()))
    with pytest.raises(ct.InputError, match=r"noise\.std must be a number <= .* and is inf"):
        ct.load(folder)


@pytest.mark.parametrize("way", ["guarantee.rho", "other", "auto", "tables.0.rho", "method.norm"])
def test_a_field_is_left_out_and_not_null(way: str, fresh: Fresh) -> None:
    folder = fresh("plain")
    edit(folder, put(way, None))
    with pytest.raises(ct.InputError, match=r"must be .* and is null"):
        ct.load(folder)


def test_fields_of_a_later_version_are_left_alone(fresh: Fresh) -> None:
    folder = fresh("plain")
    edit(folder, lambda facts: facts.update(later={"any": [1, None]}))
    assert len(ct.load(folder).top(3)) == 3


@pytest.mark.parametrize(
    "lost", ["sha256", "datapackage", "records", "tables.0.sha256", "tables.1.rows"]
)
def test_what_every_release_has(lost: str, fresh: Fresh) -> None:
    """Folders of before there were hashes lack them, and are refused."""
    folder = fresh("plain")
    path = folder / "release.json"
    facts = json.loads(path.read_text())
    facts.pop("sha256")
    *steps, last = lost.split(".")
    inner = facts[steps[0]][int(steps[1])] if steps else facts
    inner.pop(last, None)
    path.write_bytes(json.dumps(facts).encode() if lost == "sha256" else sealed(facts))
    for ask in ("top", "check", "describe"):
        ended = crowdtally(ask, folder)
        assert (ended.code, ended.out) == (4, ""), ended
        assert "release.json' is damaged: it lacks" in ended.err
        assert last in ended.err
