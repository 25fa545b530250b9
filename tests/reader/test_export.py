"""Exports: valid by the standards' own schemas, and YAML that every reader reads."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
import yaml as reading
from markdown_it import MarkdownIt

import crowdtally as ct
from crowdtally.reader.export import TO_ADD, Bullets, Entry, Number, _above, quoted
from crowdtally.reader.export import yaml as yaml_as_yaml
from kit.command import crowdtally
from kit.damage import edit, of_kind
from kit.publishing import made

# ---- ``export``: what it writes is valid by the standards' own schemas, and says nothing new -----


Made = Callable[[str], Path]
KINDS = ("auto", "plain", "attributes", "pairs", "filter", "discovered", "sketch")
USAGE, INPUT = 2, 4
FORMS = {"--registry": "entry.yaml", "--croissant": "croissant.json"}
EVERY_FORM = [*FORMS, "--site"]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return cache(lambda kind: of_kind(tmp_path_factory.mktemp("made"), kind))


@pytest.fixture(scope="module")
def valid() -> Callable[[Any], None]:
    """Holds an entry to the registry's schema."""
    place = os.environ.get("CROWDTALLY_STANDARDS")
    path = Path(place or "") / "dp-deployments-registry.schema.yaml"
    if not place or not path.is_file():
        pytest.skip("CROWDTALLY_STANDARDS names no folder with dp-deployments-registry.schema.yaml")
    schema = yaml.safe_load(path.read_text("utf-8"))
    dates = jsonschema.FormatChecker(["date"])
    return lambda entry: jsonschema.validate(entry, schema, format_checker=dates)


def entry_of(release: ct.Release, target: Path) -> dict[str, Any]:
    assert release.export(registry=target) == target
    found: dict[str, Any] = yaml.safe_load(target.read_text("utf-8"))
    return found


# ---- the registry -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "hostile", "withdrawn"])
def test_an_entry_fits_the_registrys_schema(
    kind: str, folder_of: Made, tmp_path: Path, valid: Callable[[Any], None]
) -> None:
    if kind == "hostile":
        release = hostile(tmp_path)
    elif kind == "withdrawn":
        release = withdrawn(folder_of("plain"), tmp_path)
    else:
        release = ct.load(folder_of(kind))
    valid(entry_of(release, tmp_path / "entry.yaml"))


def test_the_schema_refuses_what_is_no_entry(
    folder_of: Made, tmp_path: Path, valid: Callable[[Any], None]
) -> None:
    entry = entry_of(ct.load(folder_of("plain")), tmp_path / "entry.yaml")
    entry["deployment"]["basic"]["publication_date"] = "yesterday"
    with pytest.raises(jsonschema.ValidationError):
        valid(entry)


@pytest.mark.parametrize("kind", KINDS)
def test_what_can_be_derived_is_filled_in(kind: str, folder_of: Made, tmp_path: Path) -> None:
    release = ct.load(folder_of(kind))
    entry = entry_of(release, tmp_path / "entry.yaml")
    told, promised = entry["deployment"], release.metadata["guarantee"]
    pure = promised["delta"] == "0"
    assert told["dp_variant"]["variant_name"] == ("Pure DP" if pure else "Approximate DP")
    parameters = told["privacy_loss"]["privacy_parameters"]
    assert parameters["epsilon"] == float(Fraction(promised["epsilon"]))
    assert ("delta" in parameters) == (not pure)
    assert told["privacy_loss"]["privacy_unit"] == "User-level"
    assert promised["neighbours"] in told["privacy_loss"]["privacy_unit_details"]
    assert told["basic"]["publication_date"] == release.metadata["created"][:10]
    for table in release.metadata["tables"]:
        shown = repr(table["name"]).replace("_", "\\_")
        assert shown in told["accounting"]["composition"]
        assert shown in told["implementation"]["mechanisms"]


def test_what_the_curator_must_add_is_named_in_a_comment(folder_of: Made, tmp_path: Path) -> None:
    entry_of(ct.load(folder_of("plain")), tmp_path / "entry.yaml")
    lines = (tmp_path / "entry.yaml").read_text("utf-8").splitlines()
    asked = [n for n, line in enumerate(lines) if "CURATOR:" in line]
    keys = [re.sub(r"[# ]*(\w+):.*", r"\1", lines[n + 1]) for n in asked]
    assert keys == [
        "url_slug", "tier", "name", "data_curators", "intended_use", "data_product_region",
        "publication_date", "data_product_sector", "unprotected_quantities", "actors",
        "release_type", "data_source_type", "preprocessing_and_hyperparameter_tuning",
        "mechanisms", "justification", "sources", "registry_authors",
    ]  # fmt: skip
    left = [n for n, line in enumerate(lines) if TO_ADD in line]
    assert all("CURATOR:" in lines[n - 1] or "CURATOR:" in lines[n - 2] for n in left)
    assert len(left) == 5


