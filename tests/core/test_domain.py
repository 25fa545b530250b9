"""The public domain: cells numbered both ways, beyond 64 bits too, and lists that are checked."""

from __future__ import annotations

import unicodedata

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.core.domain import RESERVED, Axis, Domain
from crowdtally.core.layout import grid


def domain_of(sizes: list[int]) -> Domain:
    contexts = {f"c{place}": range(size) for place, size in enumerate(sizes[1:])}
    return Domain(range(sizes[0]), contexts)


sizes = st.lists(st.integers(1, 7), min_size=1, max_size=5)


@settings(deadline=None)
@given(sizes, st.data())
def test_cells_and_codes_are_inverse(sizes: list[int], data: st.DataObject) -> None:
    domain = domain_of(sizes)
    cell = data.draw(st.integers(0, domain.size - 1))
    codes = domain.codes(cell)
    assert all(0 <= code < size for code, size in zip(codes, sizes, strict=True))
    assert domain.cell(codes) == cell
    assert domain.size == np.prod(sizes)
    assert domain.contexts_size == np.prod(sizes[1:], dtype=int)


@settings(deadline=None)
@given(sizes)
def test_cells_are_numbered_in_the_order_of_the_lists(sizes: list[int]) -> None:
    """The last axis is the fastest, as in a table sorted by its columns."""
    domain = domain_of(sizes)
    cells = [domain.codes(cell) for cell in range(domain.size)]
    assert cells == sorted(cells)
    assert len(set(cells)) == domain.size


@settings(deadline=None)
@given(sizes)
def test_names_of_cells(sizes: list[int]) -> None:
    domain = domain_of(sizes)
    found = grid(domain.axes).columns(np.arange(domain.size))
    wanted = np.array([domain.codes(cell) for cell in range(domain.size)])
    for place, axis in enumerate(domain.axes):
        assert found[axis.name].tolist() == axis.values[wanted[:, place]].tolist()


@settings(deadline=None)
@given(st.data())
def test_beyond_64_bits(data: st.DataObject) -> None:
    domain = domain_of([1000] * 10)
    assert domain.size == 10**30
    cell = data.draw(st.integers(0, domain.size - 1))
    assert domain.cell(domain.codes(cell)) == cell
    assert domain.codes(10**30 - 1) == (999,) * 10
    assert domain.codes(123 * 10**27) == (123, *(0,) * 9)
    numbers = np.array([cell, 2**63, 2**64 + 1], dtype=object)
    found = grid(domain.axes).columns(numbers)
    for place, axis in enumerate(domain.axes):
        assert found[axis.name].tolist() == [domain.codes(int(n))[place] for n in numbers]


def test_items_contexts_and_attributes() -> None:
    domain = Domain(["a", "b"], {"day": ["Mon"]}, item="place")
    assert [axis.name for axis in domain.axes] == ["place", "day"]
    assert domain.items.name == "place"
    assert domain.named("venue").items.name == "venue"
    assert domain.named("venue").items.values is domain.items.values
    table = Domain(attributes={"age": range(3), "sex": ["F", "M"]})
    assert table.size == 6
    assert table.contexts == ()
    assert not table.has_items
    for wrong in ({}, {"items": ["a"], "attributes": {"b": [1]}}, {"attributes": {}}):
        with pytest.raises(ct.UsageError):
            Domain(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "received", "instead"),
    [
        ({"contexts": ["day"]}, "received list", 'contexts={"day": ["Mon", "Tue"]}'),
        ({"contexts": []}, "received list", 'contexts={"day": ["Mon", "Tue"]}'),
        ({"contexts": np.array(["a", "b"])}, "received ndarray", 'contexts={"day": '),
        ({"contexts": "day"}, "received str", 'contexts={"day": ["Mon", "Tue"]}'),
        ({"contexts": Axis.of("day", ["Mon"])}, "received Axis", 'contexts={"day": '),
        ({"contexts": {7: ["Mon"]}}, "a name of type int", 'contexts={"day": '),
        ({"contexts": {"day": None}}, "'day' must be a list: received NoneType", '["a", "b"]'),
        ({"contexts": {"day": "Mon"}}, "'day' must be a list, not one string", '["a", "b"]'),
        ({"items": None, "attributes": ["age"]}, "received list", 'attributes={"day": ["Mon"'),
        ({"items": None, "attributes": ("age", "sex")}, "received tuple", 'attributes={"day": '),
        ({"items": {"a": 1}}, "items must be a list: received dict", 'contexts={"day": ["Mon"'),
        ({"items": "abc"}, "must be a list, not one string", '["a", "b"]'),
        ({"items": 5}, "must be a list: received int", "range(10)"),
        ({"items": np.array(5)}, "must be a list: received int", "range(10)"),
        ({"items": pd.DataFrame({"a": ["x"]})}, "received a table (DataFrame)", "its columns"),
        ({"items": pa.table({"a": ["x"]})}, "received a table (Table)", "its columns"),
        ({"items": None}, "one of the two, not both", 'Domain(["a", "b"])'),
        ({"attributes": {"age": [1]}}, "one of the two, not both", "Domain(attributes={"),
    ],
)  # fmt: skip
def test_what_is_no_list_is_refused_with_what_to_type(
    given: dict[str, object], received: str, instead: str
) -> None:
    with pytest.raises(ct.UsageError) as refused:
        Domain(**{"items": ["a"], **given})  # type: ignore[arg-type]
    assert received in str(refused.value)
    assert instead in str(refused.value)


