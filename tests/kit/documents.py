"""The fenced blocks of a document, and how they are run.

A fenced block is run if the line before it is a comment with the mark ``test: sh`` or
``test: python``::

    <!-- test: sh -->
    ```sh
    crowdtally demo --output city
    ```
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
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


@dataclass(frozen=True)
class Place:
    """Where blocks are run: an empty folder and home, and the programs of one installation."""

    folder: Path
    home: Path
    programs: Path
    """The folder that holds ``python`` and ``crowdtally``."""
    passed: tuple[str, ...] = ()
    """Variables of the environment that are passed on."""

    @classmethod
    def empty(cls, around: Path, programs: Path, passed: tuple[str, ...] = ()) -> Place:
        place = cls(around / "folder", around / "home", programs, passed)
        place.folder.mkdir()
        place.home.mkdir()
        return place

    def run(self, command: list[str]) -> str:
        """What a command prints; it must succeed."""
        env = {
            "PATH": f"{self.programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.home), "LANG": "C.UTF-8",
            **{name: os.environ[name] for name in self.passed if name in os.environ},
        }  # fmt: skip
        done = subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=300
        )
        told = f"{command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert done.returncode == 0, told
        assert "Traceback" not in done.stderr, told
        return done.stdout

    def run_block(self, block: Block) -> str:
        """Run a marked block: a shell stops at the first command that fails."""
        programs = {
            "sh": ["sh", "-euc", block.text],
            "python": [str(self.programs / "python"), "-c", block.text],
        }
        assert block.mark in programs, f"unknown mark {block.mark!r}"
        return self.run(programs[block.mark])


def blocks(document: Path) -> list[Block]:
    found = BLOCK.finditer(document.read_text(encoding="utf-8"))
    return [Block(m["mark"], m["language"], m["text"]) for m in found]


def marked(document: Path) -> list[Block]:
    return [block for block in blocks(document) if block.mark]


def sessions(document: Path) -> list[tuple[str, list[str]]]:
    """Commands that a block of ``text`` shows after ``$``, each with the output that it shows."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks(document):
        for line in block.text.splitlines() if block.language == "text" else ():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            elif found:
                found[-1][1].append(line)
    return found


def shape(line: str) -> str:
    """A line of output without what noise decides: its numbers, and the blanks that align them.

    >>> shape("   1        9435            9255 … 9615  Copper Tavern")
    '# # # … # Copper Tavern'
    """
    return " ".join(re.sub(r"-?\d[\d,.]*", "#", line).split())
