"""One person's own device: levels, plans, draws, files and the page."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import crowdtally as ct
from same import serving
from same.stage import Scene, Stage
from same.texts import folder_text, json_text

_PUBLIC = ("--catalogue", "films.csv")
_STORE = ("--store", "own")


def _files(stage: Stage) -> None:
    chance = Random(3)
    names = ["crime", "drama", "horror", "space", "comedy", "romance"]
    lines = [
        f"film {number},{name}"
        for number in range(30)
        for name in chance.sample(names, 1 + number % 3)
    ]
    stage.write("films.csv", "item,category\n" + "\n".join([*lines, "film 30,solo"]) + "\n")
    stage.write("own.csv", "item\n" + "".join(f"film {n}\n" for n in (1, 4, 7, 12, 20, 29, 30)))
    stage.write("own.txt", "film 2\nfilm 3\nnot a film\n")
    stage.write("levels.csv", "category,level\nhorror,no\nsolo,all\ncrime,1/2\n")
    stage.write("fame.csv", "item,weight\n" + "".join(f"film {n},{n + 1}\n" for n in range(30)))


def _commands(stage: Stage) -> None:
    _files(stage)
    typed, policy = ("--epsilon", "1"), ("--quantify", "--eta", "1/2", "--most", "2")
    some = ("--levels", "levels.csv", "--level", "drama=2")
    for name, given in (
        ("plain", typed), ("levels", (*typed, *some)), ("quantified", policy),
        ("small", ("--epsilon", "1/10")),
    ):  # fmt: skip
        stage.case(f"levels {name}", "person", "levels", *_PUBLIC, *given, "--history", "own.csv")
        stage.case(f"levels {name} as json", "person", "levels", *_PUBLIC, *given, "--json")
        show = ("person", "show", "own.csv", *_PUBLIC, *given, *_STORE)
        draw = ("person", "perturb", "own.csv", *_PUBLIC, *given, *_STORE)
        stage.case(f"before {name}", *show)
        stage.case(f"draw {name}", *draw, "--json", "--counts")
        stage.case(f"the same {name}", *draw)
        stage.case(f"again {name}", *draw, "--again", "-o", f"{name}.json", "--counts",
                   files=(f"{name}.json",))  # fmt: skip
        stage.case(f"after {name}", *show, "--json")
    stage.case("popularity", "person", "perturb", "own.csv", *_PUBLIC, *typed, "--store", "famous",
               "--popularity", "fame.csv:weight", "-o", "f.csv", files=("f.csv",))  # fmt: skip
    other = ("person", "perturb", "own.txt", *_PUBLIC, *typed, "--store", "other")
    stage.case("contradiction", *other, "--drop-unknown", "--level", "space=all")
    stage.case("unknown", *other)
    stage.case("unknown are dropped", *other, "--drop-unknown")
    stage.case("ledger", "ledger", "export", "--ledger", "own/ledger.sqlite")


def _library(stage: Stage) -> None:
    _files(stage)
    catalogue = ct.person.read_catalogue("films.csv")
    stage.seed("draw")
    draw = ct.person.perturb(["film 3", "film 9"], catalogue, epsilon="2/3", store="own")
    perturbed = draw.perturbed
    stage.note("draw", str(perturbed), str(sorted(map(str, perturbed.items))))
    stage.note("store", json_text([str(one) for one in ct.person.Store("own").charges()]))


def _page(stage: Stage) -> None:
    _files(stage)
    stage.folder.joinpath("files").mkdir()
    typed = ("person", "page", "own.csv", *_PUBLIC, "--epsilon", "1", *_STORE,
             "--output-folder", "files", "--port", "0", "--quiet")  # fmt: skip
    with serving.process(stage, *typed) as server:
        home = server.home
        stage.note("first", server.ask(home))
        stage.note("levels", server.ask(f"{home}levels"))
        stage.note("draw", server.send_form(home, "draw"))
        stage.note("drawn", server.ask(home))
        stage.note("release", server.send_form(home, "release"))
        stage.note("released", server.ask(home))
        stage.note("elsewhere", server.ask("/nothing"))
    stage.note("files", folder_text(stage.folder / "files"))


def scenes() -> Iterator[Scene]:
    """Commands, the library and the page."""
    yield Scene("person commands", _commands, quick=True)
    yield Scene("person library", _library, quick=True)
    yield Scene("person page", _page, quick=True)
