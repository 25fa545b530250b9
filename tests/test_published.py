"""A release on disk: whole or not there, in a documented layout, and silent about the records."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from crowdtally import published
from crowdtally.budget import Ledger
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.published import NoisyTable, parquet, staging
from crowdtally.values.domain import Axis
from crowdtally.values.layout import grid
from kit.damaged import edit
from kit.made import made, visits
from kit.silent import SilentDraws

DOCUMENT = Path(__file__).parent.parent / "docs" / "release-format.md"
PLACES, DAYS = ["zoo", "arena", "mill"], ["Tue", "Mon"]
CELLS = {("zoo", "Mon"): 5, ("arena", "Tue"): 3, ("mill", "Mon"): 1, ("arena", "Mon"): 4}


def town(folder: Path, **options: Any) -> ct.Release:
    domain = ct.Domain(PLACES, {"day": DAYS})
    return made(folder, visits(CELLS, "day"), domain, **({"draws": SilentDraws()} | options))


# ---- layout -------------------------------------------------------------------------------------


def test_tables_open_with_any_parquet_tool_in_the_order_of_the_lists(tmp_path: Path) -> None:
    release = town(tmp_path)
    assert sorted(p.name for p in release.folder.iterdir()) == [
        "edges.parquet", "items.parquet", "release.json",
    ]  # fmt: skip
    edges = pyarrow.parquet.read_table(release.folder / "edges.parquet")
    assert edges.column_names == ["item", "day", "count", "noise_std", "low", "high"]
    assert {name: str(edges.schema.field(name).type) for name in edges.column_names} == {
        "item": "string", "day": "string", "count": "int64", "noise_std": "double",
        "low": "int64", "high": "int64",
    }  # fmt: skip
    found = list(zip(*(edges[name].to_pylist() for name in ("item", "day", "count")), strict=True))
    assert found == [(p, d, CELLS.get((p, d), 0)) for p in PLACES for d in DAYS]
    items = pyarrow.parquet.read_table(release.folder / "items.parquet")
    assert items["item"].to_pylist() == PLACES
    assert items["count"].to_pylist() == [5, 7, 1]


def test_integer_items_and_names_of_ones_own(tmp_path: Path) -> None:
    rows = pa.table({"who": ["a", "b"], "song id": [30, 4], "Länd": ["é", "é"]})
    domain = ct.Domain([30, 4, -1], {"Länd": ["é"]})
    roles = {"user": "who", "item": "song id"}
    release = made(tmp_path, rows, domain, draws=SilentDraws(), roles=roles)
    edges = pyarrow.parquet.read_table(release.folder / "edges.parquet")
    assert edges.column_names[:2] == ["song id", "Länd"]
    assert edges["song id"].to_pylist() == [30, 4, -1]
    assert edges["count"].to_pylist() == [1, 1, 0]
    assert [row.item for row in release.top(2, Länd="é")] == [30, 4]


def test_a_table_of_several_blocks_keeps_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published, "_BLOCK", 7)
    values = [f"v{n * 37 % 101:03}" for n in range(101)]
    counts = {value: n % 5 for n, value in enumerate(values)}
    release = made(tmp_path, visits(counts), ct.Domain(values), draws=SilentDraws())
    items = pyarrow.parquet.read_table(release.folder / "items.parquet")
    assert items["item"].to_pylist() == values
    assert items["count"].to_pylist() == [n % 5 for n in range(101)]


def test_noise_beside_each_count(tmp_path: Path) -> None:
    release = town(tmp_path, epsilon="1/3", max_records=4, draws=None)
    (facts,) = (t for t in release.metadata["tables"] if t["name"] == "edges")
    scale = Fraction(4) / Fraction(1, 6)
    assert Fraction(facts["noise"]["scale"]) == scale
    width = DiscreteLaplace(scale).half_width(Fraction(19, 20))
    assert facts["noise"]["interval_half_width"] == width
    table = pyarrow.parquet.read_table(release.folder / "edges.parquet").to_pydict()
    assert set(table["noise_std"]) == {DiscreteLaplace(scale).std()} == {facts["noise"]["std"]}
    for count, low, high in zip(table["count"], table["low"], table["high"], strict=True):
        assert (low, high) == (count - width, count + width)


def test_negative_counts_are_kept(tmp_path: Path) -> None:
    items = [f"i{n}" for n in range(400)]
    release = made(tmp_path, visits({"i0": 1}), ct.Domain(items), epsilon="0.01")
    counts = pyarrow.parquet.read_table(release.folder / "items.parquet")["count"].to_numpy()
    assert len(counts) == 400
    # Half of them, but with probability 1e-9: four hundred coins, six standard errors.
    assert 140 < (counts < 0).sum() < 260


def test_counts_near_the_end_of_64_bits_stay_within_them() -> None:
    ends = np.iinfo(np.int64)
    values = np.array([ends.max, ends.min, 0, ends.max - 1], dtype=np.int64)
    table = NoisyTable(
        "t", grid([Axis.of("a", list("wxyz"))]), values, DiscreteLaplace(Fraction(10)), {}
    )
    (block,) = table.blocks()
    assert block["low"].tolist() == [ends.max - 30, ends.min, -30, ends.max - 31]
    assert block["high"].tolist() == [ends.max, ends.min + 30, 30, ends.max]


# ---- release.json -------------------------------------------------------------------------------


KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "chosen": {"choose": "rank"},
    "hpa": {"bounding": "hpa"},
    "tempered": {"bounding": "tempered"},
    "dpsense": {"bounding": "dpsense", "count": "users", "max_records": 2},
    "discovered": {"discover_items": True, "delta": "1e-2", "epsilon": 20},
    "pairs": {"pairs": True},
    "filter": {"publishing": "filter", "cut": 2},
    "threshold": {"publishing": "threshold", "threshold": "3"},
    "priority": {"publishing": "priority", "size": 3},
    "dyadic": {"transform": "dyadic", "ordered": "item"},
    "haar": {"transform": "haar", "ordered": "item"},
    "sketch": {"transform": "sketch", "buckets": 4},
    "rows": {},
    "attributes": {},
    "long list": {},
}


def of_kind(folder: Path, kind: str) -> ct.Release:
    domain: ct.Domain | None = ct.Domain(PLACES, {"day": DAYS})
    roles: dict[str, Any] = {}
    rows = visits(CELLS, "day")
    if kind in ("discovered",):
        domain = None
    if kind == "pairs":
        domain = ct.Domain(PLACES)
    if kind == "rows":
        roles = {"user": None, "user_per_row": True}
    if kind == "attributes":
        domain = ct.Domain(attributes={"item": PLACES, "day": DAYS})
        roles = {"item": None, "contexts": [], "attributes": ["item", "day"]}
    if kind == "long list":
        domain = ct.Domain([*PLACES, *(f"p{n}" for n in range(10_000))])
    return made(folder, rows, domain, roles=roles, **KINDS[kind])


def paths(value: Any, prefix: str = "") -> Iterator[str]:
    """Every field by its path; the keys of maps from names to values are written as NAME."""
    maps = {"split", "versions", "method.bounds"}
    if isinstance(value, dict):
        for key, inner in value.items():
            step = "NAME" if prefix in maps else key
            yield from paths(inner, f"{prefix}.{step}" if prefix else step)
    elif isinstance(value, list):
        yield prefix
        for inner in value:
            if isinstance(inner, dict):
                yield from paths(inner, f"{prefix}[]")
    else:
        yield prefix


def documented() -> set[str]:
    """The first column of the document's tables of fields."""
    return set(re.findall(r"^\| `([^`]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))


def test_documented_fields_are_exactly_the_written_ones(tmp_path: Path) -> None:
    written = set()
    for kind in KINDS:
        (tmp_path / kind).mkdir()
        written |= set(paths(dict(of_kind(tmp_path / kind, kind).metadata)))
    assert written - documented() == set(), "fields that docs/release-format.md does not mention"
    assert documented() - written == set(), "documented fields that nothing writes"


def test_release_json_is_plain_json_of_a_known_schema(tmp_path: Path) -> None:
    release = town(tmp_path, epsilon="1/3")
    text = (release.folder / "release.json").read_text(encoding="utf-8")
    facts = json.loads(text, parse_constant=lambda _: pytest.fail("NaN or infinity in JSON"))
    assert facts == release.metadata
    assert facts["schema"] == "crowdtally-release/1"
    assert facts["guarantee"]["epsilon"] == "1/3"
    assert facts["guarantee"]["unit"] == {"kind": "user", "column": "user"}
    assert "all records of one user" in facts["guarantee"]["words"]
    assert facts["charged"]["spent_after"] == "1/3"
    assert sum(map(Fraction, facts["split"].values())) == 1
    total = sum(Fraction(table["epsilon"]) for table in facts["tables"])
    assert total == Fraction(1, 3)


def test_release_json_tells_no_count_of_the_records(tmp_path: Path) -> None:
    """Numbers of users, rows, kept and dropped records that occur nowhere else."""
    users, each = 1237, 3  # of which 2 are kept: 2474 of 3711, after 611 dropped
    rows = pa.table(
        {
            "user": [f"u{n % users}" for n in range(users * each)] + ["u0"] * 611,
            "item": ["zoo"] * (users * each) + ["elsewhere"] * 611,
            "day": ["Mon"] * (users * each + 611),
        }
    )
    domain = ct.Domain(PLACES, {"day": DAYS})
    told = {users, users * each, users * 2, 611, users * each + 611, users - 1, users + 1}
    for number, options in enumerate(
        [{}, {"count": "users"}, {"choose": "rank"}, {"publishing": "filter", "cut": 5}]
    ):
        release = made(tmp_path, rows, domain, name=f"out-{number}", max_records=2, **options)
        text = (release.folder / "release.json").read_text(encoding="utf-8")
        numbers = {int(found) for found in re.findall(r"(?<![\w.])\d+(?![\w.])", text)}
        assert not numbers & told
        schema = pyarrow.parquet.read_metadata(release.folder / "items.parquet").metadata or {}
        assert not any(b"1237" in value for value in schema.values())


# ---- written whole or not at all ----------------------------------------------------------------


def test_a_failure_in_the_middle_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush, flushed = parquet.flush, []

    def fail_at_the_second(path: Path) -> None:
        if flushed:
            raise OSError(28, "No space left on device")
        flushed.append(path)
        flush(path)

    monkeypatch.setattr(parquet, "flush", fail_at_the_second)
    with pytest.raises(ct.CrowdtallyError, match=r"No space left.*The charge stands") as caught:
        town(tmp_path)
    assert caught.value.exit_code == 1
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.sqlite"]
    (charge,) = Ledger.open(tmp_path / "ledger.sqlite").charges()
    assert charge.state == "reserved"


def test_an_unforeseen_failure_says_that_the_charge_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("Zaphod's records")

    monkeypatch.setattr(parquet, "write", fail)
    with pytest.raises(ct.CrowdtallyError, match="The charge stands") as caught:
        town(tmp_path)
    assert "Zaphod" not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.sqlite"]


KILLED = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from crowdtally.published import parquet
from kit.made import made
from kit.silent import SilentDraws
from test_published import town

folder = Path(sys.argv[1])
for moment in range(1, 40):
    place = folder / str(moment)
    place.mkdir()
    child = os.fork()
    if child == 0:
        seen = 0

        def dies(function):
            def step(*given, **named):
                global seen
                seen += 1
                if seen == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*given, **named)
            return step

        parquet.flush, parquet.write = dies(parquet.flush), dies(parquet.write)
        os.rename = dies(os.rename)
        town(place)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(moment, os.waitstatus_to_exitcode(status), flush=True)
    if status == 0:
        break
"""


def test_a_kill_at_any_step_leaves_a_whole_release_or_none(tmp_path: Path) -> None:
    """Before every write, flush and rename: the name appears only with everything under it."""
    here = str(Path(__file__).parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(tmp_path)],
        capture_output=True, text=True, env=env, timeout=200,
    )  # fmt: skip
    ends = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert ends, done.stderr
    assert len(ends) > 8
    assert {code for _, code in ends[:-1]} == {-9}, done.stderr
    assert ends[-1][1] == 0, done.stderr
    whole = 0
    for moment, _ in ends:
        folder = tmp_path / str(moment)
        out, ledger = folder / "out", Ledger.open(folder / "ledger.sqlite")
        if out.exists():
            whole += 1
            assert len(ct.load(out).top(3)) == 3
            assert ledger.charges()[0].state == "published"
            digest = hashlib.sha256((out / "release.json").read_bytes()).hexdigest()
            assert ledger.charges()[0].sha256 == digest
        charged = [charge.state for charge in ledger.charges()]
        assert charged in ([], ["reserved"], ["published"])
        assert bool(charged) or not out.exists()
        stays = {p.name for p in folder.iterdir()} - {"out"}
        assert all(n.startswith(("ledger.sqlite", ".out.")) for n in stays), stays
    assert 0 < whole < len(ends), "some kills came before the rename, some after"


def test_files_are_flushed_before_the_folder_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    flush, rename = parquet.flush, os.rename
    monkeypatch.setattr(parquet, "flush", lambda path: (events.append(path.name), flush(path)))
    monkeypatch.setattr(os, "rename", lambda *a: (events.append("rename"), rename(*a)))
    town(tmp_path)
    before, after = events[: events.index("rename")], events[events.index("rename") + 1 :]
    assert {"items.parquet", "edges.parquet", "release.json"} <= set(before)
    assert before[-1].startswith(".out.")
    assert after == [tmp_path.name]


@pytest.mark.parametrize("obstacle", ["file", "folder", "full folder", "link"])
def test_never_over_what_came_in_between(tmp_path: Path, obstacle: str) -> None:
    target = tmp_path / "out"
    with staging(target) as staged:
        (staged.path / "release.json").write_text("{}")
        if obstacle == "file":
            target.write_text("mine")
        elif obstacle == "link":
            target.symlink_to(tmp_path / "nowhere")
        else:
            target.mkdir()
        if obstacle == "full folder":
            (target / "mine").write_text("mine")
        with pytest.raises(ct.UsageError, match="never replaces anything"):
            staged.commit()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    if obstacle == "file":
        assert target.read_text() == "mine"
    if obstacle == "full folder":
        assert (target / "mine").read_text() == "mine"


# ---- kept, copied, loaded -----------------------------------------------------------------------


def test_a_release_without_a_folder_lives_as_long_as_the_object(tmp_path: Path) -> None:
    records = ct.read(visits(CELLS, "day"), user="user", item="item")
    release = ct.release(
        records, ct.Domain(PLACES), epsilon=1, ledger=tmp_path / "ledger.sqlite", dataset="d"
    )
    folder = release.folder
    saved = release.save(tmp_path / "kept")
    assert folder.exists()
    before = release.top(3)
    del release
    gc.collect()
    assert not folder.exists()
    assert not folder.parent.exists(), "the private folder goes too"
    assert saved.top(3) == before == ct.load(tmp_path / "kept").top(3)
    assert ct.load(tmp_path / "kept").metadata == saved.metadata


def test_a_folder_whose_name_could_be_a_pattern(tmp_path: Path) -> None:
    release = town(tmp_path)
    (tmp_path / "r1's").mkdir()
    odd = release.save(tmp_path / "r[1]'s")
    assert str(odd.top(3)) == str(release.top(3))
    assert odd.table("items").fetchall() == release.table("items").fetchall()


def test_save_is_a_whole_copy_and_replaces_nothing(tmp_path: Path) -> None:
    release = town(tmp_path)
    copy = release.save(tmp_path / "copy")
    for path in release.folder.iterdir():
        assert (copy.folder / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(ct.UsageError, match="never replaces anything"):
        release.save(tmp_path / "copy")
    with pytest.raises(ct.UsageError, match="is not a folder"):
        release.save(tmp_path / "a" / "b")
    (release.folder / "items.parquet").unlink()
    with pytest.raises(ct.CrowdtallyError, match="cannot be"):
        release.save(tmp_path / "half")
    assert not (tmp_path / "half").exists()
    assert not list(tmp_path.glob(".half*"))


def test_not_a_release(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a")
    for place, lack in (
        (tmp_path, r"it has no release\.json"),
        (tmp_path / "nowhere", "there is no such folder"),
        (tmp_path / "a.csv", "it is a file"),
    ):
        with pytest.raises(ct.InputError, match=f"is not a release: {lack}"):
            ct.load(place)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"{}", b'"x"', b"\xff\xfe", b'{"schema": 1}', b"[" * 10**5],
)
def test_damaged_metadata(tmp_path: Path, content: bytes) -> None:
    folder = town(tmp_path).folder
    (folder / "release.json").write_bytes(content)
    with pytest.raises(ct.InputError, match=r"release\.json|layout"):
        ct.load(folder)


def test_a_newer_layout(tmp_path: Path) -> None:
    folder = town(tmp_path).folder
    facts = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps(facts | {"schema": "crowdtally-release/2"}))
    with pytest.raises(ct.InputError, match=r"'crowdtally-release/2'.*upgrade"):
        ct.load(folder)


def test_a_table_that_is_missing_or_elsewhere(tmp_path: Path) -> None:
    folder = town(tmp_path).folder
    (folder / "edges.parquet").rename(tmp_path / "edges.parquet")
    with pytest.raises(ct.InputError, match=r"lacks its table 'edges\.parquet'"):
        ct.load(folder)
    edit(folder, lambda facts: facts["tables"][1].update(file="../edges.parquet"))
    with pytest.raises(ct.InputError, match=r"names its file '\.\./edges\.parquet'"):
        ct.load(folder)  # what a release names must not lead out of its folder


def _without(facts: Any, path: list[Any]) -> None:
    for step in path[:-1]:
        facts = facts[step]
    del facts[path[-1]]


@pytest.mark.parametrize(
    "path",
    [
        ["schema"], ["tables"], ["domain"], ["counted"], ["domain", "contexts"],
        ["domain", "contexts", 0, "values"], ["domain", "contexts", 0, "name"],
        ["tables", 1, "noise"], ["tables", 1, "noise", "scale"],
        ["tables", 1, "noise", "interval_level"], ["tables", 1, "name"], ["tables", 1, "file"],
    ],
    ids=lambda path: ".".join(map(str, path)),
)  # fmt: skip
def test_a_missing_field_is_said_in_words(tmp_path: Path, path: list[Any]) -> None:
    folder = town(tmp_path).folder
    edit(folder, lambda facts: _without(facts, path))
    with pytest.raises(ct.InputError, match=f"it lacks '.*{path[-1]}'"):
        ct.load(folder)
