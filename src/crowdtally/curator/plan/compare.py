"""Comparisons for a plan: of noises, prices and summaries; what the theory expects of a bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, hypot, sqrt
from typing import Any

from crowdtally.core.layout import KINDS
from crowdtally.core.numbers import whole_number
from crowdtally.core.privacy import Delta, Epsilon, Price
from crowdtally.core.values import fitting, written
from crowdtally.curator.bounding.scaling import is_euclidean
from crowdtally.curator.methods.auto import Design
from crowdtally.curator.plan.guesses import PlannedCourse
from crowdtally.curator.request.request import Request
from crowdtally.curator.request.table_specs import MOST_MEASURED, Paid
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.summaries.base import Publishing
from crowdtally.curator.table import Table
from crowdtally.errors import UsageError
from crowdtally.laws.base import Combination, Terms, as_counts
from crowdtally.laws.interval import IntervalNoise, phantoms_for


def compared_noise(request: Request) -> dict[str, Any] | None:
    """For distinct users over few cells: the noise of both, and words; None for all else.

    Bounding has noise of about √2·θ/ε on a cell, for a bound of θ cells per user; interval noise
    about √((m+2)(m+3)/6)/ε on m cells, whatever users have, or a little less with phantoms.
    """
    if not _comparable(request):
        return None
    interval = {}
    for table in request.tables:
        size = table.cells.size
        law = IntervalNoise(table.epsilon.value, size, phantoms_for(size))
        interval[table.name] = law.std()
    if request.measured:
        return {"std": interval, "bounded_std": None, "better": None, "words": _same_as(request)}
    bounded = {table.name: table.law.std() for table in request.tables}
    better = all(interval[name] < bounded[name] for name in interval)
    words = _instead(interval, bounded, better=better)
    return {"std": interval, "bounded_std": bounded, "better": better, "words": words}


def _comparable(request: Request) -> bool:
    method, tables = request.method, request.tables
    of_users = method.what == "users" and request.records.user is not None and not method.pairs
    return (
        of_users
        and request.paid.rho is None
        and bool(tables)
        and all(one.transform.name == "none" and not one.publishing.leaves_out for one in tables)
        and all(one.cells.size <= MOST_MEASURED for one in tables)
    )


def _instead(interval: dict[str, float], bounded: dict[str, float], *, better: bool) -> str:
    noises = ", ".join(
        f"{interval[name]:.4g} instead of {bounded[name]:.4g} in {name!r}" for name in interval
    )
    if better:
        return (
            "Less noise without any bound on users: --count users --noise interval counts every "
            f"user in all of their cells, with noise of standard deviation {noises}. Type that "
            "instead of --method."
        )
    return (
        "--noise interval would count every user in all of their cells, with noise of standard "
        f"deviation {noises}: more noise, and no bias. A larger bound makes up for it."
        if any(interval[name] > bounded[name] for name in interval)
        else f"--noise interval would have the same noise ({noises}), and no bias."
    )


def _same_as(request: Request) -> str:
    bounds = []
    for table in request.measured:
        theta = table.law.std() * float(table.epsilon.value) / sqrt(2)
        bounds.append(f"{theta:.3g} in {table.name!r}")
    return (
        "Nobody is bounded. Bounding has as much noise at a bound of as many cells per user: "
        f"{', '.join(bounds)}. Below that it has less, and leaves out what users have beyond it."
    )


# What the same ε buys with and without a δ: the noise of both, side by side.
#
# From public numbers alone: what one user can change in each table, ε and δ.

USUAL_DELTA = Delta.of("1e-9")


def both_prices(request: Request) -> dict[str, Any] | None:
    """Standard deviations of one count in each table, for pure ε and for (ε, δ); in words too.

    None without a bound to compare by.
    """
    euclidean = is_euclidean(request.method.rule)  # for Gaussian noise alone
    if not request.bounded or request.discovery is not None or euclidean:
        return None
    delta = _delta(request)
    pure = _deviations(request, Paid("laplace", request.epsilon, Delta()))
    gaussian = _deviations(request, Paid("gaussian", request.epsilon, delta))
    return {
        "delta": str(delta),
        "given": bool(request.paid.offered.value),
        "pure_std": pure,
        "std": gaussian,
        "words": _words(delta, pure, gaussian),
    }


def both_courses(request: Request, course: PlannedCourse) -> dict[str, Any] | None:
    """The same of ``auto``: the error to expect of an item's estimate, by public guesses."""
    if course.users is None or course.records is None:
        return None
    delta = _delta(request)
    ways = Paid("laplace", request.epsilon, Delta()), Paid("auto", request.epsilon, delta)
    designs = [Design.of(replace(request, paid=paid)) for paid in ways]
    found = [replace(course, design=one).as_dict()["expected_error"] for one in designs]
    pure, other = (error["rmse"] if error else None for error in found)
    if pure is None or other is None:
        return None
    errors = [(other, pure, f"{other:.4g} instead of {pure:.4g}")]
    return {
        "delta": str(delta),
        "given": bool(request.paid.offered.value),
        "pure_error": pure,
        "error": other,
        "words": _compared(delta, "an error of about", errors, " in an item's estimate"),
    }


