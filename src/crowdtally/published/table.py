"""One table of a release, as ``release.json`` tells it: parsed once, asked by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from crowdtally.core.counts import Keeping
from crowdtally.core.layout import KINDS, TableKind
from crowdtally.core.privacy import Price
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.registry import law_of
from crowdtally.published.domain import PublicDomain
from crowdtally.published.numbers import exact_number, maybe_number, price_of

DENSE = "dense"
"""The publishing of every cell."""
DISCOVERED = "threshold on unknown items"
"""The publishing of cells of which a column has no public list."""
SPARSE = ("filter", "threshold", "filter-threshold", "priority", "filter-priority")
"""Publishings that leave cells out."""
CHOSEN = "chosen"
"""The publishing of some items, which the release chose by what it had released, or selected."""


@dataclass(frozen=True)
class TransformFacts:
    """What became of the counts before noise was added."""

    kind: Literal["none", "dyadic", "haar", "sketch"] = "none"
    """Its name."""
    ordered: tuple[str, ...] = ()
    """The axes along which nodes or coefficients were made."""
    buckets: int = 0
    """B of a sketch."""
    rows: int = 0
    """R of a sketch."""
    seed: int = 0
    """Of a sketch's public hashes."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> TransformFacts:
        """From a table's ``transform``."""
        numbers = {name: facts[name] for name in ("buckets", "rows", "seed") if name in facts}
        return cls(facts["kind"], tuple(facts["ordered"]), **numbers)


NO_TRANSFORM = TransformFacts()


@dataclass(frozen=True)
class SummaryFacts:
    """How the cells of a table that leaves cells out were chosen."""

    keeping: Keeping
    """The rule, with the threshold that estimates use: τ, or τ_S of a priority sample."""
    domain_cells: int
    """How many cells there are, published or not."""
    published_cells: int
    """How many were published."""
    size: int | None
    """S: how many were asked for, of a priority sample."""
    short: bool
    """Whether a priority sample found no more than S cells."""
    drops_orphans: bool
    """Whether nodes below a dropped node were dropped too."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> SummaryFacts:
        """From a table's entry."""
        threshold = maybe_number(facts["estimating_threshold"], "the threshold")
        return cls(
            Keeping(facts["cut"], threshold, facts["sides"]),
            facts["domain_cells"],
            facts["published_cells"],
            facts["size"],
            facts["short"],
            facts["consistency"] == "ancestors",
        )


@dataclass(frozen=True)
class TableFacts:
    """All that a release says about one of its tables."""

    kind: TableKind
    """What its name means."""
    file: str
    """Its file in the folder."""
    columns: tuple[str, ...]
    """The columns that name a cell."""
    axes: tuple[str, ...]
    """The domain's lists that its cells come from, slowest first; a pair has its list twice."""
    cells: int
    """How many cells, nodes, coefficients or buckets it has, published or not."""
    price: Price
    """Its cost: ε, or ρ of zCDP."""
    sensitivity: int
    """What one person can change in L1, in units."""
    sensitivity_squared: int
    """The square of what one person can change in L2, in units squared: at most that of L1."""
    law: NoiseLaw
    """The noise on its cells."""
    noise_std: float
    """The standard deviation of one cell's noise, as it is written beside each count."""
    interval_level: Fraction
    """How likely the noise lies within ``low`` … ``high``."""
    interval_half_width: float
    """Half the width of that interval, as a count."""
    publishing: str
    """Which cells are published."""
    rows: int
    """Rows of the file."""
    sha256: str
    """Of the file."""
    transform: TransformFacts = NO_TRANSFORM
    """What became of the counts before noise was added."""
    summary: SummaryFacts | None = None
    """How cells were chosen, where some were left out."""
    discovery_threshold: int | None = None
    """The least noisy number of users of a cell that was discovered."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else a table of ``auto`` says: the groups of its bins, the names of its features."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], domain: PublicDomain) -> TableFacts:
        """From an entry of ``tables``."""
        kind, noise, publishing = KINDS[facts["name"]], facts["noise"], facts["publishing"]
        transform, summary = facts.get("transform"), publishing in SPARSE
        return cls(
            kind,
            facts["file"],
            tuple(facts["columns"]),
            _axes(kind, domain),
            facts["cells"],
            price_of(facts),
            facts["sensitivity"],
            facts.get("sensitivity_squared", facts["sensitivity"] ** 2),
            law_of(noise),
            noise["std"],
            exact_number(noise["interval_level"], "the level"),
            noise["interval_half_width"],
            publishing,
            facts["rows"],
            facts["sha256"],
            TransformFacts.from_json(transform) if transform else NO_TRANSFORM,
            SummaryFacts.from_json(facts) if summary else None,
            facts.get("threshold"),
            {name: value for name, value in facts.items() if name not in _PARSED},
        )

    @property
    def name(self) -> str:
        """The table's name."""
        return self.kind.name

    @property
    def is_dense(self) -> bool:
        """Whether every cell of the domain was published."""
        return self.publishing == DENSE

    @property
    def is_discovered(self) -> bool:
        """Whether its cells are those that the release itself found."""
        return self.publishing == DISCOVERED

    @property
    def is_chosen(self) -> bool:
        """Whether it has the items that the release chose, and no others."""
        return self.publishing == CHOSEN

    @property
    def groups(self) -> str | None:
        """The bin of every item, a character for each; ``-`` for none. None where there are none.

        The items are in the order of the list, cells of attributes in that of their table.
        """
        found: str | None = self.more.get("groups")
        return found

    @property
    def published_cells(self) -> int:
        """How many rows its file must have."""
        return self.cells if self.summary is None else self.summary.published_cells

    @property
    def keeping(self) -> Keeping:
        """The rule by which cells were kept; one that keeps all where none was left out."""
        return Keeping() if self.summary is None else self.summary.keeping


_PARSED = frozenset({
    "name", "file", "columns", "cells", "epsilon", "rho", "sensitivity", "sensitivity_squared",
    "noise", "publishing", "transform", "threshold", "rows", "sha256",
})  # fmt: skip
"""Fields of a table's entry that are parsed above."""


def _axes(kind: TableKind, domain: PublicDomain) -> tuple[str, ...]:
    """The domain's lists that the cells of a table come from; its own numbers come from none."""
    names, contexts = domain.names, [one.name for one in domain.contexts]
    match kind.over:
        case "items":
            return tuple(names[: len(names) - len(contexts)])
        case "contexts" | "own in context":
            return tuple(contexts)
        case "items in context":
            return tuple(names)
        case "own":
            return ()
    return kind.axes(names)
