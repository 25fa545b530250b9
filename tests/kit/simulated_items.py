"""Simulated users and their noisy items, and pairs of such releases with known changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np

from crowdtally.core.counts import Keeping
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.methods.auto_rules import KAPPA, Purse, Setting
from crowdtally.errors import UsageError
from crowdtally.inference.auto import estimate_auto
from crowdtally.inference.facts import AutoFacts, Chosen, Noisy
from crowdtally.inference.rows import BINS, RowLengths, bin_of
from crowdtally.laws.base import Combination
from crowdtally.laws.interval import IntervalNoise, nodes, phantoms_for
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.changes.measured import Measured, Whole, of_auto, of_summary, of_table
from crowdtally.reader.changes.significance import Discovered, Pair, discovered, pairs_of
from kit import simulated_items

# ---- Items of simulated users, and the noisy values of a bounded release of them, in floats ------
#
# Only estimates are tested with it: nothing here is private.


GRID = 1 << 20
SHAPES = ("zipf", "uniform", "heavy")


@dataclass(frozen=True)
class Crowd:
    """Who has which item, each once."""

    users: np.ndarray
    items: np.ndarray
    size: int

    @property
    def truth(self) -> np.ndarray:
        """How many users each item has."""
        return np.bincount(self.items, minlength=self.size).astype(float)

    def rows(self, bound: float, inside: np.ndarray | None = None) -> np.ndarray:
        """The items' counts where each user's row, inside some items, is scaled to ``bound``."""
        users, items = self.users, self.items
        if inside is not None:
            users, items = users[inside[items]], items[inside[items]]
        sums = np.bincount(users, minlength=int(self.users.max()) + 1)
        weights = np.minimum(1.0, bound / np.maximum(sums, 1))[users]
        return np.bincount(items, weights, minlength=self.size)


def crowd(shape: str, rng: np.random.Generator, size: int = 600, users: int = 3000) -> Crowd:
    """Users of one of three shapes: Zipf items, nearly equal ones, few heavy ones."""
    if shape == "zipf":
        odds = 1 / np.arange(1, size + 1)
        sizes = np.exp(rng.normal(2.0, 0.9, users))
    elif shape == "uniform":
        odds = rng.uniform(0.8, 1.2, size)
        sizes = rng.poisson(12, users).astype(float)
    else:
        odds = np.append(np.full(8, 0.1), 0.3 * rng.dirichlet(np.full(size - 8, 0.7)))
        sizes = np.exp(rng.normal(1.5, 0.8, users))
    sizes = np.clip(np.rint(sizes), 1, size // 3).astype(int)
    keys = np.log(odds / odds.sum()) + rng.gumbel(size=(users, size))
    order = np.argsort(-keys, axis=1)[:, : sizes.max()]
    taken = np.arange(sizes.max()) < sizes[:, None]
    return Crowd(np.repeat(np.arange(users), sizes), order[taken], size)


def law(scale: float) -> DiscreteLaplace:
    """The law of noise of so large a scale, as a count, on a fine grid."""
    return DiscreteLaplace(Fraction(max(round(scale * GRID), 1)), Fraction(1, GRID))


def noise(rng: np.random.Generator, scale: float, size: int) -> np.ndarray:
    """Laplace noise, nearly enough."""
    return scale * (rng.exponential(size=size) - rng.exponential(size=size))


def release(people: Crowd, rng: np.random.Generator, *, epsilon: float = 1.0) -> AutoFacts:
    """Lengths of rows, a table, the total and a head of 15, as ``auto`` measures them."""
    size, lengths = people.size, np.bincount(people.users)
    bins = np.bincount([bin_of(int(one)) for one in lengths if one], minlength=BINS)
    scale = 1 / (0.025 * epsilon)
    read = RowLengths(bins + noise(rng, scale, BINS), sqrt(2) * scale)
    purse = Purse(Epsilon(Fraction(str(epsilon)) * Fraction("0.975")), ones=True)
    setting = Setting(
        size, "counts", contexts=False, cells=False, listed=True, purse=purse, lengths=read
    )
    shares = setting.shares("long")
    theta, most = setting.bounds("long", KAPPA).theta, setting.bound_of_total()

    def measured(values: np.ndarray, bound: int, share: str) -> Noisy:
        scale = bound / float(shares[share] * Fraction(str(epsilon)))
        return Noisy(values + noise(rng, scale, len(values)), law(scale), bound)

    items = measured(people.rows(theta), theta, "items")
    total = measured(np.array([np.minimum(lengths, most).sum()]), most, "total")
    facts = AutoFacts(size, read, "long", items, total=total)
    places = np.sort(np.argsort(-estimate_auto(facts).items.mean)[:15])
    found = measured(people.truth[places], 15, "head")
    return replace(facts, head=Chosen(found.values, found.law, places=places))


# ---- Pairs of simulated releases of which is known what changed, as ``changes`` sees them --------
#
# Users have items, and a release bounds, counts and adds noise, in floats: nothing here is
# private.


Make = Callable[[Crowd, np.random.Generator], list[Measured]]
SIZE, USERS, BOUND = 300, 3000, 5
FEW = 40
"""Items, where noise is for few."""


def people(rng: np.random.Generator, size: int = SIZE) -> Crowd:
    """Some users and their items, each once."""
    return simulated_items.crowd("zipf", rng, size, USERS)


def doubled(crowd: Crowd, items: np.ndarray) -> Crowd:
    """The same users, and as many new ones who have one of these items each, and nothing else."""
    more = np.repeat(items, crowd.truth[items].astype(int))
    first = int(crowd.users.max()) + 1
    users = np.concatenate((crowd.users, first + np.arange(len(more))))
    return Crowd(users, np.concatenate((crowd.items, more)), crowd.size)


def twice(crowd: Crowd) -> Crowd:
    """Every user twice."""
    users = np.concatenate((crowd.users, crowd.users + crowd.users.max() + 1))
    return Crowd(users, np.concatenate((crowd.items, crowd.items)), crowd.size)


def sampled(crowd: Crowd, rng: np.random.Generator, bound: int) -> np.ndarray:
    """The counts where ``bound`` records of each user are kept, at random."""
    order = np.lexsort((rng.random(len(crowd.users)), crowd.users))
    users = crowd.users[order]
    starts = np.r_[0, np.flatnonzero(np.diff(users)) + 1]
    rank = np.arange(len(users)) - np.repeat(starts, np.diff(np.r_[starts, len(users)]))
    return np.bincount(crowd.items[order][rank < bound], minlength=crowd.size).astype(float)


def laplace(rng: np.random.Generator, law: DiscreteLaplace, size: int) -> np.ndarray:
    """Noise of this law."""
    fall = 1 - np.exp(-1 / float(law.scale))
    return (rng.geometric(fall, size) - rng.geometric(fall, size)).astype(float)


def interval(rng: np.random.Generator, law: IntervalNoise) -> np.ndarray:
    """Noise of this law, as counts: differences of numbers that are uniform on 0 … s."""
    known = nodes(law.rate, law.cells + law.phantoms + 1)
    width = rng.choice(known.widths, p=known.chances)
    uniform = rng.integers(0, width + 1, law.cells + law.phantoms + 1) * known.step
    others = uniform[law.cells :].sum()
    return ((law.phantoms + 1) * uniform[: law.cells] - others) * float(law.unit)


def sra(epsilon: float = 1.0, bound: int = BOUND) -> Make:
    """Every cell of a sampled table."""

    def make(crowd: Crowd, rng: np.random.Generator) -> list[Measured]:
        law = DiscreteLaplace(Fraction(bound) / Fraction(str(epsilon)))
        values = sampled(crowd, rng, bound) + laplace(rng, law, crowd.size)
        whole = Whole(float(values.sum()), law.std(Combination.of_cells(crowd.size)))
        return [of_table(values, law, sampled=1.0, whole=whole)]

    return make


def threshold(epsilon: float = 1.0, bound: int = BOUND, tau: int = 40, sides: str = "two") -> Make:
    """A sampled table of which small cells are left out, in proportion to them."""

    def make(crowd: Crowd, rng: np.random.Generator) -> list[Measured]:
        law = DiscreteLaplace(Fraction(bound) / Fraction(str(epsilon)))
        keeping = Keeping(0, Fraction(tau), sides)  # type: ignore[arg-type]
        values = sampled(crowd, rng, bound) + laplace(rng, law, crowd.size)
        weight = np.abs(values) if sides == "two" else values
        kept = rng.random(crowd.size) * tau < weight
        stand_for = np.sign(values) * np.maximum(np.abs(values), tau)
        error = np.sqrt(crowd.size) * np.hypot(law.std(), tau)
        whole = Whole(float(stand_for[kept].sum()), float(error))
        published = np.where(kept, values, np.nan)[:, None]
        return [of_summary(published, law, keeping, sampled=1.0, whole=whole)]

    return make


def distinct(epsilon: float = 1.0) -> Make:
    """All users of every item, with interval noise."""

    def make(crowd: Crowd, rng: np.random.Generator) -> list[Measured]:
        law = IntervalNoise(Fraction(str(epsilon)), crowd.size, phantoms_for(crowd.size))
        values = crowd.truth + interval(rng, law)
        whole = Whole(float(values.sum()), law.std(Combination.of_cells(crowd.size)))
        return [of_table(values, law, whole=whole)]

    return make


def auto(epsilon: float = 1.0) -> Make:
    """Rows scaled by a θ of each release's own, the total, and a head."""

    def make(crowd: Crowd, rng: np.random.Generator) -> list[Measured]:
        facts = release(crowd, rng, epsilon=epsilon)
        return of_auto(facts, estimate_auto(facts))

    return make


