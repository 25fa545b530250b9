"""Values are matched with the public list and hashed alike on both engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from crowdtally.core.domain import Axis, Domain
from crowdtally.core.records import Records
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.counting.bounded import count
from crowdtally.records.locate import locate
from crowdtally.records.matching import HASH_BITS, is_range
from crowdtally.records.prepare import prepare
from kit.sampler_checks import Verdict, goodness
from kit.spark import Start

# ---- Values matched with public lists: ranges without a join, at the ends of 64 bits too ---------


LEAST, MOST = -(2**63), 2**63 - 1
LISTS = {
    "from 0": list(range(5)),
    "negative": list(range(-7, -2)),
    "across 0": list(range(-2, 3)),
    "at the upper end": list(range(MOST - 3, MOST + 1)),
    "at the lower end": list(range(LEAST, LEAST + 4)),
    "one value": [4],
    "not in order": [0, 2, 1, 3],
    "descending": [3, 2, 1, 0],
    "with a gap": [0, 1, 2, 4],
    "from end to end": [LEAST, MOST],
}
RANGES = ["from 0", "negative", "across 0", "at the upper end", "at the lower end", "one value"]
VALUES = [
    None, LEAST, LEAST + 1, LEAST + 3, LEAST + 4, -8, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5,
    MOST - 4, MOST - 3, MOST - 1, MOST,
]  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_which_lists_are_ranges(name: str) -> None:
    assert is_range(Axis.of("n", LISTS[name])) == (name in RANGES)


def test_texts_are_no_range() -> None:
    assert not is_range(Axis.of("n", ["0", "1", "2"]))


def found(start: Start, columns: dict[str, Any], domain: Domain) -> dict[int, int]:
    """How often each cell is counted when nobody is cut."""
    rows = len(next(iter(columns.values())))
    source = pa.table({"user": list(range(rows))} | columns)
    names = tuple(axis.name for axis in domain.axes)
    records = Records(source, "user", None, attributes=names)
    with start() as engine:
        read = count(engine, prepare(engine, records, domain), SRA(9), key=1, what="records")
    _, counts = read.found
    assert read.dropped.rows - read.dropped.outside == int(np.sum(counts.values))
    return dict(zip(counts.cells.tolist(), counts.values.tolist(), strict=True))


@pytest.mark.quick_on_spark(
    "across 0", "at the upper end", "at the lower end", "not in order", "from end to end"
)
@pytest.mark.parametrize("name", LISTS)
def test_each_value_is_counted_at_its_place_or_nowhere(name: str, start_engine: Start) -> None:
    """Each value has a number of records of its own, by which its cell is known."""
    times = {value: place + 1 for place, value in enumerate(VALUES)}
    column = pa.array([value for value in VALUES for _ in range(times[value])], pa.int64())
    listed = LISTS[name]
    counts = found(start_engine, {"n": column}, Domain(attributes={"n": listed}))
    places = {place: value for place, value in enumerate(listed) if value in times}
    assert counts == {place: times[value] for place, value in places.items()}


def test_a_range_beside_lists(start_engine: Start) -> None:
    columns = {
        "age": pa.array([3, 4, 6, 7, None, 5, 5], pa.int64()),
        "sex": ["f", "m", "f", "m", "f", None, "x"],
        "year": pa.array([2000, 1990, 1990, 1990, 1990, 2000, 2000], pa.int64()),
    }
    domain = Domain(attributes={"age": range(4, 7), "sex": ["m", "f"], "year": [2000, 1990]})
    cells = [domain.cell(codes) for codes in ((0, 0, 1), (2, 1, 1))]
    assert found(start_engine, columns, domain) == dict.fromkeys(cells, 1)


TEXTS = ["", "a", "A", "a ", "\u00e9", "it's", '"', "\\", "NULL", "a\nb", "100%", "{x}"]


@pytest.mark.quick_on_spark("8", "9")
@pytest.mark.parametrize("number", [1, 7, 8, 9, 12])
def test_texts_are_matched_as_they_are(number: int, start_engine: Start) -> None:
    """Short lists and longer ones, at the end of what is short; texts that SQL has a use for."""
    listed = TEXTS[::-1][:number]
    others = [None, "b", "e\u0301", "aa", " a"]
    texts = [text for place, text in enumerate([*TEXTS, *others]) for _ in range(place + 1)]
    counts = found(
        start_engine, {"n": pa.array(texts, pa.string())}, Domain(attributes={"n": listed})
    )
    assert counts == {place: TEXTS.index(text) + 1 for place, text in enumerate(listed)}


def test_narrow_and_wide_columns_meet_a_range(start_engine: Start) -> None:
    for kind, values in ((pa.int8(), [-128, 0, 127]), (pa.uint32(), [0, 2**32 - 1, 127])):
        domain = Domain(attributes={"n": range(128)})
        counts = found(start_engine, {"n": pa.array(values, kind)}, domain)
        assert counts == {0: 1, 127: 1}


def test_a_missing_code_of_a_wide_domain_is_not_another_cell(start_engine: Start) -> None:
    """Cells beyond 64 bits are texts of codes: a code that is left out must not shift the rest."""
    names = [f"a{number}" for number in range(7)]
    lists = {name: [*range(999), 2000] for name in names}
    columns = {name: [1, 1] for name in names} | {"a0": [1, 5000], "a3": [2000, 1]}
    domain = Domain(attributes=lists)
    assert domain.size > 2**62
    (cell,) = found(start_engine, columns, domain)
    assert domain.codes(cell) == (1, 1, 1, 999, 1, 1, 1)


# ---- The ordering hash of each engine: every order of a user's records is equally likely ---------


USERS, RECORDS = 24_000, 4
UNIFORM = np.full(24, 1 / 24)
KEYS = (0, 2**63 - 1)


@pytest.fixture(scope="module")
def engine(start_engine: Start) -> Iterator[Any]:
    with start_engine() as opened:
        yield opened


@pytest.fixture(scope="module")
def held(engine: Any) -> ibis.Table:
    users, records = np.divmod(np.arange(USERS * RECORDS), RECORDS)
    return engine.load("held", {"user": users, "record": records})


@pytest.fixture(scope="module")
def keyed(engine: Any, held: ibis.Table) -> list[np.ndarray]:
    """For each key the hashes: a row for each user, a column for each of her records."""
    return hashes(engine, held, [engine.hash(key, [held.user, held.record]) for key in KEYS])


def hashes(engine: Any, table: ibis.Table, values: list[ibis.Value]) -> list[np.ndarray]:
    named = {f"hashed_{number}": value for number, value in enumerate(values)}
    found = engine.arrays(table.select("user", "record", **named))
    ordered = np.lexsort((found["record"], found["user"]))
    return [found[name][ordered].reshape(USERS, RECORDS) for name in named]


def order_law(values: np.ndarray) -> Verdict:
    """How often each order of the records occurs, against all being alike."""
    seen = Counter(map(tuple, np.argsort(values, axis=1).tolist()))
    return goodness(np.array([seen[o] for o in permutations(range(RECORDS))]), UNIFORM)


def test_every_order_is_equally_likely(keyed: list[np.ndarray]) -> None:
    for values in keyed:
        assert values.min() >= 0
        verdict = order_law(values)
        assert verdict.fits, verdict
        for bits in (values >> (HASH_BITS - 6), values & 63):
            spread = goodness(np.bincount(bits.ravel(), minlength=64), np.full(64, 1 / 64))
            assert spread.fits, spread
        first = np.argmin(values, axis=1)
        pairs = np.bincount(first[:-1] * RECORDS + first[1:], minlength=16)
        assert goodness(pairs, np.full(16, 1 / 16)).fits, "neighbours' choices are related"


def test_keys_give_unrelated_orders(keyed: list[np.ndarray]) -> None:
    one, other = (np.argmin(values, axis=1) for values in keyed)
    both = np.bincount(one * RECORDS + other, minlength=16)
    assert goodness(both, np.full(16, 1 / 16)).fits


def test_an_exclusive_or_in_the_end_is_caught(engine: Any, held: ibis.Table) -> None:
    """What DuckDB's hash of several columns does."""
    mixed = engine.hash(1, [held.user]) ^ engine.hash(1, [held.record])
    (values,) = hashes(engine, held, [mixed])
    assert not order_law(values).fits


def test_a_null_is_a_value_like_any_other(engine: Any) -> None:
    firsts, seconds = ["a", None, None, "", "a"], [None, "a", None, None, ""]
    engine.open(locate(pa.table({"first": firsts, "second": seconds})), "nulls")
    table = engine.table("nulls")
    found = engine.arrays(table.select(hashed=engine.hash(7, [table.first, table.second])))
    assert len(set(found["hashed"].tolist())) == 5
