"""What a release would cost and how noisy it would be, before anything is spent.

Everything comes from public parameters and public guesses. What cannot be known it does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

from crowdtally.curator.planning.advice import advice, planned_summary
from crowdtally.curator.planning.theory import Guess, best_limit, expected_error
from crowdtally.curator.planning.words import lines
from crowdtally.curator.request.request import Request
from crowdtally.curator.selecting.unknown_items import UnknownItems
from crowdtally.curator.steps.shape import form_layout
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.published import INTERVAL_LEVEL
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.rational import show
from crowdtally.values.transformed import Nodes


@dataclass(frozen=True)
class TablePlan:
    """What is known beforehand about one table."""

    name: str
    """Its name."""
    columns: tuple[str, ...]
    """The columns that name a cell."""
    cells: int | None
    """N: how many cells its domain has; None where items are discovered."""
    epsilon: Fraction
    """Its part of ε."""
    sensitivity: Fraction
    """What one user can change, as a count; at most, where the bound is chosen privately."""
    summary: Mapping[str, Any] | None = None
    """For a summary: κ, τ and the expected size; None where every cell is published."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        scale = self.sensitivity / self.epsilon
        return {
            "table": self.name,
            "columns": list(self.columns),
            "cells": self.cells,
            "epsilon": show(self.epsilon),
            "sensitivity": show(self.sensitivity),
            "noise_scale": show(scale),
            "noise_std": DiscreteLaplace(scale).std(),
            "noise_interval_half_width": DiscreteLaplace(scale).half_width(INTERVAL_LEVEL),
            "summary": None if self.summary is None else dict(self.summary),
        }


@dataclass(frozen=True)
class Trade:
    """Bounding bias against noise for a typical item, by Fan & Jin's Theorem 2 (corrected)."""

    records_per_user: int
    """The guessed number of records of a user, all users alike."""
    kept_share: Fraction
    """The share of the records that is kept."""
    bounding_error: float
    """Root mean squared error of an item's count from the records that are not kept."""
    noise_error: float
    """Root mean squared error from the noise."""
    best_limit: int
    """The bound of least expected error under these guesses."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "records_per_user": self.records_per_user,
            "kept_share": float(self.kept_share),
            "rmse_from_bounding": self.bounding_error,
            "rmse_from_noise": self.noise_error,
            "best_max_records": self.best_limit,
        }


@dataclass(frozen=True)
class Plan:
    """The tables of a release, and what bounding is expected to lose."""

    request: Request
    """What it is a plan of."""
    tables: tuple[TablePlan, ...]
    """One entry a table."""
    trade: Trade | None
    """What public guesses say about the bound; None without guesses."""
    query_cells: int | None = None
    """r: how many cells a typical question will sum over; None where nothing was said."""

    def __str__(self) -> str:
        delta = f", delta {self.request.delta}" if self.request.delta.value else ""
        cost = f"Cost: epsilon {self.request.epsilon}{delta} per {self.request.records.unit.who}."
        return "\n".join([cost, *lines(self.as_dict())])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        request, method = self.request, self.request.method
        facts: dict[str, Any] = {
            "epsilon": str(request.epsilon),
            "delta": str(request.delta),
            "split": {name: show(share) for name, share in request.shares.items()},
            "bounding": method.bounding,
            "max_records": method.limit,
            "chosen_by": method.choose,
            "tables": [table.as_dict() for table in self.tables],
            "trade_off": self.trade.as_dict() if self.trade else None,
            "advice": advice(request, self.query_cells),
            "unknown": self.unknown(),
        }
        if method.discover:
            rule = UnknownItems(method.limit, request.part("items"), request.delta)
            facts["threshold"] = rule.threshold
        return facts

    def unknown(self) -> list[str]:
        """What no plan can know, in words."""
        if self.request.method.by_row:
            return ["how many rows lie outside the lists"]
        words = [
            "how many rows lie outside the lists or lack a user",
            "how unevenly records are spread over users, hence how many records bounding drops",
        ]
        if self.request.method.choose:
            words.append("which bound will be chosen: the noise shown is for the largest candidate")
        if self.trade is None:
            words.append(
                "how many records a user has: give --guess-users and --guess-records (public "
                "guesses, not read off the records) to see what bounding costs"
            )
        return words


def make_plan(
    request: Request,
    *,
    guess_users: int | None = None,
    guess_records: int | None = None,
    query_cells: int | None = None,
) -> Plan:
    """The plan of a request, from its public parameters and public guesses alone."""
    has_items = request.domain is not None and request.domain.has_items
    guessed = guess_users and guess_records and has_items
    trade = _trade(request, guess_users or 1, guess_records or 1) if guessed else None
    return Plan(request, tuple(_tables(request)), trade, query_cells)


def _tables(request: Request) -> list[TablePlan]:
    method, item = request.method, str(request.records.item)
    tables = []
    if method.popularity_records:
        epsilon, size = request.part("popularity").value, request.layouts()["items"].size
        kept = Fraction(method.popularity_records)
        tables.append(TablePlan("popularity", (item,), size, epsilon, kept))
    if method.discover:
        tables.append(
            TablePlan("items", (item,), None, request.part("items").value, Fraction(method.limit))
        )
    for name, layout in request.layouts().items():
        shaped = form_layout(request.form, layout)
        bound, unit = request.sensitivity(name)
        epsilon = request.table_epsilon(name).value
        tree = isinstance(shaped, Nodes)
        summary = planned_summary(request.form, shaped.size, bound / epsilon, unit, tree=tree)
        sensitivity = bound * unit
        tables.append(TablePlan(name, shaped.names, shaped.size, epsilon, sensitivity, summary))
    return tables


def _trade(request: Request, users: int, records: int) -> Trade:
    per_user = max(round(Fraction(records, users)), 1)
    items = request.layouts()["items"].size
    guess = Guess(users, per_user, Fraction(1, items))
    limit, epsilon = request.method.limit, Epsilon(request.table_epsilon("items").value)
    error = expected_error(guess, limit, epsilon)
    return Trade(
        per_user,
        min(Fraction(1), Fraction(limit, per_user)),
        sqrt(error.bounding),
        sqrt(error.noise),
        best_limit(guess, epsilon),
    )
