"""Shen & Jin's example and errors: numbers by hand, and claims that hold and that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from crowdtally.noise.draws import SystemDraws
from crowdtally.person.catalogue import ONE
from crowdtally.person.plan import Plan
from crowdtally_research.reproducing.figure import Data, Given, Number, Numbers
from crowdtally_research.reproducing.papers.shen_jin import PAPER, errors, example, figures
from crowdtally_research.reproducing.papers.shen_jin.people import made_up, people_of
from kit.draws import SilentDraws

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)


def _changed(
    numbers: Iterable[Number], panel: str, line: str, value: Callable[[Number], float]
) -> Numbers:
    return Numbers(
        replace(one, mean=value(one)) if (one.panel, one.line) == (panel, line) else one
        for one in numbers
    )


@pytest.fixture(scope="module")
def scales() -> Sequence[Number]:
    return example.scales(Given(Data(Path()), Path()), runs=300)


WRONG_EXAMPLE = {
    "same_scales": (example.SCALES, example.OURS, lambda one: one.mean + 0.02),
    "same_mean": (example.MEANS, example.OURS, lambda one: one.mean + 0.02),
    "same_global": (example.MEANS, example.OURS, lambda one: 4.0),
    "larger_with_items": (example.SCALES, example.OURS, lambda one: -one.mean),
    "always_better": (example.MEANS, example.OURS, lambda one: 3.0),
}


@pytest.mark.parametrize("name", WRONG_EXAMPLE)
def test_a_claim_of_the_example(name: str, scales: Sequence[Number]) -> None:
    judge = getattr(example, name)
    assert judge(Numbers(scales)).verdict == "agrees"
    panel, line, value = WRONG_EXAMPLE[name]
    assert judge(_changed(scales, panel, line, value)).verdict == "differs"
    assert judge in [claim.judge for claim in example.FIGURE.claims]


def test_the_drawn_noise_errs_as_its_law_says(scales: Sequence[Number]) -> None:
    drawn = Numbers(scales).at(example.MEANS, example.DRAWN, "category based")
    plan = Plan.of(example.example(), 1)
    law = sum(map(example.expected_error, plan.scales)) / 5
    assert abs(drawn.mean - law) < 5 * drawn.standard_error
    assert drawn.runs == 300


def test_the_expected_error_is_that_of_whole_noise() -> None:
    scale = Fraction(3, 2)
    alpha = np.exp(-1 / 1.5)
    ks = np.arange(-200, 201)
    weights = alpha ** np.abs(ks)
    plain = float((np.abs(ks) * weights).sum() / weights.sum())
    assert example.expected_error(scale) == pytest.approx(plain)


def test_made_up_people_stand_in_for_a_missing_file(tmp_path: Path) -> None:
    people = people_of(Data(tmp_path, real=None))
    assert people.matrix.shape == (600, 400)
    assert people.categories.sum(axis=1).min() >= 1
    again = made_up()
    assert (people.matrix != again.matrix).nnz == 0


@pytest.fixture(scope="module")
def measured() -> Sequence[Number]:
    (part,) = figures.FIGURE.parts(Data(Path()), True)
    return part.run(Given(Data(Path()), Path()), **part.arguments)


def test_every_panel_has_numbers_and_every_claim_a_verdict(measured: Sequence[Number]) -> None:
    numbers = Numbers(measured)
    for panel in figures.FIGURE.panels:
        assert numbers.lines(panel.name), panel.name
    assert tuple(numbers.lines(errors.MAE)) == errors.LINES
    for claim in figures.FIGURE.claims:
        assert claim.judge(numbers).verdict in ("agrees", "differs")
    assert [figure.name for figure in PAPER.figures] == ["4", "mae"]


def test_a_trial_without_noise() -> None:
    people = made_up()
    order = np.arange(people.matrix.shape[0])
    trial = errors.Trial(people, order[:5], order[5:], SilentDraws())
    numbers = Numbers(trial.numbers("2"))
    for line in (errors.GLOBAL, errors.OPTIMAL):
        assert numbers.mean(errors.MAE, line, 2.0) == 0
    plan = Plan.of(people.catalogue, 2)
    scales = [float(scale) for scale in plan.scales]
    bound = numbers.mean(errors.MAE, errors.BOUND, 2.0)
    assert bound == pytest.approx(2 * sum(scales) / len(scales))
    # Phase 2 then only errs by rounding: within the number of sets of a category.
    assert 0 < numbers.mean(errors.MAE, errors.SYSTEMATIC, 2.0) < 10
    assert numbers.at(errors.MAE, errors.OURS, 2.0).runs == 5


def test_the_printed_rounding_takes_each_item_by_itself() -> None:
    plan = Plan.of(made_up().catalogue, 1)
    sizes = np.array([group.size for group in plan.groups])
    shares = np.linspace(0, 1, len(sizes))
    draws = SystemDraws()
    runs = [errors.independently(shares, plan, draws) for _ in range(200)]
    mean = np.mean([len(one) for one in runs])
    expected = float((sizes * shares).sum())
    deviation = float(np.sqrt((sizes * shares * (1 - shares)).sum()))
    assert abs(mean - expected) < 5 * deviation / np.sqrt(200)
    spread = np.std([len(one) for one in runs])
    assert deviation / 1.4 < spread < deviation * 1.4  # systematic rounding has next to none
    sure = errors.independently(np.ones(len(sizes)), plan, draws)
    assert sorted(sure.tolist()) == list(range(len(plan.catalogue.items)))
    assert len(errors.independently(np.zeros(len(sizes)), plan, draws)) == 0
    assert ONE == 1 << 40


def _made() -> Iterable[Number]:
    """Numbers of which everything holds, also Theorem 3."""
    for x in EPSILONS:
        scale = 5 / x
        yield Number(errors.MAE, errors.BOUND, x, 2 * scale)
        yield Number(errors.MAE, errors.GLOBAL, x, 1.4 * scale, 0.01, 200)
        for line in (errors.OPTIMAL, errors.LAW):
            yield Number(errors.MAE, line, x, scale, 0.01, 200)
        for line in (errors.INDEPENDENT, errors.SYSTEMATIC, errors.OURS):
            yield Number(errors.MAE, line, x, 1.1 * scale, 0.01, 200)
        yield Number(errors.TIME, "phase 2", x, 5.0)
    yield Number(errors.BUDGET, "s-pbq", 1.0, 3.0)


def _late(one: Number) -> float:
    return 30.0 if one.x == 10.0 else one.mean


WRONG = {
    "theorem3": (errors.MAE, errors.INDEPENDENT, _late),
    "outperforms": (errors.MAE, errors.OPTIMAL, _late),
    "as_the_law_says": (errors.MAE, errors.OPTIMAL, lambda one: 1.1 * one.mean),
    "proportional": (errors.MAE, errors.BOUND, _late),
    "levels_off": (errors.MAE, errors.INDEPENDENT, lambda one: 11.0 - float(one.x)),
    "fast": (errors.TIME, "phase 2", lambda one: 5000.0),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_claim_of_the_errors(name: str) -> None:
    judge = getattr(figures, name)
    assert judge(Numbers(_made())).verdict == "agrees"
    panel, line, value = WRONG[name]
    assert judge(_changed(_made(), panel, line, value)).verdict == "differs"


def test_no_claim_of_the_errors_is_forgotten() -> None:
    assert {claim.judge.__name__ for claim in figures.FIGURE.claims} == set(WRONG)


def test_theorem_3_is_not_broken_by_chance() -> None:
    near = [
        replace(one, mean=1.01 * 2 * 5 / float(one.x), standard_error=0.1 * 5 / float(one.x))
        if one.line == errors.INDEPENDENT
        else one
        for one in _made()
    ]
    assert figures.theorem3(Numbers(near)).verdict == "agrees"


def test_theorem_3_says_how_far_systematic_rounding_is() -> None:
    broken = _changed(_made(), errors.MAE, errors.INDEPENDENT, _late)
    assert "within it everywhere" in figures.theorem3(broken).found
    both = _changed(broken, errors.MAE, errors.SYSTEMATIC, _late)
    assert "so is systematic rounding" in figures.theorem3(both).found
