"""Which steps a request takes, in order. A new kind of step joins the list here."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from crowdtally.core.numbers import show
from crowdtally.core.privacy import Price
from crowdtally.curator.bounding.rules import EveryRow, RecordRule
from crowdtally.curator.bounding.scaling import Auto, DPSense, DPSenseL2, DPSenseS
from crowdtally.curator.converse import Step
from crowdtally.curator.methods.discover import Discover
from crowdtally.curator.methods.tables import (
    ChooseLimit,
    ChooseNorm,
    ChooseTheta,
    ChooseThetaAndScaling,
    MeasuredTables,
    Popularity,
    RowTables,
    SampledTables,
    ScaledTables,
)
from crowdtally.curator.methods.top import MeasureTop, SelectTop
from crowdtally.curator.pricing import zcdp
from crowdtally.curator.request.method import CHOOSE
from crowdtally.curator.request.request import Request
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.line import auto_steps
from crowdtally.errors import CrowdtallyError
from crowdtally.laws.conversion import delta_of
from crowdtally.ledger import Charge, Part

_WHOLE = "release"
"""The one part of a release that is paid for in ρ and charged in ε and δ."""


def steps_of(request: Request) -> tuple[Step, ...]:
    """The steps: popularity, the choice of the bounds, the tables; or a discovery."""
    if request.discovery is not None:
        return (Discover(request.discovery, request.bounded),)
    if request.selection is not None:
        return (SelectTop(request.selection), MeasureTop(request.selection))
    if isinstance(request.method.rule, Auto):
        return auto_steps(Design.of(request))
    steps: list[Step] = []
    if request.popularity is not None:
        steps.append(Popularity(request.popularity, request.method.what))
    if request.method.choose is not None:
        steps.append(_choice(request, request.part(CHOOSE)))
    steps.append(_tables(request))
    return tuple(steps)


def _choice(request: Request, price: Price) -> Step:
    method, rule, tables = request.method, request.method.rule, request.bounded
    if isinstance(rule, DPSenseS):
        return ChooseThetaAndScaling(tables, rule.theta, method.scalings, price, rule.cap)
    if isinstance(rule, DPSenseL2):
        return ChooseNorm(tables, rule.theta, zcdp(price), rule.cap)
    if isinstance(rule, DPSense):
        return ChooseTheta(tables, str(method.choose), rule.theta, price, rule.cap)
    least = 2 if method.pairs else 1
    times = rule.times if isinstance(rule, RecordRule) else 1
    return ChooseLimit(tables, rule.limit, price, method.what, least, times)


def _tables(request: Request) -> Step:
    rule, measured = request.method.rule, request.measured
    if measured:
        return MeasuredTables(measured)
    tables = request.bounded
    if isinstance(rule, EveryRow):
        return RowTables(tables, rule)
    if isinstance(rule, DPSense):
        return ScaledTables(tables, rule)
    return SampledTables(tables, rule, request.method.what, request.method.pairs)


def charge_of(
    request: Request, steps: Sequence[Step], versions: dict[str, str], *, by_rho: bool = True
) -> Charge:
    """One charge for the whole release, its parts listed so that another can add them up.

    Args:
        request: what is released.
        steps: how.
        versions: of the programs that do it.
        by_rho: whether the dataset can count ρ. If not, what is paid for in ρ is charged as the ε
            and δ that it was bought with, which any accountant adds up.
    """
    parts = tuple(part for step in steps for part in step.parts())
    release, rho = secrets.token_hex(16), request.paid.rho
    if rho is None:
        _require(sum(part.loss.epsilon for part in parts) == request.epsilon.value, "epsilon")
        return Charge(release, request.epsilon, parts, delta=request.delta, versions=versions)
    charge = Charge.by_rho(release, parts, versions)
    loss = charge.loss
    _require(not loss.epsilon and loss.rho <= rho.value, "rho")
    _require(loss.delta + delta_of(loss.rho, request.epsilon.value) <= request.delta.value, "delta")
    if by_rho:
        return charge
    facts = {"rho": show(rho.value), "parts": [part.name for part in parts]}
    whole = Part(_WHOLE, request.epsilon, "zero-concentrated", facts, request.delta)
    return Charge(release, request.epsilon, (whole,), delta=request.delta, versions=versions)


def _require(adds_up: bool, to: str) -> None:
    if not adds_up:
        raise CrowdtallyError(
            f"the parts of the release do not add up to its {to}: this is a fault of the program, "
            "and nothing is charged or released."
        )
