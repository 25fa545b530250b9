"""What ``release.json`` says of the public lists and of each table.

Fields stand in the order in which they are written; docs/release-format.md says what each means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, Self

from msgspec import Meta
from msgspec.structs import replace

from crowdtally.core.counts import Keeping
from crowdtally.core.layout import CELLS, EDGES, ITEMS, KINDS, TableKind
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.format.parse import (
    ABSENT,
    AtLeastOne,
    Facts,
    LeftOut,
    Level,
    Measure,
    Name,
    Natural,
    Often,
    Positive,
    Sha256,
    Share,
    plain,
)
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.interval import MOST_CELLS, MOST_PHANTOMS
from crowdtally.laws.registry import law_of

Value = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class PublicList(Facts, frozen=True, kw_only=True, rename={"length": "size"}):
    """One list of the domain: the values of one column, in the order of tables and ranges."""

    name: Name
    """The column."""
    kind: LeftOut[Literal["text", "integer"]] = None
    """None for discovered values, which may be either."""
    length: Natural
    values: LeftOut[Annotated[Sequence[Value], Meta(min_length=1)]] = None
    """The values in their order; None where only a table of the release lists them."""
    sha256: LeftOut[Sha256] = None
    """Of the values, each followed by a line feed, where a table lists those of a public list."""
    listed_in: LeftOut[Literal["items.parquet"]] = None
    discovered: LeftOut[bool] = None

    def __post_init__(self) -> None:
        if self.discovered is False:
            raise ValueError("must not say that its values are not discovered")
        if self.discovered is None:
            self.needs("kind")
            if not self.length:
                raise ValueError("must not be an empty list")
            if self.sha256 is None or self.listed_in is None:
                self.needs("values")

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables that have the values, where ``release.json`` does not: its domain knows."""
        return ()

    @property
    def is_discovered(self) -> bool:
        """Whether the release itself found the values."""
        return self.kind is None

    def renamed(self, name: str) -> PublicList:
        return replace(self, name=name)


class PublicDomain(Facts, frozen=True, kw_only=True, rename={"context_lists": "contexts"}):
    """All lists of a release: items and contexts, or attributes."""

    items: LeftOut[PublicList] = None
    context_lists: LeftOut[tuple[PublicList, ...]] = None
    attributes: LeftOut[Annotated[tuple[PublicList, ...], Meta(min_length=1)]] = None

    def __post_init__(self) -> None:
        if self.attributes is None:
            self.needs("items", "context_lists")
        elif self.items is not None or self.context_lists is not None:
            raise ValueError("must have items and contexts, or attributes, and not both")
        if any(one.sha256 is not None for one in self.lists[self.has_items :]):
            raise ValueError("must have the values of all lists but the items'")
        for one in self.lists:
            one.__dict__["tables"] = () if one.values is not None else self._tables(one)

    def _tables(self, one: PublicList) -> tuple[str, ...]:
        """Discovered values are in all tables that have the column: each found its own cells."""
        if not self.has_items:
            return (CELLS.name,)
        if one is not self.items:
            return (EDGES.name,)
        return (ITEMS.name, EDGES.name) if one.discovered and self.contexts else (ITEMS.name,)

    def holding(self, lists: Sequence[PublicList]) -> PublicDomain:
        """The same domain with lists that have all their values."""
        if not self.has_items:
            return PublicDomain(attributes=tuple(lists))
        return PublicDomain(items=lists[0], context_lists=tuple(lists[1:]))

    @property
    def has_items(self) -> bool:
        """Whether the first list is the items."""
        return self.items is not None

    @cached_property
    def lists(self) -> tuple[PublicList, ...]:
        """The items first, then the contexts; or the attributes."""
        return self.attributes or ((self.items, *self.contexts) if self.items is not None else ())

    @cached_property
    def by_name(self) -> Mapping[str, PublicList]:
        """The lists by their columns, in order."""
        return {one.name: one for one in self.lists}

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.lists]

    @property
    def contexts(self) -> tuple[PublicList, ...]:
        return self.context_lists or ()

    @property
    def discovered(self) -> tuple[PublicList, ...]:
        """The columns without a public list, whose values the release itself found."""
        return tuple(one for one in self.lists if one.is_discovered)

    @property
    def is_discovered(self) -> bool:
        return bool(self.discovered)