METHODS: dict[str, Make] = {
    "sra": sra(),
    "hpa": sra(0.5, 1),  # which is compared by its popularity: one record of each user
    "auto": auto(),
    "interval": distinct(),
    "threshold": threshold(),
    "threshold, one side": threshold(sides="one"),
}


@dataclass(frozen=True)
class Outcome:
    """What came of some pairs."""

    rate: float
    """The mean share of discoveries that are none."""
    error: float
    """The standard error of that."""
    power: float
    """The mean share of changed items that were discovered; NaN where none changed."""
    missed: float
    """The mean share of intervals that miss the change; NaN where it is not known."""
    missed_error: float
    """The standard error of that."""

    def __str__(self) -> str:
        return (
            f"rate {self.rate:.3f} ± {self.error:.3f}, power {self.power:.3f}, intervals that miss "
            f"{self.missed:.3f} ± {self.missed_error:.3f}"
        )


def compared(pair: list[Pair], fdr: float) -> Discovered:
    """What ``changes`` discovers."""
    chances = [one.p_values() for one in pair]
    return discovered([rises for rises, _ in chances], [falls for _, falls in chances], fdr)


def covered(pair: list[Pair], found: Discovered, truth: np.ndarray) -> float:
    """The share of the intervals that miss the change; 0 without any."""
    if not len(found):
        return 0.0
    missed, wrong = 0.05 * len(found) / len(truth), 0
    for way, one in enumerate(pair):
        for up in (True, False):
            lines = found.lines[(found.ways == way) & (found.rose == up)]
            if len(lines):
                low, high = one.intervals(lines, missed, up=up)
                change = truth[lines] if up else -truth[lines]
                wrong += int(((change < low) | (change > high)).sum())
    return wrong / len(found)


