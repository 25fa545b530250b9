"""What a release would cost and how noisy it would be, before anything is spent.

Everything comes from public parameters and public guesses. What cannot be known it does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from crowdtally import laws
from crowdtally.curator.request import Request
from crowdtally.published import INTERVAL_LEVEL
from crowdtally.values.rational import show


@dataclass(frozen=True)
class TablePlan:
    """What is known beforehand about one table."""

    name: str
    """items or edges."""
    columns: tuple[str, ...]
    """The columns that name a cell."""
    cells: int
    """How many cells it will have: all of the public domain."""
    epsilon: Fraction
    """Its part of ε."""
    sensitivity: int
    """What one user can change."""

    @property
    def scale(self) -> Fraction:
        """Scale of the discrete Laplace noise on each cell."""
        return self.sensitivity / self.epsilon

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "table": self.name,
            "columns": list(self.columns),
            "cells": self.cells,
            "epsilon": show(self.epsilon),
            "sensitivity": self.sensitivity,
            "noise_scale": show(self.scale),
            "noise_std": laws.laplace_std(self.scale),
            "noise_interval_half_width": laws.laplace_interval(self.scale, INTERVAL_LEVEL),
        }


@dataclass(frozen=True)
class Plan:
    """The tables of a release, and what bounding is expected to lose."""

    tables: tuple[TablePlan, ...]
    """One entry a table."""
    epsilon: Fraction
    """The cost of the whole release."""
    shares: dict[str, Fraction]
    """How ε is divided."""
    max_records: int
    """l."""
    records_per_user: Fraction | None
    """The guessed mean number of records of a user, if guesses were given."""

    @property
    def kept_share(self) -> Fraction | None:
        """The share of the records that bounding keeps if every user had the guessed mean.

        Heavy users lose more, so where users differ the true share is lower.
        """
        if self.records_per_user is None:
            return None
        return min(Fraction(1), self.max_records / self.records_per_user)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        kept = self.kept_share
        return {
            "epsilon": show(self.epsilon),
            "split": {name: show(share) for name, share in self.shares.items()},
            "max_records": self.max_records,
            "tables": [table.as_dict() for table in self.tables],
            "kept_share_at_most": None if kept is None else float(kept),
            "unknown": unknowns(kept is None),
        }


def unknowns(without_guesses: bool) -> list[str]:
    """What no plan can know, in words."""
    words = [
        "how many rows lie outside the lists or lack a user",
        "how unevenly records are spread over users, hence how many records bounding drops",
    ]
    if without_guesses:
        words.append(
            "how many records a user has: give --guess-users and --guess-records "
            "(public guesses, not read off the records) to see what bounding keeps"
        )
    return words


def make_plan(
    request: Request, *, guess_users: int | None = None, guess_records: int | None = None
) -> Plan:
    """The plan of a request, from its public parameters and public guesses alone."""
    tables = tuple(_table(request, name) for name in request.shares)
    mean = Fraction(guess_records, guess_users) if guess_users and guess_records else None
    return Plan(tables, request.epsilon.value, dict(request.shares), request.rule.limit, mean)


def _table(request: Request, name: str) -> TablePlan:
    axes: Sequence[Any] = request.domain.axes if name == "edges" else request.domain.axes[:1]
    return TablePlan(
        name,
        tuple(axis.name for axis in axes),
        prod(len(axis) for axis in axes),
        request.part(name).value,
        request.rule.l1_bound,
    )
