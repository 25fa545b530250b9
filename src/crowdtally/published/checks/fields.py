"""The shape of ``release.json``: one entry for each field of docs/release-format.md."""

from __future__ import annotations

import re
import sys
from typing import Any

from crowdtally.core.layout import KINDS
from crowdtally.core.numbers import is_whole
from crowdtally.laws.interval import MOST_CELLS, MOST_PHANTOMS
from crowdtally.published.checks.shape import (
    Each,
    Fields,
    Having,
    Leaf,
    Named,
    OrNull,
    Shape,
    Tagged,
    choice,
    is_measure,
    is_text,
    maybe,
    rational,
    whole_leaf,
)
from crowdtally.published.table import CHOSEN, DENSE, DISCOVERED, SPARSE

_TEXT = Leaf("a text", is_text)
_NAME = Leaf("a name", lambda value: is_text(value) and value != "")
_FLAG = Leaf("true or false", lambda value: isinstance(value, bool))
_MEASURE = Leaf("a number of at least 0", is_measure)
_FLOAT = Leaf(_MEASURE.words, lambda value: is_measure(value) and value <= sys.float_info.max)
_POSITIVE = rational("an exact number above 0, as text", lambda value: value > 0)
_NOT_NEGATIVE = rational("an exact number of at least 0, as text", lambda value: value >= 0)
_SHARE = rational("an exact number from 0 to 1, as text", lambda value: 0 <= value <= 1)
_LEVEL = rational("an exact number between 0 and 1, as text", lambda value: 0 < value < 1)
HASH = Leaf(
    "64 hexadecimal digits",
    lambda value: isinstance(value, str) and bool(re.fullmatch("[0-9a-f]{64}", value)),
)
"""A SHA-256."""


def _is_list(value: Any) -> bool:
    """Whether it is a list of texts, or of 64-bit integers; it may have millions of values."""
    if not isinstance(value, list) or not value:
        return False
    kinds = set(map(type, value))
    if kinds == {str}:
        return is_text("".join(value))
    return kinds == {int} and min(value) >= -(2**63) and max(value) < 2**63


_VALUES = Leaf("a list of texts, or of 64-bit whole numbers", _is_list)
_KIND = choice("text", "integer")
_LISTED = Fields({"name": _NAME, "kind": _KIND, "size": whole_leaf(1), "values": _VALUES})
_ELSEWHERE = Fields(
    {
        "name": _NAME,
        "kind": _KIND,
        "size": whole_leaf(1),
        "sha256": HASH,
        "listed_in": choice("items.parquet"),
    }
)
_FOUND = Fields(
    {
        "name": _NAME,
        "size": whole_leaf(0),
        "discovered": Leaf("true", lambda value: value is True),
    }
)
_ITEMS = Having("discovered", _FOUND, Having("values", _LISTED, _ELSEWHERE))
_COLUMN = Having("discovered", _FOUND, _LISTED)
_DOMAIN = Having(
    "attributes",
    Fields({"attributes": Each(_COLUMN, 1)}),
    Fields({"items": _ITEMS, "contexts": Each(_COLUMN)}),
)

_ANY_NOISE: dict[str, Shape] = {
    "law": _TEXT,
    "unit": _POSITIVE,
    "std": _FLOAT,
    "interval_level": _LEVEL,
    "interval_half_width": _MEASURE,
}
_INTERVAL: dict[str, Shape] = {
    "rate": _POSITIVE,
    "cells": whole_leaf(1, MOST_CELLS),
    "phantoms": whole_leaf(0, MOST_PHANTOMS),
    "blocks": whole_leaf(1),
}
_NOISE = Having(
    "rate",
    Fields(_ANY_NOISE | _INTERVAL),
    Having(
        "variance",
        Fields(_ANY_NOISE | {"variance": _POSITIVE}),
        Fields(_ANY_NOISE | {"scale": _POSITIVE}),
    ),
)
_ORDERED = Each(_NAME, 1)
_TRANSFORM = Tagged(
    "kind",
    {
        "none": Fields({"ordered": Leaf("an empty list", lambda value: value == [])}),
        "dyadic": Fields({"ordered": _ORDERED}),
        "haar": Fields({"ordered": _ORDERED}),
        "sketch": Fields(
            {
                "ordered": Leaf("an empty list", lambda value: value == []),
                "buckets": whole_leaf(1, 2**31),
                "rows": whole_leaf(1, 1000),
                "seed": whole_leaf(0, 2**64),
            }
        ),
    },
)
_TABLE: dict[str, Shape] = {
    "name": choice(*KINDS),
    "file": _NAME,
    "columns": Each(_NAME, 1),
    "cells": whole_leaf(0),
    "sensitivity": whole_leaf(1),
    "noise": _NOISE,
    "rows": whole_leaf(0),
    "sha256": HASH,
}
_IN_EPSILON: dict[str, Shape] = {"epsilon": _POSITIVE}
_IN_RHO: dict[str, Shape] = {"rho": _POSITIVE, "sensitivity_squared": whole_leaf(1)}


def _paid(required: dict[str, Shape], optional: dict[str, Shape]) -> Shape:
    """A table that is paid for in ρ, or in ε."""
    return Having(
        "rho", Fields(required | _IN_RHO, optional), Fields(required | _IN_EPSILON, optional)
    )


