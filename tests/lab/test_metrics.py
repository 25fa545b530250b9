"""Every metric against numbers that were worked out by hand, and on tables of nothing."""

from __future__ import annotations

import time
from math import log

import numpy as np
import pytest

from crowdtally import lab
from crowdtally.errors import UsageError
from crowdtally.lab.metrics import (
    METRICS,
    RANGES,
    SHUFFLES,
    Compared,
    context_distance,
    in_ranges,
    in_ties,
    kl,
    kl_reversed,
    mae,
    measured,
    mre,
    mse,
    on_top,
    precision,
    range_error,
    ranges,
    subset_error,
    subsets,
    top_mae,
    top_mre,
)
from kit.documents import ROOT

TRUTH = np.array([10, 4, 0, 2])
ESTIMATE = np.array([7.0, 5.0, -2.0, 0.0])
# Errors −3, 1, −2, −2.


def test_errors_of_cells() -> None:
    assert mse(TRUTH, ESTIMATE) == (9 + 1 + 4 + 4) / 4 == 4.5
    assert mae(TRUTH, ESTIMATE) == (3 + 1 + 2 + 2) / 4 == 2.0
    # The empty cell's error is divided by 1 record, the others' by their counts.
    assert mre(TRUTH, ESTIMATE) == pytest.approx((3 / 10 + 1 / 4 + 2 / 1 + 2 / 2) / 4)
    assert mre(TRUTH, ESTIMATE, sanity=5) == pytest.approx((3 / 10 + 1 / 5 + 2 / 5 + 2 / 5) / 4)


def test_an_exact_estimate_has_no_error() -> None:
    compared = Compared(TRUTH, TRUTH.astype(float), contexts=2, kept=16.0)
    found = {name: value for name, _, value in measured(compared, ks=(1, 2))}
    assert found.pop("precision") == found.pop("reduction") == 1
    assert set(found) == METRICS.keys() - {"precision", "reduction"}
    assert set(found.values()) == {0.0}


def test_kl_replaces_what_is_not_positive_in_both_vectors() -> None:
    # (10, 4, 0.01, 2) of 16.01 against (7, 5, 0.01, 0.01) of 12.02
    true = [10 / 16.01, 4 / 16.01, 0.01 / 16.01, 2 / 16.01]
    released = [7 / 12.02, 5 / 12.02, 0.01 / 12.02, 0.01 / 12.02]
    forth = sum(p * log(p / q) for p, q in zip(true, released, strict=True))
    back = sum(q * log(q / p) for p, q in zip(true, released, strict=True))
    assert kl(TRUTH, ESTIMATE) == pytest.approx(forth)
    assert kl_reversed(TRUTH, ESTIMATE) == pytest.approx(back)
    # 0.6246·ln 1.0725 + 0.2498·ln 0.6006 + 0.0006·ln 0.7508 + 0.1249·ln 150.2
    assert round(kl(TRUTH, ESTIMATE), 3) == round(0.0437 - 0.1274 - 0.0002 + 0.6261, 3) == 0.542
    # −0.5824·ln 1.0725 − 0.4160·ln 0.6006 − 0.0008·ln 0.7508 − 0.0008·ln 150.2
    back_by_hand = -0.0408 + 0.2121 + 0.0002 - 0.0042
    assert round(kl_reversed(TRUTH, ESTIMATE), 3) == round(back_by_hand, 3) == 0.167


def test_kl_takes_a_share_of_a_hundredth_as_it_is() -> None:
    # Only what is not above 0 is replaced: 0.001 stays.
    true, released = [1 / 2, 1 / 2], [1 / 1.001, 0.001 / 1.001]
    by_hand = 0.5 * log(true[0] / released[0]) + 0.5 * log(true[1] / released[1])
    assert kl(np.array([5, 5]), np.array([1.0, 0.001])) == pytest.approx(by_hand)


