"""Bad options and files: one clear message, the right exit code, nothing left behind."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally.core.privacy import PrivacyUnit
from crowdtally.ledger import Ledger
from kit.command import (
    BUDGET,
    FAILURE,
    INPUT,
    INSTALLED,
    PUBLIC,
    USAGE,
    Ended,
    Town,
    crowdtally,
    installed,
    without_rights,
)
from kit.ledgers import NOBODY, skip

# ---- Bad input: one clear message, the right exit code, and nothing written, charged or told -----
#
# Every refusal goes through ``Town.refuses``: stdout empty, no traceback, no value of a record in
# the text, no file made (temporary ones included), no entry in the ledger.


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
    town.refuses(
        town.arguments(method=f"sra:max-records={limit}"),
        USAGE,
        "max_records of SRA must be a whole number",
        limit,
    )


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
    town.refuses(town.arguments(method="sar"), USAGE, "'sar'", "Did you mean 'sra'?")
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
            method=ct.SRA(10),
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
            method=ct.SRA(10),
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


# ---- Files that are damaged, missing or closed to the user, and folders that cannot be written
#
# Every refusal goes through ``Town.refuses``; see ``test_bad_input.py``.


def test_ragged_csv(town: Town) -> None:
    town.write("long.csv", "user_id,place\nZaphod-1,bar\nZaphod-2,cafe,Xanadu\n")
    town.refuses(
        town.arguments("long.csv"), INPUT, "line 3", "'long.csv'", "3 fields", "header has 2",
    )  # fmt: skip
    town.write("short.csv", "user_id,place\nZaphod-1,bar\nZaphod-2\n")
    town.refuses(town.arguments("short.csv"), INPUT, "line 3", "1 fields", "header has 2")
    town.write("part-1.csv", "user_id,place\nZaphod-1,bar\n")
    town.write("part-2.csv", "user_id,place\nZaphod-1,bar\nZaphod-2,bar,x\n")
    town.refuses(town.arguments("part-*.csv"), INPUT, "line 3", "part-2.csv")


def test_a_record_cannot_speak_for_the_engine(town: Town) -> None:
    """A field that imitates the engine's message puts no words of its own into ours."""
    town.write("bad.csv", 'user_id,place\n"a\n  file = Xanadu\n",bar,"x\n  file = Xanadu\n"\n')
    town.refuses(town.arguments("bad.csv"), INPUT, "fields where the header has 2")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'user_id,place\nZaphod-1,"bar\nZaphod-2,cafe\n', ("not well-formed CSV",)),
        (b"user_id,place\nZaphod-1,caf\xe9\n", ("UTF-8",)),
        (
            b"user_id,place\n" + b"Zaphod-1,bar\n" * 200_000 + b"Zaphod-2,caf\xe9\n",
            ("CSV", "200002"),
        ),
        (b"\x00\xff\xfe" * 100, ("UTF-8",)),
        (b"", ("needs a first line",)),
        (b"user_id,place,\nZaphod-1,bar,\n", ("non-empty name",)),
    ],
    ids=["quotes", "latin-1", "latin-1 late", "binary", "empty", "unnamed"],
)
def test_malformed_csv(town: Town, content: bytes, words: tuple[str, ...]) -> None:
    town.write("bad.csv", content)
    town.refuses(town.arguments("bad.csv"), INPUT, *words)


