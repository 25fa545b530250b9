"""datapackage.json and the footers are looked at by ``check``, which names what is wrong."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from kit.command import crowdtally
from kit.damaged import adopt, edit
from kit.damages import WRONG, fields, flipped

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


def package_in(folder: Path) -> Any:
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
    found = package_in(folder)
    change, said = LIES[words]
    change(found)
    adopted(folder, found)
    assert said in refusal(folder)


def test_fields_that_hold_anything_are_seen_or_do_not_matter(fresh: Fresh) -> None:
    folder, random = fresh("plain"), Random("fields")
    whole = package_in(folder)
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