def test_precision_is_the_share_of_the_true_list() -> None:
    truth, estimate = np.array([9, 8, 7, 1, 2]), np.array([1.0, 9.0, 3.0, 8.0, 7.0])
    # True lists: 0; 0 1; 0 1 2; 0 1 2 4. Released lists: 1; 1 3; 1 3 4; 1 2 3 4.
    assert [precision(truth, estimate, k) for k in (1, 2, 3, 4, 5)] == [0, 1 / 2, 1 / 3, 3 / 4, 1]
    assert precision(truth, estimate, 6) is None


def test_errors_of_the_true_top() -> None:
    truth, estimate = np.array([1, 20, 10, 0]), np.array([100.0, 15.0, 11.0, 50.0])
    assert top_mae(truth, estimate, 2) == (5 + 1) / 2
    assert top_mre(truth, estimate, 2) == pytest.approx((5 / 20 + 1 / 10) / 2)
    assert top_mre(truth, estimate, 2, sanity=50) == pytest.approx((5 / 50 + 1 / 50) / 2)
    # The third is the item of count 1, and the item that nobody met is never on the list.
    assert top_mae(truth, estimate, 4) == (5 + 1 + 99) / 3
    assert top_mae(truth, estimate, 5) is None
    assert top_mre(truth, estimate, 5) is None


def test_lists_of_items_in_contexts_are_averaged_over_the_contexts() -> None:
    truth = np.array([[9, 1], [5, 0], [0, 8]])  # items × contexts: tops of one: 0 and 2
    estimate = np.array([[7.0, 3.0], [8.0, 2.0], [0.0, 4.0]])  # 1 and 2
    assert precision(truth, estimate, 1) == (0 + 1) / 2
    # Tops of two: {0, 1} and {2, 0}; released {1, 0} and {2, 0}.
    assert precision(truth, estimate, 2) == 1
    assert top_mae(truth, estimate, 1) == (2 + 4) / 2
    assert top_mre(truth, estimate, 1) == pytest.approx((2 / 9 + 4 / 8) / 2)
    # All of it as one list would be another number: 9 and 8 of the truth, 8 and 7 of the other.
    assert precision(truth.ravel(), estimate.ravel(), 2) == 1 / 2


def test_a_context_that_nobody_was_in_is_left_out() -> None:
    truth, estimate = np.array([[9, 0], [5, 0]]), np.array([[6.0, 6.0], [3.0, 0.0]])
    assert precision(truth, estimate, 1) == 1
    assert top_mae(truth, estimate, 1) == 3


def test_fewer_items_than_the_list_is_long_were_met() -> None:
    truth, estimate = np.array([3, 0, 0, 0]), np.array([5.0, 2.0, 1.0, 0.0])
    assert precision(truth, estimate, 3) == 1
    assert precision(truth, -estimate, 3) == 0
    assert top_mae(truth, estimate, 3) == 2


def test_ties_go_by_a_fixed_order_which_is_not_the_domains() -> None:
    # The fractional parts of 1 … 5 times the golden ratio: 0.62, 0.24, 0.85, 0.47, 0.09.
    assert np.argsort(in_ties(np.arange(5))).tolist() == [4, 1, 3, 0, 2]
    flat = np.full(5, 7)
    assert np.flatnonzero(on_top(flat, 1)).tolist() == [4]
    assert np.flatnonzero(on_top(flat, 2)).tolist() == [1, 4]
    assert np.flatnonzero(on_top(flat, 3)).tolist() == [1, 3, 4]
    # Those above are on the list first, whatever their places are.
    assert np.flatnonzero(on_top(np.array([7, 7, 9, 7, 7]), 2)).tolist() == [2, 4]
    in_contexts = on_top(np.stack([flat, np.array([7, 7, 9, 7, 7])], axis=1), 2)
    assert [np.flatnonzero(column).tolist() for column in in_contexts.T] == [[1, 4], [2, 4]]


