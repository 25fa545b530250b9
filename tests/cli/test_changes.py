"""``crowdtally changes``: as table, CSV, JSON and file; a refusal leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crowdtally as ct
from kit.command import crowdtally
from kit.stored import stored

PAIR = (str(stored("sra-one-context")), str(stored("sra-record-id")))


def test_the_command_says_what_python_says(tmp_path: Path) -> None:
    found = ct.changes(*PAIR, fdr="0.9", of="shares", day=["Fri", "Sun"])
    asked = (*PAIR, "--fdr", "0.9", "--of", "shares", "--context", "day=Fri")
    asked = (*asked, "--context", "day=Sun")
    assert crowdtally("changes", *asked).out == f"{found}\n"
    assert json.loads(crowdtally("changes", *asked, "--json").out) == found.to_dicts()
    assert crowdtally("changes", *asked, "--format", "csv").out == found.to_csv()
    ended = crowdtally("changes", *asked, "-o", tmp_path / "changes.json")
    assert ended.code == 0
    assert "False discovery rate 0.9" in ended.err
    assert json.loads((tmp_path / "changes.json").read_text()) == found.to_dicts()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((PAIR[0], PAIR[0]), "the same release"),
        ((PAIR[0], str(stored("sra-items"))), "releases of two domains"),
        ((*PAIR, "--context", "dy=Fri"), "no context 'dy'"),
        ((*PAIR, "--fdr", "2"), "between 0 and 1"),
        ((*PAIR, "--fdr", "x"), "exact finite number"),
        ((*PAIR, "--of", "sums"), "counts or shares"),
        ((*PAIR, "-k", "0"), "at least 1"),
        ((*PAIR, "--context", "day"), "NAME=VALUE"),
        ((*PAIR, "--context", "day=Fridy"), "Did you mean 'Fri'"),
    ],
)
def test_a_refusal_leaves_nothing_behind(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    ended = crowdtally("changes", *arguments, "-o", tmp_path / "changes.csv")
    assert ended.code == 2
    assert words in ended.err
    assert not ended.out
    assert not list(tmp_path.iterdir())
