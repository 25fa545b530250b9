"""Conditions, zones, items and keys of joins that cannot be, or may not be.

Every refusal goes through ``Town.refuses``; see ``test_bad_input.py``.
"""

from __future__ import annotations

import pytest

import crowdtally as ct
from kit.command import crowdtally
from kit.town import Town

FAILURE, USAGE, BUDGET, INPUT = 1, 2, 3, 4


# ---- conditions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "word"),
    [
        ("max(price) > 3", "an aggregate"),
        ("price > (SELECT avg(price) FROM records)", "a subquery"),
        ("row_number() OVER () < 9", "a window function"),
        ("random() < 0.5", "rand"),
        ("#1 = 3", "a column by its place"),
        ("COLUMNS('price') > 3", "by a pattern"),
        ("now() > TIMESTAMP '2024-01-01'", "now()"),
        ("price > 3; DROP TABLE x", "exactly one expression"),
        ("", "exactly one expression"),
        ("price >", "cannot be parsed"),
        ("SELECT true", "not a statement"),
        ("histogram(price) IS NULL", "histogram()"),
        ("frobnicate(price)", "frobnicate(), which is not an allowed function"),
    ],
)
def test_condition(town: Town, where: str, word: str) -> None:
    town.refuses(town.arguments(where=where), USAGE, "the condition --where", word)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("prise > 3", ("reads column 'prise', which does not exist", "Did you mean 'price'?")),
        ("price", ("must be true or false", "DOUBLE", "compare it with something")),
        ("place", ("must be true or false", "VARCHAR")),
        ("note > 3", ("needs another type than text for 'note'", "--type note=int64")),
        ("note > 3.5", ("--type note=float64",)),
        ("month(note) = 3", ("--type note=timestamp",)),
        ("length(note) > 'x'::DATE", ("does not fit the types", "add a cast")),
    ],
)
def test_condition_that_does_not_fit(town: Town, where: str, words: tuple[str, ...]) -> None:
    town.refuses(town.arguments(where=where), INPUT, "the condition --where", *words)


def test_in_python_it_is_called_where(town: Town) -> None:
    with pytest.raises(ct.UsageError, match=r"^the condition where contains an aggregate"):
        ct.read("x.parquet", user="u", item="i", where="sum(x) > 3")
    with pytest.raises(ct.UsageError, match=r"^the condition where is SQL text: received a list"):
        ct.read("x.parquet", user="u", item="i", where=[True])  # type: ignore[arg-type]


def test_what_the_condition_leaves_out_is_not_dropped(town: Town) -> None:
    """A quarter of the places is not listed: under a condition nothing is, and --strict passes."""
    town.refuses([*town.arguments(), "--strict"], INPUT, "of 240 rows, 60 with a value outside")
    ended = crowdtally(*town.arguments(where="place <> 'Xana' || 'du'"), "--strict")
    assert ended.code == 0, str(ended)
    assert "Dropped" not in ended.err
    fifth = crowdtally(*town.arguments(where="place_id = 3", output="fifth"))
    assert fifth.code == 0, str(fifth)
    assert "of 48 rows, 12 with a value outside the lists" in fifth.err


def test_a_condition_that_nothing_meets(town: Town) -> None:
    ended = crowdtally(*town.arguments(where="price < 0"), "--strict")
    assert ended.code == 0, str(ended)
    assert "The source has no rows for which --where holds" in ended.err


# ---- zones -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "word"),
    [
        ("CET", "An abbreviation can mean several zones"),
        ("EST", "An abbreviation can mean several zones"),
        ("+02:00", "An offset is not a zone"),
        ("UTC+1", "An offset is not a zone"),
        ("europe/vienna", "Did you mean 'Europe/Vienna'?"),
        ("utc", "Did you mean 'UTC'?"),
        ("Vienna", "Did you mean 'Europe/Vienna'?"),
        ("Europe/Wien", "There are: Africa/Abidjan"),
        ("Europe/Viena", "Did you mean 'Europe/Vienna'?"),
        ("Etc/GMT-2", "no place's zone"),
        ("SystemV/EST5", "no place's zone"),
        ("posix/Europe/Vienna", "no place's zone"),
        ("", "Area/City"),
        ("Europe/Vienna'; DROP TABLE x", "Area/City"),
    ],
)
def test_zone(town: Town, zone: str, word: str) -> None:
    town.refuses(town.arguments(timezone=zone), USAGE, "--timezone is an Area/City", word)


def test_the_zone_is_no_setting_of_an_engine(town: Town) -> None:
    arguments = [*town.arguments(engine="spark"), "--engine-setting"]
    setting = "spark.sql.session.timeZone=Europe/Vienna"
    town.refuses([*arguments, setting], USAGE, "--timezone Z")


def test_in_python_it_is_called_timezone() -> None:
    with pytest.raises(ct.UsageError, match=r"^timezone is an Area/City .* received a int"):
        ct.read("x.parquet", user="u", item="i", timezone=2)  # type: ignore[arg-type]


