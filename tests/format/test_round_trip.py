"""A manifest that is written and read is the same, whatever it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.core.layout import KINDS
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
from kit.damage import KINDS as KINDS_DAMAGED

NAMES = st.text(min_size=1, max_size=9)
POSITIVE = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)
SHARES = st.fractions(0, 1)
NUMBERS = st.integers(0, 10**30)
AT_LEAST_ONE = st.integers(1, 2**31)
HASHES = st.text("0123456789abcdef", min_size=64, max_size=64)
MEASURES = st.floats(0, 1e300)
TUPLES = st.lists(NAMES, max_size=3).map(tuple)
LEVELS = st.fractions(Fraction(1, 1000), Fraction(999, 1000))
VALUES = st.lists(NAMES, min_size=1, max_size=4) | st.lists(
    st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


PUBLIC = st.builds(
    PublicList, name=NAMES, kind=st.sampled_from(["text", "integer"]), length=AT_LEAST_ONE,
    values=VALUES,
)  # fmt: skip
FOUND = st.builds(PublicList, name=NAMES, length=NUMBERS, discovered=st.just(True))
ELSEWHERE = st.builds(
    PublicList, name=NAMES, kind=st.just("text"), length=AT_LEAST_ONE, sha256=HASHES,
    listed_in=st.just("items.parquet"),
)  # fmt: skip
COLUMNS = st.lists(PUBLIC | FOUND, min_size=1, max_size=3).map(tuple)
DOMAINS = st.builds(PublicDomain, attributes=COLUMNS) | st.builds(
    PublicDomain, items=PUBLIC | FOUND | ELSEWHERE, context_lists=COLUMNS | st.just(())
)
NOISE: dict[str, Any] = {
    "law": NAMES, "unit": POSITIVE, "std": MEASURES, "interval_level": LEVELS,
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
    "name": st.sampled_from(sorted(KINDS)), "file": NAMES, "cells": NUMBERS,
    "columns": st.lists(NAMES, min_size=1, max_size=3).map(tuple), "sensitivity": AT_LEAST_ONE,
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
STEPS = st.builds(StepFacts, name=NAMES, why=NAMES, epsilon=POSITIVE, theta=maybe(AT_LEAST_ONE))
AUTOS = st.builds(
    AutoFacts, purpose=st.sampled_from(["counts", "top", "recommend"]), repeats=st.booleans(),
    context_per_user=TUPLES, path=st.sampled_from(["short", "rich", "long"]), rich=st.booleans(),
    written_kappa=st.floats(0.001, 10).map("{:.3f}".format), rho=maybe(POSITIVE),
    steps=st.lists(STEPS, min_size=1, max_size=3).map(tuple),
)  # fmt: skip
METHODS = st.builds(
    MethodFacts, bounding=NAMES, chosen_by=maybe(NAMES), largest_candidate=maybe(AT_LEAST_ONE),
    bounds=st.dictionaries(NAMES, st.builds(BoundFacts, AT_LEAST_ONE, POSITIVE), max_size=2),
    popularity_records=maybe(AT_LEAST_ONE), cap=maybe(AT_LEAST_ONE), record_id=maybe(NAMES),
    scaled_to=maybe(st.just("l2")), context_per_user=maybe(TUPLES),
)  # fmt: skip
RECORDS = st.builds(
    RecordFacts, user=TUPLES, same_person=st.booleans(), item=maybe(NAMES),
    item_expression=maybe(NAMES), contexts=st.dictionaries(NAMES, maybe(NAMES), max_size=2),
    where=maybe(NAMES), timezone=NAMES, types=st.dictionaries(NAMES, NAMES, max_size=2),
    bounded=maybe(st.builds(Bounded, AT_LEAST_ONE, st.booleans())),
    amount=maybe(st.builds(Quantity, NAMES, AT_LEAST_ONE)),
)  # fmt: skip
SUMS = st.builds(Sums, SHARES, SHARES, SHARES, SHARES)
CHARGE = {
    "entry": NAMES, "dataset": maybe(NAMES), "epsilon": POSITIVE, "delta": SHARES,
}  # fmt: skip
CHARGES = st.builds(
    Charged, **CHARGE, before=st.just("0"), after=st.just("1/3"), most=maybe(st.just("2"))
) | st.builds(
    Charged, **CHARGE, accountant=st.just("zcdp"), rho=maybe(POSITIVE), before=SUMS, after=SUMS,
    most=maybe(SUMS),
)  # fmt: skip
MANIFESTS = st.builds(
    Manifest, schema=NAMES, id=NAMES, created=NAMES, records=RECORDS, method=METHODS,
    guarantee=st.builds(
        Guarantee, words=NAMES, epsilon=POSITIVE, delta=SHARES, rho=maybe(POSITIVE),
        protects=st.builds(Unit, st.sampled_from(["user", "row"]), maybe(NAMES)), relation=NAMES,
    ),
    counted=st.sampled_from(["records", "users"]), split=st.dictionaries(NAMES, SHARES, max_size=2),
    tables=st.lists(TABLES, min_size=1, max_size=2).map(tuple), domain=DOMAINS, charged=CHARGES,
    versions=st.dictionaries(NAMES, NAMES, max_size=2), auto=maybe(AUTOS),
    other=maybe(st.builds(Other, count=st.integers(), noise_scale=POSITIVE, counts=NAMES)),
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
