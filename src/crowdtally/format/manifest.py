"""Release.json as msgspec structs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from crowdtally.core.counts import Keeping
from crowdtally.core.layout import CELLS, EDGES, ITEMS, KINDS, TableKind, added
from crowdtally.core.numbers import is_whole, recorded, short, show
from crowdtally.core.privacy import NEIGHBOURS, Epsilon, Price, Rho
from crowdtally.errors import InputError
from crowdtally.laws.base import NoiseLaw
from crowdtally.laws.conversion import epsilon_of
from crowdtally.laws.interval import MOST_CELLS, MOST_PHANTOMS
from crowdtally.laws.registry import law_of


@dataclass(frozen=True, eq=False)
class PublicList:
    """One list of the domain: the values of one column, in the order of tables and ranges."""

    name: str
    """The column."""
    kind: str | None
    """``text`` or ``integer``; None for discovered values, which may be either."""
    length: int
    values: Sequence[Any] | None
    """The values in their order; None where only a table of the release lists them."""
    sha256: str | None = None
    """Of the values, each followed by a line feed, where a table lists those of a public list."""
    tables: tuple[str, ...] = ()
    """The tables that have the values, where ``release.json`` does not; of discovered ones all that
    have the column, since each found its own cells."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], tables: Sequence[str]) -> PublicList:
        """From an entry of the domain; ``tables`` are those that have the column."""
        values = facts.get("values")
        found = tuple(tables) if "discovered" in facts else (ITEMS.name,)
        return cls(
            facts["name"],
            facts.get("kind"),
            facts["size"],
            values,
            facts.get("sha256"),
            found if values is None else (),
        )

    @property
    def is_discovered(self) -> bool:
        """Whether the release itself found the values."""
        return self.kind is None

    def renamed(self, name: str) -> PublicList:
        return replace(self, name=name)


