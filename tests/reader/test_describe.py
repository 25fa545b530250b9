"""A release in plain words, of every kind."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.core.numbers import show
from crowdtally.core.privacy import in_words
from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.request.method import PARTS as ALL_PARTS
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.format import Published, load
from crowdtally.format.load import counting_remarks
from crowdtally.reader.describe import protection
from crowdtally.reader.describe.description import Description, describe
from kit.auto import adaptive, known_way
from kit.stored import NAMES, hamlet, stored

# ---- A release in plain words: every kind of release, every statement that depends on it ---------


ORDER = ["what", "from_whom", "steps", "protection", "odds", "remark", "spent", "not_covered"]


@cache
def published(name: str) -> Published:
    return load(stored(name))


def described(name: str) -> Description:
    return describe(published(name))


def flowing(found: Description) -> str:
    """All sentences, unwrapped."""
    return "\n".join(line for section in found.sections for line in section.lines)


def changed(name: str, **fields: dict[str, Any]) -> Description:
    """A stored release that says something else in some objects of ``release.json``."""
    found = published(name)
    metadata = dict(found.metadata)
    for field, values in fields.items():
        metadata[field] = {**metadata.get(field, {}), **values}
    return describe(Published(found.folder, metadata))


RECORDS = {
    "user": ["user"], "same_person": False, "item": "place", "item_expression": None,
    "contexts": {"day": None}, "where": None, "timezone": "UTC",
}  # fmt: skip


def declared(**fields: Any) -> str:
    """What is said of records that were declared so."""
    return flowing(changed("sra-one-context", records={**RECORDS, **fields}))


@pytest.mark.parametrize("name", NAMES)
def test_every_stored_release_is_described(name: str) -> None:
    found = described(name)
    text, release = found.text(), found.published
    sections = [section.name for section in found.sections]
    assert sections == [one for one in ORDER if one in sections]
    assert set(ORDER) - set(sections) <= {"remark", "steps"}  # steps are of auto alone
    assert all(len(line) <= 88 for line in text.splitlines())
    assert not re.search(r"None|[{}]|\bnan\b|\?\)|Fraction|  +-  ", text)
    words = flowing(found)
    assert all(re.fullmatch(r"[A-Z'ε0-9].*\.", line) for line in words.splitlines()), words
    assert f"ε is {show(release.guarantee.epsilon)}." in words
    for table in release.tables:
        assert f"Table '{table.name}' ({table.file})" in words
        assert f"Table '{table.name}', {in_words(table.price)}: one " in words
    for one in release.domain.lists:
        assert repr(one.name) in words
        assert one.is_discovered or f"a public list of {one.length:,} value" in words
    for part in release.metadata["split"].values():
        assert show(Fraction(part) * release.guarantee.epsilon) in words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sra-items", "of each user at most 4 records were counted, chosen uniformly"),
        ("sra-count-users", "at most 4 different cells were counted"),
        ("sra-one-context", "for every combination of 'place' and 'day', 8 × 4 = 32 cells"),
        ("sra-record-id", "told apart by the column 'id'"),
        ("declared", "meant to cut nobody"),
        ("hpa", "those of the items that rank highest in the noisy table 'popularity'"),
        ("hpa", "The popularity was counted from at most 3 records of each user"),
        ("hpa", "0.2 for the table 'popularity', 0.9 for the table 'items' and 0.9"),
        ("dpsense-cap", "one user counts at most 3 in a cell, and the cells of a user that would"),
        ("dpsense-s-users", "Published counts were then multiplied by 2, to make up"),
        ("choose-dpsense-s", "In 'items': one user counts"),
        ("choose-dpsense-s", "0.4 for the private choice of the bound"),
        ("choose-rank-sra", "chosen from the records, up to 20, so that about as many users"),
        ("discovered", "There was no public list of items"),
        ("discovered", "of each of 8 released items: those with a noisy number of at least 5"),
        ("discovered", "at most 1e-6 (one in 1,000,000): that an item which nobody but this user"),
        ("discovered", "whose item is not released, "),
        ("discovered-none", "users of each of 0 released items"),
        ("pairs", "pairs of records for each unordered pair of items, 15 cells"),
        ("pairs", "and 4 for the table 'pairs'"),
        ("sra-attributes", "for every combination of"),
        ("sketch", "as a count sketch of 4 rows of 16 buckets"),
        ("sketch", "one user changes it by at most 16 in all, over all buckets together"),
        ("dyadic-two", "as a tree of counts over ranges of"),
        ("haar-attributes", "as Haar coefficients along"),
        ("filter-two", "It is a summary of type 'filter'"),
        ("filter-one", "only positive noisy counts were kept"),
        ("filter-scaled", "noisy counts nearer to 0 than 12 were dropped"),
        ("priority-two", "are published: a sample of at most 6 was drawn and"),
        ("priority-one", "were kept, of what was left a sample of at most 6 was drawn"),
        ("threshold-two", "were kept by chance, in proportion to them"),
        ("dyadic-two-filter", "ranges inside a dropped range were dropped too"),
        ("sketch-wide", "'a19' (100,000,000,000,000,000,000 cells), as a count sketch of 3 rows"),
        ("sketch-wide", "The 20 lists of values, the bound"),
        ("user-per-row", "Persons, each of them one row"),
        ("user-per-row", "Nothing was cut: one person counts once in each table."),
        ("user-per-row-weight", "A row stands for as many of them as its weight 'persons' says"),
    ],
)  # fmt: skip
def test_what_is_special_about_a_release_is_said(name: str, words: str) -> None:
    found = flowing(described(name))
    assert words.casefold() in found.casefold(), found


def test_every_name_in_the_registries_has_words() -> None:
    """A rule, choice or part without words would be described as somebody else's."""
    assert set(protection.KEPT) | set(protection.SCALED) | {"auto"} == set(BOUNDINGS)
    assert set(protection.CHOSEN) == set(CHOICES)
    tables = {"items", "edges", "cells", "auto"}
    assert set(protection.PARTS) | tables == set(ALL_PARTS)
    tables_of_all = [table for name in NAMES for table in published(name).tables]
    assert {table.transform.kind for table in tables_of_all} == set(TRANSFORMS)
    assert {table.publishing for table in tables_of_all} >= set(PUBLISHINGS)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "There was no condition"),
        ({"where": "rating >= 4"}, "Only rows that meet the condition `rating >= 4` were records."),
        ({"where": "rating >= 4"}, "the bound, the condition and all other parameters"),
        ({"timezone": "Europe/Vienna"}, "it was in the zone Europe/Vienna."),
        ({"types": {"age": "int64"}}, "Column 'age' was read as int64; a value that does not fit"),
        ({"contexts": {"day": "dayname(t)"}}, "'day' was computed from each row as `dayname(t)`."),
        ({"item_expression": "lower(p)"}, "'place' was computed from each row as `lower(p)`."),
        ({"quantity": {"column": "n", "most": 20}}, "as its column 'n' says, and at most 20 times"),
        ({"quantity": {"column": "n", "most": 20}}, "at most 4 records (each at most 20 times)"),
        ({"user": ["shop", "customer"]}, "Rows that agree in 'shop' and 'customer' are one user's"),
        ({"where": "a\x1b[2J"}, r"`'a\x1b[2J'`"),
    ],
)
def test_the_declaration_of_the_records_is_told(fields: dict[str, Any], words: str) -> None:
    found = declared(**fields)
    assert words in found
    assert "earlier version" not in found
    assert "\x1b" not in found


