"""What ``auto`` knows before anything is counted: all of it public, from the request."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from crowdtally.core.counts import What
from crowdtally.core.domain import Axis, Domain, Features
from crowdtally.core.layout import Layout
from crowdtally.core.privacy import Delta, Epsilon, Price
from crowdtally.curator.bounding.scaling import Aim, Auto
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.request.request import Request
from crowdtally.curator.request.table_specs import Paid
from crowdtally.curator.table import Table


@dataclass(frozen=True, eq=False)
class Design:
    """The public side of an ``auto`` release."""

    epsilon: Fraction
    """ε of the whole release."""
    aim: Aim
    """What the release is for."""
    repeats: bool
    """Whether a user's several records at one item count as several."""
    per_user: bool
    """Whether the contexts are a property of the user (U), not of the record (R)."""
    what: What
    """Whether records or distinct users are counted."""
    table: Table
    """The items' table, its ε and bound still open."""
    domain: Domain
    """The public lists."""
    features: Features | None = None
    """Public features of the items."""
    noise: str = "laplace"
    """``laplace``; with δ ``gaussian``, or ``auto``: decided once the sizes are released."""
    delta: Delta = field(default_factory=Delta)
    """δ of the whole release."""

    @classmethod
    def of(cls, request: Request) -> Design:
        """From a request whose rule is ``auto``."""
        rule, domain = request.method.rule, request.domain
        (table,) = request.tables
        if not isinstance(rule, Auto) or domain is None or not isinstance(table, Table):
            raise TypeError("a design is made for a request that leaves its method to auto")
        return cls(
            request.epsilon.value, rule.aim, rule.repeats, bool(rule.per_user), request.method.what,
            table, domain, rule.features, request.paid.noise, request.delta,
        )  # fmt: skip

    @property
    def opening(self) -> Price:
        """What the first step is paid out of: all of ε, or all of the ρ that ε and δ grant."""
        return Paid(self.noise, Epsilon(self.epsilon), self.delta).price

    @property
    def may_turn(self) -> bool:
        """Whether later steps may be paid for in ρ although the first is not."""
        return self.noise == AUTO and self.delta.value > 0

    @property
    def items(self) -> int:
        """m: how many items there are, or cells of attributes."""
        return self.cells.size

    @property
    def cells(self) -> Layout:
        """The items, or the cells of attributes."""
        return self.table.cells

    @property
    def contexts(self) -> int:
        """h: combinations of the contexts' values; 1 without contexts."""
        return self.domain.contexts_size

    @property
    def context_axes(self) -> tuple[Axis, ...]:
        """The contexts' lists."""
        return self.domain.contexts

    @property
    def has_contexts(self) -> bool:
        """Whether there are contexts."""
        return bool(self.domain.contexts)

    @property
    def is_sparse(self) -> bool:
        """Whether the items are too many to publish all."""
        return self.table.publishing.leaves_out
