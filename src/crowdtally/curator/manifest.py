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
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace

from crowdtally.core.domain import Axis, Domain, OpenDomain, columns_of
from crowdtally.core.numbers import show
from crowdtally.core.records import Records
from crowdtally.core.values import public
from crowdtally.curator.bounding.rules import Everyone, Stated
from crowdtally.curator.bounding.scaling import Auto, DPSenseS
from crowdtally.curator.converse import Released
from crowdtally.curator.dataset import Dataset
from crowdtally.curator.request.method import Method
from crowdtally.curator.request.request import Request
from crowdtally.curator.request.table_specs import Paid
from crowdtally.errors import CrowdtallyError, InputError
from crowdtally.format import SCHEMA, manifest
from crowdtally.format.contents import list_hash
from crowdtally.format.entries import PublicDomain, PublicList, TableFacts
from crowdtally.format.parse import ZEROS, plain, shaped
from crowdtally.ledger import Asked, Loss, Reservation

T = TypeVar("T")

_LISTED = 10_000
_PACKAGES = ("crowdtally", "duckdb", "ibis-framework", "numpy", "python-flint", "cryptography")


@cache
def versions() -> dict[str, str]:
    """Versions of the programs that make a release."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def declared(request: Request, began: datetime) -> dict[str, Any]:
    """What a manifest says of the request alone, made before anything is charged.

    It can fail, on a number too long to be written for instance: after the draw a failure would
    cost the charge.

    ``began`` is a moment before the records were read: how long they took says how many they are.
    """
    unit, records = request.records.unit, _records(request.records)
    protects = _shaped({"kind": unit.kind, "column": unit.column}, manifest.Unit)
    guarantee = manifest.Guarantee(
        words="", epsilon=request.epsilon.value, delta=request.delta.value,
        rho=None if request.paid.rho is None else request.paid.rho.value,
        protects=protects, relation=unit.neighbours,
    )  # fmt: skip
    method = _method(request.method, request.records.record_id)
    facts = {
        "schema": SCHEMA,
        "created": began.isoformat(timespec="seconds"),
        "guarantee": replace(
            guarantee, words=manifest.promise(guarantee, records, method.bounding)
        ),
        "records": records,
        "counted": _counted(request.method),
        "method": method,
        "split": dict(request.shares),
        "versions": versions(),  # not the charge's: a charge taken up may be of an earlier version
    }
    plain(facts)
    return facts


def describe(
    said: Mapping[str, Any],
    request: Request,
    dataset: Dataset,
    reservation: Reservation,
    released: Released,
) -> manifest.Manifest:
    """All of ``release.json``: public parameters, never anything read off the records.

    ``said`` is what was ``declared``. The ledger's sums are short by its own rule. Zeros stand for
    what only the written files tell.
    """
    release, went = reservation.charge.release_id, released.facts.as_dict()
    if released.paid_by != release:
        raise CrowdtallyError(
            "the tables of a release were drawn, and not for its charge. This is a bug in "
            "Crowdtally. Nothing was released."
        )
    rule, unwritten = request.method.rule, {"rows": 0, "sha256": ZEROS}
    auto = other = None
    if isinstance(rule, Auto):
        told = {"for": rule.aim, "repeats": rule.repeats, "context_per_user": list(rule.per_user)}
        auto = _shaped(told | went["auto"], manifest.AutoFacts)
    if "other" in went:
        other = _shaped(went["other"], manifest.Other)
    bounds = {
        name: _shaped(facts, manifest.BoundFacts) for name, facts in went.get("bounds", {}).items()
    }
    return manifest.Manifest(
        **{**said, "method": replace(said["method"], bounds=bounds)},
        id=release,
        tables=tuple(_shaped(one.description() | unwritten, TableFacts) for one in released.tables),
        domain=_domain(request, released),
        charged=_charged(request, dataset, reservation),
        other=other, auto=auto, datapackage=manifest.Hashed(ZEROS), sha256=ZEROS,
    )  # fmt: skip


def _shaped(facts: Any, kind: type[T]) -> T:
    """What a method, a rule or a table says of itself, as a part of the manifest."""
    return shaped(facts, kind, InputError)


def _charged(request: Request, dataset: Dataset, reservation: Reservation) -> manifest.Charged:
    """What the ledger was told; where it counts by zCDP, each of the sums that it keeps."""
    before, after, rho = reservation.before, reservation.after, reservation.charge.rho
    by_zcdp, limit = after.counts_by_zcdp, after.limit
    spent = _sums if by_zcdp else _epsilon
    return manifest.Charged(
        entry=reservation.id,
        # A name that nobody gave is the source's own: a path of the curator's.
        dataset=dataset.name if dataset.chosen else None,
        epsilon=request.epsilon.value, delta=request.delta.value,
        accountant="zcdp" if by_zcdp else None,
        rho=None if rho is None or not by_zcdp else rho.value,
        before=spent(before.spent), after=spent(after.spent),
        most=None if limit is None else spent(limit),
    )  # fmt: skip


def _sums(amount: Loss) -> manifest.Sums:
    return manifest.Sums(amount.epsilon, amount.delta, amount.rho, amount.pure_rho)


def _epsilon(amount: Loss) -> str:
    return show(amount.epsilon)


def _counted(method: Method) -> str:
    """Users where a user counts once at an item, also because that was declared."""
    once = isinstance(method.rule, Auto) and not method.rule.repeats
    return "users" if method.discover or once else method.what


def _records(records: Records) -> manifest.RecordFacts:
    """What a record is, as declared: names of columns and expressions, never where they are."""
    bounded, quantity = records.bounded_to, records.quantity
    return manifest.RecordFacts(
        user=records.user_columns,
        same_person=records.same_person is not None,
        item=records.item,
        item_expression=records.item_expression,
        contexts=dict(records.contexts),
        where=records.where,
        timezone=records.timezone,
        types=dict(records.types),
        bounded=None if bounded is None else manifest.Bounded(bounded, records.cells_once),
        amount=None if quantity is None else manifest.Quantity(quantity.column, quantity.most),
    )


def _method(method: Method, record_id: str | None) -> manifest.MethodFacts:
    facts: dict[str, Any] = {
        "bounding": method.rule.name,
        "bounds": {},  # known when they were chosen
        "chosen_by": method.choose,
        "largest_candidate": method.rule.limit if method.choose else None,
        "popularity_records": method.popularity_records,
        "cap": None,
        "record_id": record_id,
    }
    return _shaped(facts | method.rule.facts(), manifest.MethodFacts)


def _domain(request: Request, released: Released) -> PublicDomain:
    """The columns: of those that were discovered, how many values all tables together have."""
    lists = request.lists
    if isinstance(lists, OpenDomain):
        names, axes, all_there = lists.columns, lists.lists, True
    else:
        axes = {axis.name: axis for axis in lists.axes}
        names, all_there = tuple(axes), _lists_all_items(request)
    # A long list of items is in the items' table, unless that is a summary or a transform.
    elsewhere = names[0] if lists.has_items and all_there else None
    columns = [
        PublicList(name=name, length=len(_found(name, released)), discovered=True)
        if name not in axes
        else _public_list(axes[name], listed=name != elsewhere or len(axes[name]) <= _LISTED)
        for name in names
    ]
    if not lists.has_items:
        return PublicDomain(attributes=tuple(columns))
    return PublicDomain(items=columns[0], context_lists=tuple(columns[1:]))


def _public_list(axis: Axis, *, listed: bool) -> PublicList:
    values = axis.values.tolist()
    if listed:
        return PublicList(name=axis.name, kind=axis.kind, length=len(axis), values=values)
    return PublicList(
        name=axis.name, kind=axis.kind, length=len(axis), sha256=list_hash(values),
        listed_in="items.parquet",
    )  # fmt: skip


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
