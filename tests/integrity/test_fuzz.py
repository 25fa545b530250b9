"""Whatever happens to a folder: the same answers as before, or one clear InputError.

Each kind of release is damaged in many ways, drawn from a fixed seed, as this version writes it and
as older versions did, without hashes.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import crowdtally as ct
from kit.damaged import KINDS, answers, strip
from kit.damages import Damage, Steps, file_damages, json_damages

FEW, MANY = (4, 6), (8, 12)
"""Bytes of each table, and fields of ``release.json``, that are damaged."""
SIZES = [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.long)]
LEAST = {FEW: 350, MANY: 500}
"""Damages over all kinds, with hashes and without."""

SAID_ONCE = {"seed", "cut", "sampling_threshold", "estimating_threshold", "counted", "sides"}
"""Fields that nothing repeats: without hashes, another value that fits is not seen."""
LISTED_ONCE = {"filter", "threshold", "priority", "haar", "sketch", "attributes", "discovered"}
"""Kinds whose tables do not repeat all values of the lists."""


def damages(folder: Path, kind: str, size: tuple[int, int], *, older: bool) -> dict[str, Damage]:
    random, (flips, fields) = Random(f"{kind} {older}"), size
    found = file_damages(folder, random, flips)
    found |= json_damages(folder, random, fields, lambda steps: older and _said_once(kind, steps))
    if not older or kind not in LISTED_ONCE:
        return found
    # One byte can make another list, threshold or discovered item, which fits as well.
    # So do the buckets of another sketch.
    once = ["release.json: byte"] + ["items.parquet: byte"] * (kind == "discovered")
    once += ["tables swapped"] * (kind == "sketch")
    return {words: one for words, one in found.items() if not words.startswith(tuple(once))}


def _said_once(kind: str, steps: Steps) -> bool:
    if kind == "sketch" and steps[0] == "domain":
        return True  # its columns are rows and buckets, whatever the lists are
    return bool(SAID_ONCE & set(steps)) or (kind in LISTED_ONCE and "values" in steps)


def outcome(folder: Path, whole: list[str]) -> str | None:
    """None where damage was seen or did not matter; else what happened."""
    try:
        found = answers(folder)
    except ct.InputError as error:
        clear = str(folder) in str(error) and str(error).endswith(".")
        return None if clear else f"unclear: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None if found == whole else "other answers"


NEWER = {"auto"}
"""Kinds that no version made before there were hashes."""
AGES = [
    pytest.param(kind, older, id=f"{kind}-{'older' if older else 'hashed'}")
    for kind in KINDS
    for older in (False, True)
    if not (older and kind in NEWER)
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("kind", "older"), AGES)
def test_damage_is_seen_or_does_not_matter(
    kind: str,
    older: bool,
    size: tuple[int, int],
    made_once: Callable[[str], Path],
    expected: Callable[[str], list[str]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)  # the remark about older folders is not at stake here
    whole, folder, wrong = tmp_path / "whole", tmp_path / "damaged", {}
    shutil.copytree(made_once(kind), whole)
    if older:
        strip(whole)
    assert answers(whole) == expected(kind)
    for words, damage in damages(whole, kind, size, older=older).items():
        shutil.copytree(whole, folder)
        damage(folder)
        happened = outcome(folder, expected(kind))
        if happened is not None:
            wrong[words] = happened
        shutil.rmtree(folder)
    assert not wrong, f"{len(wrong)} damages: {json.dumps(wrong, indent=1)[:5000]}"


OLDEST = [kind for kind in KINDS if kind not in NEWER]


@pytest.mark.parametrize("kind", sorted(NEWER))
def test_a_kind_that_always_had_hashes_must_have_them(
    kind: str, fresh: Callable[..., Path]
) -> None:
    with pytest.raises(ct.InputError, match="some of its 'rows' and 'sha256' are missing"):
        ct.load(fresh(kind, older=True))


@pytest.mark.parametrize("size", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("older", [False, True], ids=["hashed", "older"])
def test_the_damages_are_many(
    older: bool, size: tuple[int, int], made_once: Callable[[str], Path]
) -> None:
    found = (damages(made_once(kind), kind, size, older=older) for kind in OLDEST)
    assert sum(map(len, found)) > LEAST[size]


@pytest.mark.parametrize(
    ("kind", "other", "older"),
    [
        ("plain", "hand-picked", False), ("plain", "hand-picked", True),
        ("pairs", "long list", False), ("pairs", "long list", True),
        ("filter", "threshold", False), ("haar", "dyadic", False),
    ],
)  # fmt: skip
def test_a_table_of_another_release(
    kind: str,
    other: str,
    older: bool,
    made_once: Callable[[str], Path],
    fresh: Callable[..., Path],
) -> None:
    """Without hashes it is seen by its noise or its lists; where both are the same, it is not."""
    folder = fresh(kind, older=older)
    shutil.copyfile(made_once(other) / "items.parquet", folder / "items.parquet")
    with pytest.raises(ct.InputError, match=r"items\.parquet' is damaged"):
        ct.load(folder)
