"""What options that were left to ``auto`` mean beside those that were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdtally.core.records import Records
from crowdtally.curator.request.options import AUTO, is_given

_BY_NAME = (
    "bounding", "max_records", "choose", "popularity_records", "cap", "norm", "scalings",
    "pairs", "discover_items", "discover", "top", "size", "cut", "threshold", "sides", "ordered",
    "buckets",
)  # fmt: skip
"""Options of which each one names a method, or belongs to one that is named."""
_PLAIN = {"transform": "none", "publishing": "dense"}
"""What ``auto`` means where a method is named; and what ``auto`` itself does, cells permitting."""
_USUAL = {"bounding": "sra", "max_records": 10, **_PLAIN}


def is_auto(given: Mapping[str, Any], records: Records) -> bool:
    """Whether no method was named, so that ``auto`` decides."""
    if records.user is None or given["noise"] == "interval":
        return False
    named = any(is_given(given, name) for name in _BY_NAME)
    return not named and all(given[name] in (AUTO, plain) for name, plain in _PLAIN.items())


def resolved(given: Mapping[str, Any], records: Records) -> dict[str, Any]:
    """All options, none of them left open but the bounding where ``auto`` decides.

    Where a method is named, what was not given is as the papers have it: a sample of at most 10
    records of each user, every cell, no transform.
    """
    usual = _PLAIN if is_auto(given, records) else _USUAL
    open_ones = {name: value for name, value in usual.items() if given[name] in (AUTO, None)}
    return dict(given) | open_ones
