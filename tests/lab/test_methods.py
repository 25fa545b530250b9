"""Methods by name: one spelling each, and every misspelling refused."""

from __future__ import annotations

import pytest

from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError
from crowdtally.lab.methods import Method


def test_every_method_parses_as_it_prints() -> None:
    for bounding in BOUNDINGS:
        for choice in (None, *CHOICES):
            for transform in TRANSFORMS:
                for publishing in PUBLISHINGS:
                    method = Method(bounding, choice, transform, publishing)
                    assert Method.of(str(method)) == method


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("sra", Method("sra")),
        (" hpa ", Method("hpa")),
        ("sra+rank", Method("sra", "rank")),
        ("sra/filter", Method("sra", publishing="filter")),
        ("sra/dyadic", Method("sra", transform="dyadic")),
        ("dpsense-s+dpsense/dyadic/filter", Method("dpsense-s", "dpsense", "dyadic", "filter")),
        ("sra/none/dense", Method("sra")),
    ],
)
def test_a_name(name: str, method: Method) -> None:
    assert Method.of(name) == method


def test_what_a_release_is_asked_for() -> None:
    assert Method.of("dpsense+rank/haar/priority").options == {
        "bounding": "dpsense", "choose": "rank", "transform": "haar", "publishing": "priority",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sar", "unknown --bounding 'sar'"),
        ("", "unknown --bounding ''"),
        ("sra+", "unknown --choose ''"),
        ("sra+rnak", "unknown --choose 'rnak'"),
        ("sra/fliter", "has the form 'fliter'"),
        ("sra/filter/dyadic", "has the form 'dyadic'"),
        ("sra/dyadic/haar", "has the form 'haar'"),
        ("sra/filter/priority", "has the form 'priority'"),
        ("sra/dyadic/filter/filter", "has the form 'filter'"),
        ("sra/", "has the form ''"),
    ],
)
def test_a_misspelled_name_is_refused(name: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        Method.of(name)
    assert words in str(refused.value)
    assert repr(name) in str(refused.value)
