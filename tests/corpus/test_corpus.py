"""Releases made before the renovation open, and answer what they answered then."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isclose
from pathlib import Path
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.reader.asking.sum import EACH_USERS, Sum
from kit.command import crowdtally

HERE = Path(__file__).parent
NAMES = sorted(folder.name for folder in (HERE / "releases").iterdir())
EXACT = 1e-9
"""How far a float may lie off, relative to its size; near 0, as a count."""
REWORDED: dict[str, str] = {}
"""Sentences of answers that say the same in other words now: the old words and the new ones."""


def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / "answers" / f"{name}.json").read_text("utf-8"))
    return found


def answer(release: ct.Release, question: Mapping[str, Any]) -> dict[str, Any]:
    """What a release says, as JSON would hold it."""
    return dict(json.loads(json.dumps(_asked(release, **question), ensure_ascii=False)))


def _asked(release: ct.Release, *, ask: str, **given: Any) -> dict[str, Any]:
    equals = given.get("equals", {})
    match ask:
        case "table":
            return _table(release.table(given["name"]))
        case "top":
            found = release.top(given["k"], raw=True, **given.get("context", {}))
            return {"counted": found.counted, "lines": found.to_dicts()}
        case "sum":
            return _sum(release.sum(given.get("where"), **equals))
        case "point":
            return _sum(release.point(**equals))
        case "prefix":
            return _sum(release.prefix(given["column"], given["last"], **equals))
        case "range":
            ends = given["first"], given["last"]
            return _sum(release.range(given["column"], *ends, **equals))
    raise AssertionError(f"the corpus has no question {ask!r}")


def _sum(found: Sum) -> dict[str, Any]:
    """A sum; of users over several cells in its former words, which left out that they add up."""
    told = asdict(found)
    if found.counted == EACH_USERS and found.cells > 1:
        told["counted"] = "users"
    return told


def _table(relation: Any) -> dict[str, Any]:
    """All rows of a table; of a long one the first and the last twenty."""
    rows = relation.fetchall()
    ends = (rows[:20], rows[-20:]) if len(rows) > 300 else (rows, [])
    return {"columns": relation.columns, "rows": len(rows), "first": ends[0], "last": ends[1]}


def differences(told: Any, wanted: Any, where: str = "") -> Iterator[str]:
    """Where an answer is not the stored one. Fields that are not stored are not compared."""
    if isinstance(wanted, dict) and isinstance(told, dict):
        for name, value in wanted.items():
            yield from differences(told.get(name, "nothing"), value, f"{where}.{name}")
    elif isinstance(wanted, list) and isinstance(told, list) and len(told) == len(wanted):
        for place, (one, other) in enumerate(zip(told, wanted, strict=True)):
            yield from differences(one, other, f"{where}[{place}]")
    elif not same(told, wanted):
        yield f"{where}: {told!r} instead of {wanted!r}"


def same(told: Any, wanted: Any) -> bool:
    """Whether a number, a name or a sentence is the stored one."""
    if type(told) is not type(wanted):
        return False
    if isinstance(wanted, float):
        return isclose(told, wanted, rel_tol=EXACT, abs_tol=EXACT)
    return bool(told == (REWORDED.get(wanted, wanted) if isinstance(wanted, str) else wanted))


def check_answers(name: str, asked: Sequence[Mapping[str, Any]]) -> None:
    """Ask these questions again."""
    assert asked
    release = ct.load(HERE / "releases" / name)
    found = [
        f"{entry['question']}{words}"
        for entry in asked
        for words in differences(answer(release, entry["question"]), entry["answer"])
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_a_release_of_before_answers_as_it_did(number: int) -> None:
    """Tables and top lists, and every fourth sum, in each folder another fourth of them."""
    entries = stored(NAMES[number])["answers"]
    lists = [entry for entry in entries if entry["question"]["ask"] in ("table", "top")]
    sums = [entry for entry in entries if entry not in lists]
    check_answers(NAMES[number], [*lists, *sums[number % 4 :: 4]])


RELEASED = ("count", "noise_std", "low", "high")
"""Fields of a line that say what was released, whatever is believed."""


@pytest.mark.parametrize("name", NAMES)
def test_estimates_stand_beside_what_was_released(name: str) -> None:
    """Every top list, asked for all of its items: no noisy count changes, and none is missing."""
    release = ct.load(HERE / "releases" / name)
    for entry in stored(name)["answers"]:
        question = entry["question"]
        if question["ask"] != "top" or not entry["answer"]["lines"]:
            continue
        context = question.get("context", {})
        released = {row["item"]: row for row in release.top(999, raw=True, **context).to_dicts()}
        believed = release.top(999, **context)
        assert len(believed) == len(released)
        for rank, row in enumerate(believed.to_dicts(), start=1):
            assert row["rank"] == rank
            raw = released[row["item"]]
            assert [row[field] for field in RELEASED] == [raw[field] for field in RELEASED]
            if row["covers"] == "the noise only":
                assert row == raw | {"rank": rank}
            else:
                assert 0 <= row["estimate_low"] <= row["median"] <= row["estimate_high"]
                assert row["estimate_low"] <= row["estimate"] <= row["estimate_high"] + 1e-9
                assert 0 <= row["chance_in_top"] <= 1


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_release_of_before_answers_everything_as_it_did(name: str) -> None:
    check_answers(name, stored(name)["answers"])


@pytest.mark.parametrize("name", NAMES)
def test_a_release_of_before_is_found_whole(name: str) -> None:
    ended = crowdtally("check", HERE / "releases" / name, "--json")
    assert ended.code == 0, ended
    assert json.loads(ended.out)["hashes"] == (not name.startswith("older-"))


def test_every_folder_has_its_answers() -> None:
    assert sorted(path.stem for path in (HERE / "answers").iterdir()) == NAMES
    assert len(NAMES) >= 90


def test_a_difference_is_seen() -> None:
    """The comparison itself: one digit, one name, one line or one type off is reported."""
    entries = stored("priority-two")["answers"]
    (top,) = (e["answer"] for e in entries if e["question"] == {"ask": "top", "k": 3})
    line = top["lines"][0]
    for changed in (
        {"count": line["count"] + 1}, {"count": float(line["count"])}, {"item": "zo"},
        {"noise_std": line["noise_std"] * (1 + 1e-8)}, {"low": None},
    ):  # fmt: skip
        other = {**top, "lines": [line | changed, *top["lines"][1:]]}
        assert len(list(differences(other, top))) == 1, changed
    assert list(differences({**top, "lines": top["lines"][:2]}, top))
    assert not list(differences(json.loads(json.dumps(top)), top))
