"""Whatever happens to a folder: the same answers as before, or one clear InputError.

Each kind of release is damaged in many ways, drawn from a fixed seed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import crowdtally as ct
from kit.damaged import KINDS, answers
from kit.damages import Damage, file_damages, json_damages

FEW, MANY = (4, 6), (8, 12)
"""Bytes of each table, and fields of ``release.json``, that are damaged."""
SIZES = [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.long)]
LEAST = {FEW: 350, MANY: 500}
"""Damages over all kinds."""


def damages(folder: Path, kind: str, size: tuple[int, int]) -> dict[str, Damage]:
    random, (flips, fields) = Random(kind), size
    found = file_damages(folder, random, flips)
    return found | json_damages(folder, random, fields)


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


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_seen_or_does_not_matter(
    kind: str,
    size: tuple[int, int],
    made_once: Callable[[str], Path],
    expected: Callable[[str], list[str]],
    tmp_path: Path,
) -> None:
    whole, folder, wrong = made_once(kind), tmp_path / "damaged", {}
    assert answers(whole) == expected(kind)
    for words, damage in damages(whole, kind, size).items():
        shutil.copytree(whole, folder)
        damage(folder)
        happened = outcome(folder, expected(kind))
        if happened is not None:
            wrong[words] = happened
        shutil.rmtree(folder)
    assert not wrong, f"{len(wrong)} damages: {json.dumps(wrong, indent=1)[:5000]}"


@pytest.mark.parametrize("size", [FEW, MANY], ids=["few", "many"])
def test_the_damages_are_many(size: tuple[int, int], made_once: Callable[[str], Path]) -> None:
    found = (damages(made_once(kind), kind, size) for kind in KINDS)
    assert sum(map(len, found)) > LEAST[size]


@pytest.mark.parametrize(
    ("kind", "other"),
    [("plain", "hand-picked"), ("pairs", "long list"), ("filter", "threshold"), ("haar", "dyadic")],
)
def test_a_table_of_another_release(
    kind: str, other: str, made_once: Callable[[str], Path], fresh: Callable[..., Path]
) -> None:
    folder = fresh(kind)
    shutil.copyfile(made_once(other) / "items.parquet", folder / "items.parquet")
    with pytest.raises(ct.InputError, match=r"items\.parquet' is damaged"):
        ct.load(folder)
