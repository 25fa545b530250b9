"""Files that are damaged, missing or closed to the user, and folders that cannot be written.

Every refusal goes through ``Town.refuses``; see ``test_bad_input.py``.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from budget.ledger_kit import NOBODY, skip
from crowdtally.ledger import Ledger
from kit.command import INSTALLED, Ended, crowdtally, without_rights
from kit.town import Town

FAILURE, USAGE, BUDGET, INPUT = 1, 2, 3, 4


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
        ({"items": None, "delta": "1e-9"}, ("--discover-items",)),
        ({"user": None, "weight": "visit", "max_records": None}, ("--user-per-row",)),
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
