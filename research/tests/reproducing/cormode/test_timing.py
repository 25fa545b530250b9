"""What is timed is the publishing of every method, and how much it gives."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import pytest

from crowdtally_research.reproducing.papers.cormode import measuring
from crowdtally_research.reproducing.papers.cormode.tables import uniform

METHODS = ["geometric", "wavelet", "filter", "threshold", "priority", "filter-priority", "auto"]


def test_every_method_publishes_what_it_says() -> None:
    sparse = uniform(10_000, 1_000, 20, seed=1)
    found = measuring.timed(sparse, measuring.ways_of(sparse, 1_000), 2)
    assert list(found) == METHODS
    sizes = {name: runs[0].values for name, runs in found.items()}
    assert sizes["geometric"] == sizes["auto"] == 10_000
    assert sizes["wavelet"] == 2**14
    assert sizes["priority"] == sizes["filter-priority"] == 1_000
    assert 1_500 < sizes["filter"] < 2_100
    for runs in found.values():
        assert len(runs) == 2
        assert all(one.seconds > 0 for one in runs)


def test_dense_methods_end_where_the_memory_does() -> None:
    sparse = uniform(1_000, 100, 20, seed=1)
    for most, first in ((1_000, 0), (999, 2)):
        with mock.patch.object(measuring, "MOST_CELLS", most):
            assert list(measuring.ways_of(sparse, 100)) == METHODS[first:]


def test_summaries_of_domains_of_any_size() -> None:
    sparse = uniform(10**11, 100, 20, seed=1)
    with mock.patch.object(measuring, "auto_table"):
        found = dict(measuring.ways_of(sparse, 100))
    assert list(found) == METHODS[2:]
    assert found["priority"](sparse) == 100


def test_wavelets_can_be_left_out() -> None:
    sparse = uniform(1_000, 100, 20, seed=1)
    assert "wavelet" not in measuring.ways_of(sparse, 100, wavelet=False)


@pytest.mark.parametrize(("size", "publishing"), [(900, "dense"), (10**7, "filter-priority")])
def test_auto_publishes_as_the_product_does(size: int, publishing: str) -> None:
    table = measuring.auto_table(size)
    assert table.cells.size == size
    assert table.publishing.name == publishing
    assert table.epsilon.value == Fraction(97, 1000)
    assert table.law.scale * table.unit == 1 / table.epsilon.value