@dataclass(frozen=True, eq=False)
class PublicDomain:
    """All lists of a release."""

    lists: tuple[PublicList, ...]
    """The items first, then the contexts; or the attributes."""
    has_items: bool
    """Whether the first list is the items."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> PublicDomain:
        if "attributes" in facts:
            found = [PublicList.from_json(one, [CELLS.name]) for one in facts["attributes"]]
            return cls(tuple(found), has_items=False)
        contexts = [PublicList.from_json(one, [EDGES.name]) for one in facts["contexts"]]
        names = [ITEMS.name, *([EDGES.name] if contexts else [])]
        return cls((PublicList.from_json(facts["items"], names), *contexts), has_items=True)

    @cached_property
    def by_name(self) -> Mapping[str, PublicList]:
        """The lists by their columns, in order."""
        return {one.name: one for one in self.lists}

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.lists]

    @property
    def contexts(self) -> tuple[PublicList, ...]:
        return self.lists[1:] if self.has_items else ()

    @property
    def is_discovered(self) -> bool:
        """Whether the release itself found the values of a column."""
        return any(one.is_discovered for one in self.lists)

    @property
    def discovered(self) -> tuple[PublicList, ...]:
        """The columns without a public list, whose values the release itself found."""
        return tuple(one for one in self.lists if one.is_discovered)


def exact_number(value: object, name: str) -> Fraction:
    """The number that a text denotes; ``name`` is what a message calls it.

    >>> exact_number("1/3", "the unit")
    Fraction(1, 3)
    """
    try:
        return recorded(str(value))
    except ValueError:
        raise InputError(
            f"release.json is damaged: {name} is not a number. Copy the release again."
        ) from None


def maybe_number(value: object, name: str) -> Fraction | None:
    """The same, or None where there is none."""
    return None if value is None else exact_number(value, name)


def price_of(facts: Mapping[str, Any]) -> Price:
    """What is paid: ρ where an entry has one, else ε.

    >>> price_of({"rho": "0.01"}), price_of({"epsilon": "1"})
    (Rho(value=Fraction(1, 100)), Epsilon(value=Fraction(1, 1)))
    """
    kind = Rho if Rho.field in facts else Epsilon
    return kind(exact_number(facts[kind.field], kind.field))


# What a release says about itself beside its tables and lists.

AUTO = "auto"
"""The bounding of a release that measured its own way: its steps say how it was made."""
OWN_RULE = " (not a rule of Crowdtally's)"
"""How the name of a bounding ends that somebody wrote themselves."""
DISTINCT = "distinct"
"""The bounding of a release that bounds nobody: each user counts once in each of their cells."""

STATED = "stated"
"""The bounding of a release of rows without an id: nobody has more of them, the publisher says."""
UNCUT = ("row", STATED, DISTINCT)
"""The boundings that cut nothing."""


@dataclass(frozen=True)
class Guarantee:
    """What is promised, and to whom."""

    epsilon: Fraction
    delta: Fraction
    unit: str
    """Whom it protects: a user, a person, or a row."""
    column: str | None
    """The column that tells them apart."""
    rho: Fraction | None = None
    """ρ of the whole release, where zCDP is what ε and δ follow from."""

    @property
    def price(self) -> Price:
        """What the release was divided by: ρ, or pure ε."""
        return Epsilon(self.epsilon) if self.rho is None else Rho(self.rho)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Guarantee:
        return cls(
            exact_number(facts["epsilon"], "epsilon"),
            exact_number(facts["delta"], "delta"),
            facts["unit"]["kind"],
            facts["unit"]["column"],
            maybe_number(facts.get("rho"), "rho"),
        )

    @property
    def neighbours(self) -> str:
        """Which databases are made hard to tell apart."""
        return NEIGHBOURS[self.unit]

    @property
    def who(self) -> str:
        return "user" if self.unit == "user" else "person"


def promise(metadata: Mapping[str, Any]) -> str:
    """The promise in sentences, made from the numbers that ``release.json`` says.

    It has these sentences too, for other programs. Whoever seals a folder anew can write others
    there, so they are never shown.

    Args:
        metadata: ``release.json``; of ``guarantee`` the words are not looked at.
    """
    promised = Guarantee.from_json(metadata["guarantee"])
    epsilon, delta = show(promised.epsilon), show(promised.delta)
    kind = f"({epsilon}, {delta})" if promised.delta else epsilon
    except_for = f", but for a probability of at most {delta}" if promised.delta else ""
    records, zcdp, own = metadata["records"], "", ""
    if promised.rho is not None:
        zcdp = (
            f" It follows from zero-concentrated differential privacy with ρ {show(promised.rho)}."
        )
    rule = metadata["method"]["bounding"]
    if rule.endswith(OWN_RULE):
        own = (
            f" This rests on the bounding rule {rule!r}: that it looks at each {promised.who}'s "
            "own records alone was not checked."
        )
    if bounded := records.get("bounded"):
        own = _stated(bounded)
    return (
        f"{kind}-differential privacy for {promised.neighbours}: whatever one {promised.who} "
        f"contributed changes the probability of any outcome by at most a factor e^{epsilon}"
        f"{except_for}.{zcdp}{_combination(records)}{own}"
    )


def _combination(records: Mapping[str, Any]) -> str:
    """Whom a compound id protects, in a sentence of its own."""
    *others, last = [repr(column) for column in records["user"]] or [""]
    if not others:
        return ""
    whose = "An id" if records["same_person"] else "A user"
    return f" {whose} is one combination of {', '.join(others)} and {last}."


def _stated(bounded: Mapping[str, Any]) -> str:
    """What is taken on trust from whoever publishes, and what becomes of it if it is wrong."""
    most, once = bounded["to"], ", nor two in one cell" if bounded["cells_once"] else ""
    rows = "1 row" if most == 1 else f"{most} rows"
    return (
        f" This rests on a statement of the publisher's, which is not checked: that no person has "
        f"more than {rows}{once}. Whoever has more is protected less."
    )


@dataclass(frozen=True)
class RecordFacts:
    """What a record was, as declared."""

    user: tuple[str, ...]
    """The columns that say whose record it is, together."""
    same_person: bool
    """Whether a table said which ids are one person's."""
    item: str | None
    """What was counted: a column, or the name of an expression."""
    item_expression: str | None
    """How the item was computed; None for a column."""
    contexts: Mapping[str, str | None]
    """How each context was computed; None for a column."""
    where: str | None
    """The condition that a row had to meet."""
    timezone: str
    """The zone in which times were turned into days and hours."""
    quantity: str | None
    """The column that says how often a record counts."""
    most: int
    """The most that one record counts; 1 without a quantity."""
    types: Mapping[str, str] = field(default_factory=dict)
    """The types that were declared, by column."""
    bounded_to: int | None = None
    """The publisher's statement of how many rows nobody exceeds; None where there are ids."""
    cells_once: bool = False
    """Whether the publisher also stated that no two rows of a person are in one cell."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> RecordFacts:
        quantity = facts.get("quantity") or {"column": None, "most": 1}
        bounded = facts.get("bounded") or {"to": None, "cells_once": False}
        same = ("same_person", "item", "item_expression", "contexts", "where", "timezone")
        return cls(
            tuple(facts["user"]),
            quantity=quantity["column"],
            most=quantity["most"],
            types=facts.get("types", {}),
            bounded_to=bounded["to"],
            cells_once=bounded["cells_once"],
            **{name: facts[name] for name in same},
        )


@dataclass(frozen=True)
class BoundFacts:
    """How much of one person a table holds at most."""

    bound: int
    """l, or θ."""
    scaling: Fraction
    """s: what rows were scaled by."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> BoundFacts:
        return cls(facts["bound"], exact_number(facts["scaling"], "the scaling"))