def test_a_release_of_equal_counts_gains_nothing_from_a_list_sorted_by_popularity() -> None:
    truth = np.arange(1000, 0, -1)
    for flat in (np.full(1000, 26.5), np.zeros(1000), np.full(1000, -1.0)):
        found = precision(truth, flat, 100)
        assert found is not None
        assert found <= 0.12  # a tenth by chance; all of it by the order of the list


@pytest.mark.parametrize("k", [0, -1, 4])
def test_a_list_of_a_length_that_there_is_not(k: int) -> None:
    with pytest.raises(UsageError, match="a list has 1 to 3 of the 3 items"):
        on_top(np.array([1, 2, 3]), k)


def test_on_top_is_the_plain_sort() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        items = int(rng.integers(1, 12))
        values = rng.integers(-2, 4, size=(items, rng.integers(1, 4)))
        k = int(rng.integers(1, items + 1))
        keys = in_ties(np.arange(items)).tolist()
        expected = np.zeros(values.shape, dtype=bool)
        for column in range(values.shape[1]):
            best = sorted(range(items), key=lambda i: (-values[i, column], keys[i]))
            for item in best[:k]:
                expected[item, column] = values[item, column] > 0
        assert (on_top(values, k) == expected).all()


def test_queries_add_up_before_they_are_compared() -> None:
    truth = np.array([10, 10, 10, 10])
    # Of four cells each subset is one; of ranges errors of both signs cancel.
    estimate = np.array([12.0, 8.0, 12.0, 8.0])
    assert subset_error(truth, estimate) == 2 / 10
    low, high = ranges(4)
    wrong = sum(abs(int((estimate - truth)[a:b].sum())) for a, b in zip(low, high, strict=True))
    assert range_error(truth, estimate) == pytest.approx(wrong / sum(10 * (high - low)))
    assert wrong < sum(2 * (high - low))


