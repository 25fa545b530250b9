"""Request + Released to manifest; ledger parameters."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from crowdtally.core.domain import Axis, Domain, OpenDomain, columns_of
from crowdtally.core.numbers import show
from crowdtally.core.records import Records
from crowdtally.core.values import public
from crowdtally.curator.bounding.rules import Everyone, Rule, Stated
from crowdtally.curator.bounding.scaling import Auto, DPSenseS
from crowdtally.curator.converse import Released
from crowdtally.curator.dataset import Dataset
from crowdtally.curator.request.method import Method
from crowdtally.curator.request.request import Request
from crowdtally.curator.request.table_specs import Paid
from crowdtally.errors import CrowdtallyError
from crowdtally.format import SCHEMA
from crowdtally.format.manifest import promise
from crowdtally.ledger import Asked, Loss, Reservation

_LISTED = 10_000
_ORDER = (
    "schema", "id", "created", "guarantee", "records", "counted", "method", "split", "tables",
    "domain", "charged", "versions", "other",
)  # fmt: skip
"""How a reader of the file meets them."""
_PACKAGES = ("crowdtally", "duckdb", "ibis-framework", "numpy", "python-flint", "cryptography")


@cache
def versions() -> dict[str, str]:
    """Versions of the programs that make a release."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def declared(request: Request, began: datetime) -> dict[str, Any]:
    """What ``release.json`` says of the request alone, written down before anything is charged.

    Made here because it can fail, on a number too long to be written for instance: after the draw a
    failure would cost the charge.

    ``began`` is a moment before the records were read: how long they took says how many they are.
    """
    facts: dict[str, Any] = {
        "schema": SCHEMA,
        "created": began.isoformat(timespec="seconds"),
        "guarantee": _guarantee(request),
        "records": _records(request.records),
        "counted": _counted(request.method),
        "method": _method(request.method, request.records.record_id),
        "split": {name: show(share) for name, share in request.shares.items()},
        "versions": versions(),  # not the charge's: a charge taken up may be of an earlier version
    }
    return facts | {"guarantee": {"words": promise(facts), **facts["guarantee"]}}


def describe(
    said: Mapping[str, Any],
    request: Request,
    dataset: Dataset,
    reservation: Reservation,
    released: Released,
) -> dict[str, Any]:
    """The contents of ``release.json``: public parameters, never anything read off the records.

    ``said`` is what was ``declared``. The ledger's sums are short by its own rule.
    """
    release, went = reservation.charge.release_id, released.facts.as_dict()
    if released.paid_by != release:
        raise CrowdtallyError(
            "the tables of a release were drawn, and not for its charge. This is a bug in "
            "Crowdtally. Nothing was released."
        )
    facts = {
        **said,
        "id": release,
        "method": said["method"] | {"bounds": went.get("bounds", {})},
        "tables": [table.description() for table in released.tables],
        "domain": _domain(request, released),
        "charged": _charged(request, dataset, reservation),
    }
    facts |= {"other": went["other"]} if "other" in went else {}
    return {name: facts[name] for name in _ORDER if name in facts} | _auto(
        request.method.rule, went.get("auto", {})
    )


def _charged(request: Request, dataset: Dataset, reservation: Reservation) -> dict[str, Any]:
    """What the ledger was told; where it counts by zCDP, each of the sums that it keeps."""
    before, after, rho = reservation.before, reservation.after, reservation.charge.rho
    limit = after.limit
    facts = {
        "entry": reservation.id,
        # A name that nobody gave is the source's own: a path of the curator's.
        "dataset": dataset.name if dataset.chosen else None,
        "epsilon": str(request.epsilon),
        "delta": str(request.delta),
    }
    if after.counts_by_zcdp:
        return facts | {
            "accountant": after.accountant,
            **({} if rho is None else {"rho": str(rho)}),
            "spent_before": _sums(before.spent),
            "spent_after": _sums(after.spent),
            "limit": None if limit is None else _sums(limit),
        }
    return facts | {
        "spent_before": show(before.spent.epsilon),
        "spent_after": show(after.spent.epsilon),
        "limit": None if limit is None else show(limit.epsilon),
    }


def _sums(amount: Loss) -> dict[str, str]:
    return {
        "epsilon": show(amount.epsilon), "delta": show(amount.delta), "rho": show(amount.rho),
        "pure_rho": show(amount.pure_rho),
    }  # fmt: skip


def _counted(method: Method) -> str:
    """Users where a user counts once at an item, also because that was declared."""
    once = isinstance(method.rule, Auto) and not method.rule.repeats
    return "users" if method.discover or once else method.what


def _auto(rule: Rule, course: Mapping[str, Any]) -> dict[str, Any]:
    """How ``auto`` spent ε, step by step; nothing where a method was named."""
    if not isinstance(rule, Auto):
        return {}
    told = {"for": rule.aim, "repeats": rule.repeats, "context_per_user": list(rule.per_user)}
    return {"auto": {**told, **course}}


def _guarantee(request: Request) -> dict[str, Any]:
    unit, rho = request.records.unit, request.paid.rho
    return {
        "epsilon": str(request.epsilon),
        "delta": str(request.delta),
        **({} if rho is None else {"rho": str(rho)}),
        "unit": {"kind": unit.kind, "column": unit.column},
        "neighbours": unit.neighbours,
    }