@dataclass(frozen=True)
class MethodFacts:
    """How the records were bounded."""

    bounding: str
    bounds: Mapping[str, BoundFacts]
    """The bound of each table of counts."""
    chosen_by: str | None
    """The charged choice of the bound."""
    largest_candidate: int | None
    """The largest bound that could be chosen."""
    popularity_records: int | None
    """d₀: records of each user behind the popularity."""
    cap: int | None
    """What a row counts at most, where rows are scaled."""
    record_id: str | None
    """The column that tells a user's records apart."""
    norm: str = "l1"
    """What rows are scaled to, where they are: a sum, or a Euclidean norm."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> MethodFacts:
        bounds = {name: BoundFacts.from_json(bound) for name, bound in facts["bounds"].items()}
        same = ("chosen_by", "largest_candidate", "popularity_records", "cap", "record_id")
        rest = {name: facts[name] for name in same}
        return cls(facts["bounding"], bounds, norm=facts.get("norm", "l1"), **rest)


@dataclass(frozen=True)
class Standing:
    """What was spent on a dataset, or may be: a sum of ε, or the sums that zCDP keeps."""

    epsilon: Fraction
    """Pure ε; of a limit, the ε of (ε, δ)."""
    delta: Fraction = Fraction(0)
    """δ; where zCDP is kept, that of unknown cells."""
    rho: Fraction = Fraction(0)
    """ρ of zCDP."""
    pure_rho: Fraction = Fraction(0)
    """What the pure ε costs as ρ, where zCDP is kept."""

    @classmethod
    def from_json(cls, facts: Any, what: str) -> Standing:
        """A text is an ε; else the sums by their names."""
        if not isinstance(facts, Mapping):
            return cls(exact_number(facts, what))
        names = ("epsilon", "delta", "rho", "pure_rho")
        return cls(*(exact_number(facts.get(name, "0"), what) for name in names))

    def epsilon_at(self, delta: Fraction) -> Fraction | None:
        """An ε that covers all of it with this δ, rounded up; None where δ is too small for that.

        By the bound that the ledger's limits hold by.

        >>> Standing(Fraction(1, 2)).epsilon_at(Fraction(0))
        Fraction(1, 2)
        """
        left = delta - self.delta
        if not self.rho and left >= 0:
            return self.epsilon
        return epsilon_of(self.rho + self.pure_rho, left) if left > 0 else None

    def plus(self, epsilon: Fraction, delta: Fraction, rho: Fraction) -> Standing:
        """The sums after one more charge, as a ledger adds them; all but what ε costs as ρ."""
        sums = (self.epsilon, epsilon), (self.delta, delta), (self.rho, rho)
        return Standing(*(short(spent + short(cost)) for spent, cost in sums))


@dataclass(frozen=True)
class Charged:
    """What the ledger was told."""

    entry: str
    epsilon: Fraction
    delta: Fraction
    spent_before: Standing
    """What was spent on the dataset before."""
    spent_after: Standing
    """The same with this release."""
    limit: Standing | None
    """What may be spent on the dataset."""
    dataset: str | None = None
    """The dataset's name; None where nobody gave one."""
    rho: Fraction | None = None
    """ρ that was charged instead of ε, to a dataset that counts by zCDP."""
    by_zcdp: bool = False
    """Whether the dataset counts by zCDP."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Charged:
        return cls(
            facts["entry"],
            exact_number(facts["epsilon"], "epsilon"),
            exact_number(facts["delta"], "delta"),
            Standing.from_json(facts["spent_before"], "what was spent before"),
            Standing.from_json(facts["spent_after"], "what was spent after"),
            None if facts["limit"] is None else Standing.from_json(facts["limit"], "the limit"),
            facts.get("dataset"),
            maybe_number(facts.get("rho"), "rho"),
            isinstance(facts["spent_after"], Mapping),
        )


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
    size: int | None
    """S: how many were asked for, of a priority sample."""
    short: bool
    """Whether a priority sample found no more than S cells."""
    drops_orphans: bool
    """Whether nodes below a dropped node were dropped too."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> SummaryFacts:
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
    noise_std: float
    """The standard deviation of one cell's noise, as it is written beside each count."""
    interval_level: Fraction
    """How likely the noise lies within ``low`` … ``high``."""
    interval_half_width: float
    """Half the width of that interval, as a count."""
    publishing: str
    """Which cells are published."""
    rows: int
    sha256: str
    """Of the file."""
    transform: TransformFacts = NO_TRANSFORM
    """What became of the counts before noise was added."""
    summary: SummaryFacts | None = None
    """How cells were chosen, where some were left out."""
    discovery_threshold: int | None = None
    """The least noisy number of users of a cell that was discovered."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], domain: PublicDomain) -> TableFacts:
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
        )

    @property
    def name(self) -> str:
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
    def published_cells(self) -> int:
        """How many rows its file must have."""
        return self.cells if self.summary is None else self.summary.published_cells

    @property
    def keeping(self) -> Keeping:
        """The rule by which cells were kept; one that keeps all where none was left out."""
        return Keeping() if self.summary is None else self.summary.keeping


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


@dataclass(frozen=True)
class StepFacts:
    """One table of ``auto``, and why it is there."""

    name: str
    """The table's."""
    cost: Fraction
    why: str
    """Why it was measured, in plain words."""
    theta: int | None = None
    """What its rows were scaled to; None where nobody was bounded."""
    paid_in: str = Epsilon.field
    """What the cost is in: ``epsilon`` or ``rho``."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> StepFacts:
        paid_in = Rho.field if Rho.field in facts else Epsilon.field
        cost = exact_number(facts[paid_in], f"the {paid_in} of a step")
        return cls(facts["name"], cost, facts["why"], facts.get("theta"), paid_in)


@dataclass(frozen=True)
class AutoFacts:
    """What ``auto`` was told, and what it did."""

    purpose: str
    """What the release is for: ``counts``, ``top`` or ``recommend``."""
    repeats: bool
    """Whether a user's several records at one item count as several."""
    context_per_user: tuple[str, ...]
    """The contexts that are a property of the user: all of them, or none."""
    path: Literal["short", "rich", "long"]
    """What users' rows are like."""
    rich: bool
    """Whether there are so many users that tastes were looked at."""
    kappa: float
    """How far users of long rows like other items."""
    steps: tuple[StepFacts, ...]
    """Its tables in their order."""
    rho: Fraction | None = None
    """ρ that its tables are paid out of, all of them or all but the first; None: ε alone."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> AutoFacts:
        return cls(
            facts["for"],
            facts["repeats"],
            tuple(facts["context_per_user"]),
            facts["path"],
            facts["rich"],
            float(exact_number(facts["kappa"], "the kappa of auto")),
            tuple(map(StepFacts.from_json, facts["steps"])),
            maybe_number(facts.get("rho"), "the rho of auto"),
        )

    def spent(self, paid_in: str) -> Fraction:
        """What the tables cost together that are paid for in ``epsilon`` or in ``rho``."""
        costs = {one.name: one.cost for one in self.steps if one.paid_in == paid_in}
        return sum(added(costs).values(), Fraction(0))

    def share(self, step: StepFacts, epsilon: Fraction) -> Fraction:
        """What a table cost, as a share of what it is paid out of: ρ, or ε of the release."""
        whole = self.rho if step.paid_in == Rho.field else None
        return step.cost / (whole or epsilon)

    def by_norm(self, table: TableFacts) -> bool:
        """Whether its rows were scaled by their squares: rows of ones, paid for in ρ."""
        of_items = table.kind.name in ("pilot", "items", "cells", "edges")
        return of_items and table.law.bounded_by == "l2" and not self.repeats

    def changed(self, table: TableFacts) -> Fraction:
        """What one user changes in a table by at most: the sum, or by norm the sum of squares."""
        unit = table.law.unit
        if self.by_norm(table):
            return table.sensitivity_squared * unit**2
        return table.sensitivity * unit

    def theta(self, name: str) -> int | None:
        """What the rows of a table were scaled to; None where nobody was bounded."""
        return next((step.theta for step in self.steps if step.name == name), None)


_LONGEST = 60


def damaged(path: Path, what: str) -> InputError:
    """The error for a file of a release; ``what`` says what is wrong with it."""
    return InputError(f"{str(path)!r} is damaged: {what}. Copy the release again.")


def received(value: object) -> str:
    """What was found in a field, for a message.

    >>> received(None), received([1, 2]), received("ab")
    ('null', 'a list', "'ab'")
    """
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 100:
        return "a number of too many digits"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


# The shape of JSON, declared: a few kinds of shape, and one function that walks them.
#
# A shape is data. ``faults(shape, value)`` yields a sentence for each place where the value does
# not have the shape, so a caller can stop at the first.


@dataclass(frozen=True)
class Leaf:
    """A single value."""

    words: str
    """What it must be, for a message."""
    fits: Callable[[Any], bool]
    """Whether a value is that."""


@dataclass(frozen=True)
class Each:
    """A list whose elements all have one shape."""

    of: Shape
    least: int = 0
    """How many elements it has at least."""


@dataclass(frozen=True)
class Named:
    """An object whose names are free and whose values all have one shape."""

    of: Shape


@dataclass(frozen=True)
class Fields:
    """An object with known fields; others are left alone, so that later versions may add some."""

    required: Mapping[str, Shape]
    optional: Mapping[str, Shape] = field(default_factory=dict)


@dataclass(frozen=True)
class Tagged:
    """An object whose shape depends on the text in one of its fields."""

    tag: str
    """The field."""
    cases: Mapping[str, Shape]
    """The shape for each text that it may hold."""


@dataclass(frozen=True)
class Having:
    """An object whose shape depends on whether it has a certain field."""

    name: str
    """The field."""
    then: Shape
    otherwise: Shape


@dataclass(frozen=True)
class OrNull:
    of: Shape
    """The shape where it is not null."""


Shape = Leaf | Each | Named | Fields | Tagged | Having | OrNull


def faults(shape: Shape, value: Any, where: str = "") -> Iterator[str]:
    """What is wrong with ``value``, place by place; nothing where it has the shape.

    >>> list(faults(Fields({"a": Each(whole_leaf(1))}), {"a": [3, 0]}))
    ['a[1] must be a whole number of at least 1, and is 0']
    """
    match shape:
        case Leaf():
            if not shape.fits(value):
                yield _wrong(where, shape.words, value)
        case Each():
            yield from _each(shape, value, where)
        case OrNull():
            yield from () if value is None else faults(shape.of, value, where)
        case _ if not isinstance(value, dict):
            yield _wrong(where, "an object", value)
        case Named():
            for name, inner in value.items():
                yield from faults(shape.of, inner, _inside(where, name))
        case Fields():
            yield from _fields(shape, value, where)
        case Tagged():
            yield from _tagged(shape, value, where)
        case Having():
            chosen = shape.then if shape.name in value else shape.otherwise
            yield from faults(chosen, value, where)


def _each(shape: Each, value: Any, where: str) -> Iterator[str]:
    if not isinstance(value, list) or len(value) < shape.least:
        yield _wrong(where, f"a list of at least {shape.least} elements", value)
        return
    for place, inner in enumerate(value):
        yield from faults(shape.of, inner, f"{where}[{place}]")


def _fields(shape: Fields, value: Mapping[str, Any], where: str) -> Iterator[str]:
    for name, inner in shape.required.items():
        if name in value:
            yield from faults(inner, value[name], _inside(where, name))
        else:
            yield f"it lacks {_inside(where, name)!r}"
    for name, inner in shape.optional.items():
        if name in value:
            yield from faults(inner, value[name], _inside(where, name))


def _tagged(shape: Tagged, value: Mapping[str, Any], where: str) -> Iterator[str]:
    tag = value.get(shape.tag)
    if shape.tag not in value:
        yield f"it lacks {_inside(where, shape.tag)!r}"
    elif isinstance(tag, str) and tag in shape.cases:
        yield from faults(shape.cases[tag], value, where)
    else:
        yield _wrong(_inside(where, shape.tag), choice(*shape.cases).words, tag)


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _wrong(where: str, words: str, value: object) -> str:
    return f"{where or 'its content'} must be {words}, and is {received(value)}"


def is_text(value: object) -> bool:
    """Whether it is text that UTF-8 can write: JSON can spell half a character."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def choice(*texts: str) -> Leaf:
    """One of some texts."""
    return Leaf(" or ".join(map(repr, texts)), lambda value: is_text(value) and value in texts)