DENSE = "dense"
"""The publishing of every cell."""
DISCOVERED = "threshold on unknown items"
"""The publishing of cells of which a column has no public list."""
SPARSE = ("filter", "threshold", "filter-threshold", "priority", "filter-priority")
"""Publishings that leave cells out."""
CHOSEN = "chosen"
"""The publishing of some items, which the release chose by what it had released, or selected."""


if TYPE_CHECKING:
    TableName = str
    Publishing = str
else:
    TableName = Literal[tuple(KINDS)]
    Publishing = Literal[(DENSE, CHOSEN, DISCOVERED, *SPARSE)]


class TransformFacts(Facts, frozen=True, kw_only=True):
    """What became of the counts before noise was added."""

    kind: Literal["none", "dyadic", "haar", "sketch"]
    ordered: tuple[Name, ...]
    """The axes along which nodes or coefficients were made."""
    buckets: Often = 0
    """B of a sketch."""
    rows: Annotated[int, Meta(ge=1, le=1000)] = 0
    """R of a sketch."""
    seed: Natural = ABSENT
    """Of a sketch's public hashes."""

    def __post_init__(self) -> None:
        if (self.kind in ("dyadic", "haar")) != bool(self.ordered):
            raise ValueError("must have ordered columns, or none, as its kind asks")
        if self.kind == "sketch":
            self.needs("seed")
            if not self.buckets or not self.rows or self.seed > 2**64:
                raise ValueError("must have buckets, rows and a seed of at most 64 bits")


NO_TRANSFORM = TransformFacts(kind="none", ordered=())


class NoiseFacts(Facts, frozen=True, kw_only=True):
    """The law of the noise; its own numbers are those that the law asks for."""

    law: str
    unit: Positive
    scale: Positive = ABSENT
    variance: Positive = ABSENT
    rate: Positive = ABSENT
    cells: Annotated[int, Meta(ge=1, le=MOST_CELLS)] = ABSENT
    phantoms: Annotated[int, Meta(ge=0, le=MOST_PHANTOMS)] = ABSENT
    blocks: AtLeastOne = ABSENT
    std: Measure
    interval_level: Level
    interval_half_width: Natural | Measure

    def __post_init__(self) -> None:
        if self.rate:
            self.needs("cells", "phantoms", "blocks")
        elif not self.variance:
            self.needs("scale")


