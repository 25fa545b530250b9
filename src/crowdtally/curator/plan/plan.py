"""What a release would cost and how noisy it would be, before anything is spent.

Everything comes from public parameters and public guesses. What cannot be known it does not say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Any

from crowdtally.core.counts import Counted
from crowdtally.core.numbers import show, whole_number
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.bounding.scaling import is_euclidean
from crowdtally.curator.plan import compare
from crowdtally.curator.plan.accuracy import Target, accuracy_facts, check_named, smallest_epsilon
from crowdtally.curator.plan.guesses import PlannedCourse, planned_course
from crowdtally.curator.plan.words import counted_words, first_lines, lines, plan_line, plan_table
from crowdtally.curator.request.discover import UnknownTable
from crowdtally.curator.request.request import Request
from crowdtally.curator.request.table_specs import unspent_words
from crowdtally.curator.request.wording import in_python
from crowdtally.curator.table import Table
from crowdtally.format import INTERVAL_LEVEL
from crowdtally.laws.base import NoiseLaw, as_counts
from crowdtally.laws.laplace import DiscreteLaplace

_LARGEST_GUESS = 2**62


def planned_table(request: Request, table: Table, guessed: int | None) -> dict[str, Any]:
    distance: dict[str, float] = {}
    if not isinstance(table.price, Epsilon):  # what Gaussian noise hides
        distance = {"distance": sqrt(table.l2_squared) * float(table.unit)}
    return {
        "table": table.name,
        "columns": list(table.layout.names),
        "cells": table.layout.size,
        table.price.field: str(table.price),
        **_noise(table.law, table.l1_bound * table.unit),
        **distance,
        **compare.standing(request, table, guessed),
        "summary": compare.planned_summary(table),
    }


def _noise(law: NoiseLaw, sensitivity: Fraction) -> dict[str, Any]:
    return {
        "sensitivity": show(sensitivity),
        "noise": law.kind,
        "noise_scale": show(law.scale * law.unit) if isinstance(law, DiscreteLaplace) else None,
        "noise_std": law.std(),
        "noise_interval_half_width": as_counts(law.half_width(INTERVAL_LEVEL), law.unit),
    }


def _discovered(table: UnknownTable) -> dict[str, Any]:
    rule = table.rule
    return {
        "table": table.name,
        "columns": list(table.columns),
        "cells": None,
        rule.price.field: str(rule.price),
        **_noise(rule.law, Fraction(rule.limit)),
        **compare.NOTHING,
        "summary": None,
        "threshold": rule.threshold,
        "delta": show(rule.actual_delta),
    }


@dataclass(frozen=True)
class Plan:
    request: Request
    trade: dict[str, Any] | None
    """What public guesses say about the bound."""
    query_cells: int | None = None
    """r: how many cells a typical question will sum over."""
    guessed: int | None = None
    """A public guess of how much will be counted in all."""
    target: Target | None = None
    """The accuracy that ε was found for; None where ε was given."""
    unseen: tuple[str, ...] = ()
    """Sources whose columns could not be looked at, by their names."""
    course: PlannedCourse | None = None
    """What ``auto`` would do; None where a method is named."""
    users: int | None = None

    def __str__(self) -> str:
        delta = f", delta {self.request.delta}" if self.request.delta.value else ""
        cost = f"Cost: epsilon {self.request.epsilon}{delta} per {self.request.records.unit.who}."
        facts = self.as_dict()
        # For Python: the command line prints otherwise.
        return in_python("\n".join([*first_lines(facts), cost, *lines(facts)]))

    def __repr__(self) -> str:
        delta = f", δ={self.request.delta}" if self.request.delta.value else ""
        cost = f"ε={self.request.epsilon}{delta} per {self.request.records.unit.who}"
        return plan_line(cost, self.tables(), self.request.method.rule.name)

    def _repr_html_(self) -> str:
        return plan_table(self.tables(), str(self).splitlines())

    def as_dict(self) -> dict[str, Any]:
        request, method = self.request, self.request.method
        if self.course is not None:
            counted = counted_words(repeats=self.course.design.rows.repeats)
            prices = compare.both_courses(request, self.course)
        else:
            counted, prices = counted_of(request).sentence(), compare.both_prices(request)
        return {
            "epsilon": str(request.epsilon),
            "delta": str(request.delta),
            "split": {name: show(share) for name, share in request.shares.items()},
            "bounding": method.rule.name,
            "max_records": None if self.course or request.bounds_nobody else method.rule.limit,
            "chosen_by": method.choose,
            "what_counts": counted,
            "tables": self.tables(),
            "trade_off": self.trade,
            "advice": None if self.course else compare.advice(request, self.query_cells),
            "interval_noise": compare.compared_noise(request),
            "noise": request.paid.noise,
            "prices": prices,
            "delta_warning": compare.delta_warning(request.delta, self.users),
            "delta_unspent": unspent_words(request.paid),
            "auto": self.course.as_dict() if self.course else None,
            "unknown": self.unknown(),
            "accuracy": accuracy_facts(request, self.target) if self.target else None,
        }

    def tables(self) -> list[dict[str, Any]]:
        """What is known beforehand about each table; nothing where the release decides itself."""
        request = self.request
        if self.course is not None:
            return []
        if request.discovery is not None:
            plain = [planned_table(request, table, self.guessed) for table in request.tables]
            return [*plain, *map(_discovered, request.discovery.tables)]
        if request.selection is not None:
            return [planned_table(request, request.selection.planned(), self.guessed)]
        ranked = [request.popularity] if request.popularity is not None else []
        return [planned_table(request, table, self.guessed) for table in (*ranked, *request.tables)]

    def unknown(self) -> list[str]:
        """What no plan can know, in words."""
        words = [
            f"whether the columns exist and fit: {name} is not opened for a plan"
            for name in self.unseen[:1]
        ]
        if self.request.records.user is None:
            return [*words, "how many rows lie outside the lists"]
        words.append("how many rows lie outside the lists or lack a user")
        if self.course is not None:
            return words + self._unmeasured(self.course)
        if self.request.bounds_nobody:
            return words
        words.append(
            "how unevenly records are spread over users, hence how many records bounding drops"
        )
        if self.request.method.choose:
            words.append("which bound will be chosen: the noise shown is for the largest candidate")
        if self.request.records.quantity is not None:
            words.append(
                "how often records count: what bounding loses is weighed as if each counted once"
            )
        if self.trade is None and not is_euclidean(self.request.method.rule):
            words.append(
                "how many records a user has: give --guess-users and --guess-records (public "
                "guesses, not read off the records) to see what bounding costs"
            )
        return words

    def _unmeasured(self, course: PlannedCourse) -> list[str]:
        """What a release of ``auto`` will find out, at a cost, and what it will not."""
        words = ["how long users' rows are, and which items are common: the release measures it"]
        if None in (course.users, course.records):
            words.append(
                "how far off estimates will be: give --guess-users and --guess-records (public "
                "guesses, not read off the records) to see the steps and the expected error"
            )
        if self.query_cells is not None:
            words.append(
                "how ways of publishing compare for --query-cells: name a method, for example "
                "--method sra:max-records=10"
            )
        return words


def make_plan(
    request: Request,
    *,
    guess_users: int | None = None,
    guess_records: int | None = None,
    guess_total: int | None = None,
    query_cells: int | None = None,
    unseen: tuple[str, ...] = (),
    target: Target | None = None,
) -> Plan:
    """The plan of a request, from its public parameters and public guesses alone.

    With a target: of the same request with the smallest ε that reaches it.
    """
    for option, given in (
        ("--guess-users", guess_users), ("--guess-records", guess_records),
        ("--guess-total", guess_total), ("--query-cells", query_cells),
    ):  # fmt: skip
        if given is not None:
            whole_number(given, option, 1, _LARGEST_GUESS)
    if guess_total is not None:
        request = replace(request, guess_total=guess_total)
    course = planned_course(request, guess_users, guess_records)
    if target is not None:
        check_named(request)
        request = smallest_epsilon(request, target)
    trade = None
    if guess_users and guess_records and course is None and _is_theorys(request):
        trade = _trade(request, guess_users, guess_records)
    guessed = compare.guessed_total(request, guess_users, guess_records)
    return Plan(request, trade, query_cells, guessed, target, unseen, course, guess_users)


def _is_theorys(request: Request) -> bool:
    """The theory is of items, and of users who are bounded by a sum."""
    has_items = request.domain is not None and request.domain.has_items
    by_sum = not request.bounds_nobody and not is_euclidean(request.method.rule)
    return request.records.user is not None and has_items and by_sum


def counted_of(request: Request) -> Counted:
    method, records = request.method, request.records
    if records.user is None:
        return Counted(method.what, None, weight=records.weight, stated=records.bounded_to)
    if request.bounds_nobody:
        return Counted("users", 1, everywhere=True)
    facts = method.rule.facts()
    cap = facts.get("cap")
    return Counted(
        "users" if method.discover else method.what,
        method.rule.limit,
        cap is not None,
        cap or 1,
        quantity=records.quantity.most if records.quantity is not None else None,
        norm=facts.get("norm", "l1"),
        at_most=method.choose is not None,
    )


def _trade(request: Request, users: int, records: int) -> dict[str, Any]:
    """Bounding bias against noise for a typical item, by Fan & Jin's Theorem 2 (corrected)."""
    per_user = max(round(Fraction(records, users)), 1)
    items = request.tables[0]
    guess = compare.Guess(users, per_user, Fraction(1, items.cells.size))
    once = items.squared is not None and items.squared < items.bound**2  # a distance of √l
    limit, noise = request.method.rule.limit, compare.Noise.of(items.price, once=once)
    if request.records.quantity is not None and request.method.rule.keeps_records:
        # Of records of which each counts up to C times, as if each counted once: the least.
        noise = replace(noise, square=noise.square * request.records.quantity.most**2)
    error = compare.expected_error(guess, limit, noise)
    return {
        "records_per_user": per_user,
        "kept_share": float(min(Fraction(1), Fraction(limit, per_user))),
        "rmse_from_bounding": sqrt(error.bounding),
        "rmse_from_noise": sqrt(error.noise),
        "best_max_records": compare.best_limit(guess, noise),
    }