def whole_leaf(least: int, most: int | None = None) -> Leaf:
    """A whole number within limits."""
    ends = f"of at least {least}" if most is None else f"from {least} to {most}"

    def fits(value: object) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return least <= value and (most is None or value <= most)

    return Leaf(f"a whole number {ends}", fits)


def rational(words: str, fits: Callable[[Fraction], bool]) -> Leaf:
    """An exact number as text, such as ``"1/3"``."""

    def is_one(value: object) -> bool:
        try:
            return isinstance(value, str) and fits(recorded(value))
        except ValueError:
            return False

    return Leaf(words, is_one)


def maybe(leaf: Leaf) -> Leaf:
    """The same, or null."""
    return Leaf(f"{leaf.words}, or null", lambda value: value is None or leaf.fits(value))


def is_measure(value: object) -> bool:
    """Whether it is a finite number of at least 0, for people to read."""
    if isinstance(value, float):
        return isfinite(value) and value >= 0
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# The shape of ``release.json``: one entry for each field of docs/release-format.md.

_TEXT = Leaf("a text", is_text)
_NAME = Leaf("a name", lambda value: is_text(value) and value != "")
_FLAG = Leaf("true or false", lambda value: isinstance(value, bool))
_MEASURE = Leaf("a number of at least 0", is_measure)
_FLOAT = Leaf(_MEASURE.words, lambda value: is_measure(value) and value <= sys.float_info.max)
_POSITIVE = rational("an exact number above 0, as text", lambda value: value > 0)
_NOT_NEGATIVE = rational("an exact number of at least 0, as text", lambda value: value >= 0)
_SHARE = rational("an exact number from 0 to 1, as text", lambda value: 0 <= value <= 1)
_LEVEL = rational("an exact number between 0 and 1, as text", lambda value: 0 < value < 1)
HASH = Leaf(
    "64 hexadecimal digits",
    lambda value: isinstance(value, str) and bool(re.fullmatch("[0-9a-f]{64}", value)),
)
"""A SHA-256."""