def test_names_that_clash() -> None:
    with pytest.raises(ct.UsageError, match="'item' is used for two lists"):
        Domain(["a"], {"item": ["b"]})
    for name in RESERVED:
        with pytest.raises(ct.UsageError, match=f"{name!r} would clash"):
            Domain(["a"], {name: ["b"]})
        with pytest.raises(ct.UsageError, match=f"{name!r} would clash"):
            Domain(["a"]).named(name)
    with pytest.raises(ct.UsageError, match="needs a name"):
        Axis.of("", ["a"])


@pytest.mark.parametrize(
    "values",
    [
        ["b", "a"], ("b", "a"), np.array(["b", "a"]), np.array(["b", "a"], dtype=object),
        pd.Series(["b", "a"]), pa.array(["b", "a"]), iter(["b", "a"]), {"b": 1, "a": 2},
    ],
    ids=lambda values: type(values).__name__,
)  # fmt: skip
def test_text_from_anything(values: object) -> None:
    axis = Axis.of("x", values)  # type: ignore[arg-type]
    assert (axis.kind, axis.values.tolist(), len(axis)) == ("text", ["b", "a"], 2)


@pytest.mark.parametrize(
    "values",
    [
        [3, -1], range(3, -2, -4), np.array([3, -1], dtype=np.int16), pd.Series([3, -1]),
        pa.array([3, -1]), np.array([3, -1], dtype=object),
    ],
    ids=lambda values: type(values).__name__,
)  # fmt: skip
def test_integers_from_anything(values: object) -> None:
    axis = Axis.of("x", values)  # type: ignore[arg-type]
    assert (axis.kind, axis.values.tolist()) == ("integer", [3, -1])
    assert axis.values.dtype == np.int64


def test_integers_of_64_bits() -> None:
    ends = [-(2**63), 2**63 - 1]
    assert Axis.of("x", ends).values.tolist() == ends
    for beyond in (2**63, -(2**63) - 1):
        with pytest.raises(ct.UsageError, match="64-bit integers"):
            Axis.of("x", [beyond])


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ([], ct.InputError, "is empty"),
        (["a", "b", "a"], ct.InputError, "holds 3 values of which only 2 are distinct"),
        ([1, 1], ct.InputError, "only 1 are distinct"),
        (["a", None], ct.InputError, "contains a null"),
        ([1, None], ct.InputError, "contains a null"),
        (["a", float("nan")], ct.InputError, "contains a null"),
        (pd.Series(["a", None]), ct.InputError, "contains a null"),
        (["e\u0301"], ct.InputError, "value 1 .* normal form C"),
        (["a", "b", "\u212b"], ct.InputError, "value 3 .* normal form C"),
        (["a", 1], ct.UsageError, "all text or all 64-bit integers: received int, str"),
        ([1.5], ct.UsageError, "received float"),
        ([True, False], ct.UsageError, "received bool"),
        ("abc", ct.UsageError, "must be a list, not one string"),
        (b"abc", ct.UsageError, "must be a list"),
    ],
)  # fmt: skip
def test_bad_lists(values: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Axis.of("x", values)  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.text(max_size=5))
def test_text_is_kept_as_it_is_or_refused(text: str) -> None:
    if unicodedata.is_normalized("NFC", text):
        assert Axis.of("x", [text]).values.tolist() == [text]
    else:
        with pytest.raises(ct.InputError, match="normal form C"):
            Axis.of("x", [text])


def test_case_and_blanks_are_different_values() -> None:
    values = ["a", "A", " a", "a ", "", "1", "01", "1.0"]
    assert Axis.of("x", values).values.tolist() == values


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20, unique=True))
def test_a_list_of_plain_integers_is_one(values: list[int]) -> None:
    assert Axis.plainest("x", list(map(str, values))).values.tolist() == values


@pytest.mark.parametrize(
    "values", [["1", "01"], ["1.0"], ["1", "x"], [" 1"], ["+1"], ["-0"], ["9" * 30], ["1_0"], ["١"]]
)
def test_text_that_is_no_plain_integer_stays_text(values: list[str]) -> None:
    """No two values may fall together, so only one spelling of a number is a number."""
    axis = Axis.plainest("x", values)
    assert axis.kind == "text"
    assert axis.values.tolist() == values
