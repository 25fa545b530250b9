"""The real publishing code is measured, and the errors are what its laws say."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from unittest import mock

import numpy as np
import pytest

from crowdtally.lab.estimates import estimate
from crowdtally_research.reproducing.figure import AUTO
from crowdtally_research.reproducing.papers.cormode import measuring, tables
from crowdtally_research.reproducing.papers.cormode.measuring import (
    as_curves,
    batches,
    errors_of,
    errors_of_auto,
    level,
)
from crowdtally_research.reproducing.papers.cormode.tables import (
    Floats,
    Sparse,
    auto_estimates,
    uniform,
)


def made(seed: int) -> Sparse:
    return uniform(20_000, 2_000, 20, seed)


def test_geometric_errs_by_its_noise() -> None:
    """A sum of r cells has noise of √(2r)/ε, so its mean error is √(2/π) of that."""
    seen = errors_of({"geometric": tables.geometric()}, made, [100, 1_000], 4)["geometric"]
    for size, errors in seen.errors.items():
        expected = 100 * sqrt(2 / np.pi) * 10 * sqrt(2 * size) / (size * 10)
        assert np.mean(errors) == pytest.approx(expected, rel=0.15)
    assert seen.published == [20_000] * 4


def test_filters_keep_what_their_cut_says() -> None:
    """Independently: noise on every cell, then the cut."""
    sparse, rng = made(1), np.random.default_rng(1)
    gone = np.exp(-0.1)
    noise = rng.geometric(1 - gone, (2, sparse.size))
    noisy = sparse.truth + noise[0] - noise[1]
    for way, kept in (
        (tables.filtering(30), np.abs(noisy) >= 30),
        (tables.filtering(30, "one"), noisy >= 30),
    ):
        found = tables.published(sparse, way)
        assert len(found.values) == pytest.approx(kept.sum(), rel=0.1)
        assert (np.abs(found.values) >= 30).all()
        mean = estimate(found).mean()
        assert mean == pytest.approx(np.where(kept, noisy, 0).mean(), rel=0.05)


@pytest.mark.parametrize(
    "way",
    [tables.priority(1_500), tables.filter_priority(1_500, 30), tables.filter_priority(1_500)],
)
def test_priority_samples_have_their_size(way: object) -> None:
    found = tables.published(made(1), way)  # type: ignore[arg-type]
    assert len(found.values) == 1_500


def test_threshold_samples_have_about_their_size() -> None:
    found = tables.published(made(1), tables.sampling(1_500, made(1).persons))
    assert 1_200 < len(found.values) < 1_700


def test_each_run_has_data_of_its_own() -> None:
    seeds: list[int] = []

    def noted(seed: int) -> Sparse:
        seeds.append(seed)
        return made(seed)

    errors_of({"filter": tables.filtering(50)}, noted, [100], 3)
    assert seeds == [0, 1, 2]


def test_auto_estimates_every_cell_of_the_persons() -> None:
    sparse = uniform(400, 40, 20, seed=1)
    first, second = auto_estimates(sparse, 2)
    assert len(first) == 400
    assert (first != second).any()
    assert first.min() >= 0
    assert abs(first[sparse.cells] - sparse.values).mean() < 20
    assert np.delete(first, sparse.cells).mean() < 10


def test_errors_of_auto_are_of_all_runs() -> None:
    """Instead of a real run, estimates that are one too high in every cell."""
    asked: list[int] = []

    def off_by_one(sparse: Sparse, runs: int) -> Iterator[Floats]:
        asked.append(runs)
        yield from [sparse.truth + 1.0] * runs

    with mock.patch.object(measuring, "auto_estimates", off_by_one):
        seen = errors_of_auto(lambda _: Sparse(4, np.arange(4), np.full(4, 50)), [1, 2], 6)
    assert asked == [5, 1]
    assert seen[AUTO].errors == {1: [2.0] * 6, 2: [2.0] * 6}


def test_five_runs_share_their_persons() -> None:
    assert list(batches(2)) == [(0, 2)]
    assert list(batches(20)) == [(0, 5), (1, 5), (2, 5), (3, 5)]


def test_curves_and_levels() -> None:
    seen = errors_of({"filter": tables.filtering(50)}, made, [100, 1_000], 2)
    curve = as_curves("c", seen, lambda size: size / 1_000)
    assert [(one.panel, one.line, one.x, one.runs) for one in curve] == [
        ("c", "filter", 0.1, 2), ("c", "filter", 1.0, 2)
    ]  # fmt: skip
    assert curve[0].mean == pytest.approx(np.mean(seen["filter"].errors[100]))
    assert [(one.x, one.mean) for one in level("a", "auto", [1.0, 3.0], [5, 9])] == [
        (5, 2.0), (9, 2.0)
    ]  # fmt: skip
