"""What ``release.json`` says, stated once: reading, checking and writing follow from these types.

Fields stand in the order in which they are written; docs/release-format.md says what each means.
What depends on several of them is in ``agreement``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from crowdtally.core.layout import added
from crowdtally.core.numbers import recorded, short, show
from crowdtally.core.privacy import NEIGHBOURS, Epsilon, Price, Rho
from crowdtally.format.entries import DISCOVERED as DISCOVERED
from crowdtally.format.entries import PublicDomain as PublicDomain
from crowdtally.format.entries import PublicList as PublicList
from crowdtally.format.entries import TableFacts as TableFacts
from crowdtally.format.entries import TableName
from crowdtally.format.parse import (
    ABSENT,
    AtLeastOne,
    Facts,
    LeftOut,
    Name,
    NotNegative,
    Often,
    Positive,
    Sha256,
    Share,
    plain,
)
from crowdtally.format.parse import damaged as damaged
from crowdtally.laws.conversion import epsilon_of

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


class Unit(Facts, frozen=True):
    kind: Literal["user", "same-person", "row", "bounded-elsewhere", "person"]
    column: Name | None


class Guarantee(
    Facts, frozen=True, kw_only=True, rename={"protects": "unit", "relation": "neighbours"}
):
    """What is promised, and to whom."""

    words: str
    epsilon: Positive
    delta: Share
    rho: LeftOut[Positive] = None
    """ρ of the whole release, where zCDP is what ε and δ follow from."""
    protects: Unit
    relation: str

    @property
    def unit(self) -> str:
        """Whom it protects: a user, a person, or a row."""
        return self.protects.kind

    @property
    def column(self) -> str | None:
        """The column that says whose a record is."""
        return self.protects.column

    @property
    def price(self) -> Price:
        """What the release was divided by: ρ, or pure ε."""
        return Epsilon(self.epsilon) if self.rho is None else Rho(self.rho)

    @property
    def neighbours(self) -> str:
        """Which databases are made hard to distinguish."""
        return NEIGHBOURS[self.unit]

    @property
    def who(self) -> str:
        return "user" if self.unit == "user" else "person"


class Quantity(Facts, frozen=True):
    column: Name
    most: Often


class Bounded(Facts, frozen=True):
    """The publisher's statement about rows without ids."""

    to: Often
    cells_once: bool


class RecordFacts(Facts, frozen=True, kw_only=True, rename={"amount": "quantity"}):
    """What a record was, as declared."""

    user: tuple[Name, ...]
    """The columns that say whose record it is, together."""
    same_person: bool
    item: Name | None
    """What was counted: a column, or the name of an expression."""
    item_expression: Name | None
    contexts: dict[str, Name | None]
    """How each context was computed; None for a column."""
    where: Name | None
    timezone: Name
    types: dict[str, Name] = field(default_factory=dict)
    bounded: LeftOut[Bounded] = None
    amount: LeftOut[Quantity] = None

    @property
    def quantity(self) -> str | None:
        """The column that says how often a record counts."""
        return None if self.amount is None else self.amount.column

    @property
    def most(self) -> int:
        """The most that one record counts; 1 without a quantity."""
        return 1 if self.amount is None else self.amount.most

    @property
    def bounded_to(self) -> int | None:
        """The most rows of a person by the publisher's statement; None where there are ids."""
        return None if self.bounded is None else self.bounded.to

    @property
    def cells_once(self) -> bool:
        """Whether the publisher also stated that no two rows of a person are in one cell."""
        return self.bounded is not None and self.bounded.cells_once


