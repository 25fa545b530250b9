"""Running tests against a copy of the project, in processes that end when they are told to."""

from __future__ import annotations

import compileall
import os
import py_compile
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from mutants.entries import Mutant

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


@dataclass
class Processes:
    """What is running, so that an interruption ends it."""

    running: set[subprocess.Popen[str]] = field(default_factory=set)
    stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, command: Sequence[str], folder: Path, seconds: float) -> tuple[int | None, str]:
        """Exit code and output; no code where the time ran out. All its children end with it."""
        with self._lock:
            if self.stopped:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                command, cwd=folder, env=_environment(folder), text=True, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            self.running.add(process)
        try:
            output, _ = process.communicate(timeout=seconds)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            _end(process)
            with self._lock:
                self.running.discard(process)

    def stop(self) -> None:
        """End everything that runs; nothing new starts."""
        with self._lock:
            self.stopped = True
            for process in self.running:
                _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """The process and those it started: they are a group of their own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


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
    command = (sys.executable, "-c", _TRIAL, str(folder), module, *options, *tests)
    return processes.run(command, folder, seconds)


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


def _verdict(mutant: Mutant, code: int | None, output: str, seconds: float) -> Verdict:
    if code is None:
        words = f"its tests took more than {seconds:g} seconds, and it has no may_hang = true"
        return Verdict("killed") if mutant.may_hang else Verdict("invalid", words)
    if code == _FAILED:
        return Verdict("killed")
    if code == _PASSED:
        return Verdict("survived", f"{mutant.file}; {', '.join(mutant.tests)} passed")
    reasons = {
        _WRONG_PACKAGE: "the tests did not run against the copy",
        _NO_IMPORT: "with the mutant the module cannot be imported",
    }
    reason = reasons.get(code, f"pytest could not run its tests (exit code {code})")
    return Verdict("invalid", f"{reason}: {' '.join(output.split())[-300:]}")


def _module(file: str) -> str:
    """The module that a file of a package is; nothing for others, such as a page's template."""
    path = Path(file)
    for source in SOURCES:
        if path.is_relative_to(source) and path.suffix == ".py":
            parts = path.relative_to(source).with_suffix("").parts
            return ".".join(parts).removesuffix(".__init__")
    return ""
