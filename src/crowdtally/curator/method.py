"""Which method a request takes, and what is charged for it."""

from __future__ import annotations

import secrets
from typing import Any

from crowdtally.core.numbers import show
from crowdtally.curator.bounding.scaling import Auto
from crowdtally.curator.converse import IN_STEPS, WHOLE, Method
from crowdtally.curator.methods.auto import AutoMethod, Design
from crowdtally.curator.methods.discover import DiscoverMethod
from crowdtally.curator.methods.tables import TablesMethod
from crowdtally.curator.methods.top import TopMethod
from crowdtally.curator.questions import CommonCells
from crowdtally.curator.request.request import Request
from crowdtally.errors import CrowdtallyError
from crowdtally.laws.conversion import delta_of
from crowdtally.ledger import Charge, Part

_RELEASE = "release"
"""The one part of a release that is paid for in ρ and charged in ε and δ."""


def method_of(request: Request) -> Method:
    """The method of a request. A new kind of method joins here."""
    if request.discovery is not None:
        return DiscoverMethod(CommonCells(request.discovery, request.bounded))
    if request.selection is not None:
        return TopMethod(request.selection)
    if isinstance(request.method.rule, Auto):
        return AutoMethod(Design.of(request))
    return TablesMethod.of(request)


def charge_of(
    request: Request, method: Method, versions: dict[str, str], *, by_rho: bool = True
) -> Charge:
    """One charge for the whole release, its parts listed so that another can add them up.

    Where the dataset cannot count ρ (``by_rho``), what is paid for in ρ is charged as the ε and δ
    that it was bought with, which any accountant adds up.
    """
    parts, release, rho = method.parts, secrets.token_hex(16), request.paid.rho
    if rho is None:
        _require(sum(part.loss.epsilon for part in parts) == request.epsilon.value, "epsilon")
        return Charge(release, request.epsilon, parts, delta=request.delta, versions=versions)
    charge = Charge.by_rho(release, parts, versions)
    loss = charge.loss
    _require(not loss.epsilon and loss.rho <= rho.value, "rho")
    _require(loss.delta + delta_of(loss.rho, request.epsilon.value) <= request.delta.value, "delta")
    if by_rho:
        return charge
    facts: dict[str, Any] = {"rho": show(rho.value), "parts": [part.name for part in parts]}
    facts |= {IN_STEPS: True} if parts[0].mechanism == IN_STEPS else {}
    whole = Part(_RELEASE, request.epsilon, WHOLE, facts, request.delta)
    return Charge(release, request.epsilon, (whole,), delta=request.delta, versions=versions)


def _require(adds_up: bool, to: str) -> None:
    if not adds_up:
        raise CrowdtallyError(
            f"the parts of the release do not add up to its {to}: this is a fault of the program, "
            "and nothing is charged or released."
        )
