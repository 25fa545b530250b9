"""Records that count several times: bounded by l records of at most C each, on every engine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.curator.bounding.sampling import HPA, SRA
from crowdtally.curator.bounding.scaling import GRID, DPSense
from crowdtally.curator.counting.bounded import count, count_scaled
from crowdtally.curator.counting.users import record_sums, row_totals, scaled_sums
from crowdtally.errors import InputError
from crowdtally.records.prepare import Prepared, prepare
from kit.crowds import CONTEXTS, DOMAIN, ITEMS, MOST, HistoriesPeople, People, drawn, tallied
from kit.rules import fit, law_of_subsets
from kit.spark import Start

KEY, EVERYTHING, LIMIT = 2**62 + 5, 10_000, 2
PEOPLE = People(drawn(8, 1500, [(f"u{n}",) for n in range(40)] + [(None,)]), ("user",))
OTHERS = PEOPLE.without("u3")
POPULARITY = np.array([9, -3, 4, 4], dtype=np.int64)
RULES: dict[str, Callable[[int], Any]] = {
    "sra": SRA,
    "hpa": lambda limit: HPA(limit, popularity=POPULARITY),
}


@dataclass(frozen=True)
class Held:
    """Both neighbours in one engine."""

    engine: Any
    everyone: Prepared
    others: Prepared


@pytest.fixture(scope="module")
def held(start_engine: Start) -> Iterator[Callable[[], Held]]:
    with ExitStack() as stack:

        @cache
        def opened() -> Held:
            engine = stack.enter_context(start_engine())
            sides = []
            for name, people in (("everyone", PEOPLE), ("others", OTHERS)):
                prepared = prepare(engine, people.records(quantity=MOST), DOMAIN)
                sides.append(replace(prepared, rows=engine.materialise(prepared.rows, name)))
            return Held(engine, *sides)

        yield opened


def kept(engine: Any, side: Prepared, rule: Any) -> HistoriesPeople:
    rows, cells = side.rows_told_by(MOST), DOMAIN.size * MOST
    found = engine.columns(rule.keep(engine, rows, cells=cells, key=KEY, what="records").rows)
    result: HistoriesPeople = defaultdict(Counter)
    for user, told in zip(found["user"].tolist(), found["cell"].tolist(), strict=True):
        result[user][told // MOST, told % MOST + 1] += 1
    return dict(result)


@pytest.mark.quick_on_spark("hpa")
@pytest.mark.parametrize("name", RULES)
def test_each_keeps_records_of_their_own_and_counts_what_they_say(
    name: str, held: Callable[[], Held]
) -> None:
    town, rule = held(), replace(RULES[name](LIMIT), times=MOST)
    own, full = PEOPLE.histories(MOST), kept(town.engine, town.everyone, rule)
    fewer = kept(town.engine, town.others, rule)
    assert full.keys() == own.keys()
    assert all(full[user].total() == LIMIT and full[user] <= own[user] for user in own)
    assert fewer == {user: records for user, records in full.items() if user != "u3"}
    tables = [
        count(town.engine, side, rule, key=KEY, what="records", times=MOST).found
        for side in (town.everyone, town.others)
    ]
    for (items, edges), sample in zip(tables, (full, fewer), strict=True):
        wanted = tallied(sample)
        assert edges.dense().tolist() == [wanted[cell] for cell in range(DOMAIN.size)]
        assert items.dense().tolist() == edges.dense().reshape(ITEMS, CONTEXTS).sum(1).tolist()
        assert items.l1_bound == edges.l1_bound == LIMIT * MOST == rule.l1_bound
    for one, other in zip(*tables, strict=True):
        assert np.abs(one.dense() - other.dense()).sum() <= LIMIT * MOST


def test_where_nobody_is_cut_all_is_counted(held: Callable[[], Held]) -> None:
    town, own = held(), PEOPLE.histories(MOST)
    read = count(town.engine, town.everyone, SRA(EVERYTHING), key=1, what="records", times=MOST)
    _, edges = read.found
    assert edges.dense().tolist() == [tallied(own)[cell] for cell in range(DOMAIN.size)]
    inside = sum(records.total() for records in own.values())
    nobody = sum(visit[0] == (None,) for visit in PEOPLE.visits)
    assert read.dropped.without_user == nobody
    assert read.dropped.outside == len(PEOPLE.visits) - nobody - inside


def test_popularity_and_rank_count_records(held: Callable[[], Held]) -> None:
    """Without ``times`` a record with a quantity counts once."""
    town, own = held(), PEOPLE.histories(MOST)
    _, edges = count(town.engine, town.everyone, SRA(EVERYTHING), key=1, what="records").found
    once = Counter[int]()
    for records in own.values():
        for (cell, _), number in records.items():
            once[cell] += number
    assert edges.dense().tolist() == [once[cell] for cell in range(DOMAIN.size)]
    assert edges.l1_bound == EVERYTHING
    sums = record_sums(town.engine, town.everyone, "records").found
    found = Counter(dict(zip(sums.sums.tolist(), sums.users.tolist(), strict=True)))
    assert found == Counter(records.total() for records in own.values())


def amounts(cap: int) -> dict[str, dict[int, int]]:
    """What each user counts in each cell."""
    found: dict[str, Counter[int]] = {
        user: tallied({user: records}) for user, records in PEOPLE.histories(MOST).items()
    }
    return {user: {c: min(n, cap) for c, n in cells.items()} for user, cells in found.items()}


@pytest.mark.quick_on_spark("20-7")
@pytest.mark.parametrize(("theta", "cap"), [(3, 4), (20, 7)])
def test_scaled_rows_add_quantities_up_to_the_cap(
    theta: int, cap: int, held: Callable[[], Held]
) -> None:
    town, wanted = held(), Counter[int]()
    for row in amounts(cap).values():
        total = sum(row.values())
        for cell, x in row.items():
            wanted[cell] += GRID * x if total <= theta else GRID * theta * x // total
    rule = DPSense(theta, cap)
    one, other = (
        count_scaled(town.engine, side, rule, DOMAIN.size).found
        for side in (town.everyone, town.others)
    )
    assert one.dense().tolist() == [wanted[cell] for cell in range(DOMAIN.size)]
    assert np.abs(one.dense() - other.dense()).sum() <= one.l1_bound == GRID * theta


def test_choices_read_the_same_amounts(held: Callable[[], Held]) -> None:
    town, rows = held(), amounts(4)
    sums = scaled_sums(town.engine, town.everyone, 4, width=1).found
    found = Counter(dict(zip(sums.sums.tolist(), sums.users.tolist(), strict=True)))
    assert found == Counter(sum(row.values()) for row in rows.values())
    table = row_totals(town.engine, town.everyone, 4, width=1).found
    wanted = Counter[tuple[int, int]]()
    for row in rows.values():
        for cell, x in row.items():
            wanted[sum(row.values()), cell] += x
    entries = zip(table.sums.tolist(), table.columns.tolist(), strict=True)
    assert dict(zip(entries, table.totals.tolist(), strict=True)) == wanted


C = 3
_COLUMNS: dict[str, tuple[Any, list[int]]] = {
    "integers": (pa.array([1, 2, 3, 4, 2**62, 0, -1, None]), [1, 2, 3, 3, 3, 0, 0, 0]),
    "narrow": (pa.array([1, 127, 0, None], pa.int8()), [1, 3, 0, 0]),
    "beyond 64 bits": (
        pa.array([Decimal(2) ** 64, Decimal(2), None], pa.decimal128(38, 0)), [3, 2, 0],
    ),
    "amounts": (pa.array([Decimal("2.00"), Decimal("1.50"), None], pa.decimal128(9, 2)), [2, 0, 0]),
    "floats": (
        pa.array([1.0, 2.0, 1e200, 0.5, -1.0, 0.0, float("nan"), float("inf"), None]),
        [1, 2, 3, 0, 0, 0, 0, 0, 0],
    ),
    "text": (
        pa.array(["1", " 02 ", "2.0", "9" * 400, "0", "", "-1", "1.5", "x", "2.00", "3.", None]),
        [1, 2, 2, 3, 0, 0, 0, 0, 0, 2, 0, 0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _COLUMNS)
def test_whole_numbers_are_cut_and_faults_dropped(
    name: str, start_engine: Start, tmp_path: Path
) -> None:
    column, wanted = _COLUMNS[name]
    table = pa.table({"user": ["a"] * len(column), "item": range(len(column)), "n": column})
    pyarrow.parquet.write_table(table, tmp_path / "visits.parquet")
    assert counted(start_engine, tmp_path / "visits.parquet", len(column)) == wanted


def test_a_frames_floats_are_whole_numbers(start_engine: Start) -> None:
    """A missing value makes pandas turn integers into floats, and a text makes them objects."""
    floats = pa.table({"user": ["a"] * 4, "item": range(4), "n": [1.0, 2.0, 1.5, None]}).to_pandas()
    assert counted(start_engine, floats, 4) == [1, 2, 0, 0]
    beside = floats.astype({"n": object})
    beside.loc[3, "n"] = "some"
    assert counted(start_engine, beside, 4) == [1, 2, 0, 0]


def counted(start: Start, source: Any, items: int) -> list[int]:
    records = ct.read(source, user="user", item="item", quantity="n", max_quantity=C)
    domain = ct.Domain(range(items), item="item")
    with start() as engine:
        prepared = prepare(engine, records, domain)
        read = count(engine, prepared, SRA(EVERYTHING), key=1, what="records", times=C)
    found = read.found[0].dense().tolist()
    assert read.dropped.outside == found.count(0)
    return [int(n) for n in found]


def test_a_column_that_is_no_number_is_refused(start_engine: Start, tmp_path: Path) -> None:
    table = pa.table({"user": ["a"], "item": [0], "n": [[1]]})
    pyarrow.parquet.write_table(table, tmp_path / "visits.parquet")
    with pytest.raises(InputError, match=r"the quantity 'n' has type .*: .* at least 1"):
        counted(start_engine, tmp_path / "visits.parquet", 1)


USERS = 20_000
# Two cells of two quantities each: without an id, the quantity must tell records of a cell apart.
_RECORDS = [(0, 1), (0, 3), (5, 2), (5, 2)]


@pytest.mark.parametrize("stored", [False, True], ids=["no ids", "stored ids"])
def test_a_uniform_sample_of_records_whatever_they_count(stored: bool, start_engine: Start) -> None:
    cells, quantities = (np.tile(np.array(column), USERS) for column in zip(*_RECORDS, strict=True))
    users = np.array([f"u{number}" for number in range(USERS)], dtype=object)
    columns = {"user": np.repeat(users, 4), "cell": cells, "quantity": quantities}
    if stored:
        columns["id"] = np.arange(4 * USERS)
    with start_engine() as engine:
        held = engine.load("held", columns)
        told = Prepared(held, DOMAIN, held, {}).rows_told_by(3)
        found = engine.columns(
            SRA(2).keep(engine, told, cells=3 * DOMAIN.size, key=KEY, what="records").rows
        )
    numbers = np.array([int(user[1:]) for user in found["user"].tolist()])
    order = np.lexsort((found["cell"], numbers))
    samples = list(map(tuple, found["cell"][order].reshape(USERS, 2).tolist()))
    verdict = fit(samples, law_of_subsets([3 * cell + q - 1 for cell, q in _RECORDS], 2))
    assert verdict.fits, str(verdict)
