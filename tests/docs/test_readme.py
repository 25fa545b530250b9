"""What the documents tell people to type works as they stand.

The marked blocks of one document run in order, in one folder that is empty at first, with a fresh
home, by the installed program (``kit.documents`` says what a mark is). The README marks every block
that calls ``crowdtally``; its blocks are run from a wheel, by ``test_wheel.py``.
Other documents may also show calls that are not run, whose commands and options must exist. So must
the targets of ``make`` lines, which are not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.command import COMMANDS, INSTALLED
from kit.documents import ROOT, Block, Place, blocks, marked, sessions, shape

DOCUMENTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "research" / "README.md",
    *sorted((ROOT / "research" / "docs").rglob("*.md")),
]
PASSED = ("PYTHONPATH", "TMPDIR")


@pytest.mark.parametrize(
    "document",
    [document for document in DOCUMENTS[1:] if marked(document)],
    ids=lambda document: str(document.relative_to(ROOT)),
)
def test_marked_blocks_run(document: Path, tmp_path: Path) -> None:
    place = Place.empty(tmp_path, INSTALLED.parent, PASSED)
    for block in marked(document):
        place.run_block(block)


def test_the_readme_shows_what_is_printed() -> None:
    ((command, shown),) = sessions(ROOT / "README.md")
    assert command.startswith("crowdtally top")
    assert shape(shown[0]).startswith("rank estimate ")
    assert shape(shown[0]).endswith(" noisy count item")
    assert len(shown) >= 4


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
        words = line.removeprefix("$ ").partition(" #")[0].partition(" | ")[0].split()
        if words[:1] == ["crowdtally"]:
            yield words


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_options_exist(document: Path) -> None:
    """Also in blocks that are not run."""
    for words in (words for block in blocks(document) for words in typed(block)):
        name = " ".join(words[:2])
        if name in ("crowdtally ledger", "crowdtally lab", "crowdtally person"):
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
