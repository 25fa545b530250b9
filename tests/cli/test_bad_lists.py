"""Public lists that are none, and records that do not fit them.

Every refusal goes through ``Town.refuses``; see ``test_bad_input.py``.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet
import pytest

from kit.town import Town

FAILURE, USAGE, BUDGET, INPUT = 1, 2, 3, 4


def test_text_items_against_integers(town: Town) -> None:
    town.write("names.csv", "place_id\nbar\ncafe\n")
    town.refuses(
        town.arguments(item="place_id", items="names.csv"), INPUT,
        "is text, but the records hold integer", "give the list as integer",
    )  # fmt: skip
    town.table("typed.parquet", place_id=["one", "2.0"])
    town.refuses(
        town.arguments(item="place_id", items="typed.parquet"), INPUT,
        "is text, but the records hold integer (BIGINT)",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("place\nbar\ncafe\nbar\n", ("holds 3 values", "only 2 are distinct", "remove")),
        ("place\n", ("is empty", "at least one")),
        ("", ("needs a first line",)),
        ("place,x\nbar,1\n,2\n", ("contains a null", "remove it")),
        ("place\nbar\ncafe\u0301\n", ("value 2", "normal form C", "NFC")),
        ("place,place\nbar,cafe\n", ("distinct, non-empty name",)),
        ("place\nbar,cafe\n", ("line 2", "2 fields where the header has 1")),
    ],
    ids=["repeated", "empty", "no header", "null", "not NFC", "same names", "ragged"],
)
def test_bad_list(town: Town, content: str, words: tuple[str, ...]) -> None:
    town.write("list.csv", content)
    town.refuses(town.arguments(items="list.csv"), INPUT, *words)
    values = {"context": "place_id", "values": "place_id=@list.csv:place"}
    town.refuses(town.arguments(**values), INPUT, *words)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array(["bar", "bar"]), ("only 1 are distinct",)),
        (pa.array([], pa.string()), ("is empty",)),
        (pa.array(["bar", None]), ("contains a null",)),
        (pa.array([1, None]), ("contains a null",)),
        (pa.array([1.5]), ("DOUBLE", "text or integers")),
    ],
    ids=["repeated", "empty", "null", "null integer", "float"],
)
def test_bad_list_with_types(town: Town, column: pa.Array, words: tuple[str, ...]) -> None:
    town.table("list.parquet", place=column)
    town.refuses(town.arguments(items="list.parquet"), INPUT, *words)


def test_list_in_which_column(town: Town) -> None:
    town.write("list.csv", "name,code\nbar,1\n")
    town.refuses(town.arguments(items="list.csv"), USAGE, "FILE:COLUMN", "name, code")
    town.refuses(town.arguments(items="list.csv:nme"), INPUT, "'nme'", "Did you mean 'name'?")
    town.refuses(town.arguments(items="nowhere.csv"), INPUT, "no such file", "'nowhere.csv'")
    town.refuses(town.arguments(items="."), INPUT, "is a folder")


@pytest.mark.parametrize(
    ("values", "code", "words"),
    [
        ("weekday", USAGE, ("NAME=a,b,c", "received 'weekday'")),
        ("weekday=", USAGE, ("NAME=a,b,c",)),
        ("weekday=9..1", USAGE, ("'9..1'", "empty")),
        ("weekday=0..99999999999", USAGE, ("too long",)),
        ("weekday=Mon,Tue,Mon", INPUT, ("only 2 are distinct",)),
        ("weekday=@nowhere.csv", INPUT, ("no such file",)),
    ],
)
def test_bad_values(town: Town, values: str, code: int, words: tuple[str, ...]) -> None:
    town.refuses(town.arguments(context="weekday", values=values), code, *words)


def test_context_and_values_go_together(town: Town) -> None:
    advice = ("'weekday'", "--context", "--values weekday=a,b,c")
    town.refuses(town.arguments(context="weekday"), USAGE, *advice)
    town.refuses(town.arguments(values="weekday=Mon"), USAGE, *advice)
    twice = [*town.arguments(context="weekday", values="weekday=Mon"), "--values", "weekday=Tue"]
    town.refuses(twice, USAGE, "same list", "once")


def test_no_list_of_items(town: Town) -> None:
    town.refuses(town.arguments(items=None), USAGE, "--items FILE")
