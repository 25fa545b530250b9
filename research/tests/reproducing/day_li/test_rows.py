"""What is counted at any θ from one reading is what a release's own steps count."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally.curator.bounding.scaling import DPSense
from crowdtally.curator.choices.bounds import RowTable
from crowdtally.curator.counting.bounded import count_scaled
from crowdtally.curator.counting.users import scaled_sums
from crowdtally.lab.baselines.base import Bounded, keyed
from crowdtally.lab.rehearse import true_counts
from crowdtally_research.reproducing.papers.day_li.bench import Bench, BinaryRows, reading
from crowdtally_research.reproducing.papers.day_li.panels import LARGE


@pytest.mark.parametrize("theta", [1, 6, 7, 40, 1000])
def test_counts_are_those_of_the_counting_step(bench: Bench, theta: int) -> None:
    rule = DPSense(theta)
    with reading(bench.records, bench.domain) as records:
        read = count_scaled(records.engine, records.prepared, rule, bench.domain.size)
    found = bench.rows.scaled(rule)
    np.testing.assert_array_equal(found.dense(), read.found.dense())
    assert (found.l1_bound, found.unit) == (read.found.l1_bound, read.found.unit)


def test_the_truth_and_the_lengths_are_those_of_the_records(bench: Bench) -> None:
    with reading(bench.records, bench.domain) as records:
        tables = bench.request(LARGE.epsilon).tables
        (truth,) = true_counts(records.engine, records.prepared, "users", tables).values()
        sums = scaled_sums(records.engine, records.prepared, 1, width=1).found
    np.testing.assert_array_equal(bench.rows.truth, truth)
    order = np.argsort(sums.sums)
    np.testing.assert_array_equal(bench.rows.sums.sums, sums.sums[order])
    np.testing.assert_array_equal(bench.rows.sums.users, sums.users[order])
    assert bench.rows.users == sums.users.sum()
    assert bench.rows.most == sums.sums.max()


def test_a_bound_of_the_longest_row_cuts_nobody(bench: Bench) -> None:
    bounded = Bounded.of(bench.request(LARGE.epsilon).subject, bench.rows.most)
    with reading(bench.records, bench.domain) as records:
        counts = bounded.count(keyed(records, 3))["items"]
    np.testing.assert_array_equal(bench.rows.whole().dense(), counts.dense())
    assert bench.rows.whole().l1_bound == counts.l1_bound


def test_means_by_hand() -> None:
    # Two rows {0, 2} and one row {2}, of three columns.
    table = RowTable(*(np.array(one) for one in ([1, 2, 2], [2, 2, 0], [1, 2, 2])))
    rows = BinaryRows.of(table, 3)
    assert rows.truth.tolist() == [2, 0, 3]
    assert (rows.users, rows.most) == (3, 2)
    assert (rows.column_mean, rows.row_mean) == (5 / 3, 5 / 3)
    grid = 2**20
    assert rows.scaled(DPSense(1)).dense().tolist() == [grid, 0, 2 * grid]