_SUMMARY: dict[str, Shape] = {
    "transform": _TRANSFORM,
    "domain_cells": whole_leaf(1),
    "published_cells": whole_leaf(0),
    "sides": choice("one", "two"),
    "cut": whole_leaf(0, 2**62),
    "sampling_threshold": maybe(_POSITIVE),
    "estimating_threshold": maybe(_POSITIVE),
    "size": maybe(whole_leaf(1)),
    "short": _FLAG,
    "consistency": choice("none", "ancestors"),
}
_FEATURES: dict[str, Shape] = {
    "features": Each(_NAME, 1),
    "merged": Named(maybe(_NAME)),
    "profile": Each(_SHARE, 1),
    "weights": Each(_POSITIVE, 1),
    "beta": _POSITIVE,
    "parts": whole_leaf(1),
    "kinds": Each(Each(whole_leaf(0), 1), 1),
    "items": Each(whole_leaf(0), 1),
}
_TABLES = Tagged(
    "publishing",
    {
        DENSE: _paid(_TABLE, {"transform": _TRANSFORM, "groups": _TEXT, **_FEATURES}),
        CHOSEN: _paid(_TABLE, {"transform": _TRANSFORM}),
        **dict.fromkeys(SPARSE, _paid(_TABLE | _SUMMARY, {})),
        DISCOVERED: _paid(_TABLE | {"delta": _SHARE, "threshold": whole_leaf(1)}, {}),
    },
)

_METHOD = Fields(
    {
        "bounding": _NAME,
        "bounds": Named(Fields({"bound": whole_leaf(1), "scaling": _POSITIVE})),
        "chosen_by": maybe(_NAME),
        "largest_candidate": maybe(whole_leaf(1)),
        "popularity_records": maybe(whole_leaf(1)),
        "cap": maybe(whole_leaf(1)),
        "record_id": maybe(_NAME),
    },
    {"norm": choice("l2")},
)
_STEP: dict[str, Shape] = {"name": _NAME, "why": _NAME}
_AUTO = Fields(
    {
        "for": choice("counts", "top", "recommend"),
        "repeats": _FLAG,
        "context_per_user": Each(_NAME),
        "steps": Each(
            Having(
                "rho",
                Fields(_STEP | {"rho": _NOT_NEGATIVE}),
                Fields(_STEP | {"epsilon": _NOT_NEGATIVE}),
            ),
            1,
        ),
        "unspent": _NOT_NEGATIVE,
    },
    {"rho": _POSITIVE},
)
_GUARANTEE = Fields(
    {
        "words": _TEXT,
        "epsilon": _POSITIVE,
        "delta": _SHARE,
        "unit": Fields(
            {
                "kind": choice("user", "same-person", "row", "bounded-elsewhere", "person"),
                "column": maybe(_NAME),
            }
        ),
        "neighbours": _TEXT,
    },
    {"rho": _POSITIVE},
)
_RECORDS = Fields(
    {
        "user": Each(_NAME),
        "same_person": _FLAG,
        "item": maybe(_NAME),
        "item_expression": maybe(_NAME),
        "contexts": Named(maybe(_NAME)),
        "where": maybe(_NAME),
        "timezone": _NAME,
    },
    {
        "quantity": Fields({"column": _NAME, "most": whole_leaf(1, 2**31)}),
        "types": Named(_NAME),
        "bounded": Fields({"to": whole_leaf(1, 2**31), "cells_once": _FLAG}),
    },
)
_MASS: dict[str, Shape] = {"count": Leaf("a whole number", is_whole), "counts": _TEXT}
_OTHER = Having(
    "noise_variance",
    Fields(_MASS | {"noise_variance": _POSITIVE}, {"table": choice(*KINDS)}),
    Fields(_MASS | {"noise_scale": _POSITIVE}, {"table": choice(*KINDS)}),
)
_CHARGED: dict[str, Shape] = {"entry": _NAME, "epsilon": _POSITIVE, "delta": _SHARE}
_SUMS = Fields(
    dict.fromkeys(("epsilon", "delta", "rho"), _NOT_NEGATIVE), {"pure_rho": _NOT_NEGATIVE}
)
_CHARGE = Having(
    "accountant",
    Fields(
        _CHARGED
        | {
            "accountant": choice("zcdp"),
            "spent_before": _SUMS,
            "spent_after": _SUMS,
            "limit": OrNull(_SUMS),
        },
        {"dataset": maybe(_NAME), "rho": _POSITIVE},
    ),
    Fields(
        _CHARGED
        | {
            "spent_before": _NOT_NEGATIVE,
            "spent_after": _POSITIVE,
            "limit": maybe(_NOT_NEGATIVE),
        },
        {"dataset": maybe(_NAME)},
    ),
)
RELEASE = Fields(
    {
        "schema": _NAME,
        "id": _NAME,
        "created": _NAME,
        "guarantee": _GUARANTEE,
        "records": _RECORDS,
        "counted": choice("records", "users"),
        "method": _METHOD,
        "split": Named(_SHARE),
        "tables": Each(_TABLES, 1),
        "domain": _DOMAIN,
        "charged": _CHARGE,
        "versions": Named(_TEXT),
        "datapackage": Fields({"sha256": HASH}),
        "sha256": HASH,
    },
    {"other": _OTHER, "auto": _AUTO},
)
"""``release.json`` as a whole; what depends on two fields at once is in ``agreement``."""
