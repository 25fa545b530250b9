"""The integer cosine transform: its entries, its norms, exact products, and its inverse."""

from __future__ import annotations

from math import cos, pi, sqrt

import numpy as np
import pytest
from scipy.fft import dct, idct

from crowdtally.lab.baselines import dft as module
from crowdtally.lab.baselines.dft import GRID, basis

SIZES = [1, 2, 3, 5, 8, 100, 513]


def matrix(cells):
    """All entries."""
    blocks = module._blocks(cells, basis(cells).candidates[-1])
    return np.concatenate([entries for _, entries in blocks], axis=1)


def test_coefficients_are_the_product_with_the_matrix():
    for cells in SIZES[:-1]:
        unit = np.eye(cells, dtype=np.int64)
        columns = np.array([basis(cells).coefficients(column) for column in unit])
        assert (matrix(cells) == columns.T).all()


@pytest.mark.parametrize("cells", SIZES[:-1])
def test_entries_are_within_one_of_the_orthonormal_transform(cells):
    entries = matrix(cells)
    for (i, j), entry in np.ndenumerate(entries):
        scale = sqrt((2 if i else 1) / cells)
        exact = GRID * scale * cos(pi * i * (2 * j + 1) / (2 * cells))
        assert abs(entry - exact) <= 0.51  # certified to be within 1, in fact the nearest


@pytest.mark.parametrize("cells", SIZES)
def test_norms_are_those_of_the_integers_in_use(cells):
    made, entries = basis(cells), matrix(cells)
    powers = [2**i for i in range(10) if 2**i <= cells]
    assert list(made.candidates) == powers
    for k, norm in zip(made.candidates, made.column_norms, strict=True):
        assert norm == np.abs(entries[:k]).sum(axis=0).max()
    singular = np.linalg.svd(entries.astype(np.float64), compute_uv=False)
    assert GRID * 0.999 < singular[0] <= made.norm <= GRID * 1.001


def test_blocks_of_columns_make_one_matrix(monkeypatch):
    counts = np.arange(100) ** 2
    whole = basis(100)
    monkeypatch.setattr(module, "_BLOCK", 7)
    assert basis.__wrapped__(100) == whole
    in_blocks = whole.coefficients(counts).tolist()
    monkeypatch.undo()
    assert whole.coefficients(counts).tolist() == in_blocks


def test_products_beyond_64_bits_are_exact():
    made, few = basis(5), np.array([1, 0, 3, 0, 7])
    many = few * 2**60
    assert made.coefficients(many).tolist() == [
        value * 2**60 for value in made.coefficients(few).tolist()
    ]


@pytest.mark.parametrize("cells", [1, 2, 7, 3883])
def test_the_inverse_undoes_what_was_kept(cells):
    counts = np.random.default_rng(1).integers(0, 1000, cells)
    made = basis(cells)
    exact = dct(counts.astype(np.float64), norm="ortho")
    found = made.coefficients(counts)
    assert found.astype(np.float64) / GRID == pytest.approx(exact[: len(found)], abs=0.01)
    exact[len(found) :] = 0
    assert made.inverse(found.tolist()) == pytest.approx(idct(exact, norm="ortho"), abs=0.01)
    assert made.inverse(found.tolist()[:1]) == pytest.approx(counts.mean(), abs=0.01)