def test_a_workload_is_public_and_the_same_each_time() -> None:
    truth, estimate = np.arange(1000), np.arange(1000) + np.tile([3.0, -1.0], 500)
    sizes = []
    off = true = 0.0
    for (shuffled, starts), (again, _) in zip(subsets(1000), subsets(1000), strict=True):
        assert (shuffled == again).all()
        assert sorted(shuffled) == list(range(1000))
        for cells in np.split(shuffled, starts[1:]):
            sizes.append(len(cells))
            off += abs((estimate - truth)[cells].sum())
            true += truth[cells].sum()
    assert sizes == [50] * 100
    assert len(sizes) == 20 * SHUFFLES
    assert subset_error(truth, estimate) == pytest.approx(off / true)
    low, high = ranges(1000)
    assert len(low) == RANGES == 100
    assert ((low >= 0) & (low < high) & (high <= 1000)).all()
    assert 250 < (high - low).mean() < 420
    assert in_ranges(truth).tolist() == [
        sum(range(a, b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)
    ]


def test_answers_of_a_reader_take_precedence_in_ranges() -> None:
    truth = np.full(6, 5)
    answers = in_ranges(truth) * 1.1
    assert range_error(truth, np.zeros(6), answers) == pytest.approx(0.1)
    found = METRICS["range_error"].compute(Compared(truth, np.zeros(6), answers=answers), 0)
    assert found == pytest.approx(0.1)


def test_shares_of_contexts() -> None:
    truth = np.array([[3, 1], [3, 1]])  # totals 6 and 2: shares 3/4 and 1/4
    estimate = np.array([[1.0, 2.0], [0.0, -1.0]])  # 1 and 1: shares 1/2 and 1/2
    assert context_distance(truth, estimate) == (1 / 4 + 1 / 4) / 2
    # A negative total is no share: −3 and 2 are 0 and 1.
    assert context_distance(truth, np.array([[-3.0, 2.0], [0.0, 0.0]])) == (3 / 4 + 3 / 4) / 2
    assert context_distance(truth, np.zeros((2, 2))) is None
    assert context_distance(np.zeros((2, 2)), estimate) is None
    assert context_distance(truth.ravel(), estimate.ravel()) is None


def test_reduction_is_what_bounding_leaves() -> None:
    compute = METRICS["reduction"].compute
    assert compute(Compared(TRUTH, ESTIMATE, kept=4), 0) == 4 / 16
    assert compute(Compared(TRUTH, ESTIMATE), 0) is None
    assert compute(Compared(np.zeros(3), np.ones(3), kept=0), 0) is None


DEGENERATE = {
    "nothing counted": (np.zeros(6, dtype=np.int64), np.array([1.0, -2, 0, 0, 0, 3])),
    "nothing released": (np.array([0, 3, 0, 0, 1, 0]), np.zeros(6)),
    "neither": (np.zeros(6, dtype=np.int64), np.zeros(6)),
    "all negative": (np.ones(6, dtype=np.int64), np.full(6, -4.0)),
    "one cell": (np.array([5]), np.array([2.5])),
    "one empty cell": (np.array([0]), np.array([0.0])),
    "very large": (np.full(6, 2**62), np.full(6, -(2.0**62))),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("contexts", [1, 3])
def test_a_metric_is_a_number_or_absent(name: str, metric: str, contexts: int) -> None:
    truth, estimate = DEGENERATE[name]
    if len(truth) % contexts:
        contexts = 1
    for k in (1, 2, 10):
        value = METRICS[metric].compute(Compared(truth, estimate, contexts, kept=3), k)
        assert value is None or (isinstance(value, float) and np.isfinite(value))
        if METRICS[metric].needs_k and k > len(truth) // contexts:
            assert value is None


def test_what_is_defined_where_nothing_was_counted() -> None:
    truth, estimate = DEGENERATE["nothing counted"]
    found = {name for name, _, _ in measured(Compared(truth, estimate, 3, kept=0), ks=(1,))}
    assert found == {"mse", "kl", "kl_reversed", "mae", "mre"}


def test_all_metrics_of_a_table() -> None:
    found = list(measured(Compared(TRUTH, ESTIMATE, kept=4), ks=(1, 3, 9)))
    assert [(name, k) for name, k, _ in found] == [
        ("mse", None), ("kl", None), ("kl_reversed", None), ("precision", 1), ("precision", 3),
        ("mae", None), ("mre", None), ("top_mae", 1), ("top_mae", 3), ("top_mre", 1),
        ("top_mre", 3), ("subset_error", None), ("range_error", None), ("reduction", None),
    ]  # fmt: skip
    assert {name for name, metric in METRICS.items() if metric.better == "higher"} == {
        "precision", "reduction",
    }  # fmt: skip


def test_tables_that_do_not_fit_each_other() -> None:
    for truth, estimate, contexts in (
        (np.ones(3), np.ones(2), 1),
        (np.ones(3), np.ones(3), 2),
        (np.ones(0), np.ones(0), 1),
    ):
        with pytest.raises(UsageError, match="cannot be compared"):
            Compared(truth, estimate, contexts)


def test_a_million_cells_take_no_time() -> None:
    rng = np.random.default_rng(1)
    truth = rng.poisson(3, 10**6)  # ties in plenty
    compared = Compared(truth, truth + rng.integers(-5, 6, 10**6).astype(float), 10, kept=1)
    for metric in METRICS.values():
        start = time.process_time()
        assert metric.compute(compared, 10) is not None
        assert time.process_time() - start < 60, metric.name  # quadratic: days


def test_the_page_of_the_lab_says_what_each_metric_is() -> None:
    page = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
    rows = []
    for metric in METRICS.values():
        formula = metric.formula.replace("|", "\\|")
        rows.append(f"| `{metric.name}` | {metric.words} | {formula} | {metric.better} |")
    assert "\n".join(rows) in page, "the table is\n" + "\n".join(rows)


def test_they_are_found_in_the_lab() -> None:
    assert lab.METRICS is METRICS
    assert lab.measured is measured
    assert lab.Compared is Compared
    assert {"METRICS", "Compared", "measured"} <= set(dir(lab))
    with pytest.raises(AttributeError, match="no attribute 'Comparde'"):
        lab.Comparde  # noqa: B018
