"""Bad parameters of sparse publishing and of transforms: refused before anything is charged."""

from __future__ import annotations

import pytest

from kit.command import crowdtally
from kit.town import Town

USAGE, INPUT = 2, 4
LISTS = ["--values", "weekday=Mon,Tue", "--values", "place_id=0..4"]


def command(*options: str, attributes: str = "weekday,place_id") -> list[str]:
    """A release of a table of attributes, each row one person."""
    given = ["release", "records.parquet", "--user-per-row", "--attributes", attributes]
    return [*given, *LISTS, "--epsilon", "1", "--output", "out", "--new-dataset", *options]


def test_the_command_itself_is_fine(town: Town) -> None:
    """Without this, the refusals below could all be refusals of something else."""
    ended = crowdtally(*command("--publishing", "filter-priority", "--size", "5"))
    assert ended.code == 0, str(ended)
    assert crowdtally("sum", "out", "--where", "place_id <= 2").code == 0


def given(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--publishing filter --cut -1", ("--cut", "-1")),
        ("--publishing filter --cut 1.5", ("--cut", "1.5")),
        ("--publishing filter --cut 99999999999999999999", ("--cut",)),
        ("--publishing threshold --threshold 0", ("threshold", "greater than 0", "received 0")),
        ("--publishing threshold --threshold -3", ("threshold", "-3")),
        ("--publishing threshold --threshold many", ("--threshold", "'many'")),
        ("--publishing filter --size 0", ("size", "0")),
        ("--publishing priority --size -7", ("size", "-7")),
        ("--publishing priority --size 1000000000000", ("size", "1000000000000")),
        ("--publishing priority", ("--size S",)),
        ("--publishing filter-priority", ("--size S",)),
        ("--publishing filter", ("--cut K", "--size S")),
        ("--publishing threshold", ("--threshold T", "--size S")),
        ("--publishing fliter --size 3", ("'fliter'", "Did you mean 'filter'?")),
        ("--publishing filter --size 3 --sides three", ("--sides", "'three'")),
        ("--publishing threshold --size 3 --cut 2", ("--cut is for",)),
        ("--publishing filter --size 3 --threshold 2", ("--threshold is for",)),
        ("--publishing threshold --size 3 --guess-total -1", ("--guess-total", "-1")),
        ("--size 3", ("--publishing filter, threshold, priority or filter-priority", "remove it")),
        ("--cut 3", ("--publishing filter or filter-priority", "remove it")),
        ("--sides one", ("--publishing filter, threshold, priority or", "remove it")),
        ("--transform dyadic", ("--ordered NAME",)),
        ("--transform haar", ("--ordered NAME",)),
        ("--transform dyadic --ordered weekdy", ("'weekdy'", "Did you mean 'weekday'?")),
        ("--transform haar --ordered weekday,place_id", ("one ordered attribute",)),
        ("--ordered weekday", ("--ordered is for",)),
        ("--transform haar --ordered weekday --publishing filter --size 3 --sides one",
         ("both signs", "--sides one")),
        ("--transform sketch", ("--buckets B",)),
        ("--transform sketch --buckets 0", ("--buckets", "0")),
        ("--transform sketch --buckets 8 --sketch-rows 0", ("--sketch-rows", "0")),
        ("--transform sketch --buckets 8 --publishing filter --size 3", ("small already",)),
        ("--buckets 8", ("--transform sketch", "remove it")),
        ("--transform wavelet --ordered weekday", ("'wavelet'",)),
        ("--bounding hpa", ("--user-per-row",)),
        ("--pairs", ("--user-per-row",)),
        ("--item place", ("--item COL, or --attributes",)),
        ("--user user_id", ("--user",)),
        ("--items places.csv", ("--items goes with --item",)),
    ],
)  # fmt: skip
def test_parameters(town: Town, options: str, words: tuple[str, ...]) -> None:
    town.refuses(command(*given(options)), USAGE, *words)


def test_an_attribute_without_a_list(town: Town) -> None:
    town.refuses(command(attributes="weekday,place_id,place"), USAGE, "'place'", "--values place=")


def test_an_attribute_twice(town: Town) -> None:
    town.refuses(command(attributes="weekday,weekday,place_id"), USAGE, "twice")


def test_a_domain_of_no_cells(town: Town) -> None:
    """N = 0 can only come from a list without values."""
    town.write("none.csv", "weekday\n")
    options = ["--values", "weekday=@none.csv"]
    arguments = command("--publishing", "filter", "--size", "3")
    place = arguments.index("weekday=Mon,Tue")
    town.refuses([*arguments[: place - 1], *options, *arguments[place + 1 :]], INPUT, "empty")


def test_more_cells_than_a_dense_table_has(town: Town) -> None:
    columns = {f"a{i}": [0, 1, 2] for i in range(40)}
    town.table("wide.parquet", **columns)
    lists = [word for name in columns for word in ("--values", f"{name}=0..3")]
    arguments = [
        "release", "wide.parquet", "--user-per-row", "--attributes", ",".join(columns), *lists,
        "--epsilon", "1", "--output", "out", "--new-dataset",
    ]  # fmt: skip
    town.refuses(arguments, USAGE, str(4**40), "--publishing filter-priority --size S")
    everything = ["--transform", "dyadic", "--ordered", ",".join(columns)]
    everything += ["--publishing", "filter", "--size", "100"]
    town.refuses([*arguments, *everything], USAGE, "fewer ordered attributes")
    ended = crowdtally(*arguments, "--publishing", "filter-priority", "--size", "100")
    assert ended.code == 0, str(ended)


def test_a_summary_that_no_memory_holds(town: Town) -> None:
    """A cut of 1 keeps most of the empty cells."""
    wide = ["--values", "visit=0..999999", "--values", "note=0..99"]
    names = "weekday,place_id,visit,note"
    arguments = command("--publishing", "filter", "--cut", "1", attributes=names)
    town.refuses([*arguments, *wide], USAGE, "1000000000 cells", "raise --cut")


@pytest.mark.parametrize(
    ("weight", "code", "words"),
    [
        ("wieght", INPUT, ("'wieght' (the weight)",)),
        ("price", INPUT, ("'price'", "whole number of persons")),
        ("note", INPUT, ("--strict", "without a weight of at least 1", "Nothing was charged")),
    ],
)
def test_weights(town: Town, weight: str, code: int, words: tuple[str, ...]) -> None:
    town.refuses(command("--weight", weight, "--strict"), code, *words)


def test_a_negative_weight_is_a_fault_of_its_row(town: Town) -> None:
    table = {"a": ["x", "x", "y"], "w": [-5, 3, 2]}
    town.table("weighed.parquet", **table)
    arguments = [
        "release", "weighed.parquet", "--user-per-row", "--weight", "w", "--attributes", "a",
        "--values", "a=x,y", "--epsilon", "1000", "--output", "out", "--new-dataset",
    ]  # fmt: skip
    town.refuses([*arguments, "--strict"], INPUT, "of 3 rows, 1 ", "weight")
    ended = crowdtally(*arguments)
    assert ended.code == 0, str(ended)
    assert "of 3 rows, 1 with a value outside the lists or without a weight" in ended.err
    assert crowdtally("sum", "out", "--where", "a = 'x'").out.startswith("3 users")


def test_weight_goes_with_rows_as_persons(town: Town) -> None:
    town.refuses(town.arguments(weight="count"), USAGE, "--weight", "--user-per-row")


def test_sums_of_what_is_no_release(town: Town) -> None:
    town.refuses(["sum", "nowhere"], INPUT, "not a release", "no such folder")