def _deviations(request: Request, paid: Paid) -> dict[str, float]:
    return {
        table.name: table.priced(paid.price * request.shares[table.part]).law.std()
        for table in request.bounded
    }


def _delta(request: Request) -> Delta:
    return request.paid.offered if request.paid.offered.value else USUAL_DELTA


def _words(delta: Delta, pure: dict[str, float], gaussian: dict[str, float]) -> str:
    found = [
        (std, pure[name], f"{std:.4g} instead of {pure[name]:.4g} in {name!r}")
        for name, std in gaussian.items()
    ]
    return _compared(delta, "a standard error of", found)


def _compared(delta: Delta, what: str, found: list[tuple[float, float, str]], of: str = "") -> str:
    """One sentence on errors with δ and without."""
    listed = ", ".join(words for _, _, words in found)
    if all(other < pure for other, pure, _ in found):
        return f"With delta = {delta} the same epsilon buys {what} {listed}{of}."
    if not any(other < pure for other, pure, _ in found):
        return (
            f"A delta would not help here: with delta = {delta} the same epsilon means {what} "
            f"{listed}{of}, which is no less."
        )
    each = ", ".join(f"{words} ({'less' if o < p else 'no less'})" for o, p, words in found)
    return f"With delta = {delta} the same epsilon means {what} {each}{of}."


def delta_warning(delta: Delta, users: int | None) -> str | None:
    """A sentence where δ is more than one over a public guess of the users."""
    if users is None or delta.value * users <= 1:
        return None
    return (
        f"Delta {delta} is more than one over the guessed {users} users: with it, a release that "
        "shows all records of one user outright would pass. Type a far smaller one, such as "
        "--delta 1e-9."
    )


# What a sparse summary is expected to look like, and which one fits a question's size.

_USUAL_SIZE = 100_000
_FITTING = 10_000_000
"""Most cells that are not too many to publish."""
_WEIGHED = {
    "dense": "the noise of so many cells is less than what a sample or a cut would add",
    "priority": "a cut would lose more of the small counts than a sample, which stands for what it "
    "leaves out, is off by",
    "filter-priority": "the noise of empty cells would drown the counts, and a sample of it is "
    "worse: the cut removes most of it, for the loss of the small counts",
}
_ALL_FIT = "all cells fit, so nothing needs to be left out"
_TOO_MANY = "not all cells fit, and a sample without a cut is mostly noise of empty cells"


def planned_summary(table: Table) -> dict[str, Any] | None:
    if not table.publishing.leaves_out:
        return None
    threshold = table.keeping.threshold
    return {
        "publishing": table.publishing.name,
        "sides": table.publishing.sides,
        "cut": float(table.keeping.cut * table.unit),
        "threshold": None if threshold is None else float(threshold * table.unit),
        "cells_from_noise_alone": table.expected_empty,
        "size_at_most": table.publishing.wanted,
    }


