"""A password never shows: not in a name, a message, a prompt's answer or a notebook's."""

from __future__ import annotations

import pytest

import crowdtally as ct
from crowdtally.core.records import without_secrets
from crowdtally.ledger.database.location import place
from crowdtally.records.locate import locate

HELD = [
    "plain", "sl/ash", "a@t", "ha#sh", "quest?ion", "per%2Fcent", "co:lon", "sl/ash@t", "12/34",
    "a?b=c&d", "12?34", "12#34", "[open", "close]", "12/3@4#5?6", "a//b", "a@b/c",
]  # fmt: skip
"""Passwords as people have them; most should have been escaped."""
TAILS = ["", "#visits", "#raw.visits", "?sslmode=require#visits"]


def _url(held: str, tail: str) -> str:
    return f"postgresql://ana:Xyzzy{held}Plugh@db.example:5432/town{tail}"


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("tail", TAILS)
def test_no_part_of_a_password_is_shown(held: str, tail: str) -> None:
    url = _url(held, tail)
    records = ct.read(url, user="user", item="place", joins=[(url, "place")], same_person=url)
    shown = [without_secrets(url), repr(records), records._repr_html_()]
    try:
        shown.append(str(locate(url).label))
    except ct.CrowdtallyError as error:
        shown.append(str(error))
    for text in shown:
        assert "xyzzy" not in text.casefold()
        assert "plugh" not in text.casefold()


@pytest.mark.parametrize("held", HELD)
def test_no_part_of_a_ledgers_password_is_shown(held: str) -> None:
    try:
        text = str(place(_url(held, "")))
    except ct.UsageError as error:
        text = str(error)
    assert "Xyzzy" not in text
    assert "Plugh" not in text


@pytest.mark.parametrize("held", ["sl/ash", "ha#sh", "quest?ion", "12/34", "12#34", "[open"])
def test_what_would_be_read_as_another_address_is_refused(held: str) -> None:
    with pytest.raises(ct.UsageError, match="special characters of a password written as %XX"):
        locate(_url(held, "#visits"))


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://ana:p%2Fw@h/town#t", "postgresql://h/town#t"),
        ("postgresql+psycopg://ana:p@h/town#t", "postgresql://h/town#t"),
        ("postgresql://ana:p@h1:1,h2:2/town#t", "postgresql://h1:1,h2:2/town#t"),
        ("postgresql://[::1]:6000/town#t", "postgresql://[::1]:6000/town#t"),
        ("postgresql:///town?host=@sock&user=a@b#t", "postgresql:///town?host=@sock#t"),
        ("postgresql:///town?password=p@w#t", "postgresql:///town#t"),
    ],
)
def test_addresses_that_can_be_read_keep_their_names(url: str, name: str) -> None:
    assert locate(url).label == name


def test_a_password_among_the_parameters_is_not_shown_whatever_it_holds() -> None:
    assert without_secrets("postgresql://h/db?password=a#b@c#t") == "postgresql://h/db?password=…#t"


def test_an_at_sign_in_a_path_is_no_password() -> None:
    assert without_secrets("hdfs://node:8020/a@b.parquet") == "hdfs://node:8020/a@b.parquet"
    assert without_secrets("s3a://bucket/a@b.parquet") == "s3a://bucket/a@b.parquet"
