"""The discrete Gaussian law against brute force and at extreme variances."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from types import ModuleType

import numpy as np
import pytest

from crowdtally.core.counts import Keeping
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.errors import UsageError
from crowdtally.laws import gaussian
from crowdtally.laws.balls import precision
from crowdtally.laws.base import Combination, Terms
from crowdtally.laws.cumulants import cumulants
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.laws.registry import fault_of, law_of

VARIANCES = [Fraction(v) for v in ("1/20", "1/3", "1", "7/2", "100/3", "10000", "1000000/7")]
LEVELS = [Fraction(level) for level in ("0", "1/2", "0.95", "0.999", "0.999999999")]
SHARE = Fraction(1, 20)


def brute(variance: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Values and their probabilities, by the definition."""
    reach = int(13 * variance**0.5) + 13
    values = np.arange(-reach, reach + 1)
    weights = np.exp(-(values.astype(float) ** 2) / (2 * float(variance)))
    return values, weights / weights.sum()


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_probabilities_deviation_and_tails(variance: Fraction) -> None:
    law, (values, chances) = GaussianNoise(variance), brute(variance)
    assert np.allclose(law.probabilities(values), chances, rtol=1e-10, atol=1e-300)
    assert law.std() == pytest.approx(sqrt((chances * values.astype(float) ** 2).sum()), rel=1e-10)
    for width in (0, 1, 5, int(variance**0.5) + 1):
        outside = chances[np.abs(values) > width].sum()
        assert law.tail(width) == pytest.approx(outside, rel=1e-9)
    assert law.tail(-1) == 1


def test_small_variances_are_not_that_of_the_noise() -> None:
    assert GaussianNoise(Fraction(1, 8)).std() ** 2 == pytest.approx(0.0353377, rel=1e-5)
    assert GaussianNoise(Fraction(100)).std() == pytest.approx(10, rel=1e-14)


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_the_interval_is_the_least_that_covers(variance: Fraction, level: Fraction) -> None:
    law = GaussianNoise(variance)
    width = law.half_width(level)
    assert 1 - law.tail(width) >= float(level) - 1e-15
    assert width == 0 or law.tail(width - 1) > float(1 - level) * (1 - 1e-9)


@pytest.mark.parametrize("cells", [2, 3, 7])
@pytest.mark.parametrize("variance", ["1/20", "1/3", "1", "7/2", "5", "100/3"])
def test_sums_of_cells(variance: str, cells: int) -> None:
    _, one = brute(Fraction(variance))
    total = one
    for _ in range(cells - 1):
        total = np.convolve(total, one)
    middle = len(total) // 2
    for level in (Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000)):
        width = GaussianNoise(Fraction(variance)).half_width(level, cells)
        inside = total[middle - width : middle + width + 1].sum()
        assert inside >= float(level) - 1e-10
        assert width == 0 or inside - total[middle - width] - total[middle + width] < float(level)


@pytest.mark.parametrize("cells", [1000, 10**6, 10**12])
@pytest.mark.parametrize("variance", ["1/3", "100"])
def test_sums_of_many_cells_are_nearly_normal(variance: str, cells: int) -> None:
    law = GaussianNoise(Fraction(variance))
    std = law.std(Combination.of_cells(cells))
    assert std == pytest.approx(law.std() * sqrt(cells))
    assert law.half_width(Fraction(19, 20), cells) == pytest.approx(1.96 * std, rel=0.02, abs=1.5)


def test_reach_is_between_whole_cells() -> None:
    law, level = GaussianNoise(Fraction(400)), Fraction(19, 20)
    assert law.reach(level, Combination.of_cells(3)) == law.half_width(level, 3)
    found = [law.reach(level, Combination(squares, 0.0)) for squares in (1.0, 1.5, 2.0)]
    assert found == sorted(found)
    assert law.reach(level, Combination(0.0, 0.0)) == 0


# ---- the floor ---------------------------------------------------------------------------------


