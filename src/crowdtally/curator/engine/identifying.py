"""Whose record it is, which of theirs, and how often it counts: SQL for each."""

from __future__ import annotations

from collections.abc import Mapping

from crowdtally.curator.engine import columns
from crowdtally.curator.engine.canonical import SourceColumn
from crowdtally.values.records import Records


def identities(records: Records, schema: Mapping[str, SourceColumn]) -> dict[str, str]:
    """The user, the stored record id and the weight, under names of our own."""
    selected = {}
    if records.user is not None:
        (user,) = records.user_columns
        selected["user"] = columns.identity(user, schema[user], "the user")
    if records.record_id is not None:
        stored = schema[records.record_id]
        selected["id"] = columns.identity(records.record_id, stored, "the record id")
    if records.weight is not None:
        selected["weight"] = columns.whole_number(records.weight, schema[records.weight])
    return selected
