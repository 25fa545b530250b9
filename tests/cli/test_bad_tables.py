"""Lists, summaries and transforms that do not fit, and options that do not go together."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet
import pytest

import crowdtally as ct
from kit.command import INPUT, USAGE, Town, crowdtally

# ---- Public lists that are none, and records that do not fit them --------------------------------
#
# Every refusal goes through ``Town.refuses``; see ``test_bad_input.py``.


def test_text_items_against_integers(town: Town) -> None:
    town.write("names.csv", "place_id\nbar\ncafe\n")
    town.refuses(
        town.arguments(item="place_id", items="names.csv"), INPUT,
        "is text, but the records hold integer", "give the list as integer",
    )  # fmt: skip
    town.table("typed.parquet", place_id=["one", "2.0"])
    town.refuses(
        town.arguments(item="place_id", items="typed.parquet"), INPUT,
        "is text, but the records hold integer (BIGINT)",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("place\nbar\ncafe\nbar\n", ("holds 3 values", "only 2 are distinct", "remove")),
        ("place\n", ("is empty", "at least one")),
        ("", ("needs a first line",)),
        ("place,x\nbar,1\n,2\n", ("contains a null", "remove it")),
        ("place\nbar\ncafe\u0301\n", ("value 2", "normal form C", "NFC")),
        ("place,place\nbar,cafe\n", ("distinct, non-empty name",)),
        ("place\nbar,cafe\n", ("line 2", "2 fields where the header has 1")),
    ],
    ids=["repeated", "empty", "no header", "null", "not NFC", "same names", "ragged"],
)
def test_bad_list(town: Town, content: str, words: tuple[str, ...]) -> None:
    town.write("list.csv", content)
    town.refuses(town.arguments(items="list.csv"), INPUT, *words)
    values = {"context": "place_id", "values": "place_id=@list.csv:place"}
    town.refuses(town.arguments(**values), INPUT, *words)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array(["bar", "bar"]), ("only 1 are distinct",)),
        (pa.array([], pa.string()), ("is empty",)),
        (pa.array(["bar", None]), ("contains a null",)),
        (pa.array([1, None]), ("contains a null",)),
        (pa.array([1.5]), ("DOUBLE", "text or integers")),
    ],
    ids=["repeated", "empty", "null", "null integer", "float"],
)
def test_bad_list_with_types(town: Town, column: pa.Array, words: tuple[str, ...]) -> None:
    town.table("list.parquet", place=column)
    town.refuses(town.arguments(items="list.parquet"), INPUT, *words)


def test_list_in_which_column(town: Town) -> None:
    town.write("list.csv", "name,code\nbar,1\n")
    town.refuses(town.arguments(items="list.csv"), USAGE, "FILE:COLUMN", "name, code")
    town.refuses(town.arguments(items="list.csv:nme"), INPUT, "'nme'", "Did you mean 'name'?")
    town.refuses(town.arguments(items="nowhere.csv"), INPUT, "no such file", "'nowhere.csv'")
    town.refuses(town.arguments(items="."), INPUT, "is a folder")


@pytest.mark.parametrize(
    ("values", "code", "words"),
    [
        ("weekday", USAGE, ("NAME=a,b,c", "received 'weekday'")),
        ("weekday=", USAGE, ("NAME=a,b,c",)),
        ("weekday=9..1", USAGE, ("'9..1'", "empty")),
        ("weekday=0..99999999999", USAGE, ("too long",)),
        ("weekday=Mon,Tue,Mon", INPUT, ("only 2 are distinct",)),
        ("weekday=@nowhere.csv", INPUT, ("no such file",)),
    ],
)
def test_bad_values(town: Town, values: str, code: int, words: tuple[str, ...]) -> None:
    town.refuses(town.arguments(context="weekday", values=values), code, *words)


def test_context_and_values_go_together(town: Town) -> None:
    advice = ("'weekday'", "--context", "--values weekday=a,b,c")
    town.refuses(town.arguments(context="weekday"), USAGE, *advice)
    town.refuses(town.arguments(values="weekday=Mon"), USAGE, *advice)
    twice = [*town.arguments(context="weekday", values="weekday=Mon"), "--values", "weekday=Tue"]
    town.refuses(twice, USAGE, "same list", "once")


def test_no_list_of_items(town: Town) -> None:
    town.refuses(town.arguments(items=None), USAGE, "--items FILE")


# ---- Bad parameters of sparse publishing and of transforms: refused before anything is charged


LISTS = ["--values", "weekday=Mon,Tue", "--values", "place_id=0..4"]


def command(*options: str, attributes: str = "weekday,place_id") -> list[str]:
    """A release of a table of attributes, each row one person."""
    given = ["release", "records.parquet", "--user-per-row", "--attributes", attributes]
    return [*given, *LISTS, "--epsilon", "1", "--output", "out", "--new-dataset", *options]


def test_the_command_itself_is_fine(town: Town) -> None:
    """Without this, the refusals below could all be refusals of something else."""
    ended = crowdtally(*command("--summary", "filter-priority:size=5"))
    assert ended.code == 0, str(ended)
    assert crowdtally("sum", "out", "--where", "place_id <= 2").code == 0


def given(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--summary filter:cut=-1", ("cut of Filter", "-1")),
        ("--summary filter:cut=1.5", ("cut of Filter", "1.5")),
        ("--summary filter:cut=99999999999999999999", ("cut of Filter",)),
        ("--summary threshold:threshold=0", ("threshold", "greater than 0", "received 0")),
        ("--summary threshold:threshold=-3", ("threshold", "-3")),
        ("--summary threshold:threshold=many", ("threshold of Threshold", "'many'")),
        ("--summary filter:size=0", ("size", "0")),
        ("--summary priority:size=-7", ("size", "-7")),
        ("--summary priority:size=1000000000000", ("size", "1000000000000")),
        ("--summary priority", ("Priority needs size",)),
        ("--summary filter-priority", ("FilterPriority needs size",)),
        ("--summary filter", ("a cut, or a size",)),
        ("--summary threshold", ("a threshold, or a size",)),
        ("--summary fliter:size=3", ("'fliter'", "Did you mean 'filter'?")),
        ("--summary filter:size=3,sides=three", ("sides of Filter", "'three'")),
        ("--summary threshold:size=3,cut=2", ("--summary threshold has no field 'cut'",)),
        ("--summary filter:size=3,threshold=2", ("no field 'threshold'. There are: cut",)),
        ("--summary threshold:size=3,guess-total=-1", ("guess_total of Threshold", "-1")),
        ("--summary dense:size=3", ("--summary dense has no field 'size'",)),
        ("--summary size=3", ("unknown --summary 'size=3'",)),
        ("--summary filter,size=3", ("unknown --summary 'filter,size=3'. Did you mean",)),
        ("--transform dyadic", ("Dyadic needs columns",)),
        ("--transform haar", ("Haar needs columns",)),
        ("--transform dyadic:columns=weekdy", ("'weekdy'", "Did you mean 'weekday'?")),
        ("--transform haar:columns=weekday,place_id", ("Haar takes one column",)),
        ("--transform haar:columns=weekday --summary filter:size=3,sides=one",
         ("both signs", "sides=one")),
        ("--transform sketch", ("Sketch needs buckets",)),
        ("--transform sketch:buckets=0", ("buckets of Sketch", "0")),
        ("--transform sketch:buckets=8,rows=0", ("rows of Sketch", "0")),
        ("--transform sketch:buckets=8 --summary filter:size=3", ("small already",)),
        ("--transform dyadic:columns=weekday,buckets=8", ("no field 'buckets'",)),
        ("--transform wavelet:columns=weekday", ("'wavelet'",)),
        ("--method hpa", ("--user-per-row",)),
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
    arguments = command("--summary", "filter:size=3")
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
    town.refuses(arguments, USAGE, str(4**40), "--summary filter-priority:size=S")
    everything = ["--transform", f"dyadic:columns={','.join(columns)}"]
    everything += ["--summary", "filter:size=100"]
    town.refuses([*arguments, *everything], USAGE, "fewer ordered attributes")
    ended = crowdtally(*arguments, "--summary", "filter-priority:size=100")
    assert ended.code == 0, str(ended)


def test_a_summary_that_no_memory_holds(town: Town) -> None:
    """A cut of 1 keeps most of the empty cells."""
    wide = ["--values", "visit=0..999999", "--values", "note=0..99"]
    names = "weekday,place_id,visit,note"
    arguments = command("--summary", "filter:cut=1", attributes=names)
    town.refuses([*arguments, *wide], USAGE, "1000000000 cells", "raise the cut")


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


# ---- Options of ``auto``, ``--top`` and interval noise that do not go together, or with what
#      is there
#
# Every refusal leaves nothing behind, and what it says to type is taken.


DAYS = {"context": "weekday", "values": "weekday=Mon,Tue"}
INTERVAL = {"noise": "interval", "count": "users"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        # words that do not exist
        (
            {"method": "auto:aim=recomend"},
            ["unknown aim of Auto 'recomend'", "Did you mean 'recommend'?"],
        ),
        (
            {"method": "auto:repeats=maybe"},
            ["repeats of Auto is yes or no, in Python True or False: received 'maybe'"],
        ),
        ({"noise": "gauss"}, ["unknown --noise 'gauss'", "Did you mean 'gaussian'?"]),
        # --top and the rest
        ({"top": "0"}, ["k of Top must be a whole number between 1 and 4096: received 0"]),
        ({"top": "5000"}, ["k of Top must be a whole number between 1 and 4096: received 5000"]),
        ({"top": "1000000000"}, ["received 1000000000"]),
        ({"top": "4"}, ["--top 4 asks for more items than the list has: it has 3"]),
        ({"top": "2", "method": "auto:aim=top"}, ["give one method, with all its fields"]),
        ({"top": "2", "discover": "item"}, ["give one method, with all its fields"]),
        ({"top": "2", "summary": "filter:size=3"}, ["--top selects", "Remove --pairs, --summary"]),
        ({"method": "top:k=2,context-per-user=weekday"}, ["there are no contexts"]),
        ({"method": "top:k=2,context-per-user=wekday"} | DAYS, ["Did you mean 'weekday'?"]),
        (
            {"method": "top:k=2", "epsilon": "1e-30"},
            ["epsilon 1e-30 is too small", "lower --top"],
        ),
        # interval noise and the rest
        (INTERVAL | {"method": "auto:aim=top"}, ["bounds nobody", "remove --method"]),
        (INTERVAL | {"summary": "filter:size=3"}, ["published as they are", "--summary"]),
        (INTERVAL | {"epsilon": "1e-30"}, ["beyond any count", "shorten the lists"]),
        # auto and the rest
        ({"method": "auto:aim=recommend"}, ["there are no contexts: add --context NAME"]),
        ({"split": "items=1"}, ["auto divides epsilon itself", "remove --split"]),
        (
            {"method": "auto:repeats=no", "quantity": "visit", "max_quantity": "3"},
            ["remove --quantity"],
        ),
        ({"epsilon": "1e-15"}, ["too small for auto", "for example --method sra:max-records=1"]),
    ],
)
def test_what_does_not_go_together(town: Town, options: dict[str, str], words: list[str]) -> None:
    town.refuses(town.arguments(**{"method": None} | options), USAGE, *words)


def test_contexts_of_users_are_all_or_none(town: Town) -> None:
    """For --top as for auto: one of two contexts says nothing about their combinations."""
    both = [*town.arguments(method=None, **DAYS), "--context", "note", "--values", "note=a,b"]
    for method in ("auto:", "top:k=2,"):
        town.refuses(
            [*both, "--method", f"{method}context-per-user=weekday"], USAGE,
            "'note' is not in context-per-user", "Name all of them (weekday, note)",
        )  # fmt: skip


def test_a_tiny_epsilon_of_interval_noise_is_no_failure(town: Town) -> None:
    """What noise of this size deviates by is beyond powers of floats: it once failed, charged."""
    town.write("many.csv", "place\nbar\n" + "".join(f"p{n}\n" for n in range(49)))
    asked = {"items": "many.csv", "method": None, "epsilon": "1e-9"}
    ended = crowdtally(*town.arguments(**asked, **INTERVAL))
    assert ended.code == 0, str(ended)
    assert "Warning" not in ended.err


def test_the_top_items_say_what_is_counted_and_what_an_accuracy_costs(town: Town) -> None:
    ended = crowdtally(*town.arguments(method="top:k=2"))
    assert "Each user is counted once in each of their cells" in ended.err
    _, *asked = town.arguments(method="top:k=2", epsilon=None, output=None)
    planned = crowdtally("plan", *asked, "--half-width", "20")
    assert planned.code == 0, str(planned)
    assert "in one item's count within ±20 type --epsilon" in planned.out
    ended = crowdtally("plan", *asked, "--half-width", "20", "--accuracy-of", "sum:2")
    assert (ended.code, "say --accuracy-of item" in ended.err) == (USAGE, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": ct.Auto("recommend")}, "method=ct.Auto(aim='recommend') is for what to show"),
        ({"method": ct.Top(2), "pairs": True}, "method=ct.Auto(aim='top') is the way to good top"),
        (
            {"noise": "interval", "count": "users", "method": ct.Auto(repeats=False)},
            "remove method, or noise='interval'",
        ),
    ],
)
def test_in_python_they_name_parameters(town: Town, options: dict[str, object], words: str) -> None:
    records = ct.read("records.parquet", user="user_id", item="place")
    with pytest.raises(ct.UsageError) as refused:
        ct.release(records, ct.Domain(["bar", "cafe"]), epsilon=1, **options)  # type: ignore[arg-type]
    assert words in str(refused.value)
    assert "--" not in str(refused.value)