@pytest.mark.parametrize("variance", ["1/20", "3/7", "100/3", "1234567"])
@pytest.mark.parametrize("lines", [1, 20, 10**6])
def test_the_floor_of_one_cell_is_the_least(variance: str, lines: int) -> None:
    law = GaussianNoise(Fraction(variance))
    t = int(law.floor(lines))
    with precision(128):
        assert float((1 - law.beyond(t + 1)) ** lines) >= 0.95 - 1e-12
        assert t == 0 or float((1 - law.beyond(t)) ** lines) < 0.95


@pytest.mark.parametrize("variance", ["1/3", "9/2", "50"])
@pytest.mark.parametrize(
    "keeping",
    [Keeping(), Keeping(9), Keeping(9, None, "one"), Keeping(0, Fraction(31, 2)),
     Keeping(5, Fraction(20), "one")],
    ids=str,
)  # fmt: skip
def test_the_floor_of_a_sum_holds_and_is_not_far_off(variance: str, keeping: Keeping) -> None:
    values, law = brute(Fraction(variance))
    weight = values if keeping.sides == "one" else np.abs(values)
    kept = (weight >= keeping.cut).astype(float)
    if keeping.threshold is not None:
        kept *= np.clip(weight / float(keeping.threshold), 0, 1)
    seen = law * kept
    seen[len(values) // 2] += (law * (1 - kept)).sum()
    total = np.convolve(np.convolve(seen, seen), seen)
    beyond = np.cumsum(total[::-1])[::-1][len(total) // 2 + 1 :]  # Pr[S > t] for t = 0, 1, …
    chance = -np.expm1(np.log1p(-0.05) / 100)
    exact = int(np.flatnonzero(beyond <= chance * (1 + 1e-9))[0])
    found = int(GaussianNoise(Fraction(variance)).floor(100, Terms(((1.0, 3),), keeping)))
    assert exact <= found <= 1.4 * exact + 2
    if keeping.keeps_all and Fraction(variance) >= 4:
        assert found == exact


def test_weights_and_what_others_decide() -> None:
    law = GaussianNoise(Fraction(50))
    whole, thirds = law.floor(9, Terms.of_cells(7)), law.floor(9, Terms(((1 / 3, 7),)))
    assert whole / 3 <= thirds < 1.4 * whole / 3
    terms = Terms(((1.0, 3), (-1.0, 1)), Keeping(9), by_itself=False)
    worst = Terms(((1.0, 4),), Keeping(9, None, "one"))
    assert law.floor(20, terms) == law.floor(20, worst)
    assert law.floor(10) <= law.floor(10, independent=False) <= law.floor(10) + 1
    for wrong in ({"share": Fraction(0)}, {"share": 0.05}, {"lines": 0}):
        with pytest.raises(UsageError, match="a floor has a share"):
            law.floor(**({"lines": 3} | wrong))  # type: ignore[arg-type]


# ---- empty cells -------------------------------------------------------------------------------


@pytest.mark.parametrize("variance", ["1/3", "9/2", "100"])
@pytest.mark.parametrize(
    "keeping",
    [Keeping(), Keeping(3), Keeping(3, None, "one"), Keeping(0, None, "one"),
     Keeping(0, Fraction(31, 2)), Keeping(2, Fraction(9), "one")],
    ids=str,
)  # fmt: skip
def test_empty_cells_by_the_definition(variance: str, keeping: Keeping) -> None:
    law, (values, chances) = GaussianNoise(Fraction(variance)), brute(Fraction(variance))
    weight = (values if keeping.sides == "one" else np.abs(values)).astype(float)
    kept = np.where(weight >= keeping.cut, 1.0, 0.0)
    shown = values.astype(float)
    if keeping.samples and keeping.threshold is not None:
        tau = float(keeping.threshold)
        kept *= np.clip(weight / tau, 0, 1)
        shown = np.sign(values) * np.maximum(weight, tau)
    probability = float((chances * kept).sum())
    mean = float((chances * kept * shown).sum())
    square = float((chances * kept * shown**2).sum())
    found = law.empty_cell(keeping)
    with precision(128):
        assert float(law.inclusion(keeping)) == pytest.approx(probability, rel=1e-10)
    assert found.probability == pytest.approx(probability, rel=1e-10)
    assert found.mean == pytest.approx(mean, rel=1e-9, abs=1e-12)
    assert found.variance == pytest.approx(square - mean**2, rel=1e-9)


# ---- the rest ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variance", ["1/100", "1/8", "3/2", "4", "300"])
@pytest.mark.parametrize("unit", ["1", "1/4"])
def test_cumulants_by_the_definition(variance: str, unit: str) -> None:
    law, (values, chances) = GaussianNoise(Fraction(variance), Fraction(unit)), brute(
        Fraction(variance)
    )  # fmt: skip
    step = float(Fraction(unit))
    powers = np.array([0.0, 0.3, -0.7, 2.0]) / (step * float(Fraction(variance)) ** 0.5)
    value, slope, bend = cumulants(law, 2, 3).at(powers)
    for place, s in enumerate(powers):
        weights = chances * np.exp(s * step * values)
        total = weights.sum()
        mean = (weights @ values) / total
        spread = (weights @ (values - mean) ** 2) / total
        assert value[place] == pytest.approx(6 * np.log(total), rel=1e-9, abs=1e-12)
        assert slope[place] == pytest.approx(6 * mean * step, rel=1e-9, abs=1e-12)
        assert bend[place] == pytest.approx(6 * spread * step**2, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("variance", ["1e-300", "1e-6", "1e30", "1e300"])
def test_extreme_variances(variance: str) -> None:
    law, level = GaussianNoise(Fraction(variance)), Fraction(19, 20)
    sigma = float(law.variance) ** 0.5
    tiny = law.variance < 1
    assert law.std() == (0 if tiny else pytest.approx(sigma))
    for cells in (1, 5):
        width = law.half_width(level, cells)
        assert width == (0 if tiny else pytest.approx(1.95996 * sigma * sqrt(cells), rel=1e-4))
    for terms in (Terms(), Terms.of_cells(5), Terms(((0.5, 2),)), Terms(((1.0, 3),), Keeping(9))):
        floor = law.floor(100, terms)
        assert floor == 0 if tiny else floor > sigma
    logs = law.log_probabilities(np.array([0, int(sigma)], dtype=object))
    assert np.isfinite(logs[0])
    assert tiny or logs[0] - logs[1] == pytest.approx(0.5)


def test_release_json_tells_all_of_it() -> None:
    law = GaussianNoise(Fraction(100, 3), Fraction(1, 1 << 20))
    told = law.to_json()
    assert told["variance"] == "100/3"
    assert law_of(told) == law
    assert fault_of(told) is None
    assert fault_of({key: told[key] for key in ("law", "unit")}) is not None
    assert fault_of(told | {"variance": "-1"}) is not None


def test_it_says_whether_it_goes_with_a_table() -> None:
    law = GaussianNoise(Fraction(25))  # 10/(2·1/5)
    assert law.disagreement(Rho.of("1/5"), 10, 10, 5) is None
    assert "no epsilon without a delta" in str(law.disagreement(Epsilon.of("1/5"), 10, 10, 5))
    assert "sensitivity_squared" in str(law.disagreement(Rho.of("1/5"), 10, 11, 5))
    assert "twice its rho" in str(law.disagreement(Rho.of("2/5"), 10, 10, 5))
    laplace = DiscreteLaplace(Fraction(25))
    assert "paid for in rho" in str(laplace.disagreement(Rho.of("1/5"), 5, 25, 5))


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), 0.5, True, "1"])
def test_a_variance_is_an_exact_positive_number(variance: object) -> None:
    with pytest.raises(UsageError, match="variance"):
        GaussianNoise(variance)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [Fraction(1), Fraction(-1, 2), 0.95])
def test_a_level_is_an_exact_share_below_one(level: object) -> None:
    with pytest.raises(UsageError):
        GaussianNoise(Fraction(1)).half_width(level)  # type: ignore[arg-type]


def test_nothing_is_drawn_here() -> None:
    modules = [value for value in vars(gaussian).values() if isinstance(value, ModuleType)]
    sources = {getattr(value, "__module__", "") for value in vars(gaussian).values()}
    names = {module.__name__ for module in modules} | sources
    assert not [name for name in names if name and ("crowdtally.noise" in name or "random" in name)]
