"""A run that was killed: how the command line shows it, and how to recover."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.ledger import Ledger
from kit.command import crowdtally
from kit.town import Town
from kit.warm import start

USAGE = 2
DIES = """
import os, signal, sys
from crowdtally import cli
from crowdtally.ledger import Ledger
from crowdtally.format import Staged

owner, name = {"mark": (Ledger, "mark_published"), "rename": (Staged, "commit")}[sys.argv.pop(1)]
setattr(owner, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
cli.main()
"""


def killed(town: Town, moment: str) -> tuple[str, Path]:
    """The charge and the folder of a release that was killed just before the mark or the rename."""
    with open(os.devnull, "r+") as nothing:
        fds = (nothing.fileno(),) * 3
        words = [moment, *town.arguments()]
        running = start(words, town.folder, fds, os.environ, script=DIES)
        assert running.wait() == -signal.SIGKILL
    (folder,) = town.folder.glob(".out.*.part")
    (charged,) = Ledger.open(town.ledger, create=True).charges()
    return charged.id, folder


def test_killed_before_the_mark(town: Town) -> None:
    charge, folder = killed(town, "mark")
    shown = crowdtally("ledger", "show").out
    assert f"unfinished: {folder.resolve()} exists" in shown
    assert f"ledger void {charge} --reason TEXT --delete-staged" in shown
    refused = crowdtally("ledger", "void", charge, "--reason", "killed")
    assert refused.code == USAGE
    assert "--delete-staged" in refused.err
    assert folder.exists()
    voided = crowdtally("ledger", "void", charge, "--reason", "killed", "--delete-staged")
    assert voided.code == 0, voided
    assert "spent so far ε = 0" in voided.out
    assert not folder.exists()
    assert f"{charge}" in crowdtally("ledger", "show").out
    assert "unfinished" not in crowdtally("ledger", "show").out


def test_killed_between_the_mark_and_the_rename(town: Town) -> None:
    charge, folder = killed(town, "rename")
    assert "paid for, but not in place" in crowdtally("ledger", "show").out
    refused = crowdtally("ledger", "void", charge, "--reason", "killed", "--delete-staged")
    assert refused.code == USAGE
    assert "published and cannot be voided" in refused.err
    folder.rename(town.folder / "out")
    assert len(ct.load("out").top(3)) == 3
    assert "not in place" not in crowdtally("ledger", "show").out


@pytest.mark.parametrize("moment", ["mark", "rename"])
def test_an_unfinished_folder_is_ones_own(town: Town, moment: str) -> None:
    """Nobody else reads what is not paid for; a finished release has the usual rights."""
    _, folder = killed(town, moment)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert crowdtally(*town.arguments(output="whole")).code == 0
    beside = town.folder / "beside"
    beside.mkdir()
    assert (town.folder / "whole").stat().st_mode == beside.stat().st_mode