def _is_list(value: Any) -> bool:
    """Whether it is a list of texts, or of 64-bit integers; it may have millions of values."""
    if not isinstance(value, list) or not value:
        return False
    kinds = set(map(type, value))
    if kinds == {str}:
        return is_text("".join(value))
    return kinds == {int} and min(value) >= -(2**63) and max(value) < 2**63


_VALUES = Leaf("a list of texts, or of 64-bit whole numbers", _is_list)
_KIND = choice("text", "integer")
_LIST: dict[str, Shape] = {"name": _NAME, "kind": _KIND, "size": whole_leaf(1)}
_LISTED = Fields(_LIST | {"values": _VALUES})
_ELSEWHERE = Fields(_LIST | {"sha256": HASH, "listed_in": choice("items.parquet")})
_FOUND = Fields(
    {"name": _NAME, "size": whole_leaf(0), "discovered": Leaf("true", lambda value: value is True)}
)
_ITEMS = Having("discovered", _FOUND, Having("values", _LISTED, _ELSEWHERE))
_COLUMN = Having("discovered", _FOUND, _LISTED)
_DOMAIN = Having(
    "attributes",
    Fields({"attributes": Each(_COLUMN, 1)}),
    Fields({"items": _ITEMS, "contexts": Each(_COLUMN)}),
)

