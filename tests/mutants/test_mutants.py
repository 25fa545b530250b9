"""Four random mutants, and the runner itself on a toy project."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from mutants.trials import problem, read

RUNNER = Path(__file__).with_name("run.py")
SEED = os.environ["CROWDTALLY_MUTANT_SEED"]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUNNER), *map(str, arguments)]
    quick = {**os.environ, "CROWDTALLY_MUTANT_QUICK": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=quick)


def test_every_entry_still_applies() -> None:
    """Code that moves must take its mutants along: one that does not apply tests nothing."""
    root = Path(__file__).parents[2]
    faults = {str(one): problem(one, root) for one in read(root)}
    assert {name: fault for name, fault in faults.items() if fault is not None} == {}


def test_four_random_ones_are_killed() -> None:
    ended = run("--sample", 4, "--seed", SEED, "--jobs", 2)
    assert ended.returncode == 0, f"CROWDTALLY_MUTANT_SEED={SEED} repeats it\n{ended.stdout}"
    assert ended.stdout.startswith(f"seed {SEED}\n4 of 4 mutants killed in ")


# ---- the runner ----------------------------------------------------------------------------------

SOURCE = '''def larger(a: int, b: int) -> int:
    """The larger of two."""
    return a if a > b else b
'''
TESTS = """import time

from toy.numbers import larger


def test_larger():
    assert larger(1, 2) == 2


