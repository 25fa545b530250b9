"""Release: a new file in one folder, and nothing else."""

from __future__ import annotations

import csv
import json

import pytest

from crowdtally.person.device import as_json
from crowdtally.person.page.actions import Choice
from kit.person_page import PageServed, content

ONE = {"epsilon": "1", "levels": ""}


@pytest.fixture
def drawn(served: PageServed) -> PageServed:
    """A page with a draw."""
    served.draw(Choice("1"))
    return served


def items(drawn: PageServed) -> list[str]:
    (draw,) = drawn.desk.store.stored(drawn.desk.history, drawn.desk.plan(Choice("1")))
    return list(map(str, draw.perturbed.items))


def test_it_writes_what_was_drawn(drawn: PageServed) -> None:
    before = content(drawn.desk.store.home.path)
    for name in ("a.csv", "b.json", "c.txt"):
        page = drawn.press("release", **ONE, draw=1, name=name)
        assert f"The file {name} is written to" in page.words
    folder = drawn.desk.folder
    with (folder / "a.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["film"], *([item] for item in items(drawn))]
    (draw,) = drawn.desk.store.stored(drawn.desk.history, drawn.desk.plan(Choice("1")))
    expected = json.loads(as_json(draw.perturbed, drawn.desk.plan(Choice("1"))))
    assert json.loads((folder / "b.json").read_text()) == expected
    assert (folder / "c.txt").read_text().split("\n")[:-1] == items(drawn)
    assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "b.json", "c.txt"]
    assert content(drawn.desk.store.home.path) == before, "nothing is charged for it"


def test_pressed_twice_it_is_one_file(drawn: PageServed) -> None:
    first = drawn.press("release", **ONE, draw=1, name="a.csv")
    assert drawn.press("release", **ONE, draw=1, name="a.csv").text == first.text
    assert [path.name for path in drawn.desk.folder.iterdir()] == ["a.csv"]


def test_nothing_is_replaced(drawn: PageServed) -> None:
    taken = drawn.desk.folder / "a.csv"
    taken.write_text("mine")
    (drawn.desk.folder / "link.csv").symlink_to(drawn.desk.folder / "elsewhere.csv")
    for name in ("a.csv", "link.csv"):
        answer = drawn.send("release", **ONE, draw=1, name=name)
        assert answer.status == 400
        assert "nothing is replaced" in answer.words
    assert taken.read_text() == "mine"
    assert not (drawn.desk.folder / "elsewhere.csv").exists()


def test_a_free_name_is_proposed(drawn: PageServed) -> None:
    assert 'value="perturbed.csv"' in drawn.ask().text
    (drawn.desk.folder / "perturbed.csv").touch()
    assert 'value="perturbed-2.csv"' in drawn.ask().text


def test_no_name_leads_elsewhere(drawn: PageServed) -> None:
    around = content(drawn.desk.folder.parent)
    for name in (
        "../a.csv", "/tmp/a.csv", "sub/a.csv", "..\\a.csv", "c:a.csv", ".a.csv", "..", "", " ", "a",
        "a.exe", "a\n.csv", "a\0.csv", "x" * 200 + ".csv", "a.csv/", "\u202ea.csv",
    ):  # fmt: skip
        assert drawn.send("release", **ONE, draw=1, name=name).status == 400, name
    assert content(drawn.desk.folder.parent) == around


def test_only_a_draw_is_released(drawn: PageServed) -> None:
    assert drawn.send("release", **ONE, draw=2, name="a.csv").status == 400
    assert drawn.send("release", epsilon="2", levels="", draw=1, name="a.csv").status == 400
    assert drawn.send("release", **ONE, draw="x", name="a.csv").status == 400
    assert list(drawn.desk.folder.iterdir()) == []
    assert drawn.charges() == ["published"]


def test_the_page_does_not_say_that_a_file_is_there_which_is_not(drawn: PageServed) -> None:
    assert "is written" not in drawn.ask("?epsilon=1&levels=&draw=1&file=no.csv").words
    assert drawn.ask("?epsilon=1&levels=&draw=1&file=../store/key").status == 400
