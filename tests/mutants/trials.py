"""Mutants as data: reading their entries, and trying each in a copy of the project."""

from __future__ import annotations

import ast
import compileall
import json
import os
import py_compile
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

# ---- Mutants as data: what an entry says, and whether it still applies ---------------------------


FOLDERS = ("tests/mutants", "research/tests/mutants")
"""Where the files of entries are, from the root of the project."""
_KINDS: dict[str, type] = {
    "name": str, "file": str, "old": str, "new": str, "tests": list, "may_hang": bool,
}  # fmt: skip
_NEEDED = _KINDS.keys() - {"may_hang"}


@dataclass(frozen=True)
class Mutant:
    """One wrong line, and the tests that must notice it."""

    source: str
    """The TOML file that lists it."""
    name: str
    """What is wrong, in words."""
    file: str
    """What it changes, from the root of the project."""
    old: str
    """The right text, which occurs once."""
    new: str
    """The wrong one."""
    tests: tuple[str, ...]
    """At least one of them fails with the mutant; all pass without."""
    may_hang: bool = False
    """Whether running out of time is a way to notice it."""

    def __str__(self) -> str:
        return f"{self.source}: {self.name}"

    def applied(self, text: str) -> str:
        """The file's text with the mutant in it."""
        return text.replace(self.old, self.new)


class Invalid(Exception):
    """An entry that says nothing, or that the project has outgrown."""