def test_damaged_gzip(town: Town) -> None:
    whole = gzip.compress(b"user_id,place\n" + b"Zaphod-1,bar\n" * 100_000)
    town.write("cut.csv.gz", whole[: len(whole) // 2])
    town.refuses(town.arguments("cut.csv.gz"), INPUT, "damaged, cut off")
    town.write("fake.csv.gz", "user_id,place\nZaphod-1,bar\n")
    town.refuses(town.arguments("fake.csv.gz"), INPUT, "'fake.csv.gz'")


def test_truncated_parquet(town: Town) -> None:
    whole = (town.folder / "records.parquet").read_bytes()
    for size in (0, 1, 4, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        town.write("cut.parquet", whole[:size])
        town.refuses(town.arguments("cut.parquet"), INPUT, "cut.parquet", "damaged, cut off")


def test_not_what_its_name_says(town: Town) -> None:
    shutil.copy("records.csv", "records-2.parquet")
    town.refuses(town.arguments("records-2.parquet"), INPUT, "not of the kind its name says")
    shutil.copy("records.csv", "base.duckdb")
    town.refuses(town.arguments("base.duckdb#visits"), INPUT, "not of the kind its name says")


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({"record_id": "visit"}, ()),
        (
            {"items": None, "delta": "1e-9", "method": "discover:columns=item,max-records=10"},
            (),
        ),
        ({"user": None, "weight": "visit", "method": None}, ("--user-per-row",)),
    ],
    ids=["users and ids", "discovered items", "weights"],
)
def test_flipped_bytes(town: Town, options: dict[str, str | None], flags: tuple[str, ...]) -> None:
    """Damage is found before anything is charged, or it changes nothing that is read."""
    path = town.folder / "records.parquet"
    table = pyarrow.parquet.read_table(path).select(["user_id", "visit", "place"])
    pyarrow.parquet.write_table(table, path, compression="zstd", use_dictionary=False)
    whole, refused = path.read_bytes(), 0
    for number in range(12):
        place = len(whole) * number // 12
        flipped = bytes(byte ^ 0xA5 for byte in whole[place : place + 4])
        path.write_bytes(whole[:place] + flipped + whole[place + 4 :])
        entries = town.charged()
        ended = crowdtally(*town.arguments(output=f"out-{number}", **options), *flags)
        if ended.code == 0:
            continue
        refused += 1
        town.check(ended, INPUT)
        assert town.charged() == entries, f"byte {place}: damage was found after the charge"
    assert refused > 1


def test_no_such_source(town: Town) -> None:
    town.refuses(town.arguments("nowhere.parquet"), INPUT, "no such file", "'nowhere.parquet'")
    town.refuses(town.arguments("no*.parquet"), INPUT, "no file matches", "'no*.parquet'")
    town.refuses(town.arguments("."), INPUT, "'.' is a folder", "./*.parquet")
    town.write("records.txt", "x")
    town.refuses(town.arguments("records.txt"), INPUT, "'records.txt'", ".parquet and .csv")
    town.refuses(town.arguments("records.*"), INPUT, "several kinds", "narrower")
    town.refuses(town.arguments("nowhere.duckdb#visits"), INPUT, "no such file")
    town.refuses(town.arguments("sqlite://nowhere.db#visits"), INPUT, "no such file", "nowhere.db")


def test_no_such_table(town: Town) -> None:
    import duckdb

    with duckdb.connect(str(town.folder / "base.duckdb")) as base:
        base.execute("CREATE TABLE visits AS FROM 'records.parquet'")
    town.refuses(town.arguments("base.duckdb#vists"), INPUT, "no table 'vists'", "visits")
    town.refuses(
        town.arguments("base.duckdb"), USAGE, "needs its table", "type base.duckdb#visits."
    )
    town.refuses(
        town.arguments("base.duckdb#"), USAGE, "needs its table", "type base.duckdb#visits."
    )


def test_no_such_database(town: Town) -> None:
    """And a password in a URL stays there."""
    url = "postgresql://ana:Xanadu@127.0.0.1:1/base"
    town.refuses(
        town.arguments(f"{url}#visits"), INPUT, "postgresql://127.0.0.1:1/base#visits",
        "check the address",
    )  # fmt: skip
    town.refuses(town.arguments(url), USAGE, "URL#table")
    town.refuses(town.arguments(f"{url}#"), USAGE, "URL#table")


def test_unreadable_file(town_of_nobody: Town) -> None:
    """Root reads anything, so the command runs as nobody."""
    town, env = town_of_nobody, _places(town_of_nobody)
    for name in ("records.parquet", "places.csv"):
        os.chmod(town.folder / name, 0)
        state = town.state()
        ended = without_rights(town.folder, NOBODY, *town.arguments(), env=env)
        town.check(ended, INPUT, f"'{name}' cannot be read: permission denied")
        assert town.state() == state
        os.chmod(town.folder / name, 0o644)
    assert town.charged() == []
    ended = without_rights(town.folder, NOBODY, *town.arguments(), env=env)
    assert ended.code == 0, f"nobody could release at all: {ended}"


def test_folder_without_rights(town_of_nobody: Town) -> None:
    town, env = town_of_nobody, _places(town_of_nobody)
    os.chmod(town.folder, 0o555)
    ended = without_rights(town.folder, NOBODY, *town.arguments(), env=env)
    town.check(ended, FAILURE, "'out' cannot be written", "Permission denied", "permissions")
    assert town.charged() == []


@pytest.fixture
def town_of_nobody() -> Iterator[Town]:
    """A town that an unprivileged user owns, outside pytest's folders, which are closed to it."""
    if os.getuid() != 0:
        skip("only root can drop its rights")
    with tempfile.TemporaryDirectory(prefix="crowdtally-nobody-") as name:
        town = Town.build(Path(name))
        os.chmod(name, 0o755)
        for path in [Path(name), *Path(name).rglob("*")]:
            os.chown(path, NOBODY, NOBODY)
        yield town


def _places(town: Town) -> dict[str, str]:
    return {"CROWDTALLY_LEDGER": str(town.ledger), "TMPDIR": str(town.scratch)}


# ---- outputs ----------------------------------------------------------------------------------


def test_existing_output(town: Town) -> None:
    town.write("file", "x")
    (town.folder / "folder").mkdir()
    (town.folder / "link").symlink_to("records.parquet")
    (town.folder / "dangling").symlink_to("nowhere")
    for name in ("file", "folder", "folder/", "link", "dangling", "."):
        town.refuses(
            town.arguments(output=name), USAGE, "exists", "never replaces", "choose another",
        )  # fmt: skip


def test_output_in_no_folder(town: Town) -> None:
    town.refuses(town.arguments(output="a/b"), USAGE, "'a' is not a folder", "create it")
    town.refuses(town.arguments(output="places.csv/b"), USAGE, "'places.csv' is not a folder")
    # A slip that needs no reading is found before the records are.
    town.refuses(town.arguments("nowhere.parquet", output="a/b"), USAGE, "'a' is not a folder")


@pytest.mark.parametrize("room", ["nothing", "a little"])
def test_full_disk(town: Town, room: str) -> None:
    """On a small disk of its own: nothing stays of the release, and what is said is true."""
    if os.getuid() != 0 or not shutil.which("unshare"):
        skip("only root can mount a small disk")
    if subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        skip("no mount namespaces")
    disk = town.folder / "disk"
    disk.mkdir()
    town.write("many.csv", "place\n" + "".join(f"p{i}\n" for i in range(60_000)))
    filler = 512 if room == "nothing" else 200
    script = f"""
        mount -t tmpfs -o size=512k tmpfs {disk} || exit 90
        head -c {filler}K /dev/zero > {disk}/filler 2>/dev/null
        {INSTALLED} {" ".join(town.arguments(items="many.csv", epsilon="1e-6", output="disk/out"))}
        code=$?
        rm {disk}/filler
        ls -A {disk} | sed 's/^/left behind: /'
        exit $code
    """
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False
    )
    ended = Ended(done.returncode, done.stdout, done.stderr)
    town.check(ended, FAILURE, "disk/out", "cannot be written", "space")
    assert "left behind" not in ended.out
    if room == "nothing":
        assert town.charged() == []
    else:
        assert "The charge stands" in ended.err
        assert "ledger void" in ended.err
        (charge,) = Ledger.open(town.ledger, create=True).charges()
        assert charge.state == "drawing"
