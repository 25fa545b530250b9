"""Looking: what the pages say, and that they change nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crowdtally.person.page.actions import Choice
from crowdtally.person.plan import Plan
from kit.person import FILMS, NAMES, OWN, PLACE, PageServed, content, desk_in, page_of

LOOKS = (
    "", "?epsilon=1&levels=", "?epsilon=policy&levels=", "?epsilon=&levels=", "levels", "so-far",
    "?epsilon=1&levels=no:4", "again?epsilon=1&levels=", "levels?epsilon=1&levels=no:4&q=o&page=2",
    "?epsilon=1&levels=&q=o&sort=name", "?epsilon=1&levels=all:2", "?epsilon=1&levels=&file=x.csv",
)  # fmt: skip


def cells(page: str) -> dict[str, list[str]]:
    """The rows of the table of categories."""
    rows = re.findall(r'<tr><th scope="row"[^>]*>(.*?)</tr>', page)
    found = [re.sub(r"<[^>]+>", "|", row).split("|") for row in rows]
    return {next(filter(None, row)): [cell for cell in row if cell][1:] for row in found}


def test_looking_makes_nothing(read: PageServed) -> None:
    for look in LOOKS:
        assert read.ask(look).status in (200, 400), look
        assert read.ask(look, "HEAD").body == b""
    assert not read.desk.store.home.path.exists()
    assert list(read.desk.folder.iterdir()) == []


def test_looking_changes_no_byte_once_something_is_drawn(served: PageServed) -> None:
    served.draw(Choice("1"))
    served.draw(Choice("1"), seen=1)
    before = content(served.desk.store.home.path, served.desk.folder)
    for look in (*LOOKS, "?epsilon=1&levels=&draw=2", "?epsilon=3&levels="):
        served.ask(look)
    assert content(served.desk.store.home.path, served.desk.folder) == before


def test_a_draw_that_was_not_named_yet_is_read_where_it_lies(served: PageServed) -> None:
    shown = cells(served.draw(Choice("1")).text)
    home = served.desk.store.home
    (charge,) = served.desk.store.charges()
    assert charge.staged is not None
    (home.draws / charge.charge.release_id).rename(charge.staged.path)  # killed before the renaming
    before = content(home.path)
    assert cells(served.ask("?epsilon=1&levels=").text) == shown
    assert content(home.path) == before
    assert cells(served.draw(Choice("1")).text) == shown
    assert len(served.charges()) == 1


def test_beforehand_widths_are_shown_and_nothing_drawn(read: PageServed) -> None:
    page = read.ask("?epsilon=1&levels=")
    plan = Plan.of(read.desk.catalogue, 1)
    found = cells(page.text)
    assert next(iter(found)) == "comedy", "most of one's own first"
    own = {name: sum(name in FILMS[film] for film in OWN) for name in NAMES}
    assert {name: int(row[0]) for name, row in found.items()} == own
    widths = dict(zip(plan.categories, plan.widths(), strict=True))
    assert {name: int(row[2]) for name, row in found.items()} == widths
    assert "Draw once: costs epsilon 1" in page.words
    assert "Nothing is drawn yet" in page.words
    assert "With noise" not in page.words
    assert "Release: write this file" not in page.words


def test_what_it_means_is_said_in_words(read: PageServed) -> None:
    words = read.ask("?epsilon=1&levels=no:4").words
    for said in (
        "one of 50% at most 73.2%",
        "No release: 'horror'",
        "20 items of a history together can lose",
        "are counted with noise. Together they can lose at most 3 × 1 = 3",
        "So far nothing was drawn",
    ):
        assert said in words.replace("\N{NO-BREAK SPACE}", " "), said


def test_nothing_is_chosen_for_anybody(tmp_path: Path) -> None:
    with page_of(desk_in(tmp_path, start=Choice(""))) as page:
        first = page.ask()
        assert first.status == 200
        assert "Choose how much one item may reveal" in first.words
        assert "Draw once" not in first.words
        assert page.send("draw", epsilon="", levels="").status == 400


def test_a_policy_chooses_and_is_called_a_reconstruction(read: PageServed) -> None:
    page = read.ask("?epsilon=policy&levels=")
    assert "as reconstructed by Crowdtally" in page.words
    found = re.search(r"Draw once: costs epsilon ([\d.]+)", page.words)
    assert found is not None
    assert 0.1 <= float(found[1]) <= 3
    assert read.send("choose", overall="policy", epsilon="1", levels="").headers["location"] == (
        "./?epsilon=policy&levels="
    )


def test_levels_that_contradict_each_other_are_said_and_kept(read: PageServed) -> None:
    page = read.ask(f"?epsilon=1&levels=all:{PLACE['comedy']}")
    assert page.status == 400
    assert "the levels contradict each other" in page.words
    assert f'value="all:{PLACE["comedy"]}"' in page.text
    assert "Draw once" not in page.words
    assert read.ask(f"levels?epsilon=1&levels=all:{PLACE['comedy']}").status == 200


def test_items_that_were_left_out_are_told_on_the_page_alone(tmp_path: Path) -> None:
    from dataclasses import replace

    from crowdtally.person.history import History

    desk = desk_in(tmp_path)
    own = History.of([*OWN, OWN[0], "Nosferatu"], desk.catalogue, drop_unknown=True)
    with page_of(replace(desk, history=own)) as page:
        words = page.ask().words
    assert "1 items that the catalogue does not have were left out" in words
    assert "named again, 1 times" in words


def test_the_form_of_levels_changes_what_it_shows_and_keeps_the_rest(read: PageServed) -> None:
    sent = {
        "overall": "typed", "epsilon": " 0.50 ", "levels": "no:4;2:6",
        f"level-{PLACE['action']}": "0.1", f"other-{PLACE['action']}": "",
        f"level-{PLACE['comedy']}": "no", f"other-{PLACE['comedy']}": "1/3",
        f"level-{PLACE['space']}": "", f"other-{PLACE['space']}": "", "to": "overview",
    }  # fmt: skip
    answer = read.send("choose", **sent)
    assert answer.headers["location"] == "./?epsilon=0.5&levels=0.1:0;1/3:1;no:4"
    on = read.send("choose", **{**sent, "to": "levels", "page": "1", "q": "o"})
    assert on.headers["location"] == "levels?epsilon=0.5&levels=0.1:0;1/3:1;no:4&q=o&page=2"
    for wrong in ({"epsilon": "-1"}, {"level-99": "no"}, {"level-x": "no"}, {"level-1": "much"}):
        assert read.send("choose", **{"overall": "typed", **wrong}).status == 400


def test_a_level_of_another_page_stays(read: PageServed) -> None:
    sent = {"overall": "typed", "epsilon": "1", "levels": "no:4;2:6", "level-0": "no"}
    assert read.send("choose", **sent).headers["location"] == "./?epsilon=1&levels=2:6;no:0,4"


def test_items_that_are_not_counted_are_told_apart(read: PageServed) -> None:
    page = read.ask(f"?epsilon=1&levels=no:{PLACE['horror']}")
    assert "Of these counted" in page.words
    found = cells(page.text)
    assert found["space"][:2] == ["2", "1"], "one of the two is of horror too"
    assert found["horror"][:2] == ["1", "–"]
    assert "Of these counted" not in read.ask("?epsilon=1&levels=").words


@pytest.mark.parametrize("query", ["q=OME", "q=ome"])
def test_categories_are_found_by_a_part_of_their_names(read: PageServed, query: str) -> None:
    assert list(cells(read.ask(f"?epsilon=1&levels=&{query}").text)) == ["comedy"]
    assert "No category has" in read.ask("?epsilon=1&levels=&q=zzz").words


def test_numbers_are_written_as_the_reader_does(read: PageServed) -> None:
    german = read.ask("?epsilon=1&levels=", headers={"accept-language": "de"}).text
    assert "2,8" in german
    assert "2.8" in read.ask("?epsilon=1&levels=").text


@pytest.mark.long
def test_a_thousand_categories_with_levels_of_their_own(tmp_path: Path) -> None:
    films = {f"i{n}": [f"c{n % 1000:04}", f"d{n % 7}"] for n in range(2000)}
    desk = desk_in(tmp_path, films=films, own=("i1", "i2", "i1001"))
    levels = {place: f"{place + 1}/1009" for place in range(1000)}
    choice = Choice("1", levels)
    assert Choice.of("1", choice.packed, 1007) == choice
    with page_of(desk) as page:
        first = page.ask(f"?{choice.query()}")
        assert first.status == 200
        assert len(cells(first.text)) == 20
        assert "Page 1 of 51" in first.words
        last = page.ask(f"levels?{choice.query(page=51)}")
        assert last.text.count("<legend>") == 8
        assert page.send("choose", overall="typed", epsilon="1", levels=choice.packed).status == 303


def test_many_levels_and_long_names_make_no_long_sentence(tmp_path: Path) -> None:
    films = {f"i{n}": [f"{n:03}" + "x" * 1000] for n in range(100)}
    with page_of(desk_in(tmp_path, films=films, own=("i1",))) as page:
        words = page.ask("?epsilon=1&levels=no:0-49;all:50-51").words
    assert "and 38 more" in words
    assert max(map(len, words.split())) < 200
    assert len(words) < 10_000
