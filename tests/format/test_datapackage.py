"""datapackage.json: valid, nothing but what release.json says, and a lie in it is seen."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from pathlib import Path
from random import Random
from typing import Any

import frictionless
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.format import datapackage
from crowdtally.format.manifest import Manifest
from crowdtally.format.parse import sealed, shaped
from kit.auto import release_way
from kit.command import crowdtally
from kit.damage import WRONG, adopt, edit, fields, flipped, of_kind
from kit.publishing import made, visits

# ---- datapackage.json: valid by the standard's own library, and nothing but what release.json
#      says


Made = Callable[[str], Path]
KINDS = (
    "auto", "plain", "attributes", "pairs", "filter", "dyadic", "haar", "sketch", "discovered",
    "scaled",
)  # fmt: skip
"""Kinds of release that differ in their columns, types or NULLs."""
REAL = ("top in contexts",)
"""A real release of --top."""


@pytest.fixture(autouse=True, scope="module")
def no_other_limit() -> Iterator[None]:
    """Frictionless lets the whole process read longer fields of CSV: until these tests end."""
    limit = csv.field_size_limit()
    yield
    csv.field_size_limit(limit)


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Made:
    def make(kind: str) -> Path:
        base = tmp_path_factory.mktemp("made")
        return release_way(base, kind).folder if kind in REAL else of_kind(base, kind)

    return cache(make)


def faults(folder: Path) -> list[str]:
    """What the standard's library finds wrong with a package, down to the rows of its tables."""
    report = frictionless.validate(str(folder / "datapackage.json"))
    assert report.warnings == []
    found = [*report.errors, *(error for task in report.tasks for error in task.errors)]
    assert report.valid == (not found)
    return [error.type for error in found]


def package_in(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS + REAL)
def test_every_kind_of_release_is_a_valid_package(kind: str, folder_of: Made) -> None:
    folder = folder_of(kind)
    found, facts = package_in(folder), json.loads((folder / "release.json").read_text("utf-8"))
    assert found["$schema"] == "https://datapackage.org/profiles/2.0/datapackage.json"
    assert faults(folder) == []
    for resource, table in zip(found["resources"], facts["tables"], strict=True):
        assert (resource["path"], resource["hash"]) == (table["file"], f"sha256:{table['sha256']}")
        assert "bytes" not in resource
        told = [(field["name"], field["type"]) for field in resource["schema"]["fields"]]
        types = {"string": "string", "int64": "integer", "double": "number"}
        schema = pq.read_schema(folder / table["file"])
        assert told == [(one.name, types[str(one.type)]) for one in schema]


@pytest.mark.parametrize("kind", ["plain", "dyadic", "pairs"])
def test_rows_are_known_by_columns_that_are_never_empty(kind: str, folder_of: Made) -> None:
    folder = folder_of(kind)
    for one in package_in(folder)["resources"]:
        key, schema = one["schema"]["primaryKey"], one["schema"]
        required = {f["name"] for f in schema["fields"] if f["constraints"].get("required")}
        assert set(key) <= required
        table = pq.read_table(folder / one["path"], columns=key)
        assert table.group_by(key).aggregate([]).num_rows == table.num_rows
        assert not any(table[name].null_count for name in key)


def test_a_withdrawn_release_stays_a_valid_package(folder_of: Made, tmp_path: Path) -> None:
    folder = shutil.copytree(folder_of("plain"), tmp_path / "release")
    before = (folder / "datapackage.json").read_bytes()
    ledger = folder_of("plain").parent / "ledger.sqlite"
    ct.withdraw(folder, reason="<b>a list</b>\x1b[2J", ledger=ledger)
    assert faults(folder) == []
    assert (folder / "datapackage.json").read_bytes() == before


def test_the_library_sees_another_table(folder_of: Made, tmp_path: Path) -> None:
    """So a package that it calls valid is one whose rows were read; hashes it leaves alone."""
    folder = shutil.copytree(folder_of("plain"), tmp_path / "release")
    table = pq.read_table(folder / "edges.parquet")
    pq.write_table(pa.concat_tables([table, table.slice(1, 1)]), folder / "edges.parquet")
    assert faults(folder) == ["primary-key"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda fields: fields[1].update(type="integer"), "type-error"),
        (lambda fields: fields[1]["constraints"].update(enum=["Mon", "Sun"]), "constraint-error"),
        (lambda fields: fields[1].update(name="weekday"), "schema-error"),
        (lambda fields: fields[2].update(name="number"), "incorrect-label"),
    ],
    ids=["type", "list", "key", "name"],
)
def test_the_library_sees_other_fields(
    change: Callable[[list[Any]], None], fault: str, folder_of: Made, tmp_path: Path
) -> None:
    folder = shutil.copytree(folder_of("plain"), tmp_path / "release")
    found = package_in(folder)
    change(found["resources"][1]["schema"]["fields"])
    (folder / "datapackage.json").write_text(json.dumps(found), "utf-8")
    assert fault in faults(folder)