def outcome(
    make: Make,
    what: str,
    pairs: int,
    *,
    fdr: float = 0.1,
    seed: int = 0,
    shares: bool = False,
    crowds: int | None = None,
) -> Outcome:
    """Discoveries among so many pairs.

    Args:
        make: how a release is made.
        what: ``none``, ``some`` (5% of the items have twice the users), or ``all`` (every user is
            there twice).
        pairs: how many.
        fdr: the rate that is asked for.
        seed: of the random numbers.
        shares: whether shares are compared.
        crowds: how many different crowds there are; one for each pair by default.
    """
    rng = np.random.default_rng(seed)
    size = FEW if make is METHODS["interval"] else SIZE
    known = [people(rng, size) for _ in range(crowds or pairs)]
    wrong, power, missed = [], [], []
    for number in range(pairs):
        before = after = known[number % len(known)]
        changed = np.zeros(size, dtype=bool)
        if what == "some":
            large = np.flatnonzero(before.truth >= 1)
            changed[rng.choice(large, size // 20, replace=False)] = True
            after = doubled(before, np.flatnonzero(changed))
        elif what == "all":
            after = twice(before)
            changed[:] = not shares
        both, releases = [before, after], [make(before, rng), make(after, rng)]
        if rng.random() < 0.5:
            both.reverse()
            releases.reverse()
        try:
            pair = pairs_of(*releases, shares=shares)
        except UsageError:  # a total that is not told apart from noise: nothing is listed
            wrong.append(0.0)
            continue
        found = compared(pair, fdr)
        wrong.append(float((~changed[found.lines]).sum()) / max(len(found), 1))
        if changed.any():
            power.append(len(np.unique(found.lines[changed[found.lines]])) / changed.sum())
        if what == "some" and not shares:  # newcomers have one record, which is always kept
            missed.append(covered(pair, found, both[1].truth - both[0].truth))
    return Outcome(*_mean(wrong), _mean(power)[0], *_mean(missed))


def _mean(values: list[float]) -> tuple[float, float]:
    """The mean and its standard error; NaN of nothing."""
    if not values:
        return float("nan"), float("nan")
    return float(np.mean(values)), float(np.std(values)) / len(values) ** 0.5
