"""What a release says about itself, and what the ledger is told it costs."""

from __future__ import annotations

import hashlib
import platform
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from crowdtally.budget import Charge, Part, Reservation
from crowdtally.curator.request import Request
from crowdtally.published import SCHEMA, NoisyTable
from crowdtally.values.domain import Axis, Domain
from crowdtally.values.rational import show

_LISTED = 10_000
_PACKAGES = ("crowdtally", "duckdb", "ibis-framework", "numpy", "python-flint", "cryptography")


def charge_of(request: Request) -> Charge:
    """One charge for the whole release, its parts listed so that another can add them up."""
    parts = [
        Part(
            name,
            request.part(name),
            "discrete-laplace",
            {
                "l1_bound": request.rule.l1_bound,
                "scale": show(Fraction(request.rule.l1_bound) / request.part(name).value),
            },
        )
        for name in request.shares
    ]
    return Charge(secrets.token_hex(16), request.epsilon, tuple(parts), versions=versions())


def versions() -> dict[str, str]:
    """Versions of the programs that make a release."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def describe(
    request: Request, domain: Domain, reservation: Reservation, tables: Sequence[NoisyTable]
) -> dict[str, Any]:
    """The contents of ``release.json``: public parameters, never anything read off the records."""
    unit = request.records.unit
    return {
        "schema": SCHEMA,
        "id": reservation.charge.release_id,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "guarantee": {
            "words": (
                f"{request.epsilon}-differential privacy for {unit.neighbours}: whatever one user "
                "contributed changes the probability of any outcome by at most a factor "
                f"e^{request.epsilon}."
            ),
            "epsilon": show(request.epsilon.value),
            "delta": "0",
            "unit": {"kind": unit.kind, "column": unit.column},
            "neighbours": unit.neighbours,
        },
        "counted": request.what,
        "method": {
            "bounding": "sra",
            "max_records": request.rule.limit,
            "record_id": request.records.record_id,
            "transform": "none",
            "publishing": "dense",
        },
        "split": {name: show(share) for name, share in request.shares.items()},
        "tables": [table.description() for table in tables],
        "domain": {
            "items": _axis(domain.items, listed=len(domain.items) <= _LISTED),
            "contexts": [_axis(axis, listed=True) for axis in domain.contexts],
        },
        "charged": {
            "entry": reservation.id,
            "epsilon": show(reservation.charge.epsilon.value),
            "spent_before": show(reservation.before.spent.epsilon),
            "spent_after": show(reservation.after.spent.epsilon),
            "limit": show(reservation.after.limit.epsilon) if reservation.after.limit else None,
        },
        "versions": dict(reservation.charge.versions),
    }


def _axis(axis: Axis, *, listed: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": axis.name, "kind": axis.kind, "size": len(axis)}
    if listed:
        return facts | {"values": axis.values.tolist()}
    digest = hashlib.sha256()
    for value in axis.values.tolist():
        digest.update(f"{value}\n".encode())
    return facts | {"sha256": digest.hexdigest(), "listed_in": "items.parquet"}
