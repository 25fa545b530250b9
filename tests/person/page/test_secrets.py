"""Nothing of the history is anywhere but on the person's own pages."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from crowdtally.person.page.actions import Choice, Desk
from crowdtally.web.gate import Token
from kit.person_page import NAMES, OWN, PageServed, desk_in, page_of


def everything(page: PageServed) -> list[str]:
    """All that is answered where something is refused."""
    wrong = [
        page.ask("/"), page.ask(headers={"host": "evil.example"}), page.send("draw", {}),
        page.ask("nowhere"), page.ask("draw"), page.ask("?epsilon=x"), page.ask("?levels=no:99"),
        page.send("release", epsilon="1", levels="", draw=9, name="a.csv"),
        page.send("release", epsilon="1", levels="", draw=1, name="../a"),
        page.send("draw", epsilon="1", levels="all:0-1"),
    ]  # fmt: skip
    assert all(answer.status >= 400 for answer in wrong)
    return [answer.text for answer in wrong]


def test_no_item_is_in_addresses_refusals_logs_or_the_store(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    # "No release" of all of the history, so that no draw can have one of its items by chance.
    films = {
        "Mine-1618": ["mine"], "Also-0339": ["mine"],
        "Other-8874": ["other"], "Else-9894": ["other"],
    }  # fmt: skip
    own = ("Mine-1618", "Also-0339")
    with page_of(desk_in(tmp_path, films=films, own=own)) as page:
        choice = Choice("1", {0: "no"})
        page.draw(choice)
        page.draw(choice, seen=1)
        page.press("release", **dict(choice.fields), draw=1, name="a.csv")
        page.send("choose", overall="typed", epsilon="1", levels=choice.packed, **{"level-0": "no"})
        for look in ("", "levels", "so-far", f"again?{choice.query()}", f"?{choice.query()}"):
            page.ask(look)
        refused = everything(page)
    captured = capfd.readouterr()
    spoken = [*page.seen, *refused, captured.out, captured.err, caplog.text, *page.told]
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or not any(item.encode() in path.read_bytes() for item in own), (
            path
        )
    for item in own:
        assert not any(item in text for text in spoken)
    secret = page.home.strip("/")
    assert not any(secret in text for text in (captured.out, captured.err, caplog.text))
    assert captured.err == captured.out == ""


def test_addresses_say_the_same_whatever_the_history(tmp_path: Path) -> None:
    led = []
    for number, own in enumerate((OWN, (), ("Heat-9793", "Ronin-2384"))):
        with page_of(desk_in(tmp_path / str(number), own=own)) as page:
            page.draw(Choice("1"))
            page.press("release", epsilon="1", levels="", draw=1, name="a.csv")
            form = page.ask("levels").text
            page.send("choose", overall="typed", epsilon="2", levels="", **{"level-0": "no"})
            order = [form.index(f"<bdi>{name}</bdi>") for name in NAMES]
            assert order == sorted(order), "a form in another order would tell which are theirs"
            led.append([one.removeprefix(page.home) for one in page.seen])
    assert led[0] == led[1] == led[2]


def test_forms_keep_no_private_field(read: PageServed) -> None:
    import re

    for look in ("", "levels", "again?epsilon=1&levels="):
        names = set(re.findall(r'<input[^>]* name="([^"]+)"', read.ask(look).text))
        known = r"epsilon|levels|overall|q|page|seen|(level|other)-\d+"
        assert all(re.fullmatch(known, name) for name in names), names
        assert not any(item in read.ask(look).text for item in OWN), "items are not listed"


def test_nothing_shows_itself_by_accident(tmp_path: Path) -> None:
    desk: Desk = desk_in(tmp_path)
    assert "Alien" not in repr(desk)
    token = Token.new()
    assert token.text not in repr(token)
