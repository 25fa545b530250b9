"""Everything public about a perturbation, and an ε from a public policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, isqrt

from crowdtally.core.numbers import Number, exact, show
from crowdtally.core.privacy import Epsilon
from crowdtally.errors import UsageError
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.person.catalogue import Catalogue, Group
from crowdtally.person.levels import Level, Levels, checked
from crowdtally.person.scales import Rates, best_rates, most_used, verify

# A plan is made of the catalogue, ε and the levels alone. It never sees a history, so nothing in
# it can depend on one, and whether it is refused cannot either.

USUAL = Fraction(19, 20)
"""The level of a noise interval."""
MOST_CATEGORIES = 4_000
"""Matrices of categories × categories are held in memory."""
_STEPS = 10**4
"""What is charged is rounded up to a multiple of 1/10,000."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What would be done to any history; all of it public."""

    catalogue: Catalogue
    epsilon: Epsilon
    """The ε of every category that has no level of its own."""
    levels: Levels
    measured: tuple[int, ...]
    """The places, in the catalogue, of the categories that are counted with noise."""
    groups: tuple[Group, ...]
    """The groups whose items are perturbed; only these items are counted, and only they appear."""
    sets: tuple[tuple[int, ...], ...]
    """The categories of each of these groups, as places in ``measured``."""
    budgets: tuple[Fraction, ...]
    """ε_i of the items of each of these groups: the least of their categories' levels."""
    passed: tuple[Group, ...]
    """The groups whose items leave as they are (all release): nothing is promised for them."""
    withheld: tuple[Group, ...]
    """The groups of which nothing leaves (no release)."""
    noise: Rates
    """The rate of the noise on each measured category, and how near the optimum it is."""
    found: str = ""
    """How ε was found, in words, where nobody typed it."""

    def __post_init__(self) -> None:
        verify(self.noise.values, self.sets, self.budgets)

    @classmethod
    def of(
        cls,
        catalogue: Catalogue,
        epsilon: Number | Epsilon,
        levels: Levels | Mapping[str, object] | None = None,
    ) -> Plan:
        """The plan of least mean noise.

        Args:
            catalogue: the public catalogue.
            epsilon: what one item of a history may lose, where no level says otherwise.
            levels: for categories with a level of their own: ``no``, ``all`` or an epsilon.

        >>> films = Catalogue.of({"Alien": ["horror", "space"], "Heat": ["crime"]})
        >>> [round(float(scale), 6) for scale in Plan.of(films, 1).scales]
        [1.0, 2.0, 2.0]
        """
        asked, typed = checked(Epsilon.of(epsilon)), Levels.of(levels)
        if len(catalogue.categories) > MOST_CATEGORIES:
            raise UsageError(
                f"the catalogue has {len(catalogue.categories):,} categories, and at most "
                f"{MOST_CATEGORIES:,} are planned for: check that its column of categories is "
                "the right one, or take coarser ones."
            )
        typed.require_known(catalogue.categories)
        each = typed.each(catalogue.categories, asked)
        withheld, passed, perturbed = _divided(catalogue, each)
        if not perturbed:
            raise UsageError(
                "no item of the catalogue would be perturbed: by these levels each is released as "
                "it is, or not at all. Give at least one category an epsilon."
            )
        measured = tuple(sorted({c for group in perturbed for c in group.categories}))
        number = {category: place for place, category in enumerate(measured)}
        sets = tuple(tuple(number[c] for c in group.categories) for group in perturbed)
        budgets = _least(each, perturbed)
        rates = best_rates(sets, budgets, len(measured))
        return cls(
            catalogue, asked, typed, measured, perturbed, sets, budgets, passed, withheld, rates
        )

    @cached_property
    def cost(self) -> Epsilon:
        """What a draw is charged: the most that any one item can lose, rounded up."""
        lost = most_used(self.rates, self.sets, (Fraction(1),) * len(self.sets))
        return Epsilon(min(max(self.budgets), Fraction(ceil(lost * _STEPS), _STEPS)))

    @cached_property
    def categories(self) -> tuple[str, ...]:
        return tuple(self.catalogue.categories[place] for place in self.measured)

    @property
    def rates(self) -> tuple[Fraction, ...]:
        """v_j of each measured category; over the categories of an item they sum to ε_i at most."""
        return self.noise.values

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """z_j = 1/v_j: the scale of the noise on each measured category."""
        return tuple(1 / rate for rate in self.rates)

    @property
    def mean_scale(self) -> float:
        """The mean of the scales: about the mean absolute error of a noisy count."""
        return sum(map(float, self.scales)) / len(self.scales)

    def widths(self, level: Fraction = USUAL) -> tuple[int, ...]:
        """For each measured category, the least w with Pr[|noise| ≤ w] ≥ ``level``."""
        return tuple(DiscreteLaplace(scale).half_width(level) for scale in self.scales)

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        kept = set(self.measured)
        names = self.catalogue.categories
        return tuple(name for place, name in enumerate(names) if place not in kept)

    def budget_of(self, item: str | int) -> Fraction | None:
        """The most that releasing can lose about one item; None where it leaves as it is."""
        place = self.catalogue.place_of[str(item)]
        group = self.catalogue.groups[self.catalogue.group_of[place]]
        if group in self.passed:
            return None
        return dict(zip(self.groups, self.budgets, strict=True)).get(group, Fraction(0))

    def __repr__(self) -> str:
        return (
            f"<Plan: epsilon {self.cost} on {len(self.measured):,} categories, noise "
            f"±{max(self.widths()):,} or less>"
        )


