"""Options of ``auto``, ``--top`` and interval noise that do not go together, or with what is there.

Every refusal leaves nothing behind, and what it says to type is taken.
"""

from __future__ import annotations

import pytest

import crowdtally as ct
from kit.command import crowdtally
from kit.town import Town

USAGE, INPUT = 2, 4
DAYS = {"context": "weekday", "values": "weekday=Mon,Tue"}
INTERVAL = {"noise": "interval", "count": "users"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        # words that do not exist
        ({"for": "recomend"}, ["unknown --for 'recomend'", "Did you mean 'recommend'?"]),
        ({"repeats": "maybe"}, ["--repeats is yes or no: received 'maybe'"]),
        ({"noise": "gauss"}, ["unknown --noise 'gauss'", "Did you mean 'gaussian'?"]),
        # --top and the rest
        ({"top": "0"}, ["--top must be a whole number between 1 and 4096: received 0"]),
        ({"top": "1000000000"}, ["received 1000000000"]),
        ({"top": "4"}, ["--top 4 asks for more items than the list has: it has 3"]),
        ({"top": "2", "for": "top"}, ["Beside --top remove --for"]),
        ({"top": "2", "size": "3"}, ["Beside --top remove", "--size"]),
        ({"top": "2", "sides": "one"}, ["Beside --top remove"]),
        ({"top": "2", "context_per_user": "weekday"}, ["there are no contexts"]),
        ({"top": "2", "context_per_user": "wekday"} | DAYS, ["Did you mean 'weekday'?"]),
        ({"top": "2", "epsilon": "1e-30"}, ["epsilon 1e-30 is too small", "lower --top"]),
        # interval noise and the rest
        (INTERVAL | {"for": "top"}, ["nothing that auto could decide", "remove --for"]),
        (INTERVAL | {"repeats": "no"}, ["nothing that auto could decide"]),
        (INTERVAL | {"size": "3"}, ["published as they are", "--size"]),
        (INTERVAL | {"epsilon": "1e-30"}, ["beyond any count", "shorten the lists"]),
        # auto and the rest
        ({"for": "recommend"}, ["there are no contexts: add --context NAME"]),
        ({"split": "items=1"}, ["auto divides epsilon itself", "remove --split"]),
        ({"repeats": "no", "quantity": "visit", "max_quantity": "3"}, ["remove --quantity"]),
        ({"epsilon": "1e-15"}, ["too small for auto", "for example --max-records 1"]),
        ({"features": "genres.csv"} | DAYS, ["add --context-per-user 'weekday'"]),
    ],
)
def test_what_does_not_go_together(town: Town, options: dict[str, str], words: list[str]) -> None:
    town.refuses(town.arguments(max_records=None, **options), USAGE, *words)


def test_contexts_of_users_are_all_or_none(town: Town) -> None:
    """For --top as for auto: one of two contexts says nothing about their combinations."""
    both = [*town.arguments(max_records=None, **DAYS), "--context", "note", "--values", "note=a,b"]
    for more in ([], ["--top", "2"]):
        town.refuses(
            [*both, *more, "--context-per-user", "weekday"], USAGE,
            "'note' is not in --context-per-user", "--context-per-user 'weekday,note'",
        )  # fmt: skip


def test_features_of_other_items(town: Town) -> None:
    town.write("genres.csv", "place,genre\nBAR,drinks\nCAFE,drinks\n")
    asked = town.arguments(max_records=None, features="genres.csv", context_per_user="weekday")
    asked += ["--context", "weekday", "--values", "weekday=Mon,Tue"]
    town.refuses(asked, INPUT, "--features 'genres.csv:COLUMN'", "spell them as the list does")


def test_a_tiny_epsilon_of_interval_noise_is_no_failure(town: Town) -> None:
    """What noise of this size deviates by is beyond powers of floats: it once failed, charged."""
    town.write("many.csv", "place\nbar\n" + "".join(f"p{n}\n" for n in range(49)))
    asked = {"items": "many.csv", "max_records": None, "epsilon": "1e-9"}
    ended = crowdtally(*town.arguments(**asked, **INTERVAL))
    assert ended.code == 0, str(ended)
    assert "Warning" not in ended.err


def test_the_top_items_say_what_is_counted_and_what_an_accuracy_costs(town: Town) -> None:
    ended = crowdtally(*town.arguments(max_records=None, top="2"))
    assert "Each user is counted once in each of their cells" in ended.err
    _, *asked = town.arguments(max_records=None, top="2", epsilon=None, output=None)
    planned = crowdtally("plan", *asked, "--half-width", "20")
    assert planned.code == 0, str(planned)
    assert "in one item's count within ±20 type --epsilon" in planned.out
    ended = crowdtally("plan", *asked, "--half-width", "20", "--accuracy-of", "sum:2")
    assert (ended.code, "say --accuracy-of item" in ended.err) == (USAGE, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"for_": "recommend"}, "add contexts=[NAME], or remove for_='recommend'"),
        ({"context_per_user": 3}, "context_per_user is a context, or a list of them"),
        ({"features": "f.csv"}, "add contexts=[NAME], context_per_user=NAME, or remove features"),
        ({"top": 2, "for_": "top"}, "for_='top' is the way to good top lists"),
        ({"noise": "interval", "count": "users", "repeats": "no"}, "remove noise='interval'"),
    ],
)
def test_in_python_they_name_parameters(town: Town, options: dict[str, object], words: str) -> None:
    records = ct.read("records.parquet", user="user_id", item="place")
    with pytest.raises(ct.UsageError) as refused:
        ct.release(records, ct.Domain(["bar", "cafe"]), epsilon=1, **options)  # type: ignore[arg-type]
    assert words in str(refused.value)
    assert "--" not in str(refused.value)
