"""Sources, conditions and expressions that cannot be, or may not be."""

from __future__ import annotations

import shutil
import sqlite3
import sys
import time
from contextlib import closing

import duckdb
import pytest

import crowdtally as ct
from kit.command import INPUT, USAGE, Town, crowdtally

# ---- Conditions, zones, items and keys of joins that cannot be, or may not be --------------------
#
# Every refusal goes through ``Town.refuses``; see ``test_bad_input.py``.


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
        [*found, "--method", "discover:columns=item,max-records=2", "--delta", "1e-6"], INPUT,
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


# ---- Sources that break their declaration: what is said of them, and that nothing is charged -----


def test_the_records_own_values_are_no_list(town: Town) -> None:
    """It would publish every value that anybody has, such as Xanadu."""
    words = ("is read from the records' own table", "without looking at the records")
    for own in ("records.parquet", "records.parquet:place", "./records.parquet:place"):
        town.refuses(town.arguments(items=own), USAGE, *words, "--discover COLUMN")
    shutil.copy(town.folder / "records.parquet", town.folder / "more.parquet")
    town.refuses(town.arguments("*.parquet", items="more.parquet:place"), USAGE, *words)
    weekdays = {"context": "weekday", "values": "weekday=@records.parquet"}
    town.refuses(town.arguments(**weekdays), USAGE, "'weekday'", *words)
    town.table("people.parquet", user_id=["Zaphod-1"], age=[42])
    ages = {"context": "age", "values": "age=@people.parquet"}
    town.refuses(
        town.arguments(join="people.parquet:user_id", **ages), USAGE,
        "is read from the users' own table", "without looking",
    )  # fmt: skip
    town.table("catalogue.parquet", place=["bar", "cafe"], kind=["loud", "quiet"])
    kinds = {"context": "kind", "values": "kind=@catalogue.parquet"}
    catalogue = {"join": "catalogue.parquet:place", "items": "catalogue.parquet", **kinds}
    ended = crowdtally(*town.arguments(**catalogue))
    assert ended.code == 0, ended


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("sqlite://base.db#vists", INPUT, ("no table 'vists'", "Did you mean 'visits'?")),
        ("sqlite://base.db#", USAGE, ("needs its table", "type base.db#visits.")),
        ("base.db", USAGE, ("needs its table", "There are: visits.")),
        ("base.db#raw.visits", INPUT, ("no table 'raw.visits'", "Did you mean 'visits'?")),
        ("base.db#vists", INPUT, ("no table 'vists'", "Did you mean 'visits'?")),
        ("bse.db#visits", INPUT, ("no such file: 'bse.db'", "Did you mean 'base.db'?")),
        ("sqlite:///base.db#visits", INPUT, ("no such file: '/base.db'", "type 'base.db'")),
        ("false.sqlite#visits", INPUT, ("cannot be read as a SQLite database",)),
        ("false.sqlite", INPUT, ("cannot be read as a SQLite database",)),
        ("false.duckdb#visits", INPUT, ("false.duckdb", "damaged, cut off or not of the kind")),
        ("false.duckdb", INPUT, ("cannot be read as a DuckDB database",)),
        ("folder.db#visits", INPUT, ("'folder.db' is a folder",)),
        ("folder.db", INPUT, ("'folder.db' is a folder",)),
        ("town.duckdb", USAGE, ("needs its table", "type town.duckdb#raw.visits.")),
        ("town.duckdb#visits", INPUT, ("no table 'visits'", "Did you mean 'raw.visits'?")),
        ("town.duckdb#row.visits", INPUT, ("no table 'row.visits'", "Did you mean 'raw.visits'?")),
        ("postgresql://host/base", USAGE, ("must name its table", "type URL#table")),
        ("postgresql://host/base#", USAGE, ("no table after '#'", "type URL#table")),
        ("sqlite://records.parquet#visits", INPUT, ("cannot be read as a SQLite database",)),
        ("mysql://ana:Xanadu@host/base#visits", USAGE, ("mysql", "Parquet or CSV", "host/base")),
    ],
)
def test_no_such_database(town: Town, source: str, code: int, words: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(town.folder / "base.db")) as base, base:
        base.execute("CREATE TABLE visits (user_id TEXT, place TEXT)")
    with duckdb.connect(str(town.folder / "town.duckdb")) as base:
        base.execute("CREATE SCHEMA raw; CREATE TABLE raw.visits (user_id TEXT, place TEXT)")
    for name in ("false.sqlite", "false.duckdb"):
        town.write(name, "Xanadu, no database at all\n" * 200)
    (town.folder / "folder.db").mkdir()
    town.refuses(town.arguments(source), code, *words)


