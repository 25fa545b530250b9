"""What the fields of ``release.json`` must be to each other.

Much is said twice there, in other words: the noise's scale is sensitivity/ε and decides the
standard deviation and the interval; the lists decide columns and cells. So a field that was changed
does not agree with the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isclose
from typing import Any
from unicodedata import is_normalized

from crowdtally.damage.cells import PublicList, cells_of, lists_of
from crowdtally.damage.metadata import DISCOVERED, SPARSE
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.values.domain import RESERVED

_ROUNDING = 1e-9


def disagreements(metadata: Mapping[str, Any]) -> Iterator[str]:
    """What does not agree, in words; the metadata has the shape that ``metadata`` declares."""
    names = [table["name"] for table in metadata["tables"]]
    yield from _doubled("the table", names)
    yield from _lists(metadata["domain"])
    yield from _tables_there(metadata, set(names))
    yield from _cost(metadata)
    yield from _hashes(metadata)
    lists = lists_of(metadata["domain"])
    for place, table in enumerate(metadata["tables"]):
        for fault in _table(table, lists):
            yield f"tables[{place}] ({table['name']}) {fault}"


def _doubled(what: str, names: list[str]) -> Iterator[str]:
    for name, times in Counter(names).items():
        if times > 1:
            yield f"it names {what} {name!r} {times} times"


def _lists(domain: Mapping[str, Any]) -> Iterator[str]:
    facts = domain.get("attributes") or [domain["items"], *domain["contexts"]]
    yield from _doubled("the column", [one["name"] for one in facts])
    for one in facts:
        if one["name"] in RESERVED:
            yield f"the domain has a column {one['name']!r}, which is a column of every table"
        if "values" in one:
            yield from _values(one)


def _values(facts: Mapping[str, Any]) -> Iterator[str]:
    name, values = facts["name"], facts["values"]
    if len(values) != facts["size"]:
        yield f"the list of {name!r} has {len(values)} values, and its size is {facts['size']}"
    if len(set(values)) != len(values):
        yield f"the list of {name!r} holds a value twice"
    if (facts["kind"] == "text") != isinstance(values[0], str):
        yield f"the list of {name!r} is said to be of kind {facts['kind']!r}, and is not"
    elif facts["kind"] == "text" and not all(map(_is_normal, values)):
        yield f"the list of {name!r} has a value that is not in Unicode normal form C"


def _is_normal(value: str) -> bool:
    return value.isascii() or is_normalized("NFC", value)


def _tables_there(metadata: Mapping[str, Any], names: set[str]) -> Iterator[str]:
    """Each table of counts has a bound, unless items were discovered; popularity has none."""
    domain, method = metadata["domain"], metadata["method"]
    found = "attributes" not in domain and "discovered" in domain["items"]
    if "attributes" in domain:
        wanted = {"cells"}
    elif "pairs" in names:
        wanted = {"items", "pairs"}
    else:
        wanted = {"items", "edges"} if domain["contexts"] else {"items"}
    bounds = set(method["bounds"])
    if bounds != (set() if found else wanted):
        yield f"method.bounds is about {_named(bounds)}, and the tables are {_named(names)}"
    if method["popularity_records"] is not None:
        wanted = wanted | {"popularity"}
    if names != wanted:
        yield f"its tables are {_named(names)}, and those of this domain are {_named(wanted)}"
    if found != ("other" in metadata):
        yield "it has 'other' without discovered items, or they without it"


def _named(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _cost(metadata: Mapping[str, Any]) -> Iterator[str]:
    charged, guarantee = metadata["charged"], metadata["guarantee"]
    for name in ("epsilon", "delta"):
        if Fraction(charged[name]) != Fraction(guarantee[name]):
            yield f"charged.{name} is {charged[name]}, and guarantee.{name} is {guarantee[name]}"
    if sum(map(Fraction, metadata["split"].values())) != 1:
        yield "the shares of split do not add up to 1"
    before, after = Fraction(charged["spent_before"]), Fraction(charged["spent_after"])
    if after - before != Fraction(charged["epsilon"]):
        yield "charged.spent_after is not charged.spent_before and charged.epsilon together"
    if sum(Fraction(one["epsilon"]) for one in metadata["tables"]) > Fraction(charged["epsilon"]):
        yield "the tables cost more epsilon than was charged"


def _hashes(metadata: Mapping[str, Any]) -> Iterator[str]:
    """All of them are there, or none: an older release has none."""
    has = ["sha256" in metadata]
    has += [name in table for table in metadata["tables"] for name in ("rows", "sha256")]
    if any(has) and not all(has):
        yield "some of its 'rows' and 'sha256' are missing"


def _table(table: Mapping[str, Any], lists: Mapping[str, PublicList]) -> Iterator[str]:
    if table["file"] != f"{table['name']}.parquet":
        yield f"names its file {table['file']!r}: it must be '{table['name']}.parquet'"
    if (table["publishing"] == DISCOVERED) != any(one.kind is None for one in lists.values()):
        yield "is published as discovered items are, or its domain says so, but not both"
        return
    yield from _transform(table, lists)
    cells = cells_of(table, lists)
    if table["columns"] != list(cells.columns):
        yield f"must have the columns {', '.join(cells.columns)}"
    if table["cells"] != cells.size:
        yield f"has {table['cells']} cells, and the lists make {cells.size}"
    if table["publishing"] in SPARSE:
        yield from _summary(table)
    rows = table.get("published_cells", table["cells"])
    if table.get("rows", rows) != rows:
        yield f"has {table['rows']} rows for {rows} published cells"
    yield from _noise(table)


def _transform(table: Mapping[str, Any], lists: Mapping[str, PublicList]) -> Iterator[str]:
    transform = table.get("transform", {"kind": "none", "ordered": []})
    ordered = transform["ordered"]
    if len(set(ordered)) != len(ordered) or not set(ordered) <= set(lists):
        yield "has a transform of columns that are not its own"
    if transform["kind"] == "haar" and len(ordered) != 1:
        yield "has a Haar transform of several columns"
    if transform["kind"] != "none" and table["name"] in ("pairs", "popularity"):
        yield "has a transform, which such a table cannot have"


def _summary(table: Mapping[str, Any]) -> Iterator[str]:
    published, wanted = table["published_cells"], table["size"]
    if table["domain_cells"] != table["cells"]:
        yield f"has {table['cells']} cells and {table['domain_cells']} domain_cells"
    if published > table["cells"]:
        yield f"has {published} published cells of {table['cells']}"
    sampled = "priority" in table["publishing"]
    if sampled != (wanted is not None):
        yield "has a size without being a priority sample, or is one without a size"
    elif sampled and (published > wanted or (published < wanted and not table["short"])):
        yield f"has {published} published cells for a size of {wanted}"
    if table["cut"] and "filter" not in table["publishing"]:
        yield f"has a cut of {table['cut']} without being filtered"
    if table["publishing"] == "threshold" and table["estimating_threshold"] is None:
        yield "is a threshold sample without a threshold"


def _noise(table: Mapping[str, Any]) -> Iterator[str]:
    noise = table["noise"]
    scale, unit, level = (Fraction(noise[name]) for name in ("scale", "unit", "interval_level"))
    if scale != Fraction(table["sensitivity"]) / Fraction(table["epsilon"]):
        yield "has a noise scale that is not its sensitivity divided by its epsilon"
        return
    std = DiscreteLaplace(scale, unit).std()
    if not isclose(noise["std"], std, rel_tol=_ROUNDING, abs_tol=1e-300):
        yield f"has noise of standard deviation {noise['std']}, and its scale makes {std}"
    width = DiscreteLaplace(scale).half_width(level) * unit
    if abs(Fraction(noise["interval_half_width"]) - width) > width / 10**9:
        yield "has a noise interval that does not follow from its scale and level"