_ANY_NOISE: dict[str, Shape] = {
    "law": _TEXT,
    "unit": _POSITIVE,
    "std": _FLOAT,
    "interval_level": _LEVEL,
    "interval_half_width": _MEASURE,
}
_INTERVAL: dict[str, Shape] = {
    "rate": _POSITIVE,
    "cells": whole_leaf(1, MOST_CELLS),
    "phantoms": whole_leaf(0, MOST_PHANTOMS),
    "blocks": whole_leaf(1),
}
_NOISE = Having(
    "rate",
    Fields(_ANY_NOISE | _INTERVAL),
    Having(
        "variance",
        Fields(_ANY_NOISE | {"variance": _POSITIVE}),
        Fields(_ANY_NOISE | {"scale": _POSITIVE}),
    ),
)
_ORDERED = Each(_NAME, 1)
_TRANSFORM = Tagged(
    "kind",
    {
        "none": Fields({"ordered": Leaf("an empty list", lambda value: value == [])}),
        "dyadic": Fields({"ordered": _ORDERED}),
        "haar": Fields({"ordered": _ORDERED}),
        "sketch": Fields(
            {
                "ordered": Leaf("an empty list", lambda value: value == []),
                "buckets": whole_leaf(1, 2**31),
                "rows": whole_leaf(1, 1000),
                "seed": whole_leaf(0, 2**64),
            }
        ),
    },
)
_TABLE: dict[str, Shape] = {
    "name": choice(*KINDS),
    "file": _NAME,
    "columns": Each(_NAME, 1),
    "cells": whole_leaf(0),
    "sensitivity": whole_leaf(1),
    "noise": _NOISE,
    "rows": whole_leaf(0),
    "sha256": HASH,
}
_IN_EPSILON: dict[str, Shape] = {"epsilon": _POSITIVE}
_IN_RHO: dict[str, Shape] = {"rho": _POSITIVE, "sensitivity_squared": whole_leaf(1)}