def promise(promised: Guarantee, records: RecordFacts, rule: str) -> str:
    """The promise in sentences, made from the numbers that ``release.json`` says.

    It has these sentences too, for other programs. Whoever seals a folder anew can write others
    there, so they are never shown. ``rule`` is the bounding.
    """
    epsilon, delta = show(promised.epsilon), show(promised.delta)
    kind = f"({epsilon}, {delta})" if promised.delta else epsilon
    except_for = f", but for a probability of at most {delta}" if promised.delta else ""
    zcdp = own = ""
    if promised.rho is not None:
        zcdp = (
            f" It follows from zero-concentrated differential privacy with ρ {show(promised.rho)}."
        )
    if rule.endswith(OWN_RULE):
        own = (
            f" This rests on the bounding rule {rule!r}: that it looks at each {promised.who}'s "
            "own records alone was not checked."
        )
    if records.bounded is not None:
        own = _stated(records.bounded)
    return (
        f"{kind}-differential privacy for {promised.neighbours}: whatever one {promised.who} "
        f"contributed changes the probability of any outcome by at most a factor e^{epsilon}"
        f"{except_for}.{zcdp}{_combination(records)}{own}"
    )


def _combination(records: RecordFacts) -> str:
    """Whom a compound id protects, in a sentence of its own."""
    *others, last = [repr(column) for column in records.user] or [""]
    if not others:
        return ""
    whose = "An id" if records.same_person else "A user"
    return f" {whose} is one combination of {', '.join(others)} and {last}."


def _stated(bounded: Bounded) -> str:
    """What is taken on trust from whoever publishes, and what becomes of it if it is wrong."""
    most, once = bounded.to, ", nor two in one cell" if bounded.cells_once else ""
    rows = "1 row" if most == 1 else f"{most} rows"
    return (
        f" This rests on a statement of the publisher's, which is not checked: that no person has "
        f"more than {rows}{once}. Whoever has more is protected less."
    )


class BoundFacts(Facts, frozen=True):
    """How much of one person a table holds at most."""

    bound: AtLeastOne
    """l, or θ."""
    scaling: Positive
    """s: what rows were scaled by."""


class MethodFacts(Facts, frozen=True, kw_only=True, rename={"scaled_to": "norm"}):
    """How the records were bounded."""

    bounding: Name
    bounds: dict[str, BoundFacts]
    """The bound of each table of counts."""
    chosen_by: Name | None
    largest_candidate: AtLeastOne | None
    popularity_records: AtLeastOne | None
    """d₀: records of each user behind the popularity."""
    cap: AtLeastOne | None
    """What a row counts at most, where rows are scaled."""
    record_id: Name | None
    scaled_to: LeftOut[Literal["l2"]] = None
    context_per_user: LeftOut[tuple[Name, ...]] = None

    @property
    def norm(self) -> str:
        """What rows are scaled to, where they are: a sum, or a Euclidean norm."""
        return self.scaled_to or "l1"


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


class Sums(Facts, frozen=True):
    """A standing by zCDP."""

    epsilon: NotNegative
    delta: NotNegative
    rho: NotNegative
    pure_rho: NotNegative


class Charged(
    Facts, frozen=True, kw_only=True,
    rename={"before": "spent_before", "after": "spent_after", "most": "limit"},
):  # fmt: skip
    """What the ledger was told."""

    entry: Name
    dataset: Name | None
    """The dataset's name; None where nobody gave one."""
    epsilon: Positive
    delta: Share
    accountant: LeftOut[Literal["zcdp"]] = None
    rho: LeftOut[Positive] = None
    """ρ that was charged instead of ε, to a dataset that counts by zCDP."""
    before: Sums | str
    after: Sums | str
    most: Sums | str | None

    def __post_init__(self) -> None:
        for spent in (self.before, self.after, *([] if self.most is None else [self.most])):
            if isinstance(spent, Sums) != self.by_zcdp:
                raise ValueError("must have sums by zcdp, and else what was spent as text")
            if _standing(spent).epsilon < 0:
                raise ValueError("must not have spent less than nothing")

    @property
    def by_zcdp(self) -> bool:
        """Whether the dataset counts by zCDP."""
        return self.accountant is not None

    @property
    def spent_before(self) -> Standing:
        """What was spent on the dataset before."""
        return _standing(self.before)

    @property
    def spent_after(self) -> Standing:
        """The same with this release."""
        return _standing(self.after)

    @property
    def limit(self) -> Standing | None:
        """What may be spent on the dataset."""
        return None if self.most is None else _standing(self.most)