def sum_errors(table: Table, size: int, query: int, total: int = 0) -> dict[str, float]:
    """Expected error of a sum over ``query`` empty cells, by publishing: noise and sampling.

    What a cut loses of small true counts is not in it.
    """
    errors = {}
    for name in PUBLISHINGS:
        published = replace(table, publishing=_of_size(name, size, total))
        dense = not published.publishing.leaves_out
        squares = table.transform.squares(table.cells, query, dense=dense)
        if dense:
            errors[name] = table.law.std(Combination(squares, squares))
        else:
            spread = table.law.empty_cell(published.keeping).variance
            errors[name] = sqrt(squares * spread) * float(table.unit)
    return errors


def _of_size(name: str, size: int, total: int = 0) -> Publishing:
    summary: Publishing = fitting(PUBLISHINGS.load(name), {"size": size, "guess_total": total})
    return summary


def advice(request: Request, query: int | None) -> dict[str, Any] | None:
    """For a question of ``query`` cells: each publishing's expected error, and one to choose."""
    if query is None or not request.bounded:
        return None
    table = request.bounded[-1]
    cells = table.layout.size
    size = table.publishing.size or min(cells, _USUAL_SIZE)
    asked, total = min(query, table.cells.size), request.guess_total
    errors = sum_errors(table, size, asked, total)
    # A question that is no fuller than the table has this much: a cut can lose no more.
    lost = float(total * Fraction(asked, table.cells.size)) if total else None
    choice, why = _choice(errors, lost, fits=cells <= max(size, _FITTING))
    return {
        "table": table.name,
        "query_cells": query,
        "size": size,
        "errors": errors,
        "cut_loses_at_most": lost,
        "choose": choice,
        "options": f"--summary {written(PUBLISHINGS, _of_size(choice, size))}",
        "why": why,
    }


def _choice(errors: Mapping[str, float], lost: float | None, *, fits: bool) -> tuple[str, str]:
    """The least error among what has the wanted size, or every cell where that is not too many.

    Where two are alike the one that leaves nothing out comes first.
    """
    if lost is None:
        choice, why = ("dense", _ALL_FIT) if fits else ("filter-priority", _TOO_MANY)
        return choice, f"{why} (with --guess-total N, what a cut may lose is weighed too)"
    weighed = {"dense": errors["dense"]} if fits else {}
    weighed |= {
        "priority": errors["priority"],
        # Between nothing and all of it: half is nearest to what was measured (docs/sparse.md).
        "filter-priority": hypot(errors["filter-priority"], lost / 2),
    }
    least = min(weighed.values())
    choice = next(name for name, error in weighed.items() if error <= least * _ALIKE)
    return choice, _WEIGHED[choice]


_ALIKE = 1.001
"""Errors within this factor of the least one count as equal."""

# What Theorem 2 of Fan & Jin (2015), corrected, expects of SRA: from public guesses only.
#
# For ``plan``: no record is read, so nothing here is private and nothing is promised. The theorem
# looks at one item of probability p and n users of M records each, of which l are kept; its
# derivation is in ``theory.md``.


@dataclass(frozen=True)
class Guess:
    users: int
    records: int
    share: Fraction
    """p: the probability that a record is about the item; 1/m for an item like any of m others."""

    def __post_init__(self) -> None:
        whole_number(self.users, "the guessed number of users", 1, 2**62)
        whole_number(self.records, "the guessed records per user", 1, 2**62)
        if not isinstance(self.share, Fraction) or not 0 < self.share <= 1:
            raise UsageError("the guessed share of an item must be a Fraction above 0, at most 1.")


@dataclass(frozen=True)
class ExpectedError:
    bounding: Fraction
    noise: Fraction

    @property
    def total(self) -> Fraction:
        """The sum: the noise is independent of what is kept, and its mean is 0."""
        return self.bounding + self.noise


@dataclass(frozen=True)
class Noise:
    """The variance of a count's noise at the bound l, as a·l² + b·l: public."""

    square: Fraction
    linear: Fraction = Fraction(0)

    @classmethod
    def of(cls, price: Price, *, once: bool = False) -> Noise:
        """2l²/ε² for Laplace noise; l²/(2ρ) for Gaussian, l/(2ρ) where users count once in a cell.

        >>> from crowdtally.core.privacy import Rho
        >>> Noise.of(Epsilon.of(2)).at(3), Noise.of(Rho.of("1/4"), once=True).at(3)
        (Fraction(9, 2), Fraction(6, 1))
        """
        if isinstance(price, Epsilon):
            return cls(2 / price.value**2)
        gaussian = 1 / (2 * price.value)
        return cls(Fraction(0), gaussian) if once else cls(gaussian)

    def at(self, limit: int) -> Fraction:
        return self.square * limit**2 + self.linear * limit


