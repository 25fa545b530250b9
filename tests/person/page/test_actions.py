"""What a person's page does: one draw, and one release of it."""

from __future__ import annotations

import csv
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from crowdtally.ledger import Ledger
from crowdtally.person import store as storing
from crowdtally.person.device import as_json
from crowdtally.person.page import app as answering
from crowdtally.person.page.actions import Choice
from crowdtally.person.store import DATASET, Store
from crowdtally.person.words import so_far
from crowdtally.web import server
from kit.pages import PATIENCE
from kit.person import PageServed, content, desk_in, page_of
from person.page.test_pages import cells

# ---- One draw: charged and stored before it is shown, and the same ever after --------------------


ONE = Choice("1")


@contextmanager
def slowly(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Draws that wait, once they have begun, until they may go on."""
    begun, may = threading.Event(), threading.Event()
    drawn = storing.perturb

    def waiting(*given: Any, **named: Any) -> Any:
        begun.set()
        assert may.wait(30)
        return drawn(*given, **named)

    monkeypatch.setattr(storing, "perturb", waiting)
    try:
        yield begun, may
    finally:
        may.set()


def until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


def stored(store: Store) -> list[dict[str, Any]]:
    return [json.loads(file.read_bytes()) for file in store.home.draws.glob("*/draw.json")]


def test_what_is_shown_is_what_is_stored_and_charged(served: PageServed) -> None:
    page = served.draw(ONE)
    (kept,) = stored(served.desk.store)
    noisy = dict(zip(kept["categories"], kept["noisy_counts"], strict=True))
    shown = {name: row[1].replace("\N{MINUS SIGN}", "-") for name, row in cells(page.text).items()}
    assert {name: int(text) for name, text in shown.items()} == noisy
    assert f"The list that may leave has {len(kept['items'])} items" in page.words
    assert served.charges() == ["published"]
    assert served.desk.store.spent() == 1
    (charge,) = served.desk.store.charges()
    assert f"entry {charge.id} of your ledger" in page.words
    assert "So far 1 draw" in page.words
    assert so_far([charge], Fraction(1)) in page.words


def test_the_same_button_and_the_same_address_show_the_same_draw(served: PageServed) -> None:
    first = served.draw(ONE).text
    assert served.draw(ONE).text == first
    assert served.draw(Choice("1.0")).text == first
    assert cells(served.ask("?epsilon=1&levels=").text) == cells(first)
    assert served.charges() == ["published"]


def test_another_choice_is_another_draw(served: PageServed) -> None:
    served.draw(ONE)
    page = served.draw(Choice("1", {4: "no"}))
    assert cells(page.text)["horror"][-1] == "no release"
    assert served.charges() == ["published", "published"]


def test_public_weights_belong_to_the_request(tmp_path: Path) -> None:
    plain = desk_in(tmp_path)
    weights = dict.fromkeys(plain.catalogue.items, 2.0)
    with page_of(replace(plain, popularity=weights)) as page:
        assert "With noise (draw 1)" in page.draw(ONE).words
        assert "With noise (draw 1)" in page.ask().words
    plan = plain.plan(ONE)
    assert plain.store.stored(plain.history, plan) == []
    assert len(plain.store.stored(plain.history, plan, popularity=weights)) == 1


def test_buttons_pressed_at_once_make_one_draw(served: PageServed) -> None:
    with ThreadPoolExecutor(8) as many:
        pages = set(many.map(lambda _: served.draw(ONE).text, range(8)))
    assert len(pages) == 1
    assert served.charges() == ["published"]


def test_another_draw_is_asked_for_on_a_page_of_its_own(served: PageServed) -> None:
    served.draw(ONE)
    ask = served.ask("again?epsilon=1&levels=")
    assert "Drawing again until a draw pleases breaks the protection" in ask.words
    assert "all draws of this device to epsilon 2" in ask.words
    assert '<input type="hidden" name="seen" value="1">' in ask.text
    assert served.charges() == ["published"]
    second = served.draw(ONE, seen=1)
    assert "Draw 2" in second.words
    assert served.desk.store.spent() == 2
    with ThreadPoolExecutor(8) as many:  # the same button again, and all at once
        assert set(many.map(lambda _: served.draw(ONE, seen=1).text, range(8))) == {second.text}
    assert served.desk.store.spent() == 2
    first = served.ask("?epsilon=1&levels=")
    assert "With noise (draw 1)" in first.words, "without another word the first is meant"


def test_a_draw_is_finished_although_the_browser_went_away(
    served: PageServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with slowly(monkeypatch) as (begun, may):
        connection = served.begin("draw", **dict(ONE.fields))
        assert begun.wait(20)
        connection.close()
        assert served.charges() == ["drawing"]
        assert "Draw once" in served.ask().words, "others are answered meanwhile"
        may.set()
        until(lambda: served.charges() == ["published"])
    assert "With noise (draw 1)" in served.ask().words


def test_no_limit_of_time_cuts_a_draw_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "SECONDS", 0.1)
    with page_of(desk_in(tmp_path)) as page, slowly(monkeypatch) as (begun, may):
        threading.Timer(0.5, may.set).start()
        answer = page.send("draw", **dict(ONE.fields))
        assert begun.is_set()
        assert answer.status == 303
        assert page.charges() == ["published"]


def test_a_server_that_stops_finishes_what_is_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdtally.web.server.GRACE", 0.1)
    desk = desk_in(tmp_path)
    with slowly(monkeypatch) as (begun, may), page_of(desk) as page:
        connection = page.begin("draw", **dict(ONE.fields))
        assert begun.wait(20)
        threading.Timer(0.5, may.set).start()
    connection.close()
    assert page.charges() == ["published"]
    assert len(page.told) == 1
    assert "finishing" in page.told[0]


def test_a_limit_is_shown_beforehand_and_holds(served: PageServed) -> None:
    served.draw(Choice("0.5"))
    with Ledger.open(served.desk.store.home.ledger) as ledger:
        ledger.set_limit(DATASET, epsilon=1, reason="enough")
    page = served.ask("?epsilon=1&levels=")
    assert "exceeds" in page.words or "remaining" in page.words, page.words
    assert "Draw once" not in page.words
    answer = served.send("draw", **dict(ONE.fields))
    assert answer.status == 409
    assert "0.5" in answer.words
    assert served.charges() == ["published"]
    fits = served.ask("?epsilon=0.4&levels=")
    assert "The limit of this device is epsilon 1, and 0.5 of it is left" in fits.words
    assert "Draw once: costs epsilon 0.4" in fits.words
    assert "0.5 of it is left" in served.ask("so-far").words


def test_a_draw_that_somebody_else_began_is_not_made_in_its_place(
    served: PageServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*given: Any, **named: Any) -> Any:
        raise SystemExit

    with monkeypatch.context() as broken:
        broken.setattr(storing, "perturb", killed)
        with pytest.raises(SystemExit):
            served.desk.store.perturb(served.desk.history, served.desk.plan(ONE))
    answer = served.send("draw", **dict(ONE.fields))
    assert answer.status == 409
    assert "was begun and is not finished" in answer.words
    assert "again?epsilon=1" in answer.text
    assert served.charges() == ["drawing"]
    assert "Draw 2" in served.draw(ONE, seen=0).words
    assert served.charges() == ["drawing", "published"]


def test_a_failure_after_the_charge_says_what_is_true(
    served: PageServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any, **named: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storing, "perturb", broken)
    answer = served.send("draw", **dict(ONE.fields))
    assert answer.status == 409
    for words in ("No space left on device", "The charge stands", "“Draw again” is --again"):
        assert words in answer.words
    assert served.charges() == ["drawing"]


def test_what_nobody_foresaw_tells_no_value(
    served: PageServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any, **named: Any) -> Any:
        raise KeyError("Alien-3141")

    monkeypatch.setattr(Store, "stored", broken)
    answer = served.ask()
    assert answer.status == 500
    assert "KeyError" in answer.words
    assert "Alien-3141" not in answer.text


def test_a_form_that_does_not_come_is_let_go(
    served: PageServed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "FORM_SECONDS", 0.2)
    answer = served.ask("draw", "POST", {
        "origin": served.origin, "content-type": "application/x-www-form-urlencoded",
        "content-length": "100",
    }, b"epsilon=1")  # fmt: skip
    assert answer.status == 408


# ---- Release: a new file in one folder, and nothing else -----------------------------------------


ONE_RELEASING = {"epsilon": "1", "levels": ""}


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
        page = drawn.press("release", **ONE_RELEASING, draw=1, name=name)
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
    first = drawn.press("release", **ONE_RELEASING, draw=1, name="a.csv")
    assert drawn.press("release", **ONE_RELEASING, draw=1, name="a.csv").text == first.text
    assert [path.name for path in drawn.desk.folder.iterdir()] == ["a.csv"]


def test_nothing_is_replaced(drawn: PageServed) -> None:
    taken = drawn.desk.folder / "a.csv"
    taken.write_text("mine")
    (drawn.desk.folder / "link.csv").symlink_to(drawn.desk.folder / "elsewhere.csv")
    for name in ("a.csv", "link.csv"):
        answer = drawn.send("release", **ONE_RELEASING, draw=1, name=name)
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
        assert drawn.send("release", **ONE_RELEASING, draw=1, name=name).status == 400, name
    assert content(drawn.desk.folder.parent) == around


def test_only_a_draw_is_released(drawn: PageServed) -> None:
    assert drawn.send("release", **ONE_RELEASING, draw=2, name="a.csv").status == 400
    assert drawn.send("release", epsilon="2", levels="", draw=1, name="a.csv").status == 400
    assert drawn.send("release", **ONE_RELEASING, draw="x", name="a.csv").status == 400
    assert list(drawn.desk.folder.iterdir()) == []
    assert drawn.charges() == ["published"]


def test_the_page_does_not_say_that_a_file_is_there_which_is_not(drawn: PageServed) -> None:
    assert "is written" not in drawn.ask("?epsilon=1&levels=&draw=1&file=no.csv").words
    assert drawn.ask("?epsilon=1&levels=&draw=1&file=../store/key").status == 400
