"""The public catalogue: groups, orders, refusals."""

from __future__ import annotations

import random

import pytest

from crowdtally.errors import CrowdtallyError
from crowdtally.person.catalogue import Catalogue
from kit.catalogues import PRINTED, printed


def test_items_of_one_set_are_one_group_in_public_order() -> None:
    catalogue = Catalogue.of({"b": ["y", "x"], "a": ["x", "y", "x"], "c": ["y"]})
    assert catalogue.items == ("b", "a", "c")
    assert catalogue.categories == ("x", "y")
    assert [(g.categories, g.places.tolist()) for g in catalogue.groups] == [
        ((0, 1), [0, 1]),
        ((1,), [2]),
    ]
    assert catalogue.group_of.tolist() == [0, 0, 1]
    assert catalogue.sizes.tolist() == [2, 3]


def test_its_name_depends_on_its_content_and_not_on_its_order() -> None:
    rows = [(item, random.sample(names, len(names))) for item, names in PRINTED.items()]
    assert Catalogue.of(dict(rows[::-1])).sha256 == printed().sha256
    assert Catalogue.of({**PRINTED, "item 5": ["1"]}).sha256 != printed().sha256


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({}, "is empty"),
        ({"a": []}, "1 of the catalogue's 1 items have no category"),
        ({"a": "x"}, "received a str"),
        ({"a": None}, "received a NoneType"),
        ({"a": [""]}, "not empty"),
        ({"a": [7]}, "called by a text"),
        ({"a": ["x"], 7: ["x"]}, "all text or all 64-bit integers"),
        ({None: ["x"]}, "null"),
        ({"e\u0301": ["x"]}, "normal form C"),
        ({"a": ["e\u0301"]}, "normal form C"),
        ([("a", ["x"])], "received a list"),
    ],
)
def test_a_wrong_catalogue_is_refused(mapping: object, words: str) -> None:
    with pytest.raises(CrowdtallyError, match=words):
        Catalogue.of(mapping)  # type: ignore[arg-type]