def read(root: Path) -> list[Mutant]:
    """All entries of all files of a project, in order; a wrong one is an :class:`Invalid`."""
    found: list[Mutant] = []
    for path in [path for folder in FOLDERS for path in sorted((root / folder).glob("*.toml"))]:
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise Invalid(f"{path.name} is not TOML: {error}") from None
        if content.keys() - {"mutant"}:
            raise Invalid(f"{path.name} holds something beside [[mutant]].")
        found += [_entry(path.name, given) for given in content.get("mutant", [])]
    names = [str(mutant) for mutant in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Invalid(f"{twice[0]}: two entries have this name.")
    return found


def _entry(source: str, given: dict[str, Any]) -> Mutant:
    name = f"{source}: {given.get('name', 'an entry without a name')}"
    for key in sorted(given.keys() ^ _NEEDED):
        if key not in _KINDS:
            raise Invalid(f"{name}: unknown key {key!r}.")
        if key in _NEEDED:
            raise Invalid(f"{name}: the key {key!r} is missing.")
    for key, value in given.items():
        empty = value in ("", []) and key != "new"
        if not isinstance(value, _KINDS[key]) or empty:
            raise Invalid(f"{name}: {key!r} must be a {_KINDS[key].__name__} and not empty.")
    return Mutant(source, **(given | {"tests": tuple(given["tests"])}))


def problem(mutant: Mutant, root: Path) -> str | None:
    """Why the entry does not apply to the project as it is; None where it does."""
    path = root / mutant.file
    if not path.is_file():
        return f"there is no file {mutant.file}"
    text = _text(path)
    if mutant.old == mutant.new:
        return "old and new are the same"
    if text.count(mutant.old) != 1:
        return f"old occurs {text.count(mutant.old)} times in {mutant.file}, not once"
    if path.suffix == ".py" and not _compiles(mutant, path):
        return "with the mutant the file does not compile"
    unknown = [test for test in mutant.tests if not _exists(test, root)]
    return f"there is no test {unknown[0]}" if unknown else None


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _compiles(mutant: Mutant, path: Path) -> bool:
    """Whether the file compiles with the mutant; the statements that it changes do nearly always.

    Where they do, so does the file: each of the others is a statement of its own.
    """
    text = _text(path)
    before, _, after = text.partition(mutant.old)
    first, last = before.count("\n") + 1, text.count("\n") + 1 - after.count("\n")
    starts = [line for line in _statements(path) if line <= first]
    ends = [line for line in _statements(path) if line > last]
    lines = mutant.applied(text).splitlines(keepends=True)
    below = len(text.splitlines()) - min(ends) + 1 if ends else 0
    changed = "".join(lines[max(starts, default=1) - 1 : len(lines) - below])
    return any(map(_is_python, (changed, mutant.applied(text))))


@cache
def _statements(path: Path) -> tuple[int, ...]:
    """The lines in which the statements of a file begin, those inside others left out."""
    return tuple(
        min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        for node in ast.parse(_text(path)).body
    )


def _is_python(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _exists(test: str, root: Path) -> bool:
    """Whether the file has a test of that name; its parameters are known to pytest alone."""
    file, _, rest = test.partition("::")
    path = root / file
    if not path.is_file():
        return False
    return not rest or rest.partition("[")[0].split("::")[-1] in _functions(path)


@cache
def _functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def chosen(
    mutants: Sequence[Mutant],
    only: str | None,
    without: Sequence[str],
    sample: int | None,
    seed: int,
) -> list[Mutant]:
    """Those that ``only`` names and ``without`` does not; of these, so many at random."""
    kept = [m for m in mutants if only is None or _named(m, only)]
    if not kept:
        raise Invalid(f"no mutant is in a file or has a name like {only!r}.")
    for words in without:
        # A misspelled pattern would leave nothing out and say nothing.
        if not any(_named(m, words) for m in mutants):
            raise Invalid(f"--without {words!r} names no mutant.")
        kept = [m for m in kept if not _named(m, words)]
    if not kept:
        raise Invalid("--without leaves out every mutant that --only names.")
    if sample is None or sample >= len(kept):
        return kept
    return random.Random(seed).sample(kept, sample)


def _named(mutant: Mutant, words: str) -> bool:
    """Whether words are a pattern of the file that lists or is changed, or a part of the name."""
    return (
        fnmatchcase(mutant.source, words) or fnmatchcase(mutant.file, words) or words in mutant.name
    )


# ---- Running tests against a copy of the project, in processes that end when they are told to ----


TIME_LIMIT = 120.0
"""Seconds for the tests of one mutant; the listed ones take a few."""
SOURCES = ("src", "research/src")
"""Where packages are; the second need not exist."""
_COPIED = ("src", "tests", "research", "pyproject.toml", "docs", "README.md")
_WRONG_PACKAGE, _NO_IMPORT = 90, 91
_PASSED, _FAILED = 0, 1

# Runs in a fresh interpreter: a mutant that cannot be imported, or tests of the installed package
# instead of the copy, must not pass for a mutant that was noticed.
_TRIAL = f"""
import importlib, importlib.util, os, sys
root, module, *arguments = sys.argv[1:]
sources = filter(os.path.isdir, (os.path.join(root, source) for source in {SOURCES}))
for folder in [os.path.join(source, name) for source in sources for name in os.listdir(source)]:
    found = importlib.util.find_spec(os.path.basename(folder))
    if found is None or not str(found.origin).startswith(folder + os.sep):
        print("not the copy:", found and found.origin)
        sys.stdout.flush()
        os._exit({_WRONG_PACKAGE})
try:
    if module:
        importlib.import_module(module)
except BaseException as error:
    print(type(error).__name__, error)
    sys.stdout.flush()
    os._exit({_NO_IMPORT})
import pytest
sys.exit(pytest.main(arguments))
"""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    kind: str
    """``killed``, ``survived`` or ``invalid``."""
    words: str = ""
    """Why, where it was not killed."""


_LIBRARIES = (
    "pytest", "hypothesis", "hypothesis.extra.numpy", "duckdb", "ibis.backends.duckdb", "sqlglot",
    "sqlalchemy.dialects.sqlite", "cryptography.hazmat.primitives.ciphers", "flint", "pandas",
    "pyarrow.parquet", "scipy.stats", "rich.console", "typer.main", "jinja2",
    "starlette.applications",
)  # fmt: skip
"""What most tests import and no mutant changes: as long to import as a test takes."""
_FORKING = f"""
import contextlib, importlib, json, os, sys
for name in sys.argv[1:]:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
trial = compile({_TRIAL!r}, "trial", "exec")
for line in sys.stdin:
    output, *arguments = json.loads(line)
    pid = os.fork()
    if not pid:
        break
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
else:
    sys.exit()
os.setsid()
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(os.open(output, os.O_WRONLY | os.O_APPEND), 1)
os.dup2(1, 2)
sys.argv[1:] = arguments
exec(trial)
"""


class _Interpreter:
    """A Python that has imported the libraries, and forks for each trial in one folder."""

    def __init__(self, folder: Path) -> None:
        ours = (folder / "src" / "crowdtally").is_dir()  # a toy project needs no more than pytest
        libraries = _LIBRARIES if ours else _LIBRARIES[:1]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _FORKING, *libraries], cwd=folder, env=_environment(folder),
            start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        self._read, self._trial = b"", 0

    def run(self, arguments: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Exit code and output; no code where the time ran out. All its children end with it."""
        with tempfile.NamedTemporaryFile("r", errors="replace") as output:
            asked = json.dumps([output.name, *arguments]) + "\n"
            assert self._process.stdin is not None
            self._process.stdin.write(asked.encode())
            self._trial = int(self._line(TIME_LIMIT) or 0)
            code = self._line(seconds)
            _end_group(self._trial)
            if code is None:
                self._line(TIME_LIMIT)
                return None, ""
            return int(code), output.read()

    def _line(self, seconds: float) -> str | None:
        """The next line of what it says; None after so many seconds."""
        ends, said = time.monotonic() + seconds, self._process.stdout
        assert said is not None
        while b"\n" not in self._read:
            ready, _, _ = select.select([said], [], [], max(ends - time.monotonic(), 0))
            if not ready:
                return None
            got = said.read(1 << 10)
            if not got:
                raise KeyboardInterrupt  # it was ended
            self._read += got
        line, _, self._read = self._read.partition(b"\n")
        return line.decode()

    def end(self) -> None:
        """End it and what it runs."""
        if self._trial:
            _end_group(self._trial)
        _end_group(self._process.pid)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


@dataclass
class Processes:
    """What is running, so that an interruption ends it: one interpreter for each copy."""

    running: dict[Path, _Interpreter] = field(default_factory=dict)
    stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, arguments: Sequence[str], folder: Path, seconds: float) -> tuple[int | None, str]:
        """Run a trial in a copy, which serves one at a time: its exit code and output."""
        with self._lock:
            if self.stopped:
                raise KeyboardInterrupt
            if folder not in self.running:
                self.running[folder] = _Interpreter(folder)
        return self.running[folder].run(arguments, seconds)

    def stop(self) -> None:
        """End everything that runs; nothing new starts."""
        with self._lock:
            self.stopped = True
            while self.running:
                self.running.popitem()[1].end()


def _end_group(leader: int) -> None:
    """A process and those it started: they are a group of their own."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _environment(folder: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return kept | {
        "PYTHONPATH": os.pathsep.join(str(folder / source) for source in SOURCES),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # none is needed, and each takes time to start
        "CI": "true",  # what a machine lacks fails: a test that is skipped notices nothing
    }


def copy_project(root: Path, target: Path) -> Path:
    """What the tests need, in a folder of its own, compiled so that each run starts quickly."""
    target.mkdir()
    unwanted = shutil.ignore_patterns("__pycache__", ".*")
    for name in _COPIED:
        path = root / name
        if path.is_dir():
            shutil.copytree(path, target / name, ignore=unwanted)
        elif path.exists():
            shutil.copy2(path, target / name)
    # Checked by content: a mutant may change a file within one tick of the clock.
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    for name in (*SOURCES, "tests/kit"):  # of the tests' own files a run imports one or two
        compileall.compile_dir(target / name, quiet=2, invalidation_mode=mode)
    return target


def copy_again(copy: Path, target: Path) -> Path:
    """A copy of a copy, with all that was compiled for it."""
    return Path(shutil.copytree(copy, target))


def run_tests(
    tests: Sequence[str], folder: Path, processes: Processes, seconds: float, module: str = ""
) -> tuple[int | None, str]:
    """Run tests in the copy ``folder``, after importing ``module`` from it."""
    # Plain assertions: nobody reads how two long lists differ, and finding it takes minutes.
    options = ("-x", "-q", "-p", "no:cacheprovider", "--tb=short", "--assert=plain")
    return processes.run((str(folder), module, *options, *tests), folder, seconds)


def pass_without(
    mutant: Mutant, folder: Path, processes: Processes, seconds: float
) -> Verdict | None:
    """None where its tests pass on the right code: else their failing says nothing.

    They run as they will with the mutant, alone: some pass only after others.
    """
    code, output = run_tests(mutant.tests, folder, processes, seconds)
    if code == _PASSED:
        return None
    reason = f"they took more than {seconds:g} seconds" if code is None else _end(output)
    return Verdict("invalid", f"without any mutant its tests do not pass: {reason}")


def try_out(mutant: Mutant, folder: Path, processes: Processes, seconds: float) -> Verdict:
    """Put the mutant into the copy, run its tests, and take it out again."""
    path = folder / mutant.file
    right = path.read_text(encoding="utf-8")
    path.write_text(mutant.applied(right), encoding="utf-8")
    try:
        code, output = run_tests(mutant.tests, folder, processes, seconds, _module(mutant.file))
    finally:
        path.write_text(right, encoding="utf-8")
    return _verdict(mutant, code, output, seconds)


_BROKEN = re.compile(
    r"^E +((?:NameError|UnboundLocalError|ModuleNotFoundError): .*|ImportError: cannot import .*)$",
    re.MULTILINE,
)
"""Any test that comes near such a mutant fails, whatever it looks for."""


def _verdict(mutant: Mutant, code: int | None, output: str, seconds: float) -> Verdict:
    if code is None:
        words = f"its tests took more than {seconds:g} seconds, and it has no may_hang = true"
        return Verdict("killed") if mutant.may_hang else Verdict("invalid", words)
    if code == _FAILED:
        broken = _BROKEN.search(output)
        return (
            Verdict("invalid", f"the mutant is broken: {broken[1]}")
            if broken
            else Verdict("killed")
        )
    if code == _PASSED:
        return Verdict("survived", f"{mutant.file}; {', '.join(mutant.tests)} passed")
    reasons = {
        _WRONG_PACKAGE: "the tests did not run against the copy",
        _NO_IMPORT: "with the mutant the module cannot be imported",
    }
    reason = reasons.get(code, f"pytest could not run its tests (exit code {code})")
    return Verdict("invalid", f"{reason}: {_end(output)}")


def _end(output: str) -> str:
    said = output.partition("\nnanobind: leaked ")[0]  # what DuckDB's bindings print at every exit
    return " ".join(said.split())[-300:]


def _module(file: str) -> str:
    """The module that a file of a package is; nothing for others, such as a page's template."""
    path = Path(file)
    for source in SOURCES:
        if path.is_relative_to(source) and path.suffix == ".py":
            parts = path.relative_to(source).with_suffix("").parts
            return ".".join(parts).removesuffix(".__init__")
    return ""
