"""A release that is copied and loaded again, and what its typed objects say."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally import format
from crowdtally.core.layout import HEADS, KINDS, PAIRS, STEPS
from crowdtally.core.numbers import recorded
from crowdtally.core.privacy import Epsilon
from crowdtally.format.entries import (
    DISCOVERED,
    SPARSE,
    NoiseFacts,
    PublicDomain,
    PublicList,
    TableFacts,
    TransformFacts,
)
from crowdtally.format.manifest import (
    AutoFacts,
    Bounded,
    BoundFacts,
    Charged,
    Guarantee,
    Hashed,
    Manifest,
    MethodFacts,
    Other,
    Quantity,
    RecordFacts,
    StepFacts,
    Sums,
    Unit,
    written,
)
from crowdtally.format.parse import json_object, sealed, shaped
from crowdtally.laws.laplace import DiscreteLaplace
from kit.damage import KINDS as KINDS_DAMAGED
from kit.damage import edit
from kit.publishing import visits
from kit.stored import CELLS, NAMES, PLACES, hamlet, stored

# ---- A release that is kept, copied and loaded again; and what is no release ---------------------


def test_a_release_without_a_folder_lives_as_long_as_the_object(tmp_path: Path) -> None:
    records = ct.read(visits(CELLS, "day"), user="user", item="item")
    release = ct.release(
        records,
        ct.Domain(PLACES),
        epsilon=1,
        ledger=tmp_path / "ledger.sqlite",
        dataset="d",
        new_dataset=True,
        method=ct.SRA(10),
    )
    folder = release.folder
    saved = release.save(tmp_path / "kept")
    assert folder.exists()
    before = release.top(3)
    del release
    gc.collect()
    assert not folder.exists()
    assert not folder.parent.exists(), "the private folder goes too"
    assert saved.top(3) == before == ct.load(tmp_path / "kept").top(3)
    assert ct.load(tmp_path / "kept").metadata == saved.metadata


def test_a_folder_whose_name_could_be_a_pattern(tmp_path: Path) -> None:
    release = hamlet(tmp_path)
    (tmp_path / "r1's").mkdir()
    odd = release.save(tmp_path / "r[1]'s")
    assert str(odd.top(3)) == str(release.top(3))
    assert odd.table("items").fetchall() == release.table("items").fetchall()


def test_save_is_a_whole_copy_and_replaces_nothing(tmp_path: Path) -> None:
    release = hamlet(tmp_path)
    copy = release.save(tmp_path / "copy")
    for path in release.folder.iterdir():
        assert (copy.folder / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(ct.UsageError, match="never replaces anything"):
        release.save(tmp_path / "copy")
    with pytest.raises(ct.UsageError, match="is not a folder"):
        release.save(tmp_path / "a" / "b")
    (release.folder / "items.parquet").unlink()
    with pytest.raises(ct.CrowdtallyError, match=r"lacks its 'items\.parquet'"):
        release.save(tmp_path / "half")
    assert not (tmp_path / "half").exists()
    assert not list(tmp_path.glob(".half*"))


def test_not_a_release(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a")
    for place, lack in (
        (tmp_path, r"it has no release\.json"),
        (tmp_path / "nowhere", "there is no such folder"),
        (tmp_path / "a.csv", "it is a file"),
    ):
        with pytest.raises(ct.InputError, match=f"is not a release: {lack}"):
            ct.load(place)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"{}", b'"x"', b"\xff\xfe", b'{"schema": 1}', b"[" * 10**5],
)
def test_damaged_metadata(tmp_path: Path, content: bytes) -> None:
    folder = hamlet(tmp_path).folder
    (folder / "release.json").write_bytes(content)
    with pytest.raises(ct.InputError, match=r"release\.json|layout"):
        ct.load(folder)


def test_another_layout(tmp_path: Path) -> None:
    folder = hamlet(tmp_path).folder
    facts = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps(facts | {"schema": "crowdtally-release/2"}))
    with pytest.raises(ct.InputError, match=r"'crowdtally-release/2'.*the version that wrote it"):
        ct.load(folder)


def test_a_table_that_is_missing_or_elsewhere(tmp_path: Path) -> None:
    folder = hamlet(tmp_path).folder
    (folder / "edges.parquet").rename(tmp_path / "edges.parquet")
    with pytest.raises(ct.InputError, match=r"lacks its table 'edges\.parquet'"):
        ct.load(folder)
    edit(folder, lambda facts: facts["tables"][1].update(file="../edges.parquet"))
    with pytest.raises(ct.InputError, match=r"names its file '\.\./edges\.parquet'"):
        ct.load(folder)  # what a release names must not lead out of its folder


def _without(facts: Any, path: list[Any]) -> None:
    for step in path[:-1]:
        facts = facts[step]
    del facts[path[-1]]


@pytest.mark.parametrize(
    "path",
    [
        ["schema"], ["tables"], ["domain"], ["counted"], ["domain", "contexts"],
        ["domain", "contexts", 0, "values"], ["domain", "contexts", 0, "name"],
        ["tables", 1, "noise"], ["tables", 1, "noise", "scale"],
        ["tables", 1, "noise", "interval_level"], ["tables", 1, "name"], ["tables", 1, "file"],
    ],
    ids=lambda path: ".".join(map(str, path)),
)  # fmt: skip
def test_a_missing_field_is_said_in_words(tmp_path: Path, path: list[Any]) -> None:
    folder = hamlet(tmp_path).folder
    edit(folder, lambda facts: _without(facts, path))
    with pytest.raises(ct.InputError, match=f"it lacks '.*{path[-1]}'"):
        ct.load(folder)


# ---- ``release.json`` as typed objects: they say what the fields say, in every stored release ----


def number(text: str | None) -> Fraction | None:
    return None if text is None else recorded(text)


def check_table(table: TableFacts, facts: dict[str, Any], lists: list[str]) -> None:
    noise = facts["noise"]
    assert (table.name, table.file) == (facts["name"], facts["file"])
    assert list(table.columns) == facts["columns"]
    assert table.cells == facts["cells"]
    assert table.price == Epsilon.of(recorded(facts["epsilon"]))
    assert table.sensitivity == facts["sensitivity"]
    assert table.law == DiscreteLaplace(recorded(noise["scale"]), recorded(noise["unit"]))
    assert table.noise_std == noise["std"]
    assert table.interval_level == number(noise["interval_level"])
    assert table.interval_half_width == noise["interval_half_width"]
    assert (table.rows, table.sha256) == (facts.get("rows"), facts.get("sha256"))
    assert table.publishing == facts["publishing"]
    assert table.discovery_threshold == facts.get("threshold")
    assert set(table.axes) <= {*lists, f"other_{lists[0]}"}
    if facts.get("transform", {"kind": "none"})["kind"] == "none":
        assert table.axes == table.columns
    check_transform(table, facts)
    check_summary(table, facts)


def check_transform(table: TableFacts, facts: dict[str, Any]) -> None:
    told = facts.get("transform", {"kind": "none", "ordered": []})
    assert table.transform.kind == told["kind"]
    assert list(table.transform.ordered) == told["ordered"]
    for name in told.keys() & {"buckets", "rows", "seed"}:
        assert getattr(table.transform, name) == told[name]


def check_summary(table: TableFacts, facts: dict[str, Any]) -> None:
    assert (table.summary is not None) == ("published_cells" in facts)
    assert table.published_cells == facts.get("published_cells", facts["cells"])
    if table.summary is None:
        assert table.keeping.keeps_all
        return
    keeping = table.keeping
    assert (keeping.cut, keeping.sides) == (facts["cut"], facts["sides"])
    assert keeping.threshold == number(facts["estimating_threshold"])
    assert table.summary.size == facts["size"]
    assert table.summary.short == facts["short"]
    assert table.summary.drops_orphans == (facts["consistency"] == "ancestors")
    assert table.summary.domain_cells == facts["domain_cells"]


@pytest.mark.parametrize("name", NAMES)
def test_they_say_what_the_file_says(name: str) -> None:
    facts = json.loads((stored(name) / "release.json").read_text(encoding="utf-8"))
    release = format.load(stored(name))
    assert release.metadata == facts
    assert (release.schema, release.id) == (facts["schema"], facts["id"])
    assert release.counted == facts["counted"]
    lists = facts["domain"].get("attributes") or [
        facts["domain"]["items"], *facts["domain"]["contexts"],
    ]  # fmt: skip
    assert release.domain.names == [one["name"] for one in lists]
    assert [one.length for one in release.domain.lists] == [one["size"] for one in lists]
    assert [one.values for one in release.domain.lists] == [one.get("values") for one in lists]
    assert release.domain.has_items == ("items" in facts["domain"])
    for table, told in zip(release.tables, facts["tables"], strict=True):
        check_table(table, told, release.domain.names)
    promised, paid = facts["guarantee"], facts["charged"]
    assert release.guarantee.epsilon == number(promised["epsilon"])
    assert release.guarantee.delta == number(promised["delta"])
    assert (release.guarantee.unit, release.guarantee.column) == tuple(promised["unit"].values())
    assert release.charged.spent_after.epsilon == number(paid["spent_after"])
    assert (release.charged.limit and release.charged.limit.epsilon) == number(paid["limit"])
    bounds = {table: bound["bound"] for table, bound in facts["method"]["bounds"].items()}
    assert {table: bound.bound for table, bound in release.method.bounds.items()} == bounds
    assert release.method.bounding == facts["method"]["bounding"]


def test_they_are_parsed_once_and_cannot_be_changed() -> None:
    release = format.load(stored("sra-one-context"))
    assert release.tables is release.tables
    assert release.domain is release.domain
    with pytest.raises(AttributeError, match="immutable"):
        release.tables[0].cells = 3  # type: ignore[misc]


def test_every_kind_of_table_is_met_in_the_stored_releases() -> None:
    met = {table.name for name in NAMES for table in format.load(stored(name)).tables}
    # Those of auto and of top items are met in releases that tests make (``test_auto.py``).
    assert met == set(KINDS) - {kind.name for kind in (*STEPS, HEADS)}


@pytest.mark.parametrize("name", ["pairs", "pairs-text-hpa"])
def test_a_pair_has_its_list_twice(name: str) -> None:
    release = format.load(stored(name))
    (table,) = (table for table in release.tables if table.kind is PAIRS)
    (item,) = release.domain.names
    assert table.axes == table.columns == (item, f"other_{item}")
    assert table.kind.counts("records") == "pairs of records"


# ---- A manifest that is written and read is the same, whatever it says -----------------------


TEXTS = st.text(min_size=1, max_size=9)
POSITIVE = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)
SHARES = st.fractions(0, 1)
NUMBERS = st.integers(0, 10**30)
AT_LEAST_ONE = st.integers(1, 2**31)
HASHES = st.text("0123456789abcdef", min_size=64, max_size=64)
MEASURES = st.floats(0, 1e300)
TUPLES = st.lists(TEXTS, max_size=3).map(tuple)
LEVELS = st.fractions(Fraction(1, 1000), Fraction(999, 1000))
VALUES = st.lists(TEXTS, min_size=1, max_size=4) | st.lists(
    st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


LISTED = st.builds(
    PublicList, name=TEXTS, kind=st.sampled_from(["text", "integer"]), length=AT_LEAST_ONE,
    values=VALUES,
)  # fmt: skip
FOUND = st.builds(PublicList, name=TEXTS, length=NUMBERS, discovered=st.just(True))
ELSEWHERE = st.builds(
    PublicList, name=TEXTS, kind=st.just("text"), length=AT_LEAST_ONE, sha256=HASHES,
    listed_in=st.just("items.parquet"),
)  # fmt: skip
COLUMNS = st.lists(LISTED | FOUND, min_size=1, max_size=3).map(tuple)
DOMAINS = st.builds(PublicDomain, attributes=COLUMNS) | st.builds(
    PublicDomain, items=LISTED | FOUND | ELSEWHERE, context_lists=COLUMNS | st.just(())
)
NOISE: dict[str, Any] = {
    "law": TEXTS, "unit": POSITIVE, "std": MEASURES, "interval_level": LEVELS,
    "interval_half_width": NUMBERS | MEASURES,
}  # fmt: skip
NOISES = (
    st.builds(NoiseFacts, **NOISE, scale=POSITIVE)
    | st.builds(NoiseFacts, **NOISE, variance=POSITIVE)
    | st.builds(
        NoiseFacts,
        **NOISE,
        rate=POSITIVE,
        cells=st.integers(1, 99),
        phantoms=st.integers(0, 64),
        blocks=AT_LEAST_ONE,
    )
)
TRANSFORMS = st.builds(TransformFacts, kind=st.just("none"), ordered=st.just(())) | st.builds(
    TransformFacts, kind=st.just("sketch"), ordered=st.just(()), buckets=AT_LEAST_ONE,
    rows=st.integers(1, 1000), seed=st.integers(0, 2**64),
)  # fmt: skip
PRICES = st.fixed_dictionaries({"epsilon": POSITIVE}) | st.fixed_dictionaries(
    {"rho": POSITIVE, "squared": AT_LEAST_ONE}
)
ENTRY = {
    "name": st.sampled_from(sorted(KINDS)), "file": TEXTS, "cells": NUMBERS,
    "columns": st.lists(TEXTS, min_size=1, max_size=3).map(tuple), "sensitivity": AT_LEAST_ONE,
    "noise": NOISES, "rows": NUMBERS, "sha256": HASHES,
}  # fmt: skip
FORMS = (
    st.fixed_dictionaries({"publishing": st.just("dense"), "stated_transform": TRANSFORMS})
    | st.fixed_dictionaries(
        {"publishing": st.just(DISCOVERED), "delta": SHARES, "threshold": AT_LEAST_ONE}
    )
    | st.fixed_dictionaries(
        {
            "publishing": st.sampled_from(SPARSE),
            "stated_transform": TRANSFORMS,
            "domain_cells": AT_LEAST_ONE,
            "kept_cells": NUMBERS,
            "short": st.booleans(),
            "sides": st.sampled_from(["one", "two"]),
            "cut": st.integers(0, 2**62),
            "sampling_threshold": maybe(POSITIVE),
            "estimating_threshold": maybe(POSITIVE),
            "size": maybe(AT_LEAST_ONE),
            "consistency": st.sampled_from(["none", "ancestors"]),
        }
    )
)
TABLES = st.builds(
    lambda entry, price, form: TableFacts(**entry, **price, **form),
    st.fixed_dictionaries(ENTRY), PRICES, FORMS,
)  # fmt: skip
COURSE = st.builds(StepFacts, name=TEXTS, why=TEXTS, epsilon=POSITIVE, theta=maybe(AT_LEAST_ONE))
AUTOS = st.builds(
    AutoFacts, purpose=st.sampled_from(["counts", "top", "recommend"]), repeats=st.booleans(),
    context_per_user=TUPLES, path=st.sampled_from(["short", "rich", "long"]), rich=st.booleans(),
    written_kappa=st.floats(0.001, 10).map("{:.3f}".format), rho=maybe(POSITIVE),
    steps=st.lists(COURSE, min_size=1, max_size=3).map(tuple),
)  # fmt: skip
METHODS = st.builds(
    MethodFacts, bounding=TEXTS, chosen_by=maybe(TEXTS), largest_candidate=maybe(AT_LEAST_ONE),
    bounds=st.dictionaries(TEXTS, st.builds(BoundFacts, AT_LEAST_ONE, POSITIVE), max_size=2),
    popularity_records=maybe(AT_LEAST_ONE), cap=maybe(AT_LEAST_ONE), record_id=maybe(TEXTS),
    scaled_to=maybe(st.just("l2")), context_per_user=maybe(TUPLES),
)  # fmt: skip
RECORDS = st.builds(
    RecordFacts, user=TUPLES, same_person=st.booleans(), item=maybe(TEXTS),
    item_expression=maybe(TEXTS), contexts=st.dictionaries(TEXTS, maybe(TEXTS), max_size=2),
    where=maybe(TEXTS), timezone=TEXTS, types=st.dictionaries(TEXTS, TEXTS, max_size=2),
    bounded=maybe(st.builds(Bounded, AT_LEAST_ONE, st.booleans())),
    amount=maybe(st.builds(Quantity, TEXTS, AT_LEAST_ONE)),
)  # fmt: skip
SUMS = st.builds(Sums, SHARES, SHARES, SHARES, SHARES)
CHARGE = {
    "entry": TEXTS, "dataset": maybe(TEXTS), "epsilon": POSITIVE, "delta": SHARES,
}  # fmt: skip
CHARGES = st.builds(
    Charged, **CHARGE, before=st.just("0"), after=st.just("1/3"), most=maybe(st.just("2"))
) | st.builds(
    Charged, **CHARGE, accountant=st.just("zcdp"), rho=maybe(POSITIVE), before=SUMS, after=SUMS,
    most=maybe(SUMS),
)  # fmt: skip
MANIFESTS = st.builds(
    Manifest, schema=TEXTS, id=TEXTS, created=TEXTS, records=RECORDS, method=METHODS,
    guarantee=st.builds(
        Guarantee, words=TEXTS, epsilon=POSITIVE, delta=SHARES, rho=maybe(POSITIVE),
        protects=st.builds(Unit, st.sampled_from(["user", "row"]), maybe(TEXTS)), relation=TEXTS,
    ),
    counted=st.sampled_from(["records", "users"]), split=st.dictionaries(TEXTS, SHARES, max_size=2),
    tables=st.lists(TABLES, min_size=1, max_size=2).map(tuple), domain=DOMAINS, charged=CHARGES,
    versions=st.dictionaries(TEXTS, TEXTS, max_size=2), auto=maybe(AUTOS),
    other=maybe(st.builds(Other, count=st.integers(), noise_scale=POSITIVE, counts=TEXTS)),
    datapackage=st.builds(Hashed, HASHES), sha256=HASHES,
)  # fmt: skip


@given(MANIFESTS)
def test_what_is_written_is_read(manifest: Manifest) -> None:
    metadata = written(manifest)
    raw = sealed(dict(metadata))
    again = json_object(raw, ct.InputError)
    assert again | {"sha256": manifest.sha256} == metadata
    found = shaped(again | {"sha256": manifest.sha256}, Manifest, ct.InputError)
    assert found == manifest
    assert sealed(written(found)) == raw
    assert [table.axes for table in found.tables] == [table.axes for table in manifest.tables]


@pytest.mark.parametrize("kind", KINDS_DAMAGED)
def test_what_is_read_is_written_again_to_the_byte(
    kind: str, made_once: Callable[[str], Path]
) -> None:
    raw = (made_once(kind) / "release.json").read_bytes()
    manifest = shaped(json_object(raw, ct.InputError), Manifest, ct.InputError)
    assert sealed(written(manifest)) == raw


def test_a_summary_says_its_rule_before_its_price(made_once: Callable[[str], Path]) -> None:
    for kind, is_first in (("filter", True), ("plain", False)):
        facts = json.loads((made_once(kind) / "release.json").read_text("utf-8"))
        names = list(facts["tables"][1])
        assert (names.index("publishing") < names.index("epsilon")) == is_first