def test_nothing():
    larger(1, 1)
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A project of one module and two tests, one of which sees nothing."""
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\n",
        "src/toy/__init__.py": "",
        "src/toy/numbers.py": SOURCE,
        "tests/test_toy.py": TESTS,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tests" / "mutants").mkdir()
    return tmp_path


def entry(name: str = "the smaller", **changed: str) -> str:
    """An entry as it stands in the file; the default one is killed."""
    given = {
        "file": '"src/toy/numbers.py"', "old": '"a > b"', "new": '"a < b"',
        "tests": '["tests/test_toy.py::test_larger"]',
    } | changed  # fmt: skip
    return f'[[mutant]]\nname = "{name}"\n' + "".join(f"{k} = {v}\n" for k, v in given.items())


def tried(toy: Path, *entries: str, more: tuple[object, ...] = ()) -> tuple[int, list[str]]:
    (toy / "tests" / "mutants" / "toy.toml").write_text("\n".join(entries))
    ended = run("--root", toy, *more)
    assert not ended.stderr, ended.stderr
    return ended.returncode, ended.stdout.splitlines()


def test_a_mutant_that_is_noticed(toy: Path) -> None:
    code, lines = tried(toy, entry())
    assert code == 0
    assert len(lines) == 1
    assert lines[0].startswith("1 of 1 mutants killed in ")
    assert (toy / "src/toy/numbers.py").read_text() == SOURCE


def test_a_mutant_of_research_is_noticed(toy: Path) -> None:
    """A second package beside the first: its own source, tests and entries."""
    files = {
        "research/src/toys/__init__.py": "",
        "research/src/toys/numbers.py": SOURCE,
        "research/tests/test_toys.py": TESTS.replace("from toy.", "from toys."),
        "research/tests/mutants/toys.toml": entry(
            file='"research/src/toys/numbers.py"',
            tests='["research/tests/test_toys.py::test_larger"]',
        ),
    }
    for name, text in files.items():
        (toy / name).parent.mkdir(parents=True, exist_ok=True)
        (toy / name).write_text(text)
    code, lines = tried(toy, entry())
    assert (code, len(lines)) == (0, 1), lines
    assert lines[0].startswith("2 of 2 mutants killed in ")


def test_a_survivor_is_reported_among_others(toy: Path) -> None:
    blind = entry("nobody looks", tests='["tests/test_toy.py::test_nothing"]')
    code, lines = tried(toy, entry(), blind)
    assert code == 1
    assert lines[0].startswith("SURVIVED toy.toml: nobody looks: src/toy/numbers.py; ")
    assert lines[1].startswith("1 of 2 mutants killed in ")


INVALID = {
    "old occurs 0 times": entry(old='"a >= b"'),
    "old occurs 2 times": entry(old='"a "'),
    "old and new are the same": entry(new='"a > b"'),
    "does not compile": entry(new='"a > > b"'),
    "cannot be imported": entry(old='"def larger("', new='"import nowhere\\ndef larger("'),
    "the mutant is broken: NameError": entry(new='"c > b"'),
    "the mutant is broken: ModuleNotFoundError": entry(
        old='"    return a"', new='"    import toy.gone\\n    return a"'
    ),
    "there is no file": entry(file='"src/toy/gone.py"'),
    "there is no test": entry(tests='["tests/test_toy.py::test_gone"]'),
    "unknown key 'line'": entry(line="3"),
    "'tests' must be a list": entry(tests='"tests/test_toy.py"'),
    "'old' must be a str": entry(old='""'),
    "the key 'new' is missing": entry().replace('new = "a < b"\n', ""),
    "two entries have this name": entry() + entry(),
    "without any mutant": entry(tests='["tests/test_toy.py::test_larger[no such case]"]'),
    "is not TOML": "[[mutant]",
}


@pytest.mark.parametrize("words", INVALID)
def test_an_entry_that_does_not_apply_is_a_failure(toy: Path, words: str) -> None:
    code, lines = tried(toy, INVALID[words])
    assert code == 1
    assert lines[0].startswith("INVALID ")
    assert words in lines[0]


@pytest.mark.parametrize(("may_hang", "wanted"), [("true", 0), ("false", 1)])
def test_a_mutant_that_hangs_is_killed_where_the_entry_says_so(
    toy: Path, may_hang: str, wanted: int
) -> None:
    endless = entry(old='"return a"', new='"while True: pass\\n    return a"', may_hang=may_hang)
    code, lines = tried(toy, endless, more=("--seconds", 2))
    assert code == wanted
    assert ("more than 2 seconds" in lines[0]) == (wanted == 1)


def test_tests_that_fail_without_a_mutant_say_nothing(toy: Path) -> None:
    (toy / "tests/test_toy.py").write_text(TESTS.replace("== 2", "== 3"))
    code, lines = tried(toy, entry())
    assert code == 1
    words = "INVALID  toy.toml: the smaller: without any mutant its tests do not pass: "
    assert lines[0].startswith(words)


def test_tests_that_pass_only_after_others_say_nothing(toy: Path) -> None:
    """A release that an earlier test made, say: alone they fail, whatever the mutant is."""
    text = TESTS.replace("larger(1, 1)", "larger.called = True")
    text = text.replace("assert larger(", "assert larger.called and larger(")
    (toy / "tests/test_toy.py").write_text(text)
    after = entry(tests='["tests/test_toy.py::test_nothing", "tests/test_toy.py::test_larger"]')
    code, lines = tried(toy, after, entry("alone"))
    assert code == 1
    assert lines[0].startswith("INVALID  toy.toml: alone: without any mutant ")


def test_a_sample_follows_its_seed(toy: Path) -> None:
    entries = [entry(f"mutant {n}", tests='["tests/test_toy.py::test_nothing"]') for n in range(6)]

    _, lines = tried(toy, *entries, more=("--sample", 2, "--seed", 7))
    assert lines[0] == "seed 7"
    wanted = {f" mutant {n}" for n in random.Random(7).sample(range(6), 2)}
    assert {line.split(":")[1] for line in lines[1:3]} == wanted


def test_one_mutant_by_its_name(toy: Path) -> None:
    blind = entry("nobody looks", tests='["tests/test_toy.py::test_nothing"]')
    code, lines = tried(toy, entry(), blind, more=("--only", "smaller"))
    assert code == 0
    assert lines[0].startswith("1 of 1 ")
    assert tried(toy, entry(), more=("--only", "larger"))[0] == 1


def test_a_part_by_the_files_that_list_it_or_are_changed(toy: Path) -> None:
    (toy / "src/toy/letters.py").write_text("A = 1\n")
    blind = entry("nobody looks", file='"src/toy/letters.py"', old='"1"', new='"2"')
    for more in (
        ("--only", "t*.toml", "--without", "*/letters.py"),
        ("--only", "src/*/numbers.py"),
    ):
        code, lines = tried(toy, entry(), blind, more=more)
        assert code == 0
        assert lines[0].startswith("1 of 1 ")
    for wrong, words in {
        "*/lettres.py": "'*/lettres.py' names no",
        "*": "leaves out every",
    }.items():
        code, lines = tried(toy, entry(), more=("--without", wrong))
        assert (code, len(lines)) == (1, 1)
        assert lines[0].startswith(f"INVALID  --without {words} mutant")


def test_an_interruption_leaves_nothing_behind(toy: Path, tmp_path: Path) -> None:
    slow = TESTS.replace("assert larger", "time.sleep(60)\n    assert larger")
    (toy / "tests/test_toy.py").write_text(slow)
    (toy / "tests/mutants/toy.toml").write_text(entry())
    room = tmp_path / "room"
    room.mkdir()
    command = [sys.executable, str(RUNNER), "--root", str(toy)]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, "TMPDIR": str(room)}
        )
        while not list(room.glob("mutants-*/0/src/toy")) and process.poll() is None:
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=300) == 130
    assert not list(room.iterdir())
