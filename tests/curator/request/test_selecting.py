"""``--top K``: what it is told about contexts is checked as ``auto`` checks it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.request.request import Request, make_request
from crowdtally.errors import UsageError

ROWS = pa.table({"user": [1, 2], "item": [0, 1], "day": ["a", "b"], "sex": ["f", "m"]})
LISTS = {"day": ["a", "b"], "sex": ["f", "m"]}


def top(*contexts: str, **options: Any) -> Request:
    records = ct.read(ROWS, user="user", item="item", contexts=contexts)
    domain = ct.Domain(range(5), {name: LISTS[name] for name in contexts})
    return make_request(records, domain, epsilon=1, top=2, **options)


@pytest.mark.parametrize(
    ("contexts", "named", "words"),
    [
        (["day"], "dya", "which is no context"),
        (["day"], "", "which is no context"),
        ([], "day", "there are no contexts"),
        (["day", "sex"], "sex", "'day' is not in --context-per-user"),
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
        make_request(records, ct.Domain(range(5)), epsilon=1, repeats="no")