def _divided(
    catalogue: Catalogue, each: tuple[Level, ...]
) -> tuple[tuple[Group, ...], tuple[Group, ...], tuple[Group, ...]]:
    """The groups of which nothing leaves, those that leave as they are, and the perturbed ones."""
    withheld: list[Group] = []
    passed: list[Group] = []
    perturbed: list[Group] = []
    for group in catalogue.groups:
        kinds = {each[category].kind for category in group.categories}
        if kinds == {"all"}:
            passed.append(group)
        elif "all" in kinds:
            raise _contradiction(catalogue, each, group)
        else:
            (withheld if "no" in kinds else perturbed).append(group)
    return tuple(withheld), tuple(passed), tuple(perturbed)


def _contradiction(catalogue: Catalogue, each: tuple[Level, ...], group: Group) -> UsageError:
    """All release of an item would tell its protected categories too."""
    opened = next(c for c in group.categories if each[c].kind == "all")
    kept = next(c for c in group.categories if each[c].kind != "all")
    both = sum(other.size for other in catalogue.groups if {opened, kept} <= set(other.categories))
    open_name, kept_name = catalogue.categories[opened], catalogue.categories[kept]
    return UsageError(
        f"the levels contradict each other: {open_name!r} is released as it is, and {both} of its "
        f"items in the catalogue are in {kept_name!r} too, which is protected. Whoever sees such "
        f"an item knows both. Give {open_name!r} an epsilon or no, or {kept_name!r} all. Nothing "
        "was released or charged."
    )


def _least(each: tuple[Level, ...], perturbed: tuple[Group, ...]) -> tuple[Fraction, ...]:
    """ε_i of the items of each perturbed group: the least of its categories' levels."""
    levels = [Fraction(0) if level.epsilon is None else level.epsilon.value for level in each]
    ascending = sorted(set(levels))
    rank = {value: place for place, value in enumerate(ascending)}
    ranks = [rank[value] for value in levels]  # comparing rationals is slow
    return tuple(ascending[min(ranks[c] for c in group.categories)] for group in perturbed)


# An ε from a public policy: S-PBQ, the paper's privacy quantification, **as reconstructed here**.
#
# The paper's text breaks off before it says how. What it does say: noise scales are proportional
# to 1/ε, and ε is to be chosen so that more of it would hardly lower the loss. The expected loss
# at ε is at most K/ε, with K = 2·Σ_j z_j(1)/c over c categories (the paper's Theorem 3). It falls
# by K/ε² for each further unit of ε. The reconstruction takes the ε at which that falls to a
# public rate η: ε* = √(K/η), rounded down, within a policy's range. It never looks at a history.

LABEL = "S-PBQ as reconstructed by Crowdtally: the paper's text breaks off"


@dataclass(frozen=True)
class Policy:
    """What a person, or an adviser, decides beforehand; public."""

    eta: Fraction = Fraction(1)
    """η > 0: by how much one more unit of ε must lower the mean error of a count to be worth it."""
    least: Epsilon = Epsilon(Fraction(1, 10))  # noqa: RUF009 - immutable
    most: Epsilon = Epsilon(Fraction(3))  # noqa: RUF009 - immutable

    def __post_init__(self) -> None:
        if self.eta <= 0:
            raise UsageError(f"eta must be greater than 0: received {show(self.eta)}.")
        checked(self.least)
        checked(self.most)
        if self.least > self.most:
            raise UsageError(
                f"the policy's least epsilon, {self.least}, is above its most, {self.most}."
            )

    @classmethod
    def of(cls, eta: Number = 1, least: Number = "0.1", most: Number = 3) -> Policy:
        return cls(exact(eta, "eta"), Epsilon.of(least), Epsilon.of(most))


def quantify(
    catalogue: Catalogue, policy: Policy | None = None, levels: Levels | None = None
) -> Epsilon:
    """ε* = √(K/η) within the policy's range, rounded down. A reconstruction.

    Categories that are not released, or released as they are, have no part in it.

    >>> five = {"1": "abc", "2": "acd", "3": "ae", "4": "ac", "5": "ab"}
    >>> str(quantify(Catalogue.of({item: list(names) for item, names in five.items()})))
    '2.2851'
    """
    wanted = policy or Policy()
    named = (levels or Levels()).of_category.items()
    apart = Levels({name: level for name, level in named if level.kind != "perturbed"})
    scales = Plan.of(catalogue, 1, apart).scales
    loss = 2 * sum(scales, Fraction(0)) / len(scales)
    # ⌊√x·s⌋ = ⌊√⌊x·s²⌋⌋ for whole s: exact, and downwards.
    best = Fraction(isqrt(int(loss / wanted.eta * _STEPS**2)), _STEPS)
    return Epsilon(min(max(best, wanted.least.value), wanted.most.value))


def found_words(found: Epsilon, policy: Policy) -> str:
    return (
        f"Epsilon {found} was found by a public policy (eta {show(policy.eta)}, between "
        f"{policy.least} and {policy.most}), without a look at the history: {LABEL}."
    )
