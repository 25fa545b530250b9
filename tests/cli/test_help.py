"""Help, completion, and commands of other distributions."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

import crowdtally as ct
from crowdtally.cli import plugins
from crowdtally.cli.options import TITLES
from crowdtally.cli.plugins import GROUP
from kit.command import COMMANDS, USAGE, Ended, Town, crowdtally, installed
from kit.documents import ROOT

# ---- Help in groups, at 80 columns and in a pipe; completion of values, by the shell's
#      protocol


FIRST = {
    "release": ["--epsilon", "--user", "--item", "--items", "--context", "--output"],
    "plan": ["--epsilon", "--user", "--item", "--items", "--context"],
    "inspect": ["--epsilon", "--user", "--item", "--items", "--context"],
}


@pytest.mark.parametrize("name", FIRST)
def test_every_option_of_a_request_has_its_group(name: str) -> None:
    for parameter in COMMANDS[f"crowdtally {name}"].params:
        if parameter.param_type_name == "option" and "--help" not in parameter.opts:
            assert parameter.rich_help_panel in TITLES, parameter.opts


@pytest.mark.parametrize("name", FIRST)
def test_what_everyone_needs_comes_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = crowdtally(name, "--help").out
    assert max(map(len, shown.splitlines())) <= 80
    titles = [f"\n{title}:\n" for title in TITLES.values() if f"\n{title}:\n" in shown]
    assert titles[0] == "\nWhat everyone needs:\n"
    assert len(titles) >= 6
    places = [shown.index(title) for title in titles]
    assert places == sorted(places)
    first = [
        p for p in COMMANDS[f"crowdtally {name}"].params
        if getattr(p, "rich_help_panel", None) == "first"
    ]  # fmt: skip
    flags = [flag for p in first for flag in p.opts if flag.startswith("--")]
    assert sorted(flags) == sorted(FIRST[name])
    for flag in flags:
        assert places[0] < shown.index(f"{flag} ") < places[1]


def test_the_help_of_a_release_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert len(crowdtally("release", "--help").out.splitlines()) <= 90


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("--method", "help"), ["  sra ", "  discover "]),
        (("--method", "hpa:help"), ["  max-records ", "  popularity-records ", "Default: 10."]),
        (("--summary", "help"), ["  filter-priority "]),
        (("--summary", "filter:help"), ["  cut ", "  size ", "  sides "]),
        (("--transform", "dyadic:help"), ["  columns "]),
    ],
)
def test_values_explain_themselves(typed: tuple[str, str], words: list[str]) -> None:
    """Without records and all else that a release needs."""
    ended = crowdtally("release", *typed)
    assert (ended.code, ended.err) == (0, "")
    for word in words:
        assert word in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_a_value_that_is_none_is_refused_with_what_there_is() -> None:
    for typed, words in (
        ("srra:help", "unknown --method 'srra'. Did you mean 'sra'?"),
        ("sra:max-record=3", "Type --method sra:help to see them."),
    ):
        ended = crowdtally("release", "records.csv", "--method", typed)
        assert (ended.code, ended.out) == (USAGE, "")
        assert words in ended.err


def asking(*words: str, incomplete: str = "") -> dict[str, str]:
    """What bash sets to ask what may follow these words."""
    typed = ["crowdtally", *words, *([incomplete] if incomplete else [])]
    return {
        "_CROWDTALLY_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(typed), "COMP_CWORD": str(len(words) + 1),
    }  # fmt: skip


def completed(*words: str, incomplete: str = "") -> list[str]:
    """What bash would offer after these words."""
    with (
        mock.patch.dict(os.environ, asking(*words, incomplete=incomplete)),
        mock.patch.object(sys.modules["__main__"], "__package__", None),  # else called pytest's
    ):
        ended = crowdtally()
    assert ended.err == ""
    return ended.out.split()


def test_the_installed_program_offers_the_same(town: Town) -> None:
    columns = (("plan", "records.csv", "--user"), "u")
    for words, incomplete in ((("release", "x", "--summary"), ""), columns):
        ended = installed(env=asking(*words, incomplete=incomplete))
        assert ended.err == ""
        assert ended.out.split() == completed(*words, incomplete=incomplete) != []


@pytest.mark.parametrize(
    ("option", "incomplete", "offered"),
    [
        ("--method", "dp", {"dpsense", "dpsense-s"}),
        ("--method", "d", {"declared", "dpsense", "dpsense-s", "discover"}),
        ("--summary", "f", {"filter", "filter-priority"}),
        ("--transform", "ha", {"haar"}),
        ("--count", "", {"records", "users"}),
        ("--noise", "", {"auto", "laplace", "gaussian", "interval"}),
        ("--engine", "s", {"spark"}),
    ],
)
def test_values_that_are_words(option: str, incomplete: str, offered: set[str]) -> None:
    found = completed("release", "x.parquet", option, incomplete=incomplete)
    assert set(found) == offered


def test_columns_of_what_lies_here(town: Town) -> None:
    for records in ("records.parquet", "records.csv"):
        start = ("plan", records)
        assert completed(*start, "--user", incomplete="u") == ["user_id"]
        assert {"place", "place_id", "price"} == set(completed(*start, "--item", incomplete="p"))
    several = completed("release", "records.parquet", "--attributes", incomplete="weekday,no")
    assert several == ["weekday,note"]
    town.write("areas.csv", "place,area\n")
    joined = completed("release", "records.csv", "--join", "areas.csv:place", "--context",
                       incomplete="ar")  # fmt: skip
    assert joined == ["area"]


def test_nothing_is_offered_where_nothing_can_be_seen(town: Town) -> None:
    town.write("broken.parquet", "not parquet")
    for records in ("nowhere.parquet", "broken.parquet", "postgresql://localhost:1/x#t"):
        assert completed("release", records, "--user") == []
    assert completed("release", "--user") == []


def test_datasets_of_the_ledger(town: Town, tmp_path: Path) -> None:
    assert completed("release", "records.parquet", "--dataset") == []
    assert not town.ledger.exists()
    for name in ("visits", "visitors", "other"):
        assert crowdtally("ledger", "create", name, "--epsilon", "1").code == 0
    found = completed("release", "records.parquet", "--dataset", incomplete="vis")
    assert found == ["visitors", "visits"]
    other = str(tmp_path / "none.sqlite")
    assert completed("release", "records.parquet", "--ledger", other, "--dataset") == []
    assert not Path(other).exists()


# ---- Commands of other distributions under ``crowdtally lab``, and what becomes of broken ones


GREET = '''
def greet(name: str, loud: bool = False) -> None:
    """Greet somebody."""
    print(f"Hello {name}{'!' if loud else '.'}")
'''
APP = '''
import typer

app = typer.Typer(help="Count things.", rich_markup_mode=None)

@app.command()
def up(to: int) -> None:
    """Count up."""
    print(*range(1, to + 1))

@app.command()
def down(to: int) -> None:
    """Count down."""
    print(*range(to, 0, -1))
'''

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a distribution with one module and its entry points where Python finds it."""
    monkeypatch.syspath_prepend(tmp_path)

    def put(distribution: str, module: str, text: str, **commands: str) -> None:
        info = tmp_path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n")
        lines = [f"{name} = {value}" for name, value in commands.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
        (tmp_path / f"{module}.py").write_text(text)
        monkeypatch.delitem(sys.modules, module, raising=False)
        importlib.invalidate_caches()

    return put


def listed(*arguments: str) -> dict[str, str]:
    """The commands that a help lists, each with its line."""
    ended = crowdtally(*arguments, "--help")
    assert ended.code == 0, str(ended)
    assert "Traceback" not in ended.err
    return dict(re.findall(r"^  ([a-z][\w-]*)  +(.+)$", ended.out.partition("Commands:")[2], re.M))


def refused(ended: Ended, *words: str) -> None:
    assert (ended.code, ended.out) == (USAGE, "")
    assert ended.err.startswith("crowdtally: ")
    assert len(ended.err.splitlines()) == 1, ended.err
    for word in words:
        assert word in ended.err


def test_a_function_becomes_a_command(install: Install) -> None:
    install("greeter", "greeter_a", GREET, greet="greeter_a:greet")
    assert crowdtally("lab", "greet", "you", "--loud").out == "Hello you!\n"
    assert listed("lab")["greet"] == "Greet somebody."
    assert "--loud" in crowdtally("lab", "greet", "--help").out
    assert "--loud" in crowdtally("lab", "greet", "-h").out


def test_an_app_becomes_a_group(install: Install) -> None:
    install("counter", "counter_a", APP, count="counter_a:app")
    assert crowdtally("lab", "count", "down", "3").out == "3 2 1\n"
    assert listed("lab")["count"] == "Count things."
    assert listed("lab", "count") == {"up": "Count up.", "down": "Count down."}


def test_nothing_is_imported_before_it_is_used(install: Install) -> None:
    install("greeter", "greeter_b", GREET, greet="greeter_b:greet")
    install("other", "other_b", GREET, welcome="other_b:greet")
    assert crowdtally("--help").code == 0
    assert crowdtally("lab", "compare", "--help").code == 0
    assert {"greeter_b", "other_b"}.isdisjoint(sys.modules)
    assert crowdtally("lab", "greet", "you").code == 0
    assert "other_b" not in sys.modules


BROKEN = {
    "a missing library": ("import no_such_library", "broken:greet", "No module named"),
    "a name that is not there": (GREET, "broken:greets", "no attribute 'greets'"),
    "a module that is not there": (GREET, "no_such_module:greet", "'no_such_module'"),
    "no function": ("greet = 3", "broken:greet", "neither a function nor a Typer app"),
    "a bad signature": ("def greet(x: int | str): ...", "broken:greet", "Union"),
    "an exit": ("raise SystemExit(7)", "broken:greet", "SystemExit: 7"),
    "a slip": ("def greet(:", "broken:greet", "SyntaxError"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_one_is_named_and_the_others_work(install: Install, fault: str) -> None:
    text, value, words = BROKEN[fault]
    install("broken-thing", "broken", text, greet=value)
    install("counter", "counter_c", APP, count="counter_c:app")
    for typed in ([], ["you", "--loud"], ["--help"]):
        ended = crowdtally("lab", "greet", *typed)
        refused(ended, "`lab greet` cannot be loaded from broken-thing", words)
    assert crowdtally("lab", "count", "up", "2").out == "1 2\n"
    shown = listed("lab")
    assert shown["greet"] == "Cannot be loaded from broken-thing."
    assert shown["count"] == "Count things."
    assert "compare" in shown


def test_debug_shows_why(install: Install) -> None:
    install("broken-thing", "broken_d", "import no_such_library", greet="broken_d:greet")
    ended = crowdtally("lab", "greet", "--debug")
    assert ended.code == USAGE
    assert "Traceback" in ended.err
    assert "\n    import no_such_library\n" in ended.err


def test_no_command_of_the_lab_is_replaced(install: Install) -> None:
    before = listed("lab")["audit"]
    install("greeter", "greeter_e", GREET, audit="greeter_e:greet")
    assert listed("lab")["audit"] == before
    assert "greeter_e" not in sys.modules


def test_two_with_one_name_are_both_refused(install: Install) -> None:
    install("greeter", "greeter_f", GREET, greet="greeter_f:greet")
    install("a-nother", "another_f", GREET, greet="another_f:greet")
    refused(crowdtally("lab", "greet", "you"), "a-nother and greeter both have", "`lab greet`")
    assert listed("lab")["greet"] == "Cannot be used: a-nother and greeter both have it."


@pytest.mark.parametrize("name", ["lookalike", "recommend", "reproduce"])
def test_without_research_its_commands_say_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_entries", list)
    for typed in ([], ["--help"], ["-o", "there", "--all"]):
        refused(crowdtally("lab", name, *typed), f"`lab {name}`", "pip install crowdtally-research")
    assert list(listed("lab")) == ["compare", "audit", "audit-request"]


def test_an_unknown_command_stays_one() -> None:
    ended = crowdtally("lab", "no-such-command")
    assert ended.code == USAGE
    assert "No such command 'no-such-command'" in ended.err


def test_the_example_in_the_reference_works(town: Town, tmp_path: Path) -> None:
    """Its two files, installed by pip into a folder, and its command in another process."""
    reference = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = reference.partition("## Commands of your own\n")[2].partition("\n## ")[0]
    files = re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", section, re.DOTALL)
    assert [name for name, _ in files] == ["pyproject.toml", "town_tools.py"]
    (typed,) = re.findall(r"`crowdtally (lab [\w-]+) \S+`", section)
    project, site = tmp_path / "project", tmp_path / "site"
    project.mkdir()
    for name, text in files:
        (project / name).write_text(text, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    offline = ["--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, *offline, "--target", str(site), str(project)], check=True)
    assert crowdtally(*town.arguments()).code == 0
    paths = os.pathsep.join([str(site), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "crowdtally", *typed.split(), "out"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(ct.load("out").top(1)[0].item)
