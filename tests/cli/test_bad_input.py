"""Bad input: one clear message, the right exit code, and nothing written, charged or told.

Every refusal goes through ``Town.refuses``: stdout empty, no traceback, no value of a record in the
text, no file made (temporary ones included), no entry in the ledger.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.core.privacy import PrivacyUnit
from crowdtally.ledger import Ledger
from kit.command import crowdtally, installed
from kit.town import PUBLIC, Town

FAILURE, USAGE, BUDGET, INPUT = 1, 2, 3, 4


def test_the_command_itself_is_fine(town: Town) -> None:
    """Without this, the refusals below could all be refusals of something else."""
    days = {"context": "weekday", "values": "weekday=Mon,Tue"}
    ended = crowdtally(*town.arguments(**days))
    assert ended.code == 0, str(ended)
    assert ended.out == "out\n"
    assert len(town.charged()) == 5  # dataset made, source noted, charged, drawing, published
    assert {path.name for path in (town.folder / "out").iterdir()} == {
        "release.json", "datapackage.json", "items.parquet", "edges.parquet",
    }  # fmt: skip


# ---- columns ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "received", "meant"),
    [
        ({"user": "usr_id"}, "'usr_id' (the user)", "'user_id'"),
        ({"item": "plce"}, "'plce' (the item)", "'place'"),
        ({"record_id": "vist"}, "'vist' (the record id)", "'visit'"),
        ({"context": "wekday", "values": "wekday=Mon"}, "'wekday' (a context)", "'weekday'"),
        (
            {"context": "day=upper(weekdy)", "values": "day=MON"},
            "reads column 'weekdy', which does not exist",
            "'weekday'",
        ),
    ],
)
def test_misspelled_column(town: Town, options: dict[str, str], received: str, meant: str) -> None:
    ended = town.refuses(town.arguments(**options), INPUT, received, f"Did you mean {meant}?")
    for column in PUBLIC:
        assert column in ended.err, "the message lists the columns that exist"


def test_missing_column(town: Town) -> None:
    town.refuses(town.arguments(user="zzzzzz"), INPUT, "has no column 'zzzzzz'", "There are:")


def test_another_user_column_of_a_charged_dataset(town: Town) -> None:
    """A slip in --user must not read as advice to charge another name."""
    Ledger.open(town.ledger, create=True).create("visits", PrivacyUnit("user", "user_id"))
    town.refuses(
        town.arguments(user="usr_id", dataset="visits"), USAGE,
        "'user:user_id'", "'user:usr_id'", "--user user_id",
    )  # fmt: skip


@pytest.mark.parametrize("column", ["price"])
def test_column_of_a_useless_type(town: Town, column: str) -> None:
    town.refuses(town.arguments(user=column), INPUT, "DOUBLE", "cannot identify", "integers")
    town.refuses(town.arguments(item=column), INPUT, "'price' has type DOUBLE", "integers")
    contexts = {"context": column, "values": f"{column}=1,2"}
    town.refuses(town.arguments(**contexts), INPUT, "'price' has type DOUBLE", "CAST(")


@pytest.mark.parametrize("name", ["count", "noise_std", "low", "high"])
def test_reserved_column_name(town: Town, name: str) -> None:
    options = {"context": f"{name}=weekday", "values": f"{name}=Mon,Tue"}
    town.refuses(town.arguments(**options), USAGE, repr(name), "clash", f"my_{name}")
    town.write("list.csv", f"{name}\nbar\n")
    town.refuses(town.arguments(item=name, items="list.csv"), USAGE, repr(name), "clash")


# ---- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        ("0", ("greater than 0", "received 0")),
        ("-0", ("greater than 0",)),
        ("-1", ("greater than 0", "received -1")),
        ("NaN", ("exact finite number", "received 'NaN'")),
        ("inf", ("exact finite number", "received 'inf'")),
        ("-Infinity", ("exact finite number", "received '-Infinity'")),
        ("1e400", ("too large", "'1e400'", "below 1e308")),
        ("1e-400", ("too small", "Raise --epsilon")),
        ("1e-99999999", ("too small", "'1e-99999999'")),
        ("abc", ("exact finite number such as 0.1", "received 'abc'")),
        ("", ("exact finite number", "received ''")),
        ("1/0", ("exact finite number", "received '1/0'")),
        ("9" * 2000, ("exact finite number", "999…")),
    ],
)
def test_epsilon(town: Town, epsilon: str, words: tuple[str, ...]) -> None:
    town.refuses(town.arguments(epsilon=epsilon), USAGE, "epsilon", *words)


@pytest.mark.parametrize("limit", ["0", "-3", "99999999999", "many", "1.5", ""])
def test_max_records(town: Town, limit: str) -> None:
    town.refuses(town.arguments(max_records=limit), USAGE, "--max-records", "whole number", limit)


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ("items=0.5,edges=0.6", ("sum to 1", "received 1.1")),
        ("items=1", ("nothing to 'edges'", "edges=SHARE")),
        ("itms=0.5,edges=0.5", ("'itms'", "Did you mean 'items'?")),
        ("items=0,edges=1", ("'items' must be above 0", "received 0")),
        ("items=-1,edges=2", ("'items' must be above 0",)),
        ("items=x,edges=1", ("the share of 'items'", "received 'x'")),
        ("items=nan,edges=1", ("received 'nan'",)),
        ("items", ("NAME=SHARE", "received 'items'")),
        ("items=0.5,items=0.5", ("each name once",)),
        ("popularity=0.5,items=0.25,edges=0.25", ("'popularity'", "does not have", "items, edges")),
    ],
)
def test_split(town: Town, split: str, words: tuple[str, ...]) -> None:
    days = {"context": "weekday", "values": "weekday=Mon,Tue"}
    town.refuses(town.arguments(split=split, **days), USAGE, *words)


def test_unknown_words(town: Town) -> None:
    town.refuses(town.arguments(count="visits"), USAGE, "--count 'visits'", "records, users")
    town.refuses(town.arguments(bounding="sar"), USAGE, "'sar'", "Did you mean 'sra'?")
    town.refuses(town.arguments(user=None), USAGE, "--user")
    town.refuses(town.arguments(item=None, items=None), USAGE, "--item COL")
    town.refuses(town.arguments(output=None), USAGE, "-o DIR")
    town.refuses([*town.arguments(), "--stric"], USAGE, "--stric", "--strict")
    town.refuses(["relase"], USAGE, "relase")


# ---- dropped rows and budget -------------------------------------------------------------------


def test_strict(town: Town) -> None:
    table = pa.concat_tables(
        [
            pyarrow.parquet.read_table("records.parquet"),
            pyarrow.parquet.read_table("records.parquet")
            .slice(0, 7)
            .set_column(0, "user_id", pa.nulls(7, pa.string())),
        ]
    )
    pyarrow.parquet.write_table(table, "records.parquet")
    arguments = town.arguments()
    town.refuses(
        [*arguments, "--strict"], INPUT,
        "--strict", "7 without a user", "60 with a value outside the lists", "247 rows",
        "Nothing was charged",
    )  # fmt: skip
    ended = crowdtally(*arguments)
    assert ended.code == 0, str(ended)
    assert "7 without a user" in ended.err
    text = (town.folder / "out" / "release.json").read_text()
    assert "247" not in re.sub("[0-9a-f]{8,}", "", text), (
        "how many rows were dropped is for the curator's eyes only"
    )


def test_over_budget(town: Town) -> None:
    """Exit 3 comes before anything is read: a damaged file and a broken list do not matter."""
    Ledger.open(town.ledger, create=True).create(
        "visits", PrivacyUnit("user", "user_id"), epsilon="0.500000001"
    )
    words = (
        "requested 1",
        "remaining 0.500000001",
        "difference 0.499999999",
        "Nothing was charged",
    )
    town.refuses(town.arguments(dataset="visits"), BUDGET, *words)
    town.write("cut.parquet", (town.folder / "records.parquet").read_bytes()[:500])
    town.refuses(town.arguments("cut.parquet", dataset="visits"), BUDGET, *words)
    town.refuses(town.arguments("nowhere.parquet", dataset="visits"), BUDGET, *words)
    town.refuses(town.arguments(items="nowhere.csv", dataset="visits"), BUDGET, *words)
    town.refuses([*town.arguments(dataset="visits"), "--dry-run"], BUDGET, *words)
    plan = ["plan", *town.arguments(dataset="visits", output=None)[1:]]
    town.refuses(plan, BUDGET, *words)


def test_over_budget_in_python(town: Town) -> None:
    ledger = Ledger.open(town.ledger, create=True)
    ledger.create("visits", PrivacyUnit("user", "user_id"), epsilon="1/2")
    town.write("cut.parquet", (town.folder / "records.parquet").read_bytes()[:500])
    records = ct.read("cut.parquet", user="user_id", item="place")
    domain = ct.Domain(["bar", "cafe"])
    with pytest.raises(ct.BudgetError, match=r"requested 1, remaining 0\.5"):
        ct.release(
            records,
            domain,
            epsilon=1,
            ledger=ledger,
            dataset="visits",
            output="out",
            new_dataset=True,
            max_records=10,
        )
    with pytest.raises(ct.InputError, match="damaged"):
        ct.release(
            records,
            domain,
            epsilon="1/2",
            ledger=ledger,
            dataset="visits",
            output="out",
            new_dataset=True,
            max_records=10,
        )
    assert ledger.balance("visits").spent.epsilon == 0
    assert not (town.folder / "out").exists()


def test_a_budget_that_just_fits(town: Town) -> None:
    Ledger.open(town.ledger, create=True).create(
        "visits", PrivacyUnit("user", "user_id"), epsilon="0.3"
    )
    for number in range(3):
        ended = crowdtally(*town.arguments(dataset="visits", epsilon="0.1", output=f"out-{number}"))
        assert ended.code == 0, str(ended)
    town.refuses(town.arguments(dataset="visits", epsilon="1e-9"), BUDGET, "1e-9", "used up")


def test_dataset_without_a_name(town: Town) -> None:
    town.refuses(town.arguments(dataset=""), USAGE, "name")


def test_looking_makes_nothing(town: Town) -> None:
    """Neither plan nor --dry-run writes a file, not even a ledger."""
    plan = ["plan", *town.arguments(output=None)[1:]]
    for arguments in (plan, [*town.arguments(), "--dry-run"]):
        state = town.state()
        ended = crowdtally(*arguments)
        assert ended.code == 0, str(ended)
        assert "does not exist yet, so nothing was spent" in ended.out
        assert town.state() == state
        assert not town.ledger.exists()


def test_ledger_that_is_something_else(town: Town) -> None:
    town.refuses(town.arguments(ledger="records.csv"), FAILURE, "records.csv", "ledger")
    town.refuses(town.arguments(ledger="ftp://x/y"), USAGE, "ftp://", "ledger.sqlite")


# ---- through the installed program -------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        ({"epsilon": "nan"}, USAGE, "received 'nan'"),
        ({"item": "plce"}, INPUT, "Did you mean 'place'?"),
        ({"records": "nowhere.parquet"}, INPUT, "no such file"),
    ],
)
def test_installed_program(town: Town, options: dict[str, str], code: int, word: str) -> None:
    state = town.state()
    ended = installed(*town.arguments(**options))
    town.check(ended, code, word)
    assert ended.err.count("\n") == 1, "one message, one line"
    assert town.state() == state
    assert town.charged() == []


def test_debug_shows_where(town: Town) -> None:
    ended = crowdtally(*town.arguments(epsilon="nan"), "--debug")
    assert ended.code == USAGE
    assert "Traceback" in ended.err


def test_reading_a_release_badly(town: Town) -> None:
    days = {"context": "weekday", "values": "weekday=Mon,Tue"}
    assert crowdtally(*town.arguments(**days)).code == 0
    town.refuses(["top", "nowhere"], INPUT, "'nowhere' is not a release", "no such folder")
    town.refuses(["top", "out", "-k", "0"], USAGE, "at least 1", "received 0")
    town.refuses(["top", "out", "-k", "ten"], USAGE, "whole number", "ten")
    town.refuses(["top", "out", "--context", "weekday"], USAGE, "NAME=VALUE")
    town.refuses(["top", "out", "--context", "wekday=Mon"], USAGE, "Did you mean 'weekday'?")
    town.refuses(["top", "out", "--context", "weekday=Mo"], USAGE, "Did you mean 'Mon'?")
    twice = ["top", "out", "--context", "weekday=Mon", "--context", "weekday=Tue"]
    town.refuses(twice, USAGE, "twice", "once")


def test_demo_badly(town: Town) -> None:
    town.refuses(["demo", "--epsilon", "0"], USAGE, "greater than 0")
    town.refuses(["demo", "--records", "10"], USAGE, "--records", "10")
    town.refuses(["demo", "--records", "few"], USAGE, "--records", "few")
    (town.folder / "here").mkdir()
    town.refuses(["demo", "--output", "here"], USAGE, "exists")
