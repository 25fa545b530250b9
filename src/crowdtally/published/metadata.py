"""What a release says about itself beside its tables and lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from crowdtally.published.numbers import exact_number, maybe_number


@dataclass(frozen=True)
class Guarantee:
    """What is promised, and to whom."""

    words: str
    """The promise as a sentence."""
    epsilon: Fraction
    """ε of the whole release."""
    delta: Fraction
    """δ of the whole release."""
    unit: str
    """Whom it protects: a user, a person, or a row."""
    column: str | None
    """The column that tells them apart."""
    neighbours: str
    """Which databases are made hard to tell apart."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Guarantee:
        """From ``guarantee``."""
        return cls(
            facts["words"],
            exact_number(facts["epsilon"], "epsilon"),
            exact_number(facts["delta"], "delta"),
            facts["unit"]["kind"],
            facts["unit"]["column"],
            facts["neighbours"],
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
    temper: Fraction | None
    """γ of tempered sampling."""
    cap: int | None
    """What a row counts at most, where rows are scaled."""
    record_id: str | None
    """The column that tells a user's records apart."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> MethodFacts:
        """From ``method``."""
        return cls(
            facts["bounding"],
            {name: BoundFacts.from_json(bound) for name, bound in facts["bounds"].items()},
            facts["chosen_by"],
            facts["largest_candidate"],
            facts["popularity_records"],
            maybe_number(facts["temper"], "the temper"),
            facts["cap"],
            facts["record_id"],
        )


@dataclass(frozen=True)
class Charged:
    """What the ledger was told."""

    entry: str
    """The ledger's entry."""
    epsilon: Fraction
    """ε that was charged."""
    delta: Fraction
    """δ that was charged."""
    spent_before: Fraction
    """ε that was spent on the dataset before."""
    spent_after: Fraction
    """The same with this release."""
    limit: Fraction | None
    """ε that may be spent on the dataset."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Charged:
        """From ``charged``."""
        return cls(
            facts["entry"],
            exact_number(facts["epsilon"], "epsilon"),
            exact_number(facts["delta"], "delta"),
            exact_number(facts["spent_before"], "what was spent before"),
            exact_number(facts["spent_after"], "what was spent after"),
            maybe_number(facts["limit"], "the limit"),
        )
