"""What the same ε buys with and without a δ: the noise of both, side by side.

From public numbers alone: what one user can change in each table, ε and δ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crowdtally.core.privacy import Delta
from crowdtally.curator.bounding.dpsense_l2 import DPSenseL2
from crowdtally.curator.planning.course import planned_course
from crowdtally.curator.request.paying import Paid
from crowdtally.curator.request.request import Request

USUAL_DELTA = Delta.of("1e-9")
"""The δ that is shown where none was given."""


def both_prices(request: Request) -> dict[str, Any] | None:
    """Standard deviations of one count in each table, for pure ε and for (ε, δ); in words too.

    None where tables have no bound to compare by: where nobody is bounded, or cells are discovered.
    """
    if not request.bounded or request.discovery is not None:
        return None
    if isinstance(request.method.rule, DPSenseL2):  # for Gaussian noise alone
        return None
    delta = _delta(request)
    pure, gaussian = (
        _deviations(request, paid)
        for paid in (
            Paid("laplace", request.epsilon, Delta()),
            Paid("gaussian", request.epsilon, delta),
        )
    )
    return {
        "delta": str(delta),
        "given": bool(request.paid.offered.value),
        "pure_std": pure,
        "std": gaussian,
        "words": _words(delta, pure, gaussian),
    }


def both_courses(request: Request, users: int, records: int) -> dict[str, Any] | None:
    """The same of ``auto``: the error to expect of an item's estimate, by public guesses."""
    delta = _delta(request)
    courses = (
        planned_course(replace(request, paid=paid), users, records)
        for paid in (
            Paid("laplace", request.epsilon, Delta()),
            Paid("auto", request.epsilon, delta),
        )
    )
    found = [None if one is None else one.as_dict()["expected_error"] for one in courses]
    pure, other = (None if one is None else one["rmse"] for one in found)
    if pure is None or other is None:
        return None
    return {
        "delta": str(delta),
        "given": bool(request.paid.offered.value),
        "pure_error": pure,
        "error": other,
        "words": _compared(
            delta,
            "an error of about",
            [(other, pure, f"{other:.4g} instead of {pure:.4g}")],
            " in an item's estimate",
        ),
    }


def _deviations(request: Request, paid: Paid) -> dict[str, float]:
    prices = {table.name: paid.price * request.shares[table.part] for table in request.bounded}
    return {one.name: one.priced(prices[one.name]).law.std() for one in request.bounded}


def _delta(request: Request) -> Delta:
    return request.paid.offered if request.paid.offered.value else USUAL_DELTA


def _words(delta: Delta, pure: dict[str, float], gaussian: dict[str, float]) -> str:
    found = [
        (
            gaussian[name],
            pure[name],
            f"{gaussian[name]:.4g} instead of {pure[name]:.4g} in {name!r}",
        )
        for name in pure
    ]
    return _compared(delta, "a standard error of", found)


def _compared(delta: Delta, what: str, found: list[tuple[float, float, str]], of: str = "") -> str:
    """One sentence on errors with δ and without: a worse deal is called one."""
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
