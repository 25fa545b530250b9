"""What a release was asked for, as the ledger keeps it: every public parameter, nothing else.

It is what ``ledger show`` tells of a charge, and what the same request is known by when it is made
again. So it is exact (no float), it holds nothing that was read off the records, and nothing that
differs between two runs of one request, such as a sketch's seed. Parameters are called as their
options are typed, ``max_records`` for ``--max-records``. What was not given is left out, so that an
option that a later version adds does not make an old request another one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crowdtally.core.domain import Axis, Domain, OpenDomain, columns_of
from crowdtally.curator.bounding.auto import Auto
from crowdtally.curator.bounding.distinct import Everyone
from crowdtally.curator.bounding.row import Stated
from crowdtally.curator.request.method import Method
from crowdtally.curator.request.paying import Paid
from crowdtally.curator.request.request import Request
from crowdtally.ledger import Asked

_AT_ONCE = 10_000
_NOT_ASKED = ("seed", "kind")
"""Of the facts of a transform: what each run draws anew, and what stands elsewhere."""


def asked_of(
    request: Request,
    *,
    source: str | None,
    output: Path | None,
    purpose: str | None = None,
    request_id: str | None = None,
) -> Asked:
    """What the ledger keeps of a request.

    Args:
        request: every public parameter.
        source: the records' label.
        output: the folder to make; None for one that goes with the program.
        purpose: what for, in the curator's words.
        request_id: the key of a request that may be made again.
    """
    folder = None if output is None else str(output.parent.resolve() / output.name)
    return Asked(source, folder, parameters(request), purpose, request_id)


def parameters(request: Request) -> dict[str, Any]:
    """The public parameters, by the options that say them; exact numbers, to be kept as such."""
    return _given(
        _records(request)
        | _method(request.method)
        | _form(request)
        | _lists(request.lists)
        | _discovered(request)
        | _noise(request.paid)
        | {
            "top": None if request.selection is None else request.selection.items,
            "split": dict(request.shares),
            "guess_total": request.guess_total or None,
            "most_dropped": request.most_dropped,
        }
    )


def _noise(paid: Paid) -> dict[str, Any]:
    """The noise, and what ρ was bought with, which a charge of ρ does not say.

    Nothing for noise of pure ε: the method says it.
    """
    if paid.noise not in ("gaussian", "auto"):
        return {}
    return {"noise": paid.noise, "epsilon": paid.epsilon.value, "delta": paid.delta.value}


def _given(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was not asked for: null, false or empty; a cut of 0 was."""
    return {
        name: value for name, value in facts.items() if value or (value == 0 and value is not False)
    }


def _records(request: Request) -> dict[str, Any]:
    """Which columns, rows and other tables."""
    records, person = request.records, request.records.same_person
    expression = records.item_expression
    joined = [
        {
            "source": found.table.label,
            "key": found.declared.key,
            "partner_key": found.declared.partner_key,
        }
        for found in request.sources.joins
    ]
    same = request.sources.same_person
    return {
        "user": list(records.user_columns),
        "user_per_row": records.user is None and records.bounded_to is None,
        "bounded_to": records.bounded_to,
        "cells_once": records.cells_once,
        "weight": records.weight,
        "item": records.item if expression is None else f"{records.item}={expression}",
        "attributes": list(records.attributes),
        # A column is its own expression.
        "context": {name: how or name for name, how in records.contexts.items()},
        "where": records.where,
        "timezone": records.timezone,
        "type": dict(records.types),
        "record_id": records.record_id,
        "join": joined,
        "same_person": person and {"source": same and same.label, "person": person.person},
        "quantity": records.quantity and records.quantity.column,
        "max_quantity": records.quantity and records.quantity.most,
    }


def _method(method: Method) -> dict[str, Any]:
    """How users are bounded, and what is counted."""
    rule = method.rule
    if isinstance(rule, Auto):
        return _auto(method.what, rule)
    return {
        "count": method.what,
        "bounding": rule.name,
        "max_records": None if isinstance(rule, Everyone | Stated) else rule.limit,
        "choose": method.choose,
        "popularity_records": method.popularity_records,
        "scalings": list(method.scalings) if "scalings" in rule.takes else [],
        "pairs": method.pairs,
    } | rule.facts()


def _discovered(request: Request) -> dict[str, Any]:
    """Columns without a list; items alone as --discover-items says it, which was there first."""
    found = request.method.discover
    if found and found == columns_of(request.records) == (request.records.item,):
        return {"discover_items": True}
    return {"discover": list(found)}


def _auto(count: str, rule: Auto) -> dict[str, Any]:
    """What ``auto`` is told; it has no bound of its own to tell."""
    features = rule.features
    return {
        "count": count,
        "bounding": rule.name,
        "for": rule.aim,
        "repeats": "yes" if rule.repeats else "no",
        "context_per_user": list(rule.per_user),
        "features": features and {"size": len(features.names), "sha256": features.sha256},
    }


def _form(request: Request) -> dict[str, Any]:
    """What is published of the counts; nothing to say where cells are discovered."""
    if not request.tables or request.discovery is not None:
        return {}
    # A table that lacks an ordered column stays as it is, so that not every table shows the form.
    table = max(request.tables, key=lambda one: one.transform.name != "none")
    facts = table.transform.facts()
    transform = {name: value for name, value in facts.items() if name not in _NOT_ASKED}
    if "rows" in transform:
        transform["sketch_rows"] = transform.pop("rows")
    publishing = table.publishing
    options = {name: getattr(publishing, name, None) for name in sorted(publishing.takes)}
    return {"transform": table.transform.name, "publishing": publishing.name} | transform | options


def _lists(lists: Domain | OpenDomain) -> dict[str, Any]:
    """The public lists, by their hashes."""
    axes = lists.axes if isinstance(lists, Domain) else lists.listed
    told = {axis.name: _list(axis) for axis in axes}
    first = axes[0].name if isinstance(lists, Domain) else lists.columns[0]
    items = told.pop(first, None) if lists.has_items else None
    return {"items": items, "values": told}


def _list(axis: Axis) -> dict[str, Any]:
    """A list by the SHA-256 of its values as JSON, each on a line of its own."""
    digest = hashlib.sha256()
    for start in range(0, len(axis), _AT_ONCE):
        values = axis.values[start : start + _AT_ONCE].tolist()
        digest.update((json.dumps(values, separators=("\n", ":"))[1:-1] + "\n").encode())
    return {"size": len(axis), "sha256": digest.hexdigest()}