def test_no_zone_is_told_where_no_time_was_looked_at() -> None:
    assert "zone" not in declared()


def test_persons_of_several_ids_are_told() -> None:
    unit = {"unit": {"kind": "same-person", "column": "user"}}
    found = flowing(
        changed("sra-one-context", records={**RECORDS, "same_person": True}, guarantee=unit)
    )
    assert "which values of 'user' are one person's ids" in found
    assert "one person changes it by at most 4 in all" in found
    assert "several ids is several users" not in found


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "2.5", "5", "10", "13"])
def test_beliefs_are_those_of_the_formula(epsilon: str) -> None:
    """Never less than the true bound, and at most a tenth of a percent above it."""
    cost = {"epsilon": epsilon}
    found = changed("sra-items", guarantee=cost, charged={**cost, "spent_after": epsilon})
    for entry in found.to_dict()["beliefs"]:
        before, after = float(entry["before"]), float(Fraction(entry["after_at_most"]))
        factor = math.exp(float(epsilon))
        true = before * factor / (1 - before + before * factor)
        assert true - 1e-12 <= after <= true + 1.001e-3
    assert [entry["before"] for entry in found.to_dict()["beliefs"]] == ["0.01", "0.1", "0.5"]


def test_beliefs_are_told_in_percent() -> None:
    cost = {"epsilon": "1"}
    found = flowing(changed("sra-items", guarantee=cost, charged={**cost, "spent_after": "1"}))
    assert "e^1 ≈ 2.72" in found
    assert "1% → 2.7%, 10% → 23.2% and 50% → 73.2%" in found
    assert "e^2 ≈ 7.39: 50% can become 88.1% at most" in found, "two hops between two histories"