@pytest.mark.parametrize(
    "value", ["1/3", "0.1", "4", "1e-9", "1/7000000000", "1e30", "1.5", "2/3e7"]
)
def test_a_number_is_never_below_the_exact_one(value: str) -> None:
    top, _, below = value.partition("/")
    exact = Fraction(top) / Fraction(below or "1")
    told = yaml.safe_load(f"x: {_above(exact)}")["x"]
    assert isinstance(told, int | float)
    assert 0 <= Fraction(Decimal(_above(exact))) - exact <= exact / 10**11


# ---- Croissant ----------------------------------------------------------------------------------


def croissant_of(folder: Path, target: Path) -> dict[str, Any]:
    ct.load(folder).export(croissant=target)
    found: dict[str, Any] = json.loads(target.read_text("utf-8"))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_croissant_names_every_file_column_and_type(
    kind: str, folder_of: Made, tmp_path: Path
) -> None:
    folder = folder_of(kind)
    found = croissant_of(folder, tmp_path / "croissant.json")
    assert found["@type"] == "sc:Dataset"
    assert found["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    files = {one["@id"]: one for one in found["distribution"]}
    assert set(files) == {"release.json"} | {path.name for path in folder.glob("*.parquet")}
    for name, one in files.items():
        assert one["contentUrl"] == name
        assert one["sha256"] == sha256((folder / name).read_bytes()).hexdigest()
    types = {"string": "sc:Text", "int64": "cr:Int64", "double": "cr:Float64"}
    for record in found["recordSet"]:
        schema = pq.read_schema(folder / f"{record['@id']}.parquet")
        told = [(one["source"]["extract"]["column"], one["dataType"]) for one in record["field"]]
        assert told == [(one.name, types[str(one.type)]) for one in schema]
        assert {one["source"]["fileObject"]["@id"] for one in record["field"]} <= set(files)
    ids = [one["@id"] for record in found["recordSet"] for one in record["field"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [*KINDS, "hostile"])
def test_croissants_own_library_reads_every_table(
    kind: str, folder_of: Made, tmp_path: Path
) -> None:
    import mlcroissant

    whole = hostile(tmp_path).folder if kind == "hostile" else folder_of(kind)
    folder = shutil.copytree(whole, tmp_path / "copy")
    ct.load(folder).export(croissant=folder / "croissant.json")
    found = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not found.metadata.ctx.issues.errors
    for record in found.metadata.record_sets:
        rows = list(found.records(record.uuid))
        table = pq.read_table(folder / f"{record.uuid}.parquet")
        assert [row[f"{record.uuid}/count"] for row in rows] == table["count"].to_pylist()


# ---- hostile texts, withdrawn releases ----------------------------------------------------------

WHO, WHAT = "<img src=x onerror=y>", 'a/b "c" [d](http://e) $x$ \\(y\\) `f` \u202e'
LABELS = ["=cmd|' /C calc'!A0", "<script>alert(1)</script>", "a\x9b2J\u202eb", "x" * 10**5]


def hostile(base: Path) -> ct.Release:
    rows = pa.table({WHO: ["a", "b"], WHAT: LABELS[:2]})
    return made(base, rows, ct.Domain(LABELS), roles={"user": WHO, "item": WHAT})


def texts(value: Any) -> Iterator[str]:
    """Every text in an entry."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def withdrawn(whole: Path, base: Path) -> ct.Release:
    """A copy of a release, called back for a hostile reason."""
    folder = shutil.copytree(whole, base / "release")
    reason = "<b>a wrong list</b>\x1b[2J"
    ct.withdraw(folder, reason=reason, ledger=whole.parent / "ledger.sqlite")
    return ct.load(folder)


def test_hostile_names_and_labels_are_texts(tmp_path: Path) -> None:
    release = hostile(tmp_path)
    entry = entry_of(release, tmp_path / "entry.yaml")
    found = croissant_of(release.folder, tmp_path / "croissant.json")
    for name in ("entry.yaml", "croissant.json"):
        text = (tmp_path / name).read_text("utf-8")
        assert all(letter.isprintable() or letter == "\n" for letter in text)
        assert len(text) < 50_000
    # All texts of an entry are rendered as Markdown, and formulas in what comes of that.
    rendered = "".join(map(MarkdownIt().enable(["table", "strikethrough"]).render, texts(entry)))
    assert set(re.findall(r"<(\w+)", rendered)) == {"p", "ul", "li"}
    for formula in ("$x", "\\("):
        assert formula not in unescape(rendered)
    assert found["recordSet"][0]["field"][0]["name"] == WHAT
    assert "/" not in found["recordSet"][0]["field"][0]["@id"].removeprefix("items/")


def test_a_withdrawn_release_says_so_first(folder_of: Made, tmp_path: Path) -> None:
    release = withdrawn(folder_of("plain"), tmp_path)
    folder, entry = release.folder, entry_of(release, tmp_path / "entry.yaml")
    for told in (
        entry["deployment"]["basic"]["description"],
        entry["deployment"]["administrative"]["notes"],
        croissant_of(folder, tmp_path / "croissant.json")["description"],
    ):
        assert "This release was withdrawn on " in told[:40]
        assert "&lt;b&gt;a wrong list" in told
    ended = crowdtally("export", folder, "--registry", tmp_path / "again.yaml")
    assert ended.code == 0
    assert ended.err.startswith("withdrawn on ")


# ---- nothing that the release itself does not say -----------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_it_follows_from_the_folder_alone(form: str, folder_of: Made, tmp_path: Path) -> None:
    moved = shutil.copytree(folder_of("plain"), tmp_path / "else where")
    for folder, name in ((folder_of("plain"), "one"), (moved, "two")):
        assert crowdtally("export", folder, form, tmp_path / name).code == 0
    text = (tmp_path / "one").read_text("utf-8")
    assert text == (tmp_path / "two").read_text("utf-8")
    for private in (str(tmp_path), str(folder_of("plain").parent), os.uname().nodename, "sqlite"):
        assert private not in text


# ---- the command line, and what is refused ------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_it_prints_where_and_what_to_add(form: str, folder_of: Made, tmp_path: Path) -> None:
    target = tmp_path / FORMS[form]
    ended = crowdtally("export", folder_of("plain"), form, target)
    assert (ended.code, ended.out) == (0, f"{target}\n"), str(ended)
    assert "add them" in ended.err or "CURATOR" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    again = crowdtally("export", folder_of("plain"), form, target, "--quiet")
    assert (again.code, again.out) == (USAGE, "")
    assert f"{str(target)!r} exists, and is never replaced: choose another name" in again.err


def refused(tmp_path: Path, code: int, *arguments: object) -> str:
    before = sorted(tmp_path.rglob("*"))
    ended = crowdtally("export", *arguments)
    assert (ended.code, ended.out) == (code, ""), str(ended)
    assert sorted(tmp_path.rglob("*")) == before, "nothing was written"
    return ended.err


def test_exactly_one_form_is_asked_for(folder_of: Made, tmp_path: Path) -> None:
    folder = folder_of("plain")
    said = refused(tmp_path, USAGE, folder)
    assert "one of --registry FILE, --croissant FILE or --site DIR: received none." in said
    both = refused(
        tmp_path, USAGE, folder, "--registry", tmp_path / "a", "--croissant", tmp_path / "b"
    )
    assert "received --registry FILE and --croissant FILE." in both
    release = ct.load(folder)
    with pytest.raises(ct.UsageError, match=r"registry=FILE, croissant=FILE or site=DIR: rec"):
        release.export()
    with pytest.raises(ct.UsageError, match=r"registry=FILE needs the path of a new file"):
        release.export(registry=3)  # type: ignore[arg-type]
    assert "--registry FILE needs the path" in refused(tmp_path, USAGE, folder, "--registry", "")
    assert "path of a new folder" in refused(tmp_path, USAGE, folder, "--site", "")
    said = refused(tmp_path, USAGE, folder, "--registry", tmp_path / "a", "--labels", "x.csv")
    assert "--labels goes with --site DIR" in said


@pytest.mark.parametrize("form", EVERY_FORM)
def test_what_is_no_whole_release_of_this_version(
    form: str, folder_of: Made, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (tmp_path / "empty").mkdir()
    said = refused(tmp_path, INPUT, tmp_path / "empty", form, out)
    assert "is not a release: it has no release.json" in said
    newer = shutil.copytree(folder_of("plain"), tmp_path / "newer")
    edit(newer, lambda facts: facts.update(schema="crowdtally-release/2"))
    said = refused(tmp_path, INPUT, newer, form, out)
    assert "has layout 'crowdtally-release/2'" in said
    assert "use the version that wrote it" in said
    damaged = shutil.copytree(folder_of("plain"), tmp_path / "damaged")
    (damaged / "items.parquet").write_bytes(b"PAR1")
    assert "items.parquet' is damaged" in refused(tmp_path, INPUT, damaged, form, out)


@pytest.mark.parametrize("form", ["registry", "croissant", "site"])
def test_a_table_that_is_damaged_after_the_release_was_opened(
    form: str, folder_of: Made, tmp_path: Path
) -> None:
    release = ct.load(shutil.copytree(folder_of("plain"), tmp_path / "release"))
    path = release.folder / "items.parquet"
    pq.write_table(pq.read_table(path), path)  # whole, and not what was released
    with pytest.raises(ct.InputError, match=r"items\.parquet' is damaged"):
        release.export(**{form: tmp_path / "out"})
    assert not (tmp_path / "out").exists()


def test_a_name_does_not_say_another_format(folder_of: Made, tmp_path: Path) -> None:
    folder = folder_of("plain")
    said = refused(tmp_path, USAGE, folder, "--registry", tmp_path / "entry.json")
    assert "--registry FILE writes YAML, and 'entry.json' says something else: name it " in said
    assert "'entry.yaml'." in said
    said = refused(tmp_path, USAGE, folder, "--croissant", tmp_path / "c.yaml")
    assert (
        "--croissant FILE writes JSON, and 'c.yaml' says something else: name it 'c.json'" in said
    )
    assert not list(tmp_path.glob("*.json"))


def test_places_that_are_taken_or_cannot_be(folder_of: Made, tmp_path: Path) -> None:
    folder = folder_of("plain")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for place in ("link", "."):
        assert "exists, and is never replaced" in refused(
            tmp_path, USAGE, folder, "--registry", tmp_path / place
        )
    said = refused(tmp_path, USAGE, folder, "--registry", tmp_path / "no" / "x.yaml")
    assert f"'{tmp_path / 'no'}' is not a folder: create it first." in said


def test_somebody_was_quicker(
    folder_of: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = ct.load(folder_of("plain"))  # its ledger makes a link too
    target, link = tmp_path / "entry.yaml", os.link

    def late(source: Path, name: Path) -> None:
        name.write_text("mine")
        link(source, name)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(ct.UsageError, match="exists, and is never replaced"):
        release.export(registry=target)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [
        ("entry.yaml", "mine")
    ]


def test_a_file_system_without_links_or_room(
    folder_of: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", without)
    release = ct.load(folder_of("plain"))
    release.export(registry=tmp_path / "entry.yaml")
    monkeypatch.setattr(os, "rename", without)
    with pytest.raises(ct.CrowdtallyError, match="cannot be written: Operation not supported"):
        release.export(registry=tmp_path / "other.yaml")
    assert [path.name for path in tmp_path.iterdir()] == ["entry.yaml"]


# ---- YAML with comments: whatever a text holds, a reader of YAML gets that text back -------------


TEXTS = [
    "", " ", "plain", "# no comment", "a: b", "- a", "yes", "null", "1.5", "~", "!!python/none x",
    "&a *b", "%x", "@x", "`x`", "{a: b}", "[a]", "'", '"', "\\", "\\n", "two\nlines", "\ttab",
    "a\x00b\x1b[2J\x7f", "\x85\u2028\u2029\ufeff", "\u202eright to left", "😀 \U000e0041", "---",
    "word " * 60, "#" * 200, "a" * 10**5, "two  spaces " * 30, ": " * 90, "- x\n- y " * 20,
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(TEXTS)))
def test_a_text_is_read_back_as_it_was(place: int) -> None:
    text = TEXTS[place].strip(" ") if len(TEXTS[place]) > 80 else TEXTS[place]
    written = yaml_as_yaml(
        [Entry("outer", (Entry("key", text, "why"), Entry("next", "end")))], "top"
    )
    assert reading.safe_load(written) == {"outer": {"key": text, "next": "end"}}
    assert reading.safe_load(quoted(text)) == text
    assert all(letter.isprintable() or letter == "\n" for letter in written)


def test_numbers_lists_points_and_comments() -> None:
    entries = [
        Entry("number", Number("1.0e-9")),
        Entry("names", ["a: b", "# c"]),
        Entry("points", Bullets(("one # two", "three: four\n\x1bfive"))),
        Entry("missing", None, "CURATOR: add it " * 20),
        Entry("last", "x"),
    ]
    written = yaml_as_yaml(entries, "what it is")
    assert reading.safe_load(written) == {
        "number": 1e-9, "names": ["a: b", "# c"],
        "points": "- one # two\n- three: four \N{REPLACEMENT CHARACTER}five", "last": "x",
    }  # fmt: skip
    lines = written.splitlines()
    assert lines[:2] == ["# what it is", ""]
    assert "# missing:" in lines
    assert max(map(len, lines)) <= 92
