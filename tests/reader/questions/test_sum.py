"""Sums from every publishing and transform: right on average, and off by what they say.

One release holds the same small table many times over, side by side under an axis ``copy``; noise
and sampling of the copies are independent. What a sum should be on average, and how far off, is
taken from the definitions: the noise's law term by term, and linear algebra on whole matrices.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.numbers import exact
from crowdtally.core.values import fitting
from crowdtally.curator.summaries import PUBLISHINGS as SUMMARIES
from crowdtally.laws.base import Combination
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.axes import AxisLookup
from crowdtally.reader.questions import noisy_sums
from kit.releases import axes_of, counts_of, release_of
from kit.summaries import noise

COPIES = 200
A, B = [10, 20, 30, 40, 50], ["x", "y", "z"]
TABLE = np.zeros((5, 3), dtype=np.int64)
TABLE[[0, 1, 3, 4, 2, 1, 2], [0, 2, 1, 1, 0, 0, 1]] = [120, 70, 250, 30, 9, 4, 5]
FIRST, LAST, CHOSEN = 1, 3, [0, 1]
"""The question: a from 20 to 40, b one of x and y."""
EPSILON = Fraction(1, 2)

TRANSFORMS = {
    "none": ({}, 1),
    "dyadic": ({"transform": ct.Dyadic("a")}, 4),
    "dyadic both": ({"transform": ct.Dyadic(["a", "b"])}, 12),
    "haar": ({"transform": ct.Haar("a")}, 4),
}
"""Options, and in how many cells one person counts."""
PUBLISHINGS = {
    "dense": {},
    "filter": {"cut": 2},
    "threshold": {"threshold": "7/2"},
    "priority": {"size": 7},
    "filter-priority": {"cut": 2, "size": 5},
}
"""Options, in units of the noise's scale; sizes in cells of a copy."""
_LONG = {
    ("filter", "haar"), ("threshold", "dyadic"), ("threshold", "haar"),
    ("priority", "dyadic"), ("filter-priority", "dyadic"), ("filter-priority", "haar"),
}  # fmt: skip
"""Pairs of which each half is in two quick ones: what cells stand for, and which are asked for, is
worked out apart."""
PAIRS = [
    pytest.param(one, other, marks=pytest.mark.long if (one, other) in _LONG else ())
    for one in PUBLISHINGS
    for other in TRANSFORMS
]


def form_of(publishing: str, transform: str):
    options, factor = TRANSFORMS[transform]
    scale = factor / EPSILON
    given = dict(PUBLISHINGS[publishing])
    if "cut" in given:
        given["cut"] = int(given["cut"] * scale)
    if "threshold" in given:
        given["threshold"] = str(Fraction(given["threshold"]) * scale)
    if "size" in given:
        given["size"] *= COPIES * {"none": 1, "dyadic": 4, "dyadic both": 8, "haar": 2}[transform]
    return dict(summary=fitting(SUMMARIES.load(publishing), given), **options), scale


# What the answer is made of: the published cells with their true counts, and their weights.