HOSTILE = ["=cmd|' /C calc'!A0", "<script>alert(1)</script>", "a\x9b2J\u202eb", "x" * 10**5, ""]


def test_hostile_labels_and_names_are_data(tmp_path: Path) -> None:
    who, what = "<img src=x onerror=y>'\"`$\\(z\\)", 'the "item"; DROP'
    rows = pa.table({who: ["a", "b"], what: HOSTILE[:2]})
    folder = made(tmp_path, rows, ct.Domain(HOSTILE), roles={"user": who, "item": what}).folder
    assert faults(folder) == []
    text = (folder / "datapackage.json").read_text("utf-8")
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    (resource,) = json.loads(text)["resources"]
    assert resource["schema"]["fields"][0]["name"] == what
    assert resource["schema"]["fields"][0]["constraints"]["enum"] == HOSTILE
    assert "<img" not in json.loads(text)["description"], "a description is Markdown"
    notes = pq.read_metadata(folder / "items.parquet").metadata
    facts = json.loads((folder / "release.json").read_text("utf-8"))
    assert notes[b"crowdtally.guarantee"].decode() == facts["guarantee"]["words"]


# ---- nothing that the release itself does not say -----------------------------------------------


def texts(value: Any) -> Iterator[str]:
    """Every text and number in some JSON, and every name in it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    else:
        yield str(value)


def test_it_follows_from_release_json_and_the_columns_alone(folder_of: Made) -> None:
    for kind in KINDS:
        facts = json.loads((folder_of(kind) / "release.json").read_text("utf-8"))
        names = {"string": "text", "int64": "integer", "double": "float"}
        kinds = {
            table["name"]: {
                one.name: names[str(one.type)]
                for one in pq.read_schema(folder_of(kind) / table["file"])
            }
            for table in facts["tables"]
        }
        raw = (folder_of(kind) / "datapackage.json").read_bytes()
        assert datapackage.encoded(shaped(facts, Manifest, ct.InputError), kinds) == raw


def test_no_count_of_rows_or_charge_is_told(folder_of: Made) -> None:
    """What it repeats of release.json are names, lists, hashes and the promise."""
    folder = folder_of("plain")
    facts = json.loads((folder / "release.json").read_text("utf-8"))
    told = set(texts(package_in(folder)))
    assert not told & {facts["charged"]["entry"], facts["charged"]["dataset"], facts["sha256"]}
    assert not told & {"rows", "bytes", "charged", "versions", "ledger"}


def test_other_records_change_hashes_and_what_is_drawn_alone(tmp_path: Path) -> None:
    domain, found = ct.Domain(["a", "b", "c"]), []
    for name, counts in (("few", {"a": 1}), ("many", {"a": 400, "b": 77})):
        (tmp_path / name).mkdir()
        folder = made(tmp_path / name, visits(counts), domain).folder
        package = package_in(folder)
        for drawn in ("id", "name", "created"):
            package.pop(drawn)
        package["crowdtally"].pop("release")
        package["resources"][0].pop("hash")
        notes = dict(pq.read_metadata(folder / "items.parquet").metadata)
        notes.pop(b"crowdtally.release")
        found.append((package, notes))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["plain", "auto", "discovered"])
def test_every_footer_says_the_promise_and_whose_it_is(kind: str, folder_of: Made) -> None:
    folder = folder_of(kind)
    facts = json.loads((folder / "release.json").read_text("utf-8"))
    promised = facts["guarantee"]
    for table in facts["tables"]:
        notes = pq.read_metadata(folder / table["file"]).metadata
        assert {key.decode(): value.decode() for key, value in notes.items()} == {
            "crowdtally.schema": facts["schema"],
            "crowdtally.release": facts["id"],
            "crowdtally.guarantee": promised["words"],
            "crowdtally.epsilon": promised["epsilon"],
            "crowdtally.delta": promised["delta"],
            "crowdtally.unit": promised["unit"]["kind"],
        }
    told = package_in(folder)["crowdtally"]
    assert {f"crowdtally.{name}": words for name, words in told.items()} == {
        key.decode(): value.decode() for key, value in notes.items()
    }


@pytest.mark.parametrize("kind", ["plain", "auto", "discovered"])
def test_the_promise_that_is_shown_follows_from_the_numbers(
    kind: str, folder_of: Made, tmp_path: Path
) -> None:
    """A folder that was sealed anew may say other words beside its epsilon: nobody reads them."""
    folder = shutil.copytree(folder_of(kind), tmp_path / "resealed")
    path = folder / "release.json"
    facts = json.loads(path.read_text("utf-8"))
    wanted = facts["guarantee"]["words"]
    facts["guarantee"] |= {"words": "0.001-differential privacy.", "neighbours": "nothing"}
    del facts["sha256"]
    path.write_bytes(sealed(facts))
    release = ct.load(folder)
    assert release.metadata["guarantee"]["words"] == "0.001-differential privacy."
    assert f"e^{facts['guarantee']['epsilon']}" in wanted
    page, exported = tmp_path / "report.html", tmp_path / "croissant.json"
    assert crowdtally("report", folder, "-o", page).code == 0
    release.export(croissant=exported)
    texts = [page.read_text("utf-8"), exported.read_text("utf-8"), release._repr_html_()]
    for text in (*texts, str(release.describe()), crowdtally("describe", folder, "--json").out):
        assert "0.001-differential" not in text
        assert "Compared are nothing" not in text
    assert wanted in unescape(release._repr_html_())


# ---- datapackage.json and the footers are looked at by ``check``, which names what is wrong ------


Fresh = Callable[..., Path]
INPUT = 4
FLIPS, FIELDS = 8, 12
ANOTHER = "it is not the file that was released (its SHA-256 is another)"


def refusal(folder: Path) -> str:
    ended = crowdtally("check", folder)
    assert (ended.code, ended.out) == (INPUT, ""), str(ended)
    assert "unforeseen" not in ended.err
    return ended.err


def test_any_changed_byte_is_seen(fresh: Fresh) -> None:
    folder, random = fresh("plain"), Random("datapackage")
    path = folder / "datapackage.json"
    whole = path.read_bytes()
    for _ in range(FLIPS):
        flipped("datapackage.json", random.random(), 1 << random.randrange(8))(folder)
        said = f"crowdtally: '{path}' is damaged: {ANOTHER}. Copy the release again.\n"
        assert refusal(folder) == said
        path.write_bytes(whole)
    for cut in (b"", whole[:-1], whole + b" "):
        path.write_bytes(cut)
        assert ANOTHER in refusal(folder)
    path.write_bytes(whole)
    assert crowdtally("check", folder).code == 0


@pytest.mark.parametrize("instead", ["nothing", "folder", "pipe", "dangling link"])
def test_a_package_that_is_no_file(instead: str, fresh: Fresh) -> None:
    path = fresh("plain") / "datapackage.json"
    path.unlink()
    if instead == "folder":
        path.mkdir()
    if instead == "pipe":
        os.mkfifo(path)
    if instead == "dangling link":
        path.symlink_to(path.with_name("nowhere"))
    lacks = f"'{path.parent}' lacks its 'datapackage.json': copy the whole folder."
    pipe = f"'{path}' cannot be read: it is not a regular file."
    assert (pipe if instead == "pipe" else lacks) in refusal(path.parent)
    assert len(ct.load(path.parent).top(3)) == 3, "questions do not need it"


def adopted(folder: Path, found: Any) -> None:
    """The package as somebody who knows how hashes are made would change it."""
    raw = json.dumps(found).encode()
    (folder / "datapackage.json").write_bytes(raw)
    digest = hashlib.sha256(raw).hexdigest()
    edit(folder, lambda facts: facts.update(datapackage={"sha256": digest}))


def package_in_damaged(folder: Path) -> Any:
    return json.loads((folder / "datapackage.json").read_text("utf-8"))


TABLES = "its resources are not the tables of release.json, with their hashes"
LIES: dict[str, tuple[Callable[[Any], object], str]] = {
    "another release": (lambda f: f.update(id="x"), "it is about another release"),
    "a table less": (lambda f: f["resources"].pop(), TABLES),
    "tables swapped": (lambda f: f["resources"].reverse(), TABLES),
    "another hash": (lambda f: f["resources"][0].update(hash=f"sha256:{'0' * 64}"), TABLES),
    "a path that leads out": (lambda f: f["resources"][0].update(path="../x"), TABLES),
    "another type": (
        lambda f: f["resources"][1]["schema"]["fields"][2].update(type="string"),
        "its fields of 'edges.parquet' are not the columns of that file",
    ),
    "a column less": (
        lambda f: f["resources"][0]["schema"]["fields"].pop(),
        "its fields of 'items.parquet' are not the columns of that file",
    ),
    "a column twice": (
        lambda f: f["resources"][0]["schema"]["fields"].append(
            f["resources"][0]["schema"]["fields"][0]
        ),
        "its fields of 'items.parquet' are not the columns of that file",
    ),
    "another ε": (
        lambda f: f["crowdtally"].update(epsilon="1/1000"),
        "its 'crowdtally' is not what release.json says",
    ),
    "a better promise": (
        lambda f: f.update(description="Nobody can learn anything."),
        "its 'description' is not what release.json says",
    ),
    "another time": (
        lambda f: f.update(created="2020-01-01T00:00:00+00:00"),
        "its 'created' is not what release.json says",
    ),
    "no promise": (lambda f: f.pop("crowdtally"), "its 'crowdtally' is not what release.json says"),
    "no resources": (lambda f: f.pop("resources"), "it lacks 'resources'"),
}


@pytest.mark.parametrize("words", LIES)
def test_a_package_that_says_something_else_with_a_right_hash(words: str, fresh: Fresh) -> None:
    folder = fresh("plain")
    found = package_in_damaged(folder)
    change, said = LIES[words]
    change(found)
    adopted(folder, found)
    assert said in refusal(folder)


def test_fields_that_hold_anything_are_seen_or_do_not_matter(fresh: Fresh) -> None:
    folder, random = fresh("plain"), Random("fields")
    whole = package_in_damaged(folder)
    for steps in random.sample(list(fields(whole)), FIELDS):
        found = json.loads(json.dumps(whole))
        holder = found
        for step in steps[:-1]:
            holder = holder[step]
        holder[steps[-1]] = random.choice([one for one in WRONG if one != "\ud800"])
        adopted(folder, found)
        ended = crowdtally("check", folder)
        assert ended.code in (0, INPUT), f"{steps}: {ended}"
        assert "unforeseen" not in ended.err, f"{steps}: {ended}"


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff", b'{"id": NaN}', b"[" * 10**5])
def test_a_package_that_is_no_json_with_a_right_hash(raw: bytes, fresh: Fresh) -> None:
    folder = fresh("plain")
    (folder / "datapackage.json").write_bytes(raw)
    digest = hashlib.sha256(raw).hexdigest()
    edit(folder, lambda facts: facts.update(datapackage={"sha256": digest}))
    assert f"'{folder / 'datapackage.json'}' is damaged: it " in refusal(folder)


@pytest.mark.parametrize("named", [None, "x", {}, {"sha256": "0"}, {"sha256": None}])
def test_a_field_of_another_shape(named: object, fresh: Fresh) -> None:
    folder = fresh("plain")
    edit(folder, lambda facts: facts.update(datapackage=named))
    with pytest.raises(ct.InputError, match=r"release\.json' is damaged: .*datapackage"):
        ct.load(folder)


@pytest.mark.parametrize("key", ["release", "epsilon", "delta", "unit", "guarantee", "schema"])
def test_a_footer_of_another_release(key: str, fresh: Fresh) -> None:
    folder = fresh("plain")
    path = folder / "items.parquet"
    table = pq.read_table(path)
    notes = {**table.schema.metadata, f"crowdtally.{key}".encode(): b"another"}
    pq.write_table(table.replace_schema_metadata(notes), path)
    adopt(folder, "items")
    assert f"its footer does not say the {key} of release.json" in refusal(folder)


def test_a_table_without_notes(fresh: Fresh) -> None:
    folder = fresh("plain")
    path = folder / "items.parquet"
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    adopt(folder, "items")
    assert "its footer does not say the schema of release.json" in refusal(folder)


def test_a_copy_has_the_package_too(fresh: Fresh, tmp_path: Path) -> None:
    folder = fresh("plain")
    copy = ct.load(folder).save(tmp_path / "copy").folder
    assert (copy / "datapackage.json").read_bytes() == (folder / "datapackage.json").read_bytes()
    assert crowdtally("check", copy).code == 0
    (folder / "datapackage.json").unlink()
    with pytest.raises(ct.CrowdtallyError, match=r"lacks its 'datapackage\.json'"):
        ct.load(folder).save(tmp_path / "half")
    assert not (tmp_path / "half").exists()
