"""datapackage.json: valid by the standard's own library, and nothing but what release.json says."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import frictionless
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.format import datapackage
from crowdtally.format.parse import sealed
from kit.auto_made import release_way
from kit.command import crowdtally
from kit.damaged import of_kind
from kit.made import made, visits

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
        del facts["datapackage"], facts["sha256"]
        names = {"string": "text", "int64": "integer", "double": "float"}
        kinds = {
            table["name"]: {
                one.name: names[str(one.type)]
                for one in pq.read_schema(folder_of(kind) / table["file"])
            }
            for table in facts["tables"]
        }
        raw = (folder_of(kind) / "datapackage.json").read_bytes()
        assert datapackage.encoded(facts, kinds) == raw


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