# ---- items -------------------------------------------------------------------------------------


def test_item_of_a_table_that_is_not_joined(town: Town) -> None:
    town.write("tags.csv", "tag\nx\n")
    tags = {"items": "tags.csv", "item": "tag"}
    town.refuses(
        town.arguments(**tags), INPUT, "no column 'tag' (the item)", "comes with --join FILE:KEY"
    )
    town.table("about.parquet", place_id=[1], label=["x"])
    town.refuses(
        town.arguments(join="about.parquet:place_id", **tags), INPUT,
        "records.parquet, with its joins, has no column 'tag' (the item)", "label",
    )  # fmt: skip
    found = town.arguments(items=None, item="tag")
    town.refuses(
        [*found, "--discover-items", "--delta", "1e-6", "--max-records", "2"], INPUT,
        "no column 'tag' (the item)",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("item", "code", "word"),
    [
        ("kind=", USAGE, "no expression after '='"),
        ("1kind=place", USAGE, "a plain name"),
        ("kind=max(place)", USAGE, "the expression of the item 'kind' contains an aggregate"),
        ("kind=plce", INPUT, "the expression of the item 'kind' reads column 'plce'"),
        ("kind=price * 2", INPUT, "'kind' has type DOUBLE"),
    ],
)
def test_item_that_is_no_expression(town: Town, item: str, code: int, word: str) -> None:
    town.refuses(town.arguments(item=item), code, word)


def test_a_list_of_derived_items_is_not_the_records_own(town: Town) -> None:
    own = {"items": "records.parquet:place", "item": "kind=lower(place)"}
    town.refuses(town.arguments(**own), USAGE, "'kind' is read from the records' own table")
    town.table("people.parquet", user_id=["Zaphod-1"], job=["pilot"])
    people = {"join": "people.parquet:user_id", "item": "job", "items": "people.parquet:job"}
    town.refuses(town.arguments(**people), USAGE, "'job' is read from the users' own table")


def test_a_list_of_joined_items_may_be_the_catalogue(town: Town) -> None:
    town.table("places.parquet", id=[0, 1, 2, 3, 4], kind=["a", "b", "a", "b", "c"])
    catalogue = {"join": "places.parquet:place_id=id", "item": "kind"}
    town.table("kinds.parquet", kind=["a", "b", "c"])
    ended = crowdtally(*town.arguments(items="kinds.parquet", **catalogue))
    assert ended.code == 0, str(ended)
    town.table("whole.parquet", id=[0, 1, 2, 3, 4], kind=["a", "b", "d", "e", "c"])
    catalogue = {"join": "whole.parquet:place_id=id", "item": "kind"}
    listed = {"items": "whole.parquet:kind", "output": "second"}
    ended = crowdtally(*town.arguments(**catalogue, **listed), "--strict")
    assert ended.code == 0, str(ended)


# ---- keys of two names -------------------------------------------------------------------------


def test_keys_of_two_names(town: Town) -> None:
    town.table("areas.parquet", id=[0, 1], area=["x", "y"])
    area = {"context": "area", "values": "area=x,y"}

    def refuses(join: str, code: int, *words: str) -> None:
        town.refuses(town.arguments(join=join, **area), code, *words)

    refuses(
        "areas.parquet:place_id=ident", INPUT, "no column 'ident' (the join key)", "There are: id"
    )
    refuses("areas.parquet:place_no=id", INPUT, "no column 'place_no' (a join key")
    refuses("areas.parquet:id=place_id", INPUT, "no column 'id' (a join key", "records themselves")
    refuses("areas.parquet:place_id=", USAGE, "FILE:KEY=KEY")
    refuses("areas.parquet:=id", USAGE, "FILE:KEY=KEY")
    refuses("areas.parquet:price=id", INPUT, "'id' is BIGINT in", "but 'price' DOUBLE in the rec")
    town.table("clash.parquet", id=[0], Weekday=["x"], area=["x"])
    refuses("clash.parquet:place_id=id", INPUT, "'Weekday' is in the records and in", "rename")


def test_a_repeated_key_of_a_joined_table_is_told_and_refuses_nothing(town: Town) -> None:
    """Its rows may be people's: one of them may not decide whether there is a release."""
    town.table("twice.parquet", id=[0, 1, 1], area=["x", "x", "y"])
    given = {"join": "twice.parquet:place_id=id", "context": "area", "values": "area=x,y"}
    town.refuses(
        [*town.arguments(**given), "--strict"], INPUT, "without a join partner, or with several"
    )
    ended = crowdtally(*town.arguments(**given))
    assert ended.code == 0, str(ended)
    assert "without a join partner, or with several" in ended.err
    ended = crowdtally("inspect", *town.arguments(**given, epsilon=None, output=None)[1:-1])
    assert "or with several: a key that repeats" in ended.out, str(ended)
