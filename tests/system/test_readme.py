"""What the documents tell people to type works as they stand.

A fenced block is run if the line before it is a comment with the mark ``test: sh`` or
``test: python``::

    <!-- test: sh -->
    ```sh
    crowdtally demo --output city
    ```

The marked blocks of one document run in order, in one folder that is empty at first, with a fresh
home, by the installed program. Shell blocks stop at the first command that fails. Blocks without a
mark may hold ``make`` lines, whose targets must exist, and ``pip install`` lines; a block that calls
``crowdtally`` must be marked, or hold a placeholder (``…``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.command import INSTALLED

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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_not_run_is_only_set_up(document: Path) -> None:
    for block in blocks(document):
        if block.mark or block.language not in ("sh", "bash", "console"):
            continue
        for line in block.text.splitlines():
            command = line.removeprefix("$ ").partition("#")[0].strip()
            calls = command.startswith(("crowdtally", "python -m crowdtally"))
            assert not calls or "…" in command, f"unmarked and not run: {line}"


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
