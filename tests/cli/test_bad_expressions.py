"""Joins and derived contexts that cannot be, or may not be.

Every refusal goes through ``Town.refuses``; see ``test_bad_input.py``.
"""

from __future__ import annotations

import time

import pytest

from kit.command import crowdtally
from kit.town import Town

FAILURE, USAGE, BUDGET, INPUT = 1, 2, 3, 4


# ---- joins ------------------------------------------------------------------------------------


def _joined(town: Town, file: str, **columns: object) -> list[str]:
    town.table(file, **columns)
    return town.arguments(join=f"{file}:place", context="area", values="area=x,y")


def test_join(town: Town) -> None:
    town.refuses(
        _joined(town, "typo.parquet", plce=["bar"], area=["x"]), INPUT,
        "no column 'place' (the join key)", "Did you mean 'plce'?",
    )  # fmt: skip
    town.refuses(
        _joined(town, "typed.parquet", place=[1.5, 2.5], area=["x", "y"]), INPUT,
        "is DOUBLE in", "but VARCHAR in the records", "one type",
    )  # fmt: skip
    town.refuses(
        _joined(town, "clash.parquet", place=["bar"], area=["x"], weekday=["Xanadu"]), INPUT,
        "'weekday' is in the records and in", "rename",
    )  # fmt: skip
    town.table("areas.parquet", place=["bar"], area=["x"])
    area = {"context": "area", "values": "area=x,y"}
    town.refuses(town.arguments(join="areas.parquet:area", **area), INPUT, "no column 'area'")
    town.refuses(town.arguments(join="areas.parquet", **area), USAGE, "FILE:KEY")
    town.refuses(town.arguments(join="nowhere.csv:place", **area), INPUT, "no such file")


# ---- expressions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ("max(weekday)", "an aggregate"),
        ("count(*)", "an aggregate"),
        ("sum(price) FILTER (WHERE true)", "an aggregate"),
        ("list(weekday)", "an aggregate"),
        ("string_agg(weekday, ',')", "an aggregate"),
        ("histogram(weekday)", "histogram()"),
        ("product(price)", "product()"),
        ("favg(price)", "favg()"),
        ("mad(price)", "mad()"),
        ("upper(histogram(weekday)::VARCHAR)", "histogram()"),
        ("row_number() OVER ()", "a window function"),
        ("lag(weekday) OVER (ORDER BY visit)", "a window function"),
        ("(SELECT 1)", "not a statement"),
        ("weekday IN (SELECT 'Mon')", "a subquery"),
        ("EXISTS (SELECT 1)", "a subquery"),
        ("SELECT weekday", "not a statement"),
        ("weekday; DROP TABLE x", "exactly one expression"),
        ("random()", "rand"),
        ("weekday || random()", "rand"),
        ("uuid()", "uuid()"),
        ("gen_random_uuid()", "uuid()"),
        ("current_date", "current_date"),
        ("current_timestamp", "current_timestamp"),
        ("now()", "now()"),
        ("today()", "current_date"),
        ("current_localtime()", "current_localtime"),
        ("current_localtimestamp()", "localtimestamp"),
        ("age(DATE '2020-01-01')", "age()"),
        ("session_user", "session_user"),
        ("nextval('s')", "nextval()"),
        ("unnest([1, 2])", "a table function"),
        ("generate_series(1, 3)", "generate_series"),
        ("read_text('/etc/passwd')", "read_text()"),
        ("getenv('HOME')", "getenv()"),
        ("rowid", "rowid"),
        ("*", "a star"),
        ("COLUMNS(*)", "by a pattern"),
        ("COLUMNS('pri.*')", "by a pattern"),
        ("#1", "a column by its place"),
        ("?", "a placeholder"),
        ("list_transform([1], x -> x)", "a lambda"),
        ("upper(", "cannot be parsed"),
        ("weekday weekday weekday", "cannot be parsed"),
        ("'x' AS y", "not a statement"),
        ("frobnicate(weekday)", "frobnicate(), which is not an allowed function"),
        ("weekday::frob", "a cast to frob"),
        ("r.weekday", "without its table"),
        ("json_serialize_plan('FROM source', optimize := true)", "json_serialize_plan()"),
        ("hour(now_there AT TIME ZONE weekday)", "a time zone that is not a constant"),
        ("lowr(weekday)", "the nearest is lower()"),
    ],
)
def test_expression(town: Town, expression: str, word: str) -> None:
    options = {"context": f"day={expression}", "values": "day=Mon,Tue"}
    town.refuses(town.arguments(**options), USAGE, "'day'", word)


@pytest.mark.parametrize("expression", ["month(weekday)", "weekday + 1 + price[3]"])
def test_expression_that_does_not_fit_the_columns(town: Town, expression: str) -> None:
    options = {"context": f"day={expression}", "values": "day=Mon,Tue"}
    town.refuses(town.arguments(**options), INPUT, "'day'")


@pytest.mark.parametrize("definition", ["day=", "1day=weekday", "=weekday", "a b=weekday"])
def test_definition(town: Town, definition: str) -> None:
    arguments = town.arguments(context=definition, values="day=Mon,Tue")
    town.refuses(arguments, USAGE, f"received {definition!r}")


def test_values_an_expression_cannot_take_drop_their_records_alone(town: Town) -> None:
    """CAST of text fails on a third of the records; nobody is told what they hold."""
    options = {"context": "n=CAST(note AS INTEGER)", "values": "n=12"}
    ended = crowdtally(*town.arguments(items="places.csv", epsilon="1000", **options))
    assert ended.code == 0, str(ended)
    assert "unspoken" not in ended.err
    # Two thirds have a number, three quarters of those a listed place: 120 of 240.
    assert "120 " in ended.err
    assert "240 rows" in ended.err


@pytest.mark.parametrize("opening", ["array[", "(", "date(", "case when a then "])
def test_a_condition_that_is_nested_deeply_is_answered_at_once(town: Town, opening: str) -> None:
    closing = {"[": "]", "(": ")", " ": " end"}[opening[-1]]
    where = opening * 40 + "user_id" + closing * 40 + " = 'x'"
    plan = ["plan", *town.arguments(output=None, where=where)[1:]]
    begun = time.process_time()
    ended = crowdtally(*plan)
    assert time.process_time() - begun < 5
    if opening in ("array[", "date("):
        town.check(ended, USAGE, "the condition --where is nested too deeply")