def test_postgresql_without_its_driver(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    source = "postgresql://ana:Xanadu@host/base#raw.visits"
    town.refuses(town.arguments(source), 1, "pip install 'crowdtally[postgres]'")


def test_lists_and_joins_from_a_database(town: Town) -> None:
    """By the same names as records: FILE#[SCHEMA.]TABLE, and :COLUMN after it."""
    with closing(sqlite3.connect(town.folder / "base.sqlite")) as base, base:
        base.execute("CREATE TABLE places (place TEXT, kind TEXT)")
        base.execute("INSERT INTO places VALUES ('bar', 'loud'), ('cafe', 'quiet')")
    with duckdb.connect(str(town.folder / "town.duckdb")) as base:
        base.execute("CREATE SCHEMA raw; CREATE TABLE raw.days AS SELECT 'Mon' AS d, 1 AS n")
    lists = {
        "items": "base.sqlite#places:place", "join": "base.sqlite#places:place",
        "context": "kind", "values": "kind=@base.sqlite#places:kind",
    }  # fmt: skip
    ended = crowdtally(*town.arguments(**lists))
    assert ended.code == 0, ended
    days = {"context": "weekday", "values": "weekday=@town.duckdb#raw.days:d", "output": "days"}
    assert crowdtally(*town.arguments(**days)).code == 0
    wrong = {"context": "weekday", "values": "weekday=@town.duckdb#days:d", "output": "no"}
    town.refuses(town.arguments(**wrong), INPUT, "no table 'days'", "Did you mean 'raw.days'?")


EXPRESSIONS = {
    "parentheses": ("(" * 600 + "weekday" + ")" * 600, "nested too deeply"),
    "a long chain": ("weekday || " * 120 + "weekday", "nested too deeply"),
    "a long text": (f"'{'x' * 2000}'", "has 2002 characters, and at most 2000"),
    "repeat": ("repeat('x', 1000000000)", "repeat(), which is not an allowed function"),
    "rpad": ("rpad(weekday, 1000000000, 'x')", "rpad(), which is not an allowed function"),
    "printf": ("printf('%1000000000d', 1)", "printf(), which is not an allowed function"),
    "replacing by more": (
        "replace(" * 5 + "weekday" + ", 'M', 'MMMMMMMMMM')" * 5, "can lengthen a text 100000-fold"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", EXPRESSIONS)
def test_an_expression_that_would_not_end(town: Town, case: str) -> None:
    text, words = EXPRESSIONS[case]
    given = town.arguments(context=f"day={text}", values="day=x")
    town.refuses(given, USAGE, "the expression of context 'day'", words)


def test_a_text_in_a_column_of_integers_is_dropped(town: Town) -> None:
    """Not blamed on the credentials, and not anybody else's business."""
    with closing(sqlite3.connect(town.folder / "base.db")) as base, base:
        base.execute("CREATE TABLE visits (user_id INTEGER, place TEXT)")
        base.executemany(
            "INSERT INTO visits VALUES (?, ?)", [(1, "bar"), (2, "cafe"), ("Xanadu", "bar")]
        )
    ended = crowdtally(*town.arguments("sqlite://base.db#visits"))
    assert ended.code == 0, ended
    assert "1 without a user" in ended.err
    assert "Xanadu" not in ended.err


# ---- Joins and derived contexts that cannot be, or may not be ------------------------------------
#
# Every refusal goes through ``Town.refuses``; see ``test_bad_input.py``.


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
