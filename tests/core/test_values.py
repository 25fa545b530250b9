"""Values as text: ``sra:max-records=10`` and back, their help, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import crowdtally as ct
from crowdtally.core.registry import Registry
from crowdtally.core.values import explained, fitting, help_of, public, read, written
from crowdtally.curator.bounding import METHODS
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError

VALUES: dict[str, tuple[Registry, Any]] = {
    "auto": (METHODS, ct.Auto()),
    "auto:aim=recommend,repeats=no,context-per-user=sex,age": (
        METHODS,
        ct.Auto("recommend", repeats=False, context_per_user=["sex", "age"]),
    ),
    "sra": (METHODS, ct.SRA()),
    "sra:max-records=3,choose=rank": (METHODS, ct.SRA(3, choose="rank")),
    "hpa:max-records=3,popularity-records=5": (METHODS, ct.HPA(3, popularity_records=5)),
    "declared:max-records=60": (METHODS, ct.Declared(60)),
    "dpsense:max-records=100,cap=2,choose=histogram,norm=l2": (
        METHODS, ct.DPSense(100, cap=2, choose="histogram", norm="l2")
    ),
    "dpsense-s:choose=dpsense,scalings=1,1.25,4/3": (
        METHODS, ct.DPSenseS(choose="dpsense", scalings=[1, "1.25", Fraction(4, 3)])
    ),
    "top:k=10,context-per-user=sex": (METHODS, ct.Top(10, context_per_user="sex")),
    "discover:columns=item,day,max-records=4": (METHODS, ct.Discover(["item", "day"], 4)),
    "dense": (PUBLISHINGS, ct.Dense()),
    "filter:cut=0,sides=one": (PUBLISHINGS, ct.Filter(cut=0, sides="one")),
    "threshold:threshold=19/3": (PUBLISHINGS, ct.Threshold("19/3")),
    "threshold:size=6,guess-total=300": (PUBLISHINGS, ct.Threshold(size=6, guess_total=300)),
    "priority:size=6,threshold=0.5": (PUBLISHINGS, ct.Priority(6, threshold="1/2")),
    "filter-priority:size=6,cut=3": (PUBLISHINGS, ct.FilterPriority(6, cut=3)),
    "dyadic:columns=age,sex": (TRANSFORMS, ct.Dyadic(["age", "sex"])),
    "haar:columns=2020": (TRANSFORMS, ct.Haar("2020")),
    "sketch:buckets=8,rows=3": (TRANSFORMS, ct.Sketch(8, rows=3)),
}  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_a_text_is_its_value_and_back(text: str) -> None:
    registry, value = VALUES[text]
    assert read(registry, text) == value
    assert written(registry, value) == text


def test_every_field_is_tried_above() -> None:
    typed = {piece.split("=")[0] for text in VALUES for piece in text.replace(":", ",").split(",")}
    for registry in (METHODS, PUBLISHINGS, TRANSFORMS):
        for name in registry:
            fields = {field.replace("_", "-") for field in public(registry.load(name))}
            assert fields <= typed, name


def test_a_name_of_python_is_understood_too() -> None:
    assert read(METHODS, "sra:max_records=3") == ct.SRA(3)
    assert read(METHODS, "sra: max-records = 3") == ct.SRA(3)


REFUSED = {
    "srra": "unknown --method 'srra'. Did you mean 'sra'? There are: auto, sra",
    "sra:max-record=3": (
        "--method sra has no field 'max-record'. Did you mean 'max-records'? There are: "
        "max-records, choose. Type --method sra:help to see them."
    ),
    "sra:popularity-records=3": "--method sra has no field 'popularity-records'",
    "sra:times=3": "--method sra has no field 'times'. There are: max-records, choose",
    "hpa:popularity=3": "--method hpa has no field 'popularity'",
    "sra:max-records=3,max-records=4": "--method sra gives max-records twice: give it once",
    "sra:10": "--method sra is followed by FIELD=VALUE,FIELD=VALUE: received '10'",
    "sra:max-records=0": "max_records of SRA must be a whole number between 1 and",
    "sra:max-records=1000000000000000000000000000000": "max_records of SRA must be a whole number",
    "sra:max-records=ten": "received 'ten'",
    "sra:max-records=10,20": "received '10,20'",
    "sra:max-records=": "received ''",
    "sra:max-records=٣": "must be a whole number",
    "auto:repeats=maybe": "repeats of Auto is yes or no, in Python True or False: received 'maybe'",
    "auto:aim=best": "unknown aim of Auto 'best'. There are: counts, top, recommend",
    "discover": "Discover needs columns: the columns without a public list",
    "discover:columns=": "columns of Discover lacks the name of a column",
    "dpsense-s:scalings=1,2": "DPSenseS needs one scaling",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(METHODS, text)
    assert REFUSED[text] in str(caught.value)


def test_a_kind_takes_those_of_the_fields_that_it_has() -> None:
    given = {"size": 5, "cut": 3, "max_records": 9}
    assert fitting(ct.Filter, given) == ct.Filter(cut=3, size=5)
    assert fitting(ct.Dense, given) == ct.Dense()


# ---- Help ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("registry", [METHODS, PUBLISHINGS, TRANSFORMS])
def test_every_field_has_its_help(registry: Registry) -> None:
    for name in registry:
        kind = registry.load(name)
        assert set(public(kind)) <= help_of(kind).keys(), name


@pytest.mark.parametrize("registry", [METHODS, PUBLISHINGS, TRANSFORMS])
def test_help_has_a_line_for_each_name(registry: Registry) -> None:
    first, *lines = explained(registry)
    assert first.startswith(f"{registry.option} NAME")
    assert [line.split()[0] for line in lines] == list(registry)


def test_help_of_a_method_has_its_fields_and_defaults() -> None:
    shown = "\n".join(explained(METHODS, "hpa"))
    assert shown.startswith("--method hpa: each user's records of the most popular items.")
    assert "  max-records  " in shown
    assert "Default: 10." in shown
    assert "popularity " not in shown
    assert all(len(line) < 80 for line in shown.splitlines())
    assert list(explained(PUBLISHINGS, "dense"))[-1] == "It has no fields."
