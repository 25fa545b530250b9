"""What a release says about itself, and what the ledger is told it costs."""

from __future__ import annotations

import hashlib
import platform
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from crowdtally.budget import Charge, Part, Reservation
from crowdtally.curator.request.method import Method
from crowdtally.curator.request.request import Request
from crowdtally.curator.steps.bounds import Bound
from crowdtally.published import SCHEMA, NoisyTable
from crowdtally.values.domain import Axis, Domain
from crowdtally.values.epsilon import Delta
from crowdtally.values.rational import show

_LISTED = 10_000
_PACKAGES = ("crowdtally", "duckdb", "ibis-framework", "numpy", "python-flint", "cryptography")


@dataclass(frozen=True)
class Outcome:
    """What the steps made: all of it noisy, all of it public."""

    tables: Sequence[NoisyTable]
    """The tables, in the order they were drawn."""
    bounds: Mapping[str, Bound]
    """The bound of each table of counts, as given or as chosen."""
    other: Mapping[str, Any] | None = None
    """The mass below the threshold, where items were discovered."""


def charge_of(request: Request) -> Charge:
    """One charge for the whole release, its parts listed so that another can add them up."""
    parts = tuple(_part(request, name) for name in request.shares)
    return Charge(
        secrets.token_hex(16), request.epsilon, parts, delta=request.delta, versions=versions()
    )


def _part(request: Request, name: str) -> Part:
    method, epsilon = request.method, request.part(name)
    if name == "choose":
        parameters = {"rule": method.choose, "largest_candidate": method.limit}
        return Part(name, epsilon, "exponential", parameters)
    if name == "popularity":
        return Part(name, epsilon, "discrete-laplace", {"l1_bound": method.popularity_records})
    if method.discover and name == "items":
        parameters = {"l1_bound": method.limit}
        return Part(name, epsilon, "thresholded-discrete-laplace", parameters, request.delta)
    table = "pairs" if method.pairs and name == "edges" else name
    if table not in request.layouts():  # the mass of the items that are not released
        return Part(name, epsilon, "discrete-laplace", {"l1_bound": method.limit})
    bound, unit = request.sensitivity(table)
    key = "l1_bound_at_most" if method.choose else "l1_bound"
    return Part(name, epsilon, "discrete-laplace", {key: bound, "unit": show(unit)}, Delta())


@cache
def versions() -> Mapping[str, str]:
    """Versions of the programs that make a release."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def describe(
    request: Request,
    domain: Domain | None,
    reservation: Reservation,
    outcome: Outcome,
    began: datetime,
) -> dict[str, Any]:
    """The contents of ``release.json``: public parameters, never anything read off the records.

    ``began`` is a moment before the records were read: how long they took says how many they are.
    """
    facts = {
        "schema": SCHEMA,
        "id": reservation.charge.release_id,
        "created": began.isoformat(timespec="seconds"),
        "guarantee": _guarantee(request),
        "counted": "users" if request.method.discover else request.method.what,
        "method": _method(request.method, request.records.record_id, outcome.bounds),
        "split": {name: show(share) for name, share in request.shares.items()},
        "tables": [table.description() for table in outcome.tables],
        "domain": _domain(request, domain, outcome),
        "charged": {
            "entry": reservation.id,
            "epsilon": show(reservation.charge.epsilon.value),
            "delta": show(reservation.charge.delta.value),
            "spent_before": show(reservation.before.spent.epsilon),
            "spent_after": show(reservation.after.spent.epsilon),
            "limit": show(reservation.after.limit.epsilon) if reservation.after.limit else None,
        },
        "versions": dict(reservation.charge.versions),
    }
    return facts | ({"other": dict(outcome.other)} if outcome.other is not None else {})


def _guarantee(request: Request) -> dict[str, Any]:
    unit, epsilon, delta = request.records.unit, request.epsilon, request.delta
    kind = f"({epsilon}, {delta})" if delta.value else str(epsilon)
    except_for = f", but for a probability of at most {delta}" if delta.value else ""
    return {
        "words": (
            f"{kind}-differential privacy for {unit.neighbours}: whatever one {unit.who} "
            "contributed changes the probability of any outcome by at most a factor "
            f"e^{epsilon}{except_for}."
        ),
        "epsilon": str(epsilon),
        "delta": str(delta),
        "unit": {"kind": unit.kind, "column": unit.column},
        "neighbours": unit.neighbours,
    }


def _method(method: Method, record_id: str | None, bounds: Mapping[str, Bound]) -> dict[str, Any]:
    return {
        "bounding": method.bounding,
        "bounds": {
            table: {"bound": bound.value, "scaling": show(bound.scaling)}
            for table, bound in bounds.items()
        },
        "chosen_by": method.choose,
        "largest_candidate": method.limit if method.choose else None,
        "popularity_records": method.popularity_records,
        "temper": show(method.temper) if method.temper is not None else None,
        "cap": method.cap if not method.samples and not method.by_row else None,
        "record_id": record_id,
    }


def _domain(request: Request, domain: Domain | None, outcome: Outcome) -> dict[str, Any]:
    if domain is None:
        (items,) = outcome.tables
        name, size = str(request.records.item), items.layout.size
        return {"items": {"name": name, "size": size, "discovered": True}, "contexts": []}
    if not domain.has_items:
        return {"attributes": [_axis(axis, listed=True) for axis in domain.axes]}
    # A long list of items is in the items' table, unless that is a summary or a transform.
    whole = request.form.is_dense and request.form.transform == "none"
    listed = len(domain.items) <= _LISTED or not whole
    return {
        "items": _axis(domain.items, listed=listed),
        "contexts": [_axis(axis, listed=True) for axis in domain.contexts],
    }


def _axis(axis: Axis, *, listed: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": axis.name, "kind": axis.kind, "size": len(axis)}
    if listed:
        return facts | {"values": axis.values.tolist()}
    digest = hashlib.sha256()
    for start in range(0, len(axis), _LISTED):
        lines = map(str, axis.values[start : start + _LISTED].tolist())
        digest.update(("\n".join(lines) + "\n").encode())
    return facts | {"sha256": digest.hexdigest(), "listed_in": "items.parquet"}
