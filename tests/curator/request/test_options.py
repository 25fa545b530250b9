"""Options are declared once, and are parameters like any other."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.request.options import completed, declared, flag_of
from crowdtally.curator.request.wording import in_python
from crowdtally.errors import UsageError
from kit.command import COMMANDS

VISITS = ct.read(pa.table({"who": ["u"], "item": ["a"]}), user="who", item="item")
PLACES = ct.Domain(["a", "b"])


@pytest.mark.parametrize("verb", [ct.release, ct.plan, ct.inspect])
def test_they_are_parameters_of_the_verbs(verb: Any) -> None:
    """What completes at a prompt, and what help() shows."""
    parameters = inspect.signature(verb).parameters
    for name, (_, option) in declared().items():
        assert parameters[name].default == option.default
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert not [p for p in parameters.values() if p.kind is inspect.Parameter.VAR_KEYWORD]


@pytest.mark.parametrize("command", ["crowdtally release", "crowdtally plan", "crowdtally inspect"])
def test_they_are_options_of_the_commands(command: str) -> None:
    found = {p.name: p for p in COMMANDS[command].params}
    for name, (_, option) in declared().items():
        assert found[name].opts == [flag_of(name)]
        assert found[name].help == option.help


def test_one_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="Did you mean 'max_records'"):
        ct.plan(VISITS, PLACES, epsilon=1, max_record=3)  # type: ignore[call-arg]


def test_none_means_not_given() -> None:
    assert completed({"max_records": None}) == completed({})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_records": 0}, "max_records must be a whole number between 1"),
        ({"bounding": "sar"}, "unknown bounding 'sar'. Did you mean 'sra'"),
        ({"cut": 3}, "cut is for publishing='filter' or filter-priority"),
        ({"bounding": "dpsense"}, "add cap=R, or count distinct users with count='users'"),
        ({"choose": "dpsense"}, "use choose='rank', or bounding='dpsense'"),
        ({"pairs": True, "max_records": 1}, "pairs=True needs max_records=2 or more"),
        ({"discover_items": True}, "discover needs delta: cells|such as delta=1e-9"),
        ({"transform": "haar"}, "transform='haar' answers ranges: say of what, ordered=NAME"),
        ({"publishing": "priority"}, "add size=S"),
        ({"max_records": 10, "split": {"items": "1/2"}}, "the shares must sum to 1"),
        ({"split": {"items": "1/2"}}, "remove split, or name a method, for example max_records=10"),
    ],
)
def test_messages_in_python_name_its_parameters(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        ct.plan(VISITS, PLACES, epsilon=1, **options)
    said = str(caught.value)
    assert any(part in said for part in words.split("|")), said
    assert "--" not in said, said


def test_declaring_names_pythons_parameters_too() -> None:
    with pytest.raises(UsageError) as caught:
        ct.read("nowhere.parquet", item="item")
    assert "user=COLUMN; or user_per_row=True" in str(caught.value)
    with pytest.raises(UsageError) as caught:
        ct.plan(ct.read("x.parquet", user="u", item="i", contexts=["day"]), PLACES, epsilon=1)
    assert "--" not in str(caught.value)


def test_words_for_lists_and_contexts() -> None:
    assert in_python("give --values day=a,b,c.") == "give ct.Domain(…, {'day': [a,b,c]})."
    assert in_python("rename one: --context my_x=x.") == "rename one: contexts={'my_x': 'x'}."
    assert in_python("public list with --items FILE, or") == "public list with ct.Domain(ITEMS), or"


def test_commands_for_a_shell_stay_as_they_are() -> None:
    said = "raise --epsilon; `crowdtally ledger void 3 --reason TEXT` gives --delta back."
    wanted = "raise epsilon; `crowdtally ledger void 3 --reason TEXT` gives delta back."
    assert in_python(said) == wanted
    typed = "To set one: crowdtally ledger create x --epsilon E --delta D"
    assert in_python(typed) == typed


def test_a_printed_plan_names_pythons_parameters() -> None:
    printed = str(ct.plan(VISITS, PLACES, epsilon=1))
    assert "give guess_users and guess_records" in printed
    assert "--" not in printed
