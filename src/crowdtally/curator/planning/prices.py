"""What the same ε buys with and without a δ: the noise of both, side by side.

From public numbers alone: what one user can change in each table, ε and δ.
"""

from __future__ import annotations

from typing import Any

from crowdtally.curator.bounding.dpsense_l2 import DPSenseL2
from crowdtally.curator.request.paying import Paid
from crowdtally.curator.request.request import Request
from crowdtally.values.epsilon import Delta

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
    delta = request.paid.offered if request.paid.offered.value else USUAL_DELTA
    pure, gaussian = (
        {table.name: table.law.std() for table in request.bought_by(paid).bounded}
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


def _words(delta: Delta, pure: dict[str, float], gaussian: dict[str, float]) -> str:
    compared = ", ".join(
        f"{gaussian[name]:.4g} instead of {pure[name]:.4g} in {name!r}" for name in pure
    )
    if all(gaussian[name] < pure[name] for name in pure):
        return f"With delta = {delta} the same epsilon buys a standard error of {compared}."
    return f"With delta = {delta} the same epsilon would buy a standard error of {compared}."


def delta_warning(delta: Delta, users: int | None) -> str | None:
    """A sentence where δ is more than one over a public guess of the users."""
    if users is None or delta.value * users <= 1:
        return None
    return (
        f"Delta {delta} is more than one over the guessed {users} users: with it, a release that "
        "shows all records of one user outright would pass. Type a far smaller one, such as "
        "--delta 1e-9."
    )
