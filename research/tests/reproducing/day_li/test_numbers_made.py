"""The numbers of the figures, from a bench without noise and from a quick run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdtally.curator.bounding.scaling import DPSense
from crowdtally.lab.metrics import precision, top_mae
from crowdtally_research.reproducing.figure import Data, Given, Number, Numbers
from crowdtally_research.reproducing.papers.day_li import PAPER, experiment, panels
from crowdtally_research.reproducing.papers.day_li.bench import Bench
from crowdtally_research.reproducing.papers.day_li.methods import (
    Comparison,
    curve_numbers,
    full_size_numbers,
    sampling_numbers,
)
from crowdtally_research.reproducing.papers.day_li.panels import BUDGETS, LARGE
from kit.draws import SilentDraws

NAME, TITLE = "transaction", "Transaction"


def test_the_curves_of_a_bench_without_noise(bench: Bench) -> None:
    numbers = Numbers(curve_numbers(bench, NAME, TITLE, 1))
    found = numbers.curve(panels.curves(NAME), panels.error_line(LARGE))
    truth, mean = bench.rows.truth, bench.rows.column_mean
    gaps = []
    for theta, one in found.items():
        kept = bench.rows.scaled(DPSense(int(theta))).dense() / 2**20
        plain = float((truth - kept).mean())  # rows are only made smaller
        assert one.mean == pytest.approx(plain)
        quality = numbers.mean(panels.curves(NAME), panels.quality_line(LARGE), theta)
        average = numbers.mean(panels.averages(NAME), panels.average_line(LARGE), theta)
        assert average == pytest.approx((quality + plain) / 2)
        gaps.append(100 * abs(average - mean / 2) / mean)
        half = numbers.mean(panels.averages(NAME), panels.HALF, theta)
        assert half == pytest.approx(mean / 2)
    gap = numbers.mean(panels.GAP, panels.average_line(LARGE), TITLE)
    assert gap == pytest.approx(np.mean(gaps))
    # Without noise the largest θ is the best, and the first that cuts nobody is named.
    best = numbers.mean(panels.OPTIMUM, panels.error_line(LARGE), TITLE)
    least = min(found, key=lambda x: found[x].mean)
    assert best == pytest.approx(float(least) / bench.rows.row_mean)


def test_negative_counts_are_set_to_0_in_the_curve(bench: Bench) -> None:
    low = replace(bench, draws=Lowering())
    found = Numbers(curve_numbers(low, NAME, TITLE, 1))
    numbers = found.curve(panels.curves(NAME), panels.error_line(LARGE))
    # Every count falls far below 0, and so to 0: all of it is lost.
    assert [one.mean for one in numbers.values()] == pytest.approx(
        [bench.rows.column_mean] * len(numbers)
    )
    # With negative counts kept the average is far from half of it.
    gap = found.mean(panels.GAP_KEPT, panels.average_line(LARGE), TITLE)
    assert gap > 100 * found.mean(panels.GAP, panels.average_line(LARGE), TITLE)


class Lowering(SilentDraws):
    """The same large noise below 0 for every count."""

    def laplace(self, scale: Any, size: int) -> Any:
        return np.full(size, -(2**45), dtype=np.int64)


def test_the_errors_of_a_bench_without_noise(bench: Bench) -> None:
    numbers = Numbers(Comparison(bench, NAME, TITLE, 30, 1, 1).numbers())
    truth = bench.rows.truth
    for budget in BUDGETS:
        assert numbers.mean(panels.over_all("mae", budget), "lpa", TITLE) == 0
        spread = float(np.abs(truth - truth.mean()).mean())
        assert numbers.mean(panels.over_all("mae", budget), "alpa", TITLE) == pytest.approx(spread)
        flat = np.full(len(truth), truth.mean())
        for k in panels.KS:
            top = numbers.mean(panels.on_top("topk-mae", NAME, budget), "alpa", k)
            assert top == pytest.approx(top_mae(truth, flat, k))
            assert numbers.mean(panels.on_top("topk", NAME, budget), "lpa", k) == precision(
                truth, truth.astype(float), k
            )
        last = panels.on_top("topk-mae", NAME, budget)
        assert numbers.mean(last, "alpa", len(truth)) == pytest.approx(spread)
    assert numbers.mean(panels.bias(LARGE), "dpsense", TITLE) <= 0


def test_sampled_rows_have_their_own_error(bench: Bench) -> None:
    (found,) = sampling_numbers(bench, TITLE, 2)
    assert found.x == TITLE
    assert 0.8 < found.mean < 1.2


def test_the_full_size_needs_lengths_alone() -> None:
    found = {one.line: one for one in full_size_numbers("transaction", TITLE)}
    assert {one.x for one in found.values()} == {"Transaction, full size"}
    small, large = (found[panels.quality_line(budget)].mean for budget in BUDGETS)
    assert 1 < small < large < 20


@pytest.fixture(scope="module")
def measured(made: Data, tmp_path_factory: pytest.TempPathFactory) -> Sequence[Number]:
    """The quick run of one data set, under the names of all."""
    parts = {part.name: part for part in experiment.parts(made, True)}
    part = parts[NAME]
    found = part.run(Given(made, tmp_path_factory.mktemp("own")), **part.arguments)
    return [renamed for one in experiment.SETS for renamed in _renamed(found, one)]


def _renamed(numbers: Sequence[Number], one: experiment.Set) -> list[Number]:
    return [
        replace(
            number,
            panel=number.panel.replace(NAME, one.name),
            x=one.title if number.x == TITLE else number.x,
        )
        for number in numbers
    ]


@pytest.mark.parametrize("figure", PAPER.figures, ids=lambda figure: figure.name)
def test_every_panel_has_numbers_and_every_claim_a_verdict(
    figure: object, measured: Sequence[Number], made: Data, tmp_path: Path
) -> None:
    parts = figure.parts(made, True)  # type: ignore[attr-defined]
    others = [part for part in parts if part.name not in {one.name for one in experiment.SETS}]
    beside = [n for part in others for n in part.run(Given(made, tmp_path), **part.arguments)]
    numbers = Numbers([*beside, *measured])
    for panel in figure.panels:  # type: ignore[attr-defined]
        assert numbers.lines(panel.name), panel.name
    for claim in figure.claims:  # type: ignore[attr-defined]
        found = claim.judge(numbers)
        assert found.verdict in ("agrees", "differs", "cannot be checked")
        assert found.found.endswith(".")


def test_auto_stands_at_every_place_of_figure_1(measured: Sequence[Number]) -> None:
    numbers = Numbers(measured)
    for budget in BUDGETS:
        auto = numbers.curve(panels.curves(NAME), panels.auto_line(budget))
        error = numbers.curve(panels.curves(NAME), panels.error_line(budget))
        assert list(auto) == list(error)
        assert len({one.mean for one in auto.values()}) == 1


def test_what_the_private_choice_loses(measured: Sequence[Number]) -> None:
    numbers = Numbers(measured)
    curve = numbers.curve(panels.curves(NAME), panels.error_line(LARGE))
    chosen = numbers.mean(panels.over_all("mae", LARGE), "dpsense", TITLE)
    regret = numbers.mean(panels.REGRET, panels.error_line(LARGE), TITLE)
    assert regret == pytest.approx(chosen / min(one.mean for one in curve.values()))


def test_every_set_is_work_of_its_own(made: Data) -> None:
    whole = {part.name: part.arguments for part in experiment.parts(made, False)}
    assert list(whole) == [one.name for one in experiment.SETS]
    assert {arguments["runs"] for arguments in whole.values()} == {30}
    assert whole["netflix"]["autos"] == 5  # of which a run takes a minute
    assert all(a["autos"] >= 20 for name, a in whole.items() if name != "netflix")
