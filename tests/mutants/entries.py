"""Mutants as data: what an entry says, and whether it still applies."""

from __future__ import annotations

import ast
import random
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

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
    text = path.read_text(encoding="utf-8")
    if mutant.old == mutant.new:
        return "old and new are the same"
    if text.count(mutant.old) != 1:
        return f"old occurs {text.count(mutant.old)} times in {mutant.file}, not once"
    if path.suffix == ".py" and not _compiles(mutant.applied(text)):
        return "with the mutant the file does not compile"
    unknown = [test for test in mutant.tests if not _exists(test, root)]
    return f"there is no test {unknown[0]}" if unknown else None


def _compiles(text: str) -> bool:
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
    mutants: Sequence[Mutant], only: str | None, sample: int | None, seed: int
) -> list[Mutant]:
    """Those of one file or with a word in their name; of these, so many at random."""
    kept = [m for m in mutants if only is None or only == m.source or only in m.name]
    if not kept:
        raise Invalid(f"no mutant is in a file or has a name like {only!r}.")
    if sample is None or sample >= len(kept):
        return kept
    return random.Random(seed).sample(kept, sample)


def tests_of(mutants: Iterable[Mutant]) -> list[str]:
    """Every listed test, once."""
    return sorted({test for mutant in mutants for test in mutant.tests})