def expected_error(guess: Guess, limit: int, noise: Noise) -> ExpectedError:
    """The error if ``limit`` records per user are kept and published with such noise.

    >>> error = expected_error(Guess(1000, 50, Fraction(1, 100)), 10, Noise.of(Epsilon.of(1)))
    >>> error.bounding, error.noise
    (Fraction(160396, 1), Fraction(200, 1))
    """
    whole_number(limit, "the records kept per user", 1, 2**62)
    lost = guess.users * max(guess.records - limit, 0)
    mean, variance = lost * guess.share, lost * guess.share * (1 - guess.share)
    return ExpectedError(mean**2 + variance, noise.at(limit))


def ideal_limit(guess: Guess, noise: Noise) -> Fraction:
    """l*, where the expected error is least over the reals of [1, M]; it grows with ε."""
    mean = guess.users * guess.share  # n·p: what one kept record per user adds to the count
    slope = 2 * mean**2 * guess.records + mean * (1 - guess.share)
    curvature = 2 * noise.square + 2 * mean**2
    return min(max((slope - noise.linear) / curvature, Fraction(1)), Fraction(guess.records))


def best_limit(guess: Guess, noise: Noise) -> int:
    """The whole number of records of least expected error: l* rounded to its better neighbour.

    >>> guess = Guess(1000, 50, Fraction(1, 1000))
    >>> [best_limit(guess, Noise.of(Epsilon.of(e))) for e in ("0.1", 1, 10)]
    [1, 17, 50]
    """
    below = int(ideal_limit(guess, noise))
    above = min(below + 1, guess.records)
    return min(below, above, key=lambda limit: expected_error(guess, limit, noise).total)


# What will stand out of the noise of a planned table, from public numbers and guesses alone.

NOTHING: Mapping[str, Any] = dict.fromkeys(
    "noise_floor noise_floor_over cells_counted stands_out_from_total guessed_per_cell "
    "will_be_noise".split()
)
"""For a table without lists, or with unknown cells."""


def standing(request: Request, table: Table, guessed: int | None) -> dict[str, Any]:
    """The noise floor of a list from a table, and whether the guessed counts are above it.

    ``guessed`` is how many records, or users, it will count in all; None without a guess.
    """
    if not KINDS[table.name].answers:
        return dict(NOTHING)
    lines = _lines(request, table)
    squares = table.transform.squares(table.cells, 1, dense=not table.publishing.leaves_out)
    if squares == int(squares):
        units = table.law.floor(lines, Terms.of_cells(int(squares)))
    else:  # weighted noises of a transform: about as one noise of the same variance
        units = table.law.floor(lines) * sqrt(squares)
    noise_floor, cells = as_counts(units, table.law.unit), table.cells.size
    each = None if guessed is None else guessed / cells
    return {
        "noise_floor": noise_floor,
        "noise_floor_over": lines,
        "cells_counted": cells,
        "stands_out_from_total": (floor(noise_floor) + 1) * cells,
        "guessed_per_cell": each,
        "will_be_noise": None if each is None else each <= noise_floor,
    }


def _lines(request: Request, table: Table) -> int:
    """How many lines a list has: every item, in one context; or every pair or cell."""
    domain = request.domain
    if domain is not None and domain.has_items and not KINDS[table.name].is_pairs:
        return len(domain.items)
    return table.cells.size


def guessed_total(request: Request, users: int | None, records: int | None) -> int | None:
    """The public guess of what will be counted: the total, or the records that bounding keeps."""
    if request.guess_total:
        return request.guess_total
    if records is None or request.records.quantity is not None:
        return None  # how often records count is not known by how many there are
    if users is None or request.records.user is None or request.measured:
        return records  # nobody is bounded: each record adds a user at most
    return min(records, users * request.method.rule.limit)
