"""θ from a histogram of norms: one user in one bin, the stated noise, and the best fit by loops."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isqrt, pi, sqrt

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.layout import grid
from crowdtally.core.privacy import Rho
from crowdtally.curator.bounding.scaling import DPSenseL2
from crowdtally.curator.choices.bounds import BITS, NormChoice, RowNorms, log_spaced
from crowdtally.curator.methods.tables import ChooseNorm
from crowdtally.curator.table import Table
from crowdtally.noise.draws import Draws

ROWS = [row for row in product(range(5), repeat=4) if any(row)]
RHO = Rho(Fraction(3, 10_000))


def norms(rows: list[tuple[int, ...]]) -> RowNorms:
    squares = [sum(x * x for x in row) for row in rows]
    return RowNorms(
        np.array(squares, dtype=np.int64),
        np.array([sum(row) for row in rows], dtype=np.int64),
        np.ones(len(rows), dtype=np.int64),
    )


def choice(cap: int = 1, most: int = 400, cells: int = 1000) -> NormChoice:
    return NormChoice(cells, most, RHO, Rho(Fraction(1, 100)), cap)


class Given(Draws):
    """Hands out a noise, and keeps what was asked for."""

    def __init__(self, noise: int = 0) -> None:
        self.noise, self.asked = noise, list[tuple[Fraction, int]]()

    def gaussian(self, variance: Fraction, size: int) -> np.ndarray:
        self.asked.append((variance, size))
        return np.full(size, self.noise)


@pytest.mark.parametrize("cap", [1, 4])
def test_a_user_is_in_one_bin_whatever_she_has(cap: int) -> None:
    """So one user changes the histogram by 1 in L2, which the noise is for."""
    rows = ROWS if cap > 1 else [row for row in ROWS if max(row) == 1]
    others = choice(cap).bins(norms(rows[:7]))
    for row in rows:
        changed = choice(cap).bins(norms([*rows[:7], row])) - others
        assert (changed**2).sum() == 1
        squares, total = sum(x * x for x in row), sum(row)
        (bit, shorter), *_ = np.argwhere(changed)
        assert bit + 1 == squares.bit_length()
        assert bit + 1 - shorter == total.bit_length()


def test_the_noise_is_that_of_the_price() -> None:
    draws = Given()
    choice(cap=4).pick(norms(ROWS), draws)
    assert draws.asked == [(1 / (2 * RHO.value), BITS * 4)]


def test_rows_that_are_held_or_out_of_reach_are_in_a_bin_too() -> None:
    held = RowNorms(*(np.array([n], dtype=np.int64) for n in (2**61 + 9, 1, 1)))
    for cap in (1, 4):
        assert choice(cap).bins(held).sum() == choice(cap).bins(held)[61].sum() == 1


def best(counted: dict[int, int], most: int, cells: int) -> int:
    """Of users by Q, binary rows: the θ of least error, by its definition."""

    def error(theta: int) -> float:
        lost = sum(n * max(1 - theta / sqrt(q), 0) * q for q, n in counted.items())
        return lost + cells * theta / sqrt(pi / 100)

    return min(log_spaced(most), key=error)


@pytest.mark.parametrize("scale", [1, 8, 60])
def test_theta_is_near_the_best_that_the_rows_themselves_would_tell(scale: int) -> None:
    rng = np.random.default_rng(3)
    rows = (scale * np.exp(rng.normal(2, 1, 20_000))).astype(np.int64) + 1
    squares, users = np.unique(rows, return_counts=True)
    made = choice(most=400)
    found = made.pick(RowNorms(squares, squares, users), Given())
    wanted = best(dict(zip(squares.tolist(), users.tolist(), strict=True)), 400, 1000)
    assert 0.8 * wanted <= found <= 1.25 * wanted


def test_repeated_records_count_by_their_sums() -> None:
    """Rows of one cell: the more often it counts, the less there is to lose."""
    many = np.array([5000], dtype=np.int64)
    once = RowNorms(np.array([256]), np.array([256]), many)
    often = RowNorms(np.array([256]), np.array([16]), many)
    found = [choice(16, cells=4000).pick(rows, Given()) for rows in (once, often)]
    assert found[0] > found[1]


def test_bins_of_noise_alone_choose_nothing() -> None:
    """Long rows that nobody has would outweigh everybody, were they taken for users."""
    nobody = RowNorms(*(np.empty(0, dtype=np.int64) for _ in range(3)))
    deviation = isqrt(int(choice().variance))
    assert choice().pick(nobody, Given(deviation)) == 1
    some = RowNorms(np.array([100]), np.array([100]), np.array([20_000]))
    assert choice().pick(some, Given(deviation)) == choice().pick(some, Given()) <= 12


def test_what_is_charged_is_what_is_drawn() -> None:
    """Of two tables a user is in a bin each: Δ² is 2."""
    domain = ct.Domain(range(3), {"day": ["a", "b"]})
    tables = tuple(
        Table(name, name, grid(axes), RHO, DPSenseL2(9).l1_bound, settled=False)
        for name, axes in (("items", domain.axes[:1]), ("edges", domain.axes))
    )
    (part,) = ChooseNorm(tables, 9, RHO, 1).parts()
    assert part.rho == RHO
    assert part.parameters["l2_squared"] == 2
    assert part.rho.value == 2 / (2 * Fraction(str(part.parameters["sigma2"])))
    draws = Given()
    for table in tables:
        ChooseNorm(tables, 9, RHO, 1)._choice(table).pick(norms(ROWS[:3]), draws)
    assert {variance for variance, _ in draws.asked} == {Fraction(str(part.parameters["sigma2"]))}
