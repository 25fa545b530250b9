"""Catalogues, histories and levels from files; the file for the recommender."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.person.catalogue import Catalogue, read_catalogue
from crowdtally.person.device import checked_target, hand_over
from crowdtally.person.history import NoisyCategories, read_history
from crowdtally.person.levels import read_levels, together, typed_levels
from crowdtally.person.perturbation import Perturbed
from crowdtally.person.plan import Plan


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_the_same_catalogue_in_every_form(tmp_path: Path) -> None:
    long = written(tmp_path, "a.csv", "film,genre\n7,x\n7,y\n08,x\n7,x\n")
    wide = written(tmp_path, "b.csv", "film;genres\n7;x|y\n08;x|\n")
    lines = written(
        tmp_path, "c.jsonl", '{"item":"7","category":"y","more":1}\n'
        '{"item":"7","category":"x"}\n{"item":"08","category":"x"}\n',
    )  # fmt: skip
    found = [
        read_catalogue(long),
        read_catalogue(wide, separator="|"),
        read_catalogue(lines),
    ]
    assert found[0].items == ("7", "08")
    assert found[0].item_axis.name == "film"
    assert len({catalogue.sha256 for catalogue in found}) == 1


def test_integers_of_parquet_are_the_texts_of_csv(tmp_path: Path) -> None:
    table = pa.table({"item": [7, 8], "category": ["x", "y"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    plain = written(tmp_path, "a.csv", "item,category\n7,x\n8,y\n")
    assert read_catalogue(tmp_path / "a.parquet").sha256 == read_catalogue(plain).sha256
    pyarrow.parquet.write_table(table, tmp_path / "own.parquet")
    assert read_history(tmp_path / "own.parquet", "item") == ["7", "8"]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("item,category\n", {}, "has no rows"),
        ("item,category\n,x\n", {}, "row 1 of the catalogue .* has no item"),
        ("item,category\na,\nb,x\n", {}, "1 of the catalogue's 2 items have no category"),
        ("a,b,c\n1,2,3\n", {}, "no column 'item': say which one it is, --item"),
        ("item,b,c\n1,2,3\n", {}, "no column 'category'"),
        ("item,b,c\n1,2,3\n", {"category": "item"}, "two columns"),
        ("item,category\na\n", {}, "line 2: 1 values"),
        ("item,category\na,x\n", {"separator": ""}, "separator of categories is empty"),
        ("item,category\na,x|y\nb,x\n", {}, "1 of the 2 categories .* --separator '\\|'"),
        ("item,category\ne\u0301,x\n", {}, "normal form C"),
    ],
)
def test_a_wrong_catalogue_is_refused(
    tmp_path: Path, text: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(CrowdtallyError, match=words):
        read_catalogue(written(tmp_path, "a.csv", text), **options)


@pytest.mark.parametrize("name", ["nowhere.csv", "a.xlsx", "a.parquet"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    if name != "nowhere.csv":
        (tmp_path / name).write_bytes(b"PAR1 no")
    with pytest.raises(CrowdtallyError, match=r"is not a file|no table|cannot be read"):
        read_catalogue(tmp_path / name)


def test_histories_of_each_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_history(written(tmp_path, "a.txt", "\ufeff7\r\n\n 8\n"), "item") == ["7", " 8"]
    two = written(tmp_path, "b.csv", "when,item\n1,a\n2,b\n")
    assert read_history(two, "item") == ["a", "b"]
    assert read_history(f"{two}:when", "item") == ["1", "2"]
    assert read_history(written(tmp_path, "c.csv", "any\na\n"), "item") == ["a"]
    assert read_history(written(tmp_path, "d.csv", "item\n"), "item") == []
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\ny\n")))
    assert read_history("-", "item") == ["x", "y"]


def test_wrong_histories_are_refused_without_a_value(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no column 'item'.*There are: when, secret"):
        read_history(written(tmp_path, "a.csv", "when,secret\n1,a\n"), "item")
    with pytest.raises(InputError, match=r"row 2 .* has no item"):
        read_history(written(tmp_path, "b.csv", "item,x\na,1\n,1\n"), "item")
    (tmp_path / "c.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        read_history(tmp_path / "c.txt", "item")
    with pytest.raises(InputError, match="cannot be read"):
        read_history(tmp_path / "nowhere.txt", "item")


def test_levels_from_a_file_and_typed(tmp_path: Path) -> None:
    file = read_levels(written(tmp_path, "a.csv", "category,level\nx,no\ny,0.5\n"))
    found = together(file, typed_levels(["y=2", "z=all"])).as_json()
    assert found == {"x": "no", "y": "2", "z": "all"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("category,levels\nx,no\n", "need the columns category and level"),
        ("category,level\nx,no\nx,all\n", "two levels to 'x'"),
        ("category,level\nx,\n", "a level is no"),
    ],
)
def test_wrong_levels_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(CrowdtallyError, match=words):
        together(read_levels(written(tmp_path, "a.csv", text)), {})


def test_typed_levels_are_checked() -> None:
    for wrong in ("x", "=no"):
        with pytest.raises(UsageError, match="--level is CATEGORY=no"):
            typed_levels([wrong])
    with pytest.raises(UsageError, match="two levels"):
        typed_levels(["x=no", "x=all"])


MADE = Perturbed(NoisyCategories(("x",), (5,)), ("a", 'b,"c'))


def test_the_file_holds_the_items_and_nothing_of_the_device(tmp_path: Path) -> None:
    plan = Plan.of(Catalogue.of({"a": ["x"], 'b,"c': ["x"]}), 1)
    for name in ("out.csv", "out.txt", "out.json"):
        hand_over(MADE, plan, checked_target(tmp_path / name))
    assert (tmp_path / "out.csv").read_text() == 'item\na\n"b,""c"\n'
    assert (tmp_path / "out.txt").read_text() == 'a\nb,"c\n'
    facts = json.loads((tmp_path / "out.json").read_text())
    assert set(facts) == {"items", "epsilon", "guarantee"}
    assert facts["items"] == list(MADE.items)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "out.json", "out.txt"]


def test_nothing_is_replaced(tmp_path: Path) -> None:
    plan = Plan.of(Catalogue.of({"a": ["x"]}), 1)
    target = checked_target(tmp_path / "out.csv")
    target.write_text("mine")  # meanwhile
    with pytest.raises(CrowdtallyError, match="without another charge"):
        hand_over(MADE, plan, target)
    assert target.read_text() == "mine"
    for wrong in (target, tmp_path / "out", tmp_path / "no" / "out.csv", tmp_path / "a.parquet"):
        with pytest.raises(UsageError):
            checked_target(wrong)


def test_a_disk_without_links_takes_the_file_too(tmp_path: Path, monkeypatch: Any) -> None:
    import os

    def none(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    plan = Plan.of(Catalogue.of({"a": ["x"]}), 1)
    monkeypatch.setattr(os, "link", none)
    hand_over(MADE, plan, checked_target(tmp_path / "out.txt"))
    assert (tmp_path / "out.txt").read_text() == 'a\nb,"c\n'


def test_popularity_from_a_file(tmp_path: Path) -> None:
    from crowdtally.person.catalogue import read_popularity

    films = Catalogue.of({"a": ["x"], "b": ["x"]}, item="film")
    plain = written(tmp_path, "a.csv", "film,seen\na,3\nb,0.5\n")
    assert read_popularity(plain, films) == {"a": 3.0, "b": 0.5}
    more = written(tmp_path, "b.csv", "year,film,seen\n1979,a,3\n")
    assert read_popularity(f"{more}:seen", films) == {"a": 3.0}
    with pytest.raises(UsageError, match=r"as FILE:COLUMN. There are: year, film, seen"):
        read_popularity(more, films)
    for rows in ("a,-1", "a,many", "a,inf", "a,nan", "a,", "a,1\na,2", ",1"):
        with pytest.raises(InputError, match="weight"):
            read_popularity(written(tmp_path, "c.csv", f"film,seen\n{rows}\n"), films)


def test_a_bar_may_be_a_part_of_names(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "item,category\na,x|y\n")
    assert read_catalogue(path, separator="///").categories == ("x|y",)