class TableFacts(
    Facts, frozen=True, kw_only=True,
    rename={"stated_transform": "transform", "squared": "sensitivity_squared",
            "kept_cells": "published_cells"},
):  # fmt: skip
    """All that a release says about one of its tables."""

    name: TableName
    file: Name
    columns: Annotated[tuple[Name, ...], Meta(min_length=1)]
    """The columns that name a cell."""
    cells: Natural
    """How many cells, nodes, coefficients or buckets it has, published or not."""
    stated_transform: TransformFacts = ABSENT
    epsilon: Positive = ABSENT
    rho: Positive = ABSENT
    sensitivity: AtLeastOne
    """What one person can change in L1, in units."""
    squared: AtLeastOne = ABSENT
    delta: Share = ABSENT
    publishing: Publishing
    """Which cells are published."""
    threshold: AtLeastOne = ABSENT
    domain_cells: AtLeastOne = ABSENT
    kept_cells: Natural = ABSENT
    sides: Literal["one", "two"] = ABSENT
    cut: Annotated[int, Meta(ge=0, le=2**62)] = ABSENT
    sampling_threshold: Positive | None = ABSENT
    estimating_threshold: Positive | None = ABSENT
    """τ, or τ_S of a priority sample: by this one, estimates are made."""
    size: AtLeastOne | None = ABSENT
    """S: how many were asked for, of a priority sample."""
    short: bool = ABSENT
    """Whether a priority sample found no more than S cells."""
    consistency: Literal["none", "ancestors"] = ABSENT
    noise: NoiseFacts
    rows: Natural
    sha256: Sha256

    def __post_init__(self) -> None:
        self.needs("squared" if self.rho else "epsilon")
        if self.publishing in SPARSE:
            self.needs(
                "stated_transform", "domain_cells", "kept_cells", "sides", "cut", "short",
                "consistency", or_null=("sampling_threshold", "estimating_threshold", "size"),
            )  # fmt: skip
        if self.publishing == DISCOVERED:
            self.needs("delta", "threshold")

    def over(self, domain: PublicDomain) -> Self:
        """The same entry, which knows its axes from now on."""
        self.__dict__["axes"] = _axes(self.kind, domain)
        return self

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The domain's lists that its cells come from, slowest first; a pair has its list twice."""
        return self.columns

    @property
    def kind(self) -> TableKind:
        """What its name means."""
        return KINDS[self.name]

    @property
    def price(self) -> Price:
        """Its cost: ε, or ρ of zCDP."""
        return Rho(self.rho) if self.rho else Epsilon(self.epsilon)

    @property
    def sensitivity_squared(self) -> int:
        """The square of what one person can change in L2, in units squared."""
        return self.squared or self.sensitivity**2

    @cached_property
    def law(self) -> NoiseLaw:
        return law_of(plain(self.noise))

    @property
    def noise_std(self) -> float:
        """The standard deviation of one cell's noise, as it is written beside each count."""
        return self.noise.std

    @property
    def interval_level(self) -> Fraction:
        """How likely the noise lies within ``low`` … ``high``."""
        return self.noise.interval_level

    @property
    def interval_half_width(self) -> float:
        """Half the width of that interval, as a count."""
        return self.noise.interval_half_width

    @property
    def transform(self) -> TransformFacts:
        return self.stated_transform or NO_TRANSFORM

    @property
    def is_dense(self) -> bool:
        """Whether every cell of the domain was published."""
        return self.publishing == DENSE

    @property
    def is_discovered(self) -> bool:
        """Whether its cells are those that the release itself found."""
        return self.publishing == DISCOVERED

    @property
    def discovery_threshold(self) -> int | None:
        """The least noisy number of users of a cell that was discovered."""
        return self.threshold if self.is_discovered else None

    @property
    def is_chosen(self) -> bool:
        """Whether it has the items that the release chose, and no others."""
        return self.publishing == CHOSEN

    @property
    def summary(self) -> TableFacts | None:
        """The same table where it leaves cells out, and says how they were chosen."""
        return self if self.publishing in SPARSE else None

    @property
    def published_cells(self) -> int:
        """How many rows its file must have."""
        return self.cells if self.summary is None else self.kept_cells

    @property
    def keeping(self) -> Keeping:
        """The rule by which cells were kept; one that keeps all where none was left out."""
        if self.summary is None:
            return Keeping()
        return Keeping(self.cut, self.estimating_threshold, self.sides)

    @property
    def drops_orphans(self) -> bool:
        """Whether nodes below a dropped node were dropped too."""
        return self.consistency == "ancestors"


def _axes(kind: TableKind, domain: PublicDomain) -> tuple[str, ...]:
    """The domain's lists that the cells of a table come from; its own numbers come from none."""
    names, contexts = domain.names, [one.name for one in domain.contexts]
    match kind.over:
        case "items":
            return tuple(names[: len(names) - len(contexts)])
        case "contexts":
            return tuple(contexts)
        case "items in context":
            return tuple(names)
        case "own":
            return ()
    return kind.axes(names)