@pytest.mark.parametrize(("epsilon", "remarks"), [("10", False), ("10.01", True), ("400", True)])
def test_an_epsilon_above_ten_is_remarked_on(epsilon: str, remarks: bool) -> None:
    found = changed("sra-items", guarantee={"epsilon": epsilon})
    assert ("remark" in found.to_dict()) == remarks
    assert ("hardly more than no promise" in flowing(found)) == remarks


def test_what_a_large_epsilon_still_promises_is_true() -> None:
    """A belief of one in 10·e^ε, as it is written, stays below 10%."""
    for epsilon in (11, 15, 20, 30, 44):
        words = changed("sra-items", guarantee={"epsilon": str(epsilon)}).to_dict()["remark"][1]
        (written,) = re.findall(r"one in ([\d,.]+(?:·10\^\d+)?) stays", words)
        number = float(written.replace(",", "").replace("·10^", "e"))
        assert 1 / (1 + math.exp(-epsilon) * (number - 1)) < 0.1


def test_an_epsilon_without_measure_is_described() -> None:
    found = flowing(changed("sra-items", guarantee={"epsilon": "1e300"}))
    assert "1% → almost 100%" in found


def test_no_exception_is_told_where_there_is_none() -> None:
    assert "δ is 0" in flowing(described("sra-items"))
    assert "δ is 0" not in flowing(described("discovered"))
    assert "no outcome outside the exception above is proof" in flowing(described("discovered"))


def test_spending_is_told() -> None:
    spent = {"spent_before": "1", "spent_after": "3", "limit": "5", "dataset": "visits"}
    found = flowing(changed("sra-items", charged=spent))
    assert "ε 1 had been spent on the dataset before; with this release it is ε 3." in found
    assert "By all of them together a belief of 50% can become 95.3% at most." in found
    assert "The limit was ε 5, of which 2 were left." in found
    assert "of the dataset 'visits'" in found
    first = flowing(described("sra-items"))
    assert "the first release" in first
    assert "No limit was set" in first


def test_a_rule_of_ones_own_is_not_covered() -> None:
    rule = {"bounding": "mine (not a rule of Crowdtally's)"}
    found = flowing(changed("sra-items", method=rule))
    assert 'by the rule "mine (not a rule of Crowdtally\'s)"' in found
    assert "looks at each user's own records alone was not checked" in found
    assert "was not checked" not in flowing(described("sra-items"))


@pytest.mark.parametrize(
    "words",
    [
        "The lists of 'place' and 'day', the bound and all other parameters: they were taken as",
        "chose one of them by looking at the records",
        "What the crowd shows.",
        "What several people share.",
        "were dropped, and how many is not told",
        "That there is a release, when it was made",
    ],
)
def test_what_is_not_covered_is_said(words: str) -> None:
    assert words in flowing(described("sra-one-context"))


def test_a_bound_that_was_chosen_privately_is_not_among_the_parameters() -> None:
    assert "'day' and all other parameters" in flowing(described("choose-dpsense"))


def test_a_release_of_today_is_described(tmp_path: Path) -> None:
    release = hamlet(tmp_path)
    found = release.describe()
    assert isinstance(found, Description)
    assert "There was no condition" in flowing(found)
    assert "earlier version" not in flowing(found)
    assert str(found) == found.text(88)
    assert json.loads(found.to_json())["id"] == release.metadata["id"]
    assert len(repr(found)) <= 100


def test_the_text_is_as_wide_as_asked() -> None:
    long = changed("sra-items", records={**RECORDS, "contexts": {}, "where": "x" * 1999})
    for width in (10, 60, 100):
        lines = long.text(width).splitlines()
        assert max(map(len, lines)) <= max(width, 40)
    assert "x" * 1999 in "".join(long.text(60).split())


def test_a_section_without_a_line_is_left_out() -> None:
    found = described("sra-items")
    assert "A remark" not in found.text()
    assert replace(found, sections=found.sections[:1]).text().startswith("What is counted\n  - ")


def test_what_several_lose_follows_from_what_was_paid() -> None:
    assert "k ids, k times ε." in flowing(described("sra-items"))
    found = flowing(described("discovered"))
    assert "a group of k has k times ε, and k·e^((k−1)ε) times δ, and" in found


# ---- A release of ``auto`` in plain words --------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("auto")


@pytest.fixture(scope="module")
def described_of_auto(folder: Path) -> Description:
    method = ct.Auto("recommend", repeats=False, context_per_user="day")
    return describe(load(adaptive(folder, method=method)))


@pytest.fixture(scope="module")
def plain() -> Description:
    return describe(load(known_way("rich").folder))


def said(found: Description, section: str) -> list[str]:
    return list(found.to_dict()[section])