def _standing(spent: Sums | str) -> Standing:
    if isinstance(spent, str):
        return Standing(recorded(spent))
    return Standing(spent.epsilon, spent.delta, spent.rho, spent.pure_rho)


class StepFacts(Facts, frozen=True, kw_only=True):
    """One table of ``auto``, and why it is there."""

    name: Name
    epsilon: Positive = ABSENT
    rho: Positive = ABSENT
    why: Name
    """Why it was measured, in plain words."""
    theta: LeftOut[AtLeastOne] = None
    """What its rows were scaled to; None where nobody was bounded."""

    def __post_init__(self) -> None:
        self.needs(self.paid_in)

    @property
    def paid_in(self) -> str:
        """What the cost is in: ``epsilon`` or ``rho``."""
        return Rho.field if self.rho else Epsilon.field

    @property
    def cost(self) -> Fraction:
        return self.rho or self.epsilon


class AutoFacts(
    Facts, frozen=True, kw_only=True, rename={"purpose": "for", "written_kappa": "kappa"}
):
    """What ``auto`` was told, and what it did."""

    purpose: Literal["counts", "top", "recommend"]
    repeats: bool
    """Whether a user's several records at one item count as several."""
    context_per_user: tuple[Name, ...]
    """The contexts that are a property of the user: all of them, or none."""
    path: Literal["short", "rich", "long"]
    rich: bool
    """Whether there are so many users that tastes were looked at."""
    written_kappa: Annotated[str, Meta(pattern=r"^(?!0+\.0+\Z)[0-9]{1,9}\.[0-9]{3}\Z")]
    steps: Annotated[tuple[StepFacts, ...], Meta(min_length=1)]
    rho: LeftOut[Positive] = None
    """ρ that its tables are paid out of, all of them or all but the first; None: ε alone."""

    @property
    def kappa(self) -> float:
        """How far users of long rows like other items."""
        return float(self.written_kappa)

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


class Other(Facts, frozen=True, kw_only=True):
    """The noisy mass of cells that are not released."""

    count: int
    noise_scale: Positive = ABSENT
    noise_variance: Positive = ABSENT
    counts: str
    table: TableName = ABSENT

    def __post_init__(self) -> None:
        if not self.noise_variance:
            self.needs("noise_scale")


class Hashed(Facts, frozen=True):
    sha256: Sha256


class Manifest(Facts, frozen=True, kw_only=True):
    """``release.json`` as a whole."""

    schema: Name
    id: Name
    created: Name
    guarantee: Guarantee
    records: RecordFacts
    counted: Literal["records", "users"]
    method: MethodFacts
    split: dict[str, Share]
    tables: Annotated[tuple[TableFacts, ...], Meta(min_length=1)]
    domain: PublicDomain
    charged: Charged
    versions: dict[str, str]
    other: LeftOut[Other] = None
    auto: LeftOut[AutoFacts] = None
    datapackage: Hashed
    sha256: Sha256

    def __post_init__(self) -> None:
        for table in self.tables:
            table.over(self.domain)

    @property
    def promise(self) -> str:
        """What is promised, in sentences."""
        return promise(self.guarantee, self.records, self.method.bounding)


def written(manifest: Manifest) -> dict[str, Any]:
    """The JSON of ``release.json``."""
    facts: dict[str, Any] = plain(manifest)
    first = ("name", "file", "columns", "cells", "transform", "publishing")
    for place, table in enumerate(facts["tables"]):
        if "cut" in table:  # a summary says its rule before its price
            facts["tables"][place] = {name: table[name] for name in first} | table
    return facts
