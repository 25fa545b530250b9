"""Requests of top items and of cells that are discovered."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.core.records import Records
from crowdtally.curator.manifest import parameters
from crowdtally.curator.request.request import Request, make_request
from crowdtally.errors import UsageError

# ---- ``--top K``: what it is told about contexts is checked as ``auto`` checks it ----------------


ROWS = pa.table({"user": [1, 2], "item": [0, 1], "day": ["a", "b"], "sex": ["f", "m"]})
LISTS = {"day": ["a", "b"], "sex": ["f", "m"]}


def top(*contexts: str, context_per_user: str | tuple[str, ...] = (), **options: Any) -> Request:
    records = ct.read(ROWS, user="user", item="item", contexts=contexts)
    domain = ct.Domain(range(5), {name: LISTS[name] for name in contexts})
    method = ct.Top(2, context_per_user=context_per_user)
    return make_request(records, domain, epsilon=1, method=method, **options)


@pytest.mark.parametrize(
    ("contexts", "named", "words"),
    [
        (["day"], "dya", "which is no context"),
        (["day"], "dayname", "which is no context"),
        ([], "day", "there are no contexts"),
        (["day", "sex"], "sex", "'day' is not in context-per-user"),
    ],
)
def test_what_is_no_property_of_the_user_is_refused(
    contexts: list[str], named: str, words: str
) -> None:
    """Else a user's records of other contexts left the counts without a word."""
    with pytest.raises(UsageError, match=words):
        top(*contexts, context_per_user=named)


def test_what_is_counted_is_what_is_recorded() -> None:
    for contexts, named in ((["day"], []), (["day"], "day"), (["day", "sex"], ["day", "sex"])):
        made = top(*contexts, context_per_user=named)
        assert made.selection is not None
        assert made.selection.per_user == ("context_per_user" in made.method.rule.facts())


def test_a_quantity_does_not_go_with_counting_once() -> None:
    rows = ROWS.append_column("n", pa.array([1, 2]))
    records = ct.read(rows, user="user", item="item", quantity="n", max_quantity=3)
    make_request(records, ct.Domain(range(5)), epsilon=1)
    with pytest.raises(UsageError, match="whatever the quantity"):
        make_request(records, ct.Domain(range(5)), epsilon=1, method=ct.Auto(repeats=False))


# ---- Which columns are discovered: what is understood, what is refused, and what the ledger
#      keeps


ITEMS = Records("visits.csv", "user", "place")
BOTH = Records("visits.csv", "user", "place", {"hour": None})
TABLE = Records("visits.csv", "user", None, attributes=("age", "sex", "town"))
BY_ROW = Records("visits.csv", None, "place")
HOURS = ct.Domain(contexts={"hour": range(24)})
PLACES = ct.Domain(["a", "b"])


def asked(records: Records, domain: ct.Domain | None = None, **options: Any) -> Request:
    usual = {"epsilon": 1, "delta": "1e-6", "method": ct.SRA(5)}
    return make_request(records, domain, **(usual | options))


@pytest.mark.parametrize(
    ("records", "domain", "options", "found", "tables"),
    [
        (ITEMS, None, {"method": ct.Discover("item", 5)}, ("place",), ["items"]),
        (ITEMS, None, {"method": ct.Discover(["place"], 5)}, ("place",), ["items"]),
        (BOTH, None, {"method": ct.Discover(["hour", "place"])}, ("place", "hour"), ["items",
         "edges"]),
        (BOTH, None, {"method": ct.Discover(["hour", "item"])}, ("place", "hour"),
         ["items", "edges"]),
        (BOTH, HOURS, {"method": ct.Discover("place")}, ("place",), ["items", "edges"]),
        (BOTH, PLACES, {"method": ct.Discover("hour")}, ("hour",), ["edges"]),
        (TABLE, None, {"method": ct.Discover(("town", "age", "sex"))}, ("age", "sex",
         "town"), ["cells"]),
        (TABLE, ct.Domain(attributes={"sex": ["F", "M"]}), {"method": ct.Discover(["age", "town"])},
         ("age", "town"), ["cells"]),
    ],
)  # fmt: skip
def test_columns_are_named(
    records: Records, domain: Any, options: Any, found: Any, tables: list[str]
) -> None:
    request = asked(records, domain, **options)
    assert request.method.discover == found
    assert request.discovery is not None
    assert request.discovery.domain.discovered == found
    assert [table.name for table in request.discovery.tables] == tables
    plain = [] if tables != ["edges"] else ["items"]
    assert [table.name for table in request.tables] == plain
    assert set(request.shares) == {"total", *plain, *tables}


