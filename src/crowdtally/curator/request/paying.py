"""What a release is paid for in: pure ε, or the ρ of zCDP that its ε and δ buy.

Contract. ρ is :func:`~crowdtally.laws.conversion.rho_of` of ε and of the part of δ that no unknown cells
need, rounded down: what is drawn at prices that sum to at most ρ is (ε, δ)-differentially private.
The noise is decided by public numbers alone: what one user can change, ε and δ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from crowdtally.core.privacy import Delta, Epsilon, Price, Rho
from crowdtally.curator.measured import AnyTable
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.request.refusals import Asked
from crowdtally.curator.request.tables import samples_uncut
from crowdtally.laws.conversion import approximate, rho_of

Made = Callable[[Price], Sequence[AnyTable]]
"""The tables of a release, for the price of all of it."""


@dataclass(frozen=True)
class Paid:
    """With what noise, and in what, a release is paid for."""

    noise: str
    """``laplace``, ``gaussian`` or ``interval``; ``auto`` where ``auto`` decides on the way."""
    epsilon: Epsilon
    """ε of the whole release."""
    delta: Delta
    """δ of the whole release: 0 where nothing needs it."""
    unknown: Delta = field(default_factory=Delta, kw_only=True)
    """The part of δ that cells without a public list need."""
    offered: Delta = field(default_factory=Delta, kw_only=True)
    """δ that was offered: where noise of pure ε is the smaller one, nothing of it is spent."""
    left_open: bool = field(default=False, kw_only=True)
    """Whether the smaller of two noises was taken, which at another ε may be the other one."""

    @property
    def rho(self) -> Rho | None:
        """ρ that ε and δ buy, rounded down; None where the release is paid for in ε.

        >>> str(Paid("gaussian", Epsilon.of(1), Delta.of("1e-9")).rho)
        '0.0149730576735'
        """
        if self.noise != "gaussian":
            return None
        return Rho(rho_of(self.epsilon, Delta(self.delta.value - self.unknown.value)))

    @property
    def price(self) -> Price:
        """Of all of it."""
        return self.rho or self.epsilon

    def either(self) -> list[Paid]:
        """With each noise that it might have."""
        if not self.left_open:
            return [self]
        pure = replace(self, noise="laplace", delta=Delta())
        return [pure, replace(self, noise="gaussian", delta=self.offered)]


def ways_to_pay(asked: Asked, epsilon: Epsilon) -> list[Paid]:
    """With pure ε, with ρ, or with the better of both: which of them options and δ leave open."""
    noise, delta = asked.options["noise"], asked.delta
    pure = Paid("interval" if asked.interval else "laplace", epsilon, Delta(), offered=delta)
    if not delta.value or noise not in (AUTO, "gaussian"):
        return [pure]
    gaussian = Paid("gaussian", epsilon, delta, offered=delta)
    return [pure, gaussian] if noise == AUTO else [gaussian]


def paid(asked: Asked, epsilon: Epsilon, made: Made) -> Paid:
    """What is paid, by the noise that was asked for; without one, by the smaller of two noises.

    Args:
        asked: everything that was asked for.
        epsilon: ε of the whole release.
        made: its tables, to see how large their noise would be.
    """
    noise, delta = asked.options["noise"], asked.delta
    if asked.rule.name == "auto" and delta.value and noise == AUTO:
        # It decides once it knows how long rows are.
        return Paid(AUTO, epsilon, delta, offered=delta)
    ways = ways_to_pay(asked, epsilon)
    # The first of equals: pure ε, which can also be sampled without a cut.
    if len(ways) == 1 or any(map(samples_uncut, made(ways[1].price))):
        return ways[0]
    found = min(ways, key=lambda way: _variance(made(way.price)))
    return replace(found, left_open=True)


def _variance(tables: Sequence[AnyTable]) -> float:
    """Of the noise on one cell of each table, added up."""
    return sum(table.law.std() ** 2 for table in tables)


def unspent_words(paid: Paid) -> str | None:
    """A sentence where a δ was offered and nothing of it is spent."""
    if not paid.offered.value or paid.delta.value:
        return None
    return (
        f"Noise of pure epsilon is used here, so delta {paid.offered} is not spent: the release "
        f"is of epsilon {paid.epsilon} without any delta."
    )


def check_delta(delta: Delta) -> None:
    """Refuse a δ that promises next to nothing."""
    if delta.value:
        approximate(delta)