def _records(records: Records) -> dict[str, Any]:
    """What a record is, as declared: names of columns and expressions, never where they are."""
    facts: dict[str, Any] = {
        "user": list(records.user_columns),
        "same_person": records.same_person is not None,
        "item": records.item,
        "item_expression": records.item_expression,
        "contexts": dict(records.contexts),
        "where": records.where,
        "timezone": records.timezone,
    }
    if records.types:
        facts["types"] = dict(records.types)
    if records.bounded_to is not None:
        facts["bounded"] = {"to": records.bounded_to, "cells_once": records.cells_once}
    if records.quantity is None:
        return facts
    return facts | {"quantity": {"column": records.quantity.column, "most": records.quantity.most}}


def _method(method: Method, record_id: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "bounding": method.rule.name,
        "bounds": {},  # known when they were chosen
        "chosen_by": method.choose,
        "largest_candidate": method.rule.limit if method.choose else None,
        "popularity_records": method.popularity_records,
        "cap": None,
        "record_id": record_id,
    }
    return facts | method.rule.facts()


def _domain(request: Request, released: Released) -> dict[str, Any]:
    domain = request.lists
    if isinstance(domain, OpenDomain):
        return _open_domain(domain, released)
    if not domain.has_items:
        return {"attributes": [_axis(axis, listed=True) for axis in domain.axes]}
    # A long list of items is in the items' table, unless that is a summary or a transform.
    listed = len(domain.items) <= _LISTED or not _lists_all_items(request)
    return {
        "items": _axis(domain.items, listed=listed),
        "contexts": [_axis(axis, listed=True) for axis in domain.contexts],
    }


def _open_domain(lists: OpenDomain, released: Released) -> dict[str, Any]:
    """The columns: of those that were discovered, how many values all tables together have."""

    def told(name: str) -> dict[str, Any]:
        axis = lists.lists.get(name)
        if axis is None:
            return {"name": name, "size": len(_found(name, released)), "discovered": True}
        is_item = lists.has_items and name == lists.columns[0]
        return _axis(axis, listed=not is_item or len(axis) <= _LISTED)

    first, *others = columns = [told(name) for name in lists.columns]
    if not lists.has_items:
        return {"attributes": columns}
    return {"items": first, "contexts": others}


def _found(name: str, released: Released) -> set[Any]:
    """The values of a column in all tables that have it."""
    found = set[Any]()
    for table in released.tables:
        if name in table.layout.names:
            found.update(table.layout.columns(np.arange(table.layout.size))[name].tolist())
    return found


def _lists_all_items(request: Request) -> bool:
    """Whether the first table has a row for every item."""
    if not request.tables:
        return False
    items = request.tables[0]
    return items.layout is items.cells and not items.publishing.leaves_out


def _axis(axis: Axis, *, listed: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": axis.name, "kind": axis.kind, "size": len(axis)}
    if listed:
        return facts | {"values": axis.values.tolist()}
    digest = hashlib.sha256()
    for start in range(0, len(axis), _LISTED):
        lines = map(str, axis.values[start : start + _LISTED].tolist())
        digest.update(("\n".join(lines) + "\n").encode())
    return facts | {"sha256": digest.hexdigest(), "listed_in": "items.parquet"}


# What a release was asked for, as the ledger keeps it: every public parameter, nothing else.
#
# It is what ``ledger show`` tells of a charge, and what the same request is known by when it is
# made again. So it is exact (no float), it holds nothing that was read off the records, and
# nothing that differs between two runs of one request, such as a sketch's seed. What was not
# given is left out, so that an option that a later version adds does not make an old request
# another one.

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

    ``source`` is the records' label, ``output`` None for a folder that goes with the program.
    """
    folder = None if output is None else str(output.parent.resolve() / output.name)
    return Asked(source, folder, parameters(request), purpose, request_id)


def parameters(request: Request) -> dict[str, Any]:
    """The public parameters, by the options that say them; exact numbers, to be kept as such."""
    return _given(
        _asked_records(request)
        | _asked_method(request.method)
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


def _asked_records(request: Request) -> dict[str, Any]:
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


def _asked_method(method: Method) -> dict[str, Any]:
    rule = method.rule
    if isinstance(rule, Auto):
        return _asked_auto(method.what, rule)
    return {
        "count": method.what,
        "bounding": rule.name,
        "max_records": None if isinstance(rule, Everyone | Stated) else rule.limit,
        "choose": method.choose,
        "popularity_records": method.popularity_records,
        "scalings": list(rule.weighed) if isinstance(rule, DPSenseS) else [],
        "pairs": method.pairs,
    } | rule.facts()


def _discovered(request: Request) -> dict[str, Any]:
    """Columns without a list; where they are the items alone, that."""
    found = request.method.discover
    if found and found == columns_of(request.records) == (request.records.item,):
        return {"discover_items": True}
    return {"discover": list(found)}


def _asked_auto(count: str, rule: Auto) -> dict[str, Any]:
    """What ``auto`` is told; it has no bound of its own to tell."""
    return {
        "count": count,
        "bounding": rule.name,
        "for": rule.aim,
        "repeats": "yes" if rule.repeats else "no",
        "context_per_user": list(rule.per_user),
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
    options = {
        name: getattr(publishing, name, None) for name in sorted(public(type(publishing)))
        if name != "guess_total"
    }  # fmt: skip
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