def _paid(required: dict[str, Shape], optional: dict[str, Shape]) -> Shape:
    """A table that is paid for in ρ, or in ε."""
    return Having(
        "rho", Fields(required | _IN_RHO, optional), Fields(required | _IN_EPSILON, optional)
    )


_SUMMARY: dict[str, Shape] = {
    "transform": _TRANSFORM,
    "domain_cells": whole_leaf(1),
    "published_cells": whole_leaf(0),
    "sides": choice("one", "two"),
    "cut": whole_leaf(0, 2**62),
    "sampling_threshold": maybe(_POSITIVE),
    "estimating_threshold": maybe(_POSITIVE),
    "size": maybe(whole_leaf(1)),
    "short": _FLAG,
    "consistency": choice("none", "ancestors"),
}
_TABLES = Tagged(
    "publishing",
    {
        DENSE: _paid(_TABLE, {"transform": _TRANSFORM}),
        CHOSEN: _paid(_TABLE, {"transform": _TRANSFORM}),
        **dict.fromkeys(SPARSE, _paid(_TABLE | _SUMMARY, {})),
        DISCOVERED: _paid(_TABLE | {"delta": _SHARE, "threshold": whole_leaf(1)}, {}),
    },
)

_METHOD = Fields(
    {
        "bounding": _NAME,
        "bounds": Named(Fields({"bound": whole_leaf(1), "scaling": _POSITIVE})),
        "chosen_by": maybe(_NAME),
        "largest_candidate": maybe(whole_leaf(1)),
        "popularity_records": maybe(whole_leaf(1)),
        "cap": maybe(whole_leaf(1)),
        "record_id": maybe(_NAME),
    },
    {"norm": choice("l2")},
)
_STEP: dict[str, Shape] = {"name": _NAME, "why": _NAME}
_BOUND: dict[str, Shape] = {"theta": whole_leaf(1)}
_AUTO = Fields(
    {
        "for": choice("counts", "top", "recommend"),
        "repeats": _FLAG,
        "context_per_user": Each(_NAME),
        "steps": Each(
            Having(
                "rho",
                Fields(_STEP | {"rho": _POSITIVE}, _BOUND),
                Fields(_STEP | {"epsilon": _POSITIVE}, _BOUND),
            ),
            1,
        ),
        "path": choice("short", "rich", "long"),
        "rich": _FLAG,
        "kappa": _POSITIVE,
    },
    {"rho": _POSITIVE},
)
_GUARANTEE = Fields(
    {
        "words": _TEXT,
        "epsilon": _POSITIVE,
        "delta": _SHARE,
        "unit": Fields(
            {
                "kind": choice("user", "same-person", "row", "bounded-elsewhere", "person"),
                "column": maybe(_NAME),
            }
        ),
        "neighbours": _TEXT,
    },
    {"rho": _POSITIVE},
)
_RECORDS = Fields(
    {
        "user": Each(_NAME),
        "same_person": _FLAG,
        "item": maybe(_NAME),
        "item_expression": maybe(_NAME),
        "contexts": Named(maybe(_NAME)),
        "where": maybe(_NAME),
        "timezone": _NAME,
    },
    {
        "quantity": Fields({"column": _NAME, "most": whole_leaf(1, 2**31)}),
        "types": Named(_NAME),
        "bounded": Fields({"to": whole_leaf(1, 2**31), "cells_once": _FLAG}),
    },
)
_MASS: dict[str, Shape] = {"count": Leaf("a whole number", is_whole), "counts": _TEXT}
_OTHER = Having(
    "noise_variance",
    Fields(_MASS | {"noise_variance": _POSITIVE}, {"table": choice(*KINDS)}),
    Fields(_MASS | {"noise_scale": _POSITIVE}, {"table": choice(*KINDS)}),
)
_CHARGED: dict[str, Shape] = {"entry": _NAME, "epsilon": _POSITIVE, "delta": _SHARE}
_SUMS = Fields(
    dict.fromkeys(("epsilon", "delta", "rho"), _NOT_NEGATIVE), {"pure_rho": _NOT_NEGATIVE}
)
_CHARGE = Having(
    "accountant",
    Fields(
        _CHARGED
        | {
            "accountant": choice("zcdp"),
            "spent_before": _SUMS,
            "spent_after": _SUMS,
            "limit": OrNull(_SUMS),
        },
        {"dataset": maybe(_NAME), "rho": _POSITIVE},
    ),
    Fields(
        _CHARGED
        | {"spent_before": _NOT_NEGATIVE, "spent_after": _POSITIVE, "limit": maybe(_NOT_NEGATIVE)},
        {"dataset": maybe(_NAME)},
    ),
)
RELEASE = Fields(
    {
        "schema": _NAME,
        "id": _NAME,
        "created": _NAME,
        "guarantee": _GUARANTEE,
        "records": _RECORDS,
        "counted": choice("records", "users"),
        "method": _METHOD,
        "split": Named(_SHARE),
        "tables": Each(_TABLES, 1),
        "domain": _DOMAIN,
        "charged": _CHARGE,
        "versions": Named(_TEXT),
        "datapackage": Fields({"sha256": HASH}),
        "sha256": HASH,
    },
    {"other": _OTHER, "auto": _AUTO},
)
"""``release.json`` as a whole; what depends on two fields at once is in ``agreement``."""
