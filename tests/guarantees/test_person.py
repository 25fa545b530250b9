"""A perturbed history is ε-private for one item more or less: exactly, on every tiny history.

Noisy counts are independent discrete Laplace numbers around the exact counts, of rates that the run
asks for. Their loss is the sum of rate·|difference|: a rational, compared with ε_i exactly. The
whole output, phase 2 included, is enumerated too, with an offset of few values.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest

from crowdtally.person.catalogue import ONE, Catalogue
from crowdtally.person.history import History
from crowdtally.person.perturbation import measure, perturb
from crowdtally.person.plan import Plan
from kit.exact import Enumerated, Law, law
from kit.person import PRINTED, histories, random_catalogue

CATALOGUES = {
    "printed": Catalogue.of(PRINTED),
    "one category": Catalogue.of({"a": ["x"], "b": ["x"], "c": ["x"]}),
    "nested": Catalogue.of({"a": ["x"], "b": ["x", "y"], "c": ["x", "y", "z"], "d": ["z"]}),
    "random": random_catalogue(11, items=7, categories=5),
}
LEVELS: dict[str, dict[str, str]] = {
    "printed": {"5": "1/7", "4": "3"},
    "one category": {},
    "nested": {"y": "1/10"},
    "random": {"c001": "0.3", "c000": "5"},
}


class Asked:
    """Notes the scale of each draw, and draws nothing."""

    def __init__(self) -> None:
        self.scales: list[Fraction] = []

    def laplace(self, scale: Fraction, size: int) -> Any:
        assert isinstance(scale, Fraction), "a scale that is no exact rational"
        self.scales += [scale] * size
        return np.zeros(size, dtype=np.int64)


def law_of(own: tuple[Any, ...], plan: Plan) -> list[tuple[int, Fraction]]:
    """The centre and the scale of each noisy count, as the real run asks for them."""
    draws = Asked()
    noisy = measure(History.of(own, plan.catalogue), plan, draws)  # type: ignore[arg-type]
    return list(zip(noisy.values, draws.scales, strict=True))


def neighbours(catalogue: Catalogue) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...], Any]]:
    for own in histories(catalogue):
        for item in own:
            yield own, tuple(other for other in own if other != item), item


@pytest.mark.parametrize("name", CATALOGUES)
@pytest.mark.parametrize("epsilon", ["1/10", "1", "7/3"])
@pytest.mark.parametrize("levels", [False, True], ids=["alike", "levels"])
def test_the_loss_of_an_item_is_at_most_its_epsilon(name: str, epsilon: str, levels: bool) -> None:
    plan = Plan.of(CATALOGUES[name], epsilon, LEVELS[name] if levels else None)
    laws = {own: law_of(own, plan) for own in histories(plan.catalogue)}
    worst = Fraction(0)
    for one, other, item in neighbours(plan.catalogue):
        pairs = list(zip(laws[one], laws[other], strict=True))
        assert all(a[1] == b[1] for a, b in pairs), "the noise depends on the history"
        loss = sum((abs(a[0] - b[0]) / a[1] for a, b in pairs), Fraction(0))
        allowed = plan.budget_of(item)
        assert allowed is not None
        assert loss <= allowed
        worst = max(worst, loss)
    assert worst <= plan.cost.value <= max(plan.budgets)
    assert worst > plan.cost.value - Fraction(1, 10**4), "less is lost than is paid for"


def test_a_withheld_item_changes_nothing() -> None:
    plan = Plan.of(CATALOGUES["printed"], 1, {"5": "no"})
    for own in histories(plan.catalogue):
        without = tuple(item for item in own if item != "item 3")
        assert law_of(own, plan) == law_of(without, plan)


class Coarse(Enumerated):
    """Enumerates noise, and the offset of the rounding at few values."""

    def uniforms_below(self, bounds: Any) -> Any:
        assert bounds.tolist() == [ONE]
        options = [(place * (ONE // 2) + 12345, 0.5) for place in range(2)]
        return np.array([self._choose(options)], dtype=np.uint64)


def output_law(own: tuple[Any, ...], plan: Plan) -> Law:
    def run(draws: Enumerated) -> tuple[Any, ...]:
        draws.__class__ = Coarse
        return perturb(own, plan, draws).items  # type: ignore[arg-type]

    return law(run, reach=3)


def test_the_whole_output_is_private() -> None:
    """Phase 2 included: no outcome is more than e^ε times likelier, as far as can be told."""
    plan = Plan.of(Catalogue.of({"a": ["x"], "b": ["x", "y"]}), 3)
    laws = {own: output_law(own, plan) for own in histories(plan.catalogue)}
    assert all(found.left_out < 0.03 for found in laws.values())
    for one, other, _ in neighbours(plan.catalogue):
        for first, second in ((laws[one], laws[other]), (laws[other], laws[one])):
            for outcome, likely in first.probabilities.items():
                at_most = second.probabilities.get(outcome, 0.0) + second.left_out
                assert likely <= exp(3) * at_most
    # And every outcome of one history is one of every other.
    outcomes = {frozenset(found.probabilities) for found in laws.values()}
    assert len(outcomes) == 1
