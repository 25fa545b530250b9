"""A release of ``auto`` in plain words."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdtally.format import load
from crowdtally.reader.describe.description import Description, describe
from kit.adaptive import PASSED_OVER, adaptive


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("auto")


@pytest.fixture(scope="module")
def described(folder: Path) -> Description:
    return describe(load(adaptive(folder, for_="recommend", context_per_user="day")))


@pytest.fixture(scope="module")
def plain(folder: Path) -> Description:
    return describe(load(adaptive(folder, "plain", contexts=False, repeats="no", for_="top")))


def said(found: Description, section: str) -> list[str]:
    return list(found.to_dict()[section])


def test_the_steps_are_numbered_with_their_share_and_why(described: Description) -> None:
    first, *steps = said(described, "steps")
    assert "what to recommend in each context" in first
    assert steps[0] == "Step 1, 'sizes', 3% of ε: sizes is worth its share (theta 1)."
    assert steps[3] == "Step 4, 'items', 40% of ε: items is worth its share (theta 4)."
    assert steps[6] == f"Step 7, 'head', not taken: {PASSED_OVER}."
    assert any("The rest, 0.16, is not given back" in line for line in steps)
    assert "never by the records" in steps[-1]


def test_only_auto_has_steps(tmp_path: Path) -> None:
    from kit.hamlet import hamlet

    assert "steps" not in describe(load(hamlet(tmp_path).folder)).to_dict()


def test_every_table_is_said_to_hold_something(described: Description, plain: Description) -> None:
    for found in (described, plain):
        for table in found.published.tables:
            (line,) = (
                line for line in said(found, "what") if line.startswith(f"Table {table.name!r}")
            )
            assert len(line) > len(f"Table {table.name!r} ({table.file}): .")
    (line,) = (line for line in said(plain, "what") if line.startswith("Table 'sizes'"))
    assert "different items" in line


def test_what_was_bounded_and_what_was_not(described: Description) -> None:
    scaled, free, *noise = said(described, "protection")
    assert "'items' to 4" in scaled
    assert "'bins' to 64" in scaled
    assert "'sizes'" not in scaled
    assert free.startswith("In 'crowd' and 'split_head' nothing was cut")
    (crowd,) = (line for line in noise if line.startswith("Table 'crowd'"))
    assert "at most 1 in each count, in however many of them" in crowd
    assert noise[-1] == "ε 4 was charged at once, before the first step was taken."


def test_what_estimates_assume(described: Description, plain: Description) -> None:
    uncovered = "\n".join(said(described, "not_covered"))
    assert "follows an item's popularity smoothly" in uncovered
    assert "'bins' and 'split_head'" in uncovered
    assert "measured in users, not in records" in uncovered
    assert "one value of 'day'" in uncovered
    assert "the features of items" in uncovered
    assert "overall ranking" not in uncovered
    assert "was not checked" not in uncovered
    assert "the bound" not in uncovered.splitlines()[0]
    simple = "\n".join(said(plain, "not_covered"))
    assert "'day'" not in simple
    assert "in users, not in records" not in simple
    assert "the features of items" not in simple