def test_a_context_called_item_is_itself() -> None:
    records = Records("visits.csv", "user", "place", {"item": None})
    assert asked(records, PLACES, method=ct.Discover("item")).method.discover == ("item",)


def test_a_table_of_listed_values_is_paid_for_l_distinct_cells() -> None:
    for noise, price in (("laplace", Epsilon), ("gaussian", Rho)):
        (table,) = asked(BOTH, PLACES, method=ct.Discover("hour", 5), noise=noise).tables
        assert (table.l1_bound, table.l2_squared) == (5, 5)
        assert isinstance(table.price, price)


@pytest.mark.parametrize(
    ("records", "domain", "options", "words"),
    [
        (BOTH, None, {"method": ct.Discover("itm")},
         "--discover names 'itm'.*There are: place, hour"),
        (BOTH, None, {"method": ct.Discover("item")},
         "'hour' is not discovered.*--values hour=a,b,c"),
        (BOTH, HOURS, {"method": ct.Discover("hour")}, "'place' is not discovered.*--items FILE"),
        (BOTH, HOURS, {"method": ct.Discover(["item", "hour"])},
         "'hour' is discovered, and it has a public list"),
        (BOTH, PLACES, {"method": ct.Discover(["item", "hour"])},
         "'place' is discovered, and it has a public"),
        (BOTH, ct.Domain(contexts={"day": [1]}), {"method": ct.Discover(["item", "hour"])},
         "values for 'day'"),
        (BOTH, HOURS, {}, "items without a public list are named by --discover"),
        (TABLE, None, {"method": ct.Discover("item")},
         "neither the item nor a context nor an attr"),
        (TABLE, None, {"method": ct.Discover("age")}, "'sex' is not discovered"),
        (ITEMS, None, {"method": ct.Discover("item"), "delta": 0}, "discovery needs --delta"),
        (ITEMS, None, {"method": ct.Discover("item"), "delta": "0.11"}, "above 1/10"),
        (ITEMS, None, {"method": ct.Discover("item"), "delta": "1"}, "below 1"),
        (ITEMS, None, {"method": ct.Discover("item"), "pairs": True}, "finds cells, and no pairs"),
        (ITEMS, None, {"method": ct.Discover("item"), "transform": ct.Sketch(9)}, "as they are"),
        (ITEMS, None, {"method": ct.Discover("item"), "summary": ct.Filter(cut=2)}, "as they are"),
        (BY_ROW, None, {"method": ct.Discover("item")}, "each row is one person"),
        (ITEMS, None, {"method": ct.Discover("item"), "noise": "interval", "count": "users",
         "delta": 0}, "--noise interval"),
    ],
)  # fmt: skip
def test_what_is_refused(records: Records, domain: Any, options: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        asked(records, domain, **options)


def test_columns_that_a_file_cannot_tell_apart() -> None:
    records = Records("visits.csv", "user", "place", {"Count": None})
    with pytest.raises(UsageError, match="two columns of the release"):
        asked(records, None, method=ct.Discover(["item", "Count"]))


def test_an_old_request_is_still_the_same_request() -> None:
    """Items alone are kept as they always were, however they are named now."""
    old, new = (
        parameters(asked(ITEMS, noise="laplace", **named))
        for named in ({"method": ct.Discover("item")}, {"method": ct.Discover("place")})
    )
    assert old == new
    assert old["discover_items"] is True
    assert "discover" not in old
    told = parameters(asked(BOTH, HOURS, method=ct.Discover("item"), noise="laplace"))
    assert told["discover"] == ["place"]
    assert list(told["values"]) == ["hour"]
    assert "items" not in told
    assert "discover_items" not in told
    listed = parameters(asked(BOTH, PLACES, method=ct.Discover("hour"), noise="laplace"))
    assert listed["items"]["size"] == 2
    assert "transform" not in listed


def test_a_request_at_another_epsilon_is_the_request_made_anew() -> None:
    for noise in ("laplace", "gaussian"):
        options = {"method": ct.Discover("hour"), "noise": noise}
        there = asked(BOTH, PLACES, epsilon="0.5", **options)
        here = asked(BOTH, PLACES, epsilon=2, **options).at(Epsilon.of("0.5"))
        assert here.discovery is not None
        assert there.discovery is not None
        assert here.discovery.tables == there.discovery.tables
        assert here.discovery.other == there.discovery.other
        assert [table.price for table in here.tables] == [table.price for table in there.tables]