def tree(length: int) -> np.ndarray:
    """Nodes × padded leaves: 1 where the leaf is below the node, root first."""
    leaves = 1 << (length - 1).bit_length()
    rows = []
    width = leaves
    while width:
        rows += [np.arange(leaves) // width == place for place in range(leaves // width)]
        width //= 2
    return np.array(rows, dtype=float)


def haar(length: int) -> np.ndarray:
    """Coefficients × padded leaves: the total, then left − right of each node with children."""
    nodes = tree(length)
    inner = (len(nodes) - 1) // 2
    return np.vstack([nodes[0], *(nodes[2 * n + 1] - nodes[2 * n + 2] for n in range(inner))])


def cover(length: int, first: int, last: int) -> np.ndarray:
    """The fewest nodes that make up a range; beyond the end of the list there is nobody."""
    nodes = tree(length)
    inside = np.zeros(nodes.shape[1])
    inside[first : last + 1] = 1
    anywhere = np.zeros(nodes.shape[1])
    anywhere[first : nodes.shape[1] if last == length - 1 else last + 1] = 1
    chosen, left = np.zeros(len(nodes)), inside.copy()
    for number, node in enumerate(nodes):
        if (node <= anywhere).all() and (node * left).any():
            chosen[number] = 1
            left -= left * node
    assert not left.any()
    return chosen


def padded(matrix: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return matrix @ np.vstack([counts, np.zeros((matrix.shape[1] - len(counts), counts.shape[1]))])


def made_of(publishing: str, transform: str) -> tuple[np.ndarray, np.ndarray]:
    """True counts of all published cells of one copy, and what each counts in the answer."""
    columns = np.isin(np.arange(3), CHOSEN).astype(float)
    indicator = np.isin(np.arange(5), range(FIRST, LAST + 1)).astype(float)
    if transform == "none":
        return TABLE.astype(float), np.outer(indicator, columns)
    if transform == "haar":
        matrix = haar(5)
        wanted = np.zeros(matrix.shape[1])
        wanted[FIRST : LAST + 1] = 1
        return padded(matrix, TABLE), np.outer(wanted @ np.linalg.inv(matrix), columns)
    nodes, weights = tree(5), cover(5, FIRST, LAST)
    if transform == "dyadic both":
        both = padded(tree(3), padded(nodes, TABLE).T).T
        return both, np.outer(weights, cover(3, min(CHOSEN), max(CHOSEN)))
    if publishing == "dense":  # least squares over all nodes
        weights = weights @ nodes @ np.linalg.pinv(nodes)
    return padded(nodes, TABLE), np.outer(weights, columns)


# What a published cell is worth to a reader, by the law of its noise.

REACH = np.arange(-4000, 4001)


@cache
def moments(count: float, scale: Fraction, cut: int, tau: float) -> tuple[float, float]:
    """Mean and variance of sign·max(w, τ) of a kept cell, where a dropped one counts 0."""
    law = DiscreteLaplace(scale).probabilities(REACH)
    values = REACH + int(count)
    weights = np.where(np.abs(values) >= cut, np.abs(values), 0)
    mean = float((law * np.sign(values) * weights).sum())
    square = float((law * weights * np.maximum(weights, tau)).sum())
    return mean, square - mean**2


def by_the_law(table, scale, cut, tau) -> tuple[float, float]:
    counts, weights = table
    found = np.array([moments(c, scale, cut, tau) for c in counts.ravel()])
    return float(weights.ravel() @ found[:, 0]), float(weights.ravel() ** 2 @ found[:, 1])


def by_trial(table, transform, scale, cut) -> float:
    """The mean of a filtered tree without nodes below dropped ones: the rule, 40,000 times."""
    counts, weights = table
    rng = np.random.default_rng(7)
    noisy = counts + noise(scale, (40_000, *counts.shape), rng)
    alive = np.abs(noisy) >= cut
    for node in range(1, counts.shape[0]):
        alive[:, node] &= alive[:, (node - 1) // 2]
    if transform == "dyadic both":
        for node in range(1, counts.shape[1]):
            alive[:, :, node] &= alive[:, :, (node - 1) // 2]
    return float((noisy * alive * weights).sum(axis=(1, 2)).mean())


def answers(release) -> tuple[np.ndarray, np.ndarray]:
    chosen = [B[place] for place in CHOSEN]
    found = [release.range("a", A[FIRST], A[LAST], copy=i, b=chosen) for i in range(COPIES)]
    assert {sum_.cells for sum_ in found} == {6}
    return (
        np.array([sum_.value for sum_ in found]),
        np.array([sum_.standard_error for sum_ in found]),
    )


AXES = axes_of({"copy": range(COPIES), "a": A, "b": B})
COUNTS = counts_of(AXES, np.broadcast_to(TABLE, (COPIES, 5, 3)))


@pytest.mark.parametrize(("publishing", "transform"), PAIRS)
def test_sums_are_unbiased_for_what_they_say_and_off_by_what_they_say(
    tmp_path, publishing, transform
):
    form, scale = form_of(publishing, transform)
    check(tmp_path, form, scale, publishing, transform)


def check(folder, form, scale, publishing, transform):
    release = release_of(folder, AXES, COUNTS, form, str(EPSILON))
    values, errors = answers(release)
    (facts,) = release.metadata["tables"]
    table = made_of(publishing, transform)
    cut = facts.get("cut", 0)
    tau = float(exact(facts.get("estimating_threshold") or 0, "tau"))
    expected, variance = by_the_law(table, scale, cut, tau)
    pruned = "dyadic" in transform and "filter" in publishing
    if pruned:
        expected = by_trial(table, transform, scale, cut)
    elif not cut:
        assert expected == pytest.approx(float(TABLE[FIRST : LAST + 1, CHOSEN].sum()), abs=1e-6)
    off = (values.mean() - expected) / np.sqrt(variance / COPIES)
    assert abs(off) < 5, f"mean {values.mean():.3f}, expected {expected:.3f}: {off:.1f} errors off"
    # Over few cells a sample may show nothing, and then no less is stated than for empty cells:
    # on average that is a little too much. Over many cells it is right.
    stated = np.sqrt((errors**2).mean() / variance)
    assert 0.85 < stated < 1.4, f"stated error {stated:.3f} of the true one"
    whole = release.range("a", A[FIRST], A[LAST], b=[B[place] for place in CHOSEN])
    stated = whole.standard_error / np.sqrt(COPIES * variance)
    assert 0.85 < stated < 1.15, f"stated error {stated:.3f} of the true one, over all copies"


def test_sums_from_a_sketch_are_unbiased_over_noise_and_hashes(tmp_path):
    """Each release has hashes of its own. Pairs of cells in one bucket make the variance:
    ((count of y if x is asked for) + (count of x if y is))²/B for each, and the buckets' noise.
    """
    rows, buckets, runs = 3, 8, 250
    axes = axes_of({"a": A, "b": B})
    counts, form = counts_of(axes, TABLE), {"transform": ct.Sketch(8, rows=3)}
    found = [
        release_of(tmp_path, axes, counts, form, "1/2").sum("a <= 30 and b = 'x'")
        for _ in range(runs)
    ]
    flat, asked = TABLE.ravel(), np.zeros(15)
    asked[[0, 3, 6]] = 1
    terms = np.triu((np.outer(asked, flat) + np.outer(flat, asked)) ** 2, 1).sum() / buckets
    variance = (terms + 3 * DiscreteLaplace(Fraction(2 * rows)).std() ** 2) / rows
    values = np.array([answer.value for answer in found])
    off = (values.mean() - TABLE[:3, 0].sum()) / np.sqrt(variance / runs)
    assert abs(off) < 5
    assert 0.75 < values.std() / np.sqrt(variance) < 1.25
    stated = np.sqrt(np.mean([answer.standard_error**2 for answer in found]) / variance)
    assert 0.85 < stated < 1.15, f"stated error {stated:.3f} of the true one"


@pytest.mark.parametrize("sides", ["one", "two"])
@pytest.mark.parametrize("publishing", ["filter", "threshold"])
def test_one_sided_sums_are_high_by_what_they_say(tmp_path, publishing, sides):
    """The sum over empty cells is, on average, as many times what the words say of one."""
    form = {
        "summary": ct.Filter(cut=3, sides=sides)
        if publishing == "filter"
        else ct.Threshold("13/2", sides=sides)
    }
    axes = axes_of({"n": range(40_000)})
    counts = counts_of(axes, np.bincount([7], minlength=40_000))
    answer = release_of(tmp_path, axes, counts, form, "1/2").sum("n != 7")
    assert answer.cells == 39_999
    mean = 0.0
    if sides == "one":
        assert "on average" in answer.unbiased_for
        law, least = (
            DiscreteLaplace(Fraction(2)).probabilities(REACH),
            3 if publishing == "filter" else 1,
        )
        mean = float((law * REACH)[least <= REACH].sum())
        assert f"{mean:.3g}" in answer.unbiased_for
    assert abs(answer.value - 39_999 * mean) < 5 * answer.standard_error
    assert answer.low is None


def test_a_dense_sum_has_the_noise_interval_of_its_cells(tmp_path):
    form = {}
    answer = release_of(tmp_path, AXES, COUNTS, form, "1/2").sum("copy < 3 and b = 'x'")
    assert answer.cells == 15
    assert answer.standard_error == pytest.approx(DiscreteLaplace(Fraction(2)).std() * 15**0.5)
    assert answer.low is not None
    width = (answer.high - answer.low) / 2
    assert 1.8 < width / answer.standard_error < 2.2  # 95% of nearly a normal law
    assert answer.low + width == answer.value


@pytest.mark.parametrize("publishing", PUBLISHINGS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_without_noise_every_answer_is_exact(tmp_path, publishing, transform):
    """At a very large ε nothing is left but the transform: it must undo itself."""
    rng = np.random.default_rng(3)
    axes = axes_of({"c": ["u", "v"], "a": [1, 3, 4, 8, 9, 12, 20], "b": B})
    table = rng.integers(0, 9, (2, 7, 3)) * (rng.random((2, 7, 3)) < 0.5)
    options = {"cut": 1} if "filter" in publishing else {}
    options |= {"size": 400} if publishing != "dense" else {}
    summary = fitting(SUMMARIES.load(publishing), options)
    form = dict(summary=summary, **TRANSFORMS[transform][0])
    release = release_of(tmp_path, axes, counts_of(axes, table), form, "100000")
    c, a, b = np.ix_(["u", "v"], [1, 3, 4, 8, 9, 12, 20], B)
    for where, meant in {
        "c = 'u'": c == "u",
        "a <= 8": a <= 8,
        "a between 2 and 19 and b != 'z'": (a >= 2) & (a <= 19) & (b != "z"),
        "a in (1, 4, 8, 20) and c = 'v'": np.isin(a, [1, 4, 8, 20]) & (c == "v"),
        "a > 4 or b = 'y' or (c = 'u' and a = 1)": (a > 4) | (b == "y") | ((c == "u") & (a == 1)),
        "not (a > 4 and b in ('x', 'z')) and c != 'u'": ~((a > 4) & (b != "y")) & (c != "u"),
        None: np.ones((2, 7, 3), dtype=bool),
    }.items():
        meant = np.broadcast_to(meant, table.shape)
        answer = release.sum(where)
        assert answer.value == pytest.approx(table[meant].sum(), abs=1e-9), where
        assert answer.cells == meant.sum()
        assert answer.standard_error < 1e-3
    assert release.point(c="u", a=8, b="z").value == pytest.approx(table[0, 3, 2])
    assert release.prefix("a", 9, b="x").value == pytest.approx(table[:, :5, 0].sum())
    assert release.range("b", "y", "z").value == pytest.approx(table[:, :, 1:].sum())


# Mutants: each wrong reader must be seen by the tests above.


def _raw_values(values, weights, of, sampled, right=noisy_sums.weighted_sum):
    """Forgets that a kept cell stands for others."""
    estimate = right(values, weights, of, sampled)
    return type(estimate)(float((values * weights).sum()), estimate.standard_error, "")


def _only_published(values, weights, of, sampled, right=noisy_sums.weighted_sum):
    """Forgets the noise of the cells that were not published."""
    published = Combination(float((weights**2).sum()), float(weights.sum()))
    return right(values, weights, published, sampled)


@pytest.mark.parametrize(
    ("mutant", "publishing", "summary"),
    [
        (_raw_values, "threshold", ct.Threshold(25)),
        (_only_published, "filter", ct.Filter(cut=4)),
    ],
)
def test_wrong_estimators_are_caught(tmp_path, monkeypatch, mutant, publishing, summary):
    form = {"summary": summary}
    check(tmp_path, form, 1 / EPSILON, publishing, "none")
    monkeypatch.setattr(noisy_sums, "weighted_sum", mutant)
    with pytest.raises(AssertionError, match=r"off|stated"):
        check(tmp_path, form, 1 / EPSILON, publishing, "none")


def test_nodes_without_least_squares_are_caught(tmp_path, monkeypatch):
    """The cover alone is unbiased too, but its error is not the one that least squares has."""
    monkeypatch.setattr(noisy_sums, "_fitted", noisy_sums._nodes)
    with pytest.raises(AssertionError, match="stated"):
        test_sums_are_unbiased_for_what_they_say_and_off_by_what_they_say(
            tmp_path, "dense", "dyadic"
        )


def squares(how, mask, *, dense):
    return noisy_sums._along(
        AxisLookup.of(axes_of({"a": A})[0]), np.array(mask, dtype=bool), how, dense
    ).squares


def test_a_range_to_the_end_goes_through_the_padding():
    """All values of a list are the root alone; a cover that stops at the list has two nodes."""
    assert squares(noisy_sums._nodes, [1, 1, 1, 1, 1], dense=False) == cover(5, 0, 4).sum() == 1
    assert squares(noisy_sums._nodes, [0, 1, 1, 1, 1], dense=False) == cover(5, 1, 4).sum() == 3
    assert squares(noisy_sums._nodes, [1, 0, 0, 1, 1], dense=False) == 3
    assert squares(noisy_sums._coefficients, [1, 1, 1, 1, 1], dense=False) == 1


@pytest.mark.parametrize(
    "mask", [[1, 1, 1, 1, 1], [0, 1, 1, 1, 1], [1, 0, 1, 0, 1], [0, 1, 1, 0, 0]]
)
def test_of_a_dense_table_the_better_way_is_taken(mask):
    """Through the padding or not, by the squared weights that linear algebra gives."""
    ends = [[*mask, *[padding] * 3] for padding in ((0, 1) if mask[-1] else (0,))]
    by_haar = [float(((end @ np.linalg.inv(haar(5))) ** 2).sum()) for end in ends]
    by_tree = [float(((end @ np.linalg.pinv(tree(5))) ** 2).sum()) for end in ends]
    assert squares(noisy_sums._coefficients, mask, dense=True) == pytest.approx(min(by_haar))
    assert squares(noisy_sums._fitted, mask, dense=True) == pytest.approx(min(by_tree))