def test_the_steps_are_numbered_with_their_share_and_why(
    described_of_auto: Description, plain: Description
) -> None:
    first, *steps = said(described_of_auto, "steps")
    assert "what to recommend in each context" in first
    assert steps[0] == "Step 1, 'sizes', 2.5% of ε: how long users' rows are decides the rest."
    assert steps[1].startswith("Step 2, 'pilot_short', at the same 7% of ε as 'pilot': ")
    assert steps[7].startswith("Step 8, 'head', 8.5% of ε: ")
    assert steps[8] == "Together they spent all of ε 4."
    assert "never by the records" in steps[-1]
    assert "at the same 90.5% of ε as 'items'" in said(plain, "steps")[5]


def test_rows_by_norm_are_said_to_be_scaled_by_their_squares() -> None:
    """In remarks on answers, and in the description."""
    release = known_way("gaussian")
    theta = release.metadata["method"]["bounds"]["items"]["bound"]
    words = f"their row scaled down to squares that sum to at most {theta};"
    assert any(words in one for one in counting_remarks(load(release.folder)))
    lines = said(describe(load(release.folder)), "protection")
    assert any(
        line.endswith(f"until their squares sum to it: 'items' to {theta}.") for line in lines
    )


def test_steps_in_rho_say_where_it_came_from(folder: Path) -> None:
    told = {"contexts": False, "delta": "1e-9", "method": ct.Auto(repeats=False)}
    *steps, total, _ = said(describe(load(adaptive(folder, "turned", **told))), "steps")
    assert "2.5% of ε" in steps[1]
    assert "of ρ" in steps[2]
    assert total.startswith("Together they spent all of ρ ")
    assert "the other ε 3.9 and δ 1e-9 bought ρ" in total


def test_only_auto_has_steps(tmp_path: Path) -> None:
    from kit.stored import hamlet

    assert "steps" not in describe(load(hamlet(tmp_path).folder)).to_dict()


def test_every_table_is_said_to_hold_something(
    described_of_auto: Description, plain: Description
) -> None:
    for found in (described_of_auto, plain):
        for table in found.published.tables:
            (line,) = (
                line for line in said(found, "what") if line.startswith(f"Table {table.name!r}")
            )
            assert len(line) > len(f"Table {table.name!r} ({table.file}): .")
    whole = "\n".join(said(described_of_auto, "what"))
    assert "how many users have how many different items: from 1 to 8, then 9 to 16" in whole
    assert "Table 'total' (total.parquet): how many different items there are in all" in whole
    assert "users of 2 items, chosen by their estimates" in whole
    short = "\n".join(said(plain, "what"))
    assert "'item', 60 cells, from the users of longer rows." in short
    assert "60 cells, from users of at most 6 records: they were counted whole." in short


def test_what_was_bounded_and_what_was_not(
    described_of_auto: Description, plain: Description
) -> None:
    scaled, *others = said(described_of_auto, "protection")
    theta = described_of_auto.published.method.bounds["items"].bound
    assert f"'items' to {theta}, 'edges' to {theta} and 'contexts' to {theta}" in scaled
    assert "'sizes'" not in scaled
    assert "'total'" not in scaled
    assert any(line.startswith("In 'total' at most ") for line in others)
    assert any(line.startswith("In 'head' nothing was cut") for line in others)
    (head,) = (line for line in others if line.startswith("Table 'head'"))
    assert "at most 1 in each count, in however many of them" in head
    assert others[-1] == "ε 4 was charged at once, before the first step was taken."
    (both,) = (line for line in said(plain, "protection") if "'items_short', and" in line)
    assert "A user whose counts sum to at most 6 is in 'items_short'" in both
    assert "Any other is in 'items': nobody is in both." in both


def test_what_estimates_assume(
    described_of_auto: Description, plain: Description, folder: Path
) -> None:
    uncovered = "\n".join(said(described_of_auto, "not_covered"))
    assert "follows an item's popularity smoothly" in uncovered
    assert "from the table 'total'" in uncovered
    assert "one value of 'day'" in uncovered
    assert "lean towards those of people with few records" in uncovered
    assert "was not checked" not in uncovered
    assert "the bound" not in uncovered.splitlines()[0]
    simple = "\n".join(said(plain, "not_covered"))
    assert "Most rows were counted whole." in simple
    assert "'day'" not in simple
    assert "'total'" not in simple
    totals = "\n".join(said(describe(load(known_way("totals").folder)), "not_covered"))
    assert "Only the totals of contexts were measured there" in totals
    short = "\n".join(said(describe(load(known_way("short").folder)), "not_covered"))
    assert "Nearly all rows are short" in short
    assert "lean towards" not in short
