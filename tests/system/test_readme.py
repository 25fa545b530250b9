"""What the documents tell people to type works as they stand.

A fenced block is run if the line before it is a comment with the mark ``test: sh`` or
``test: python``::

    <!-- test: sh -->
    ```sh
    crowdtally demo --output city
    ```

The marked blocks of one document run in order, in one folder that is empty at first, with a fresh
home, by the installed program. Shell blocks stop at the first command that fails. The README marks
every block that calls ``crowdtally``; other documents may also show calls that are not run, whose
commands and options must exist. So must the targets of ``make`` lines, which are not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.command import COMMANDS, INSTALLED

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^(?:<!-- test: (?P<mark>\w+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    mark: str | None
    language: str
    text: str


def blocks(document: Path) -> list[Block]:
    found = BLOCK.finditer(document.read_text(encoding="utf-8"))
    return [Block(m["mark"], m["language"], m["text"]) for m in found]


def marked(document: Path) -> list[Block]:
    return [block for block in blocks(document) if block.mark]


def run(block: Block, folder: Path, home: Path) -> None:
    programs = {"sh": ["sh", "-euc", block.text], "python": [sys.executable, "-c", block.text]}
    assert block.mark in programs, f"unknown mark {block.mark!r}"
    env = {
        "PATH": f"{INSTALLED.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOME": str(home), "LANG": "C.UTF-8",
        **{name: os.environ[name] for name in ("PYTHONPATH", "TMPDIR") if name in os.environ},
    }  # fmt: skip
    done = subprocess.run(
        programs[block.mark], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{block.text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "document",
    [document for document in DOCUMENTS if marked(document)],
    ids=lambda document: str(document.relative_to(ROOT)),
)
def test_marked_blocks_run(document: Path, tmp_path: Path) -> None:
    folder, home = tmp_path / "folder", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    for block in marked(document):
        run(block, folder, home)


def test_the_readme_has_commands_that_run() -> None:
    assert {block.mark for block in marked(ROOT / "README.md")} >= {"sh", "python"}


def test_what_the_readme_does_not_run_is_only_set_up() -> None:
    for block in blocks(ROOT / "README.md"):
        if not block.mark:
            assert not list(typed(block)), f"a block without a mark calls crowdtally: {block.text}"


def typed(block: Block) -> Iterator[list[str]]:
    """The words of each call of the program in a block of shell."""
    if block.language not in ("sh", "bash", "console"):
        return
    for line in block.text.replace("\\\n", " ").splitlines():
        words = line.removeprefix("$ ").partition(" #")[0].split()
        if words[:1] == ["crowdtally"]:
            yield words


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_options_exist(document: Path) -> None:
    """Also in blocks that are not run."""
    for words in (words for block in blocks(document) for words in typed(block)):
        name = " ".join(words[:2])
        if name == "crowdtally ledger":
            name = " ".join(words[:3])
        assert name in COMMANDS, f"{document.name} calls {name}"
        known = {flag for parameter in COMMANDS[name].params for flag in parameter.opts}
        named = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert named <= known | {"--help"}, f"{document.name}: {name} has no {named - known}"


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        named = re.findall(
            r"^\s*(?:\$ )?make ([a-z][\w-]*)|`make ([a-z][\w-]*)`", text, re.MULTILINE
        )
        for target in (first or second for first, second in named):
            assert target in targets, f"{document.name} says make {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
