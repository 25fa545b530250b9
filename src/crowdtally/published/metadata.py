"""What a release says about itself beside its tables and lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from crowdtally.core.numbers import short, show
from crowdtally.core.privacy import NEIGHBOURS, Epsilon, Price, Rho
from crowdtally.laws.conversion import epsilon_of
from crowdtally.published.numbers import exact_number, maybe_number

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
    """ε of the whole release."""
    delta: Fraction
    """δ of the whole release."""
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
        """From ``guarantee``."""
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
        """Who is protected, in a word."""
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
        """From ``records``."""
        quantity = facts.get("quantity") or {"column": None, "most": 1}
        bounded = facts.get("bounded") or {"to": None, "cells_once": False}
        return cls(
            tuple(facts["user"]),
            facts["same_person"],
            facts["item"],
            facts["item_expression"],
            facts["contexts"],
            facts["where"],
            facts["timezone"],
            quantity["column"],
            quantity["most"],
            facts.get("types", {}),
            bounded["to"],
            bounded["cells_once"],
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
        """From an entry of ``method.bounds``."""
        return cls(facts["bound"], exact_number(facts["scaling"], "the scaling"))


@dataclass(frozen=True)
class MethodFacts:
    """How the records were bounded."""

    bounding: str
    """The rule."""
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
        """From ``method``."""
        return cls(
            facts["bounding"],
            {name: BoundFacts.from_json(bound) for name, bound in facts["bounds"].items()},
            facts["chosen_by"],
            facts["largest_candidate"],
            facts["popularity_records"],
            facts["cap"],
            facts["record_id"],
            facts.get("norm", "l1"),
        )


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
    """The ledger's entry."""
    epsilon: Fraction
    """ε that was charged."""
    delta: Fraction
    """δ that was charged."""
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
        """From ``charged``."""
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
