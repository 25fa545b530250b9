"""What a request may ask together: options, price, its shares, the norm that bounds it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.bounding.scaling import GRID, is_euclidean
from crowdtally.curator.manifest import parameters
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.request.method import complete_split
from crowdtally.curator.request.options import Options
from crowdtally.curator.request.request import Request, make_request, make_subject
from crowdtally.curator.request.table_specs import unspent_words
from crowdtally.curator.request.wording import in_python
from crowdtally.errors import UsageError
from crowdtally.laws.conversion import delta_of, rho_of
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.ledger import Ledger
from kit.command import COMMANDS
from kit.publishing import made, visits

# ---- Options are declared once, and are parameters like any other --------------------------------


VISITS = ct.read(pa.table({"who": ["u"], "item": ["a"]}), user="who", item="item")
PLACES = ct.Domain(["a", "b"])


@pytest.mark.parametrize("verb", [ct.release, ct.plan, ct.inspect])
def test_they_are_parameters_of_the_verbs(verb: Any) -> None:
    """What completes at a prompt, and what help() shows."""
    parameters = inspect.signature(verb).parameters
    for field in fields(Options):
        assert parameters[field.name].default == field.default
        assert parameters[field.name].kind is inspect.Parameter.KEYWORD_ONLY
    assert not [p for p in parameters.values() if p.kind is inspect.Parameter.VAR_KEYWORD]


def test_a_release_has_few_keywords() -> None:
    assert len(inspect.signature(ct.release).parameters) <= 21


@pytest.mark.parametrize("command", ["crowdtally release", "crowdtally plan", "crowdtally inspect"])
def test_they_are_options_of_the_commands(command: str) -> None:
    found = {p.name: p for p in COMMANDS[command].params}
    for field in fields(Options):
        assert found[field.name].opts == [f"--{field.name}"]
    assert {"top", "discover"} <= found.keys()


def planned(**options: Any) -> Any:
    return ct.plan(VISITS, PLACES, epsilon=1, **options)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a bound of none": (lambda: ct.SRA(0), "max_records of SRA must be a whole number between 1"),
    "a huge bound": (lambda: ct.SRA(10**30), "max_records of SRA must be a whole number"),
    "a bound in words": (lambda: ct.HPA("ten"), "received 'ten'"),  # type: ignore[arg-type]
    "a frame as a bound": (lambda: ct.SRA(VISITS), "received a Records"),  # type: ignore[arg-type]
    "a field that there is not": (
        lambda: ct.SRA(max_record=3),  # type: ignore[call-arg]
        "SRA has no field 'max_record'. Did you mean 'max_records'? There are: max_records, choose",
    ),
    "another method's field": (
        lambda: ct.SRA(popularity_records=3),  # type: ignore[call-arg]
        "SRA has no field 'popularity_records'",
    ),
    "a field of the subclass": (
        lambda: ct.DPSenseS(norm="l2"),  # type: ignore[call-arg]
        "DPSenseS has no field 'norm'",
    ),
    "a field that is missing": (lambda: ct.Top(), "Top needs k: how many"),  # type: ignore[call-arg]
    "no columns": (lambda: ct.Dyadic([]), "lacks the name of a column"),
    "two columns": (lambda: ct.Haar(["a", "b"]), "Haar takes one column, and Dyadic several"),
    "a number of columns": (lambda: ct.Discover(3), "received a int"),  # type: ignore[arg-type]
    "an aim": (lambda: ct.Auto("best"), "unknown aim of Auto 'best'"),  # type: ignore[arg-type]
    "repeats": (lambda: ct.Auto(repeats="no"), "in Python True or False"),  # type: ignore[arg-type]
    "a choice": (lambda: ct.SRA(choose="dpsense"), "unknown choose of SRA 'dpsense'"),
    "a choice by another norm": (lambda: ct.DPSense(choose="histogram"), "are: rank, dpsense"),
    "one scaling": (lambda: ct.DPSenseS(scalings=[1, 2]), "needs one scaling, such as scalings="),
    "a scaling": (lambda: ct.DPSenseS(scalings=3), "between 1 and 2"),
    "a cap": (lambda: ct.DPSense(cap=0), "cap of DPSense must be"),
    "a norm": (lambda: ct.DPSense(norm="l3"), "unknown norm of DPSense 'l3'"),
    "no cut": (lambda: ct.Filter(), "Filter needs a cut, or a size"),
    "a cut": (lambda: ct.Filter(cut=-1), "cut of Filter must be a whole number between 0"),
    "a size": (lambda: ct.Priority(0), "the size must be a whole number"),
    "a threshold": (lambda: ct.Threshold("many"), "threshold of Threshold must be an exact"),
    "sides": (lambda: ct.Filter(cut=1, sides="3"), "unknown sides of"),  # type: ignore[arg-type]
    "a guess": (lambda: ct.Threshold(size=3, guess_total=-1), "guess_total of Threshold"),
    "buckets": (lambda: ct.Sketch(0), "buckets of Sketch must be a whole number"),
    "rows of a sketch": (lambda: ct.Sketch(8, rows=0), "rows of Sketch must be a whole number"),
    "a name for a value": (lambda: planned(method="sra"), "such as ct.SRA(max_records=10)"),
    "a class": (lambda: planned(method=ct.SRA), "the class SRA, without brackets"),
    "a method as a summary": (lambda: planned(summary=ct.SRA()), "such as ct.Filter(size=3000)"),
    "a frame as a transform": (lambda: planned(transform=VISITS), "received a Records"),
    "no cap": (lambda: planned(method=ct.DPSense()), "or count distinct users with count='users'"),
    "a cap of users": (
        lambda: planned(method=ct.DPSense(cap=2), count="users"), "a cap is for counts of records",
    ),
    "no pairs": (
        lambda: planned(method=ct.SRA(1), pairs=True), "such as method=ct.SRA(max_records=10)",
    ),
    "discovery without a delta": (
        lambda: planned(method=ct.Discover("item")), "needs delta: cells|it has a public list",
    ),
    "two methods in one": (
        lambda: planned(method=ct.Auto(), summary=ct.Filter(cut=3)),
        "or name another method, such as method=ct.SRA(max_records=10)",
    ),
    "a sum of shares": (
        lambda: planned(method=ct.SRA(), split={"items": "1/2"}), "the shares must sum to 1",
    ),
    "shares of auto": (
        lambda: planned(split={"items": "1/2"}),
        "remove split, or name a method, for example method=ct.SRA(max_records=10)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_messages_in_python_name_its_parameters(name: str) -> None:
    refused, words = REFUSED[name]
    with pytest.raises(UsageError) as caught:
        refused()
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


# ---- What a release is paid for in: ε, or the ρ that ε and δ buy; and what the ledger is
#      charged


ITEMS, DAYS = ["a", "b", "c"], ["Mon", "Tue"]
ROWS = visits({("a", "Mon"): 5, ("b", "Tue"): 3}, "day")
DOMAIN = ct.Domain(ITEMS, {"day": DAYS})
USERS = {"count": "users"}
RHO = rho_of(Fraction(1), Fraction(1, 10**9))


def asked(**options: Any) -> Request:
    records = ct.read(ROWS, user="user", item="item", contexts=["day"])
    return make_request(records, DOMAIN, **({"epsilon": 1} | options))


def laws(request: Request) -> set[type]:
    return {type(table.law) for table in request.tables}


def test_without_a_delta_noise_is_that_of_pure_epsilon() -> None:
    request = asked(method=ct.SRA(100), **USERS)
    assert (request.paid.noise, request.paid.rho, request.delta) == ("laplace", None, Delta())
    assert laws(request) == {DiscreteLaplace}
    assert request.part("items") == Epsilon.of("1/2")


def test_a_delta_buys_the_smaller_noise() -> None:
    long = asked(method=ct.SRA(100), delta="1e-9", **USERS)
    assert long.paid.rho == Rho(RHO)
    assert laws(long) == {GaussianNoise}
    items = long.tables[0]
    assert items.price == Rho(RHO / 2)
    assert items.law == GaussianNoise(100 / (2 * RHO / 2))
    assert delta_of(long.paid.rho.value, Fraction(1)) <= Fraction(1, 10**9)
    short = asked(method=ct.SRA(1), delta="1e-9", **USERS)
    assert (short.paid.rho, short.delta) == (None, Delta())
    assert laws(short) == {DiscreteLaplace}


@pytest.mark.parametrize(
    ("noise", "law"), [("gaussian", GaussianNoise), ("laplace", DiscreteLaplace)]
)
@pytest.mark.parametrize("bound", [1, 100])
def test_noise_that_is_named_is_used(noise: str, law: type, bound: int) -> None:
    request = asked(method=ct.SRA(bound), delta="1e-9", noise=noise, **USERS)
    assert laws(request) == {law}


def test_a_delta_that_is_not_spent_is_told() -> None:
    assert unspent_words(asked(method=ct.SRA(100), delta="1e-9", **USERS).paid) is None
    assert unspent_words(asked(method=ct.SRA(1), **USERS).paid) is None
    words = unspent_words(asked(method=ct.SRA(1), delta="1e-9", **USERS).paid)
    assert words is not None
    assert "delta 1e-9 is not spent" in words


def test_more_of_one_users_records_in_a_cell_cost_their_square() -> None:
    repeated = asked(method=ct.SRA(7), delta="1e-9", noise="gaussian")
    assert [table.l2_squared for table in repeated.tables] == [49, 49]
    once = asked(method=ct.SRA(7), delta="1e-9", noise="gaussian", **USERS)
    assert [table.l2_squared for table in once.tables] == [7, 7]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": "gaussian", "method": ct.SRA(5)}, "--noise gaussian needs --delta"),
        ({"noise": "gaussian", "delta": 0}, "--noise gaussian needs --delta"),
        ({"delta": "0.2", "method": ct.SRA(5)}, "a delta above 1/10 is refused: received 0.2"),
        ({"delta": 1, "method": ct.SRA(5)}, "delta must be at least 0 and below 1"),
        ({"delta": "-1e-9"}, "delta must be at least 0 and below 1"),
        (
            {"delta": "1e-9", "noise": "interval", "count": "users"},
            "pure epsilon and needs no delta",
        ),
        ({"delta": "1e-9", "noise": "normal"}, "unknown --noise 'normal'"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ct.UsageError, match=words):
        asked(**options)


SAMPLES = [{"summary": ct.Priority(3)}, {"summary": ct.Threshold(9)}]


@pytest.mark.parametrize("form", SAMPLES)
def test_a_sample_needs_a_cut_under_gaussian_noise(form: dict[str, Any]) -> None:
    with pytest.raises(ct.UsageError, match="can be sampled only after a cut"):
        asked(method=ct.SRA(100), delta="1e-9", noise="gaussian", **USERS, **form)
    left_open = asked(method=ct.SRA(100), delta="1e-9", **USERS, **form)
    assert laws(left_open) == {DiscreteLaplace}


@pytest.mark.parametrize("form", [{"summary": ct.FilterPriority(3)}, {"summary": ct.Filter(cut=4)}])
def test_what_passes_a_filter_may_be_sampled(form: dict[str, Any], tmp_path: Path) -> None:
    release = made(
        tmp_path, ROWS, DOMAIN, method=ct.SRA(50), delta="1e-9", noise="gaussian", epsilon=50,
        **USERS, **form,
    )  # fmt: skip
    assert release.metadata["tables"][1]["publishing"] == form["summary"].name
    assert "rho" in release.metadata["tables"][1]


@pytest.mark.parametrize(
    "method",
    [
        ct.SRA(3, choose="rank"),
        ct.DPSense(3, choose="rank"),
        ct.DPSense(3, choose="dpsense"),
        ct.DPSenseS(3, choose="dpsense", scalings=[1, 2]),
    ],
)
def test_choices_cost_an_eighth_of_their_square(method: Any) -> None:
    request = asked(method=method, count="users", delta="1e-9", noise="gaussian")
    charge = charge_of(request, method_of(request), {})
    choices = [part for part in charge.parts if part.selects]
    assert len(choices) == (1 if isinstance(method, ct.SRA) else 2)
    spent = sum((part.epsilon.value**2 / 8 for part in choices if part.epsilon), Fraction(0))
    share = request.part("choose").value
    assert share * (1 - Fraction(1, 10**9)) < spent <= share
    assert charge.loss.rho <= RHO
    assert charge.loss.epsilon == 0


def test_a_new_dataset_counts_by_zcdp_and_others_add_epsilon_and_delta(tmp_path: Path) -> None:
    options = {"method": ct.SRA(100), "delta": "1e-9", "domain": DOMAIN} | USERS
    domain = options.pop("domain")
    first = made(tmp_path, ROWS, domain, name="first", **options)
    assert first.metadata["charged"]["rho"] == str(Rho(RHO))
    assert first.metadata["charged"]["accountant"] == "zcdp"
    second = made(tmp_path, ROWS, domain, name="second", **options)
    after = second.metadata["charged"]["spent_after"]
    assert Fraction(after["rho"]) == 2 * RHO
    pure = made(tmp_path, ROWS, domain, name="pure", method=ct.SRA(1))
    assert pure.metadata["charged"]["spent_after"]["epsilon"] == "1"
    other = tmp_path / "other"
    other.mkdir()
    made(other, ROWS, domain, name="pure", method=ct.SRA(1))
    mixed = made(other, ROWS, domain, name="mixed", **options)
    charged = mixed.metadata["charged"]
    assert "rho" not in charged
    assert (charged["epsilon"], charged["delta"], charged["spent_after"]) == ("1", "1e-9", "2")
    with Ledger.open(other / "ledger.sqlite") as ledger:
        balance = ledger.balance("made")
        (part,) = ledger.charges("made")[-1].charge.parts
    assert balance.spent.delta == Fraction(1, 10**9)
    assert part.parameters["rho"] == str(Rho(RHO))


def test_the_release_says_epsilon_delta_and_rho(tmp_path: Path) -> None:
    release = made(tmp_path, ROWS, DOMAIN, method=ct.SRA(100), delta="1e-9", **USERS)
    told = json.loads((tmp_path / "out" / "release.json").read_text())
    assert told["guarantee"]["rho"] == str(Rho(RHO))
    assert "(1, 1e-9)-differential privacy" in told["guarantee"]["words"]
    assert {table["rho"] for table in told["tables"]} == {str(Rho(RHO / 2))}
    assert told["tables"][0]["sensitivity_squared"] == 100
    text = " ".join(str(release.describe()).split())
    assert "δ, at most 1e-9" in text
    assert "zCDP" in text
    assert "a distance of 10 (in L2)" in text


def test_the_ledger_keeps_what_rho_was_bought_with(tmp_path: Path) -> None:
    made(tmp_path, ROWS, DOMAIN, method=ct.SRA(100), delta="1e-9", **USERS)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        asked_for = ledger.charges("made")[0].asked
    assert asked_for is not None
    said = {name: asked_for.parameters[name] for name in ("noise", "epsilon", "delta")}
    assert said == {"noise": "gaussian", "epsilon": "1", "delta": "1/1000000000"}


# ---- ``--method dpsense:norm=l2``: what it makes, and what does not go with it ---------------


ROWS_NORM = pa.table({"user": [1, 1, 2], "item": ["a", "b", "a"], "day": ["x", "y", "x"]})
DOMAIN_NORM = ct.Domain(["a", "b", "c", "d", "e"], {"day": ["x", "y"]})
NORM = {"method": ct.DPSense(3, norm="l2"), "count": "users"}


def asked_norm(**options: Any) -> Request:
    records = ct.read(ROWS_NORM, user="user", item="item", contexts=["day"])
    return make_request(records, DOMAIN_NORM, **({"epsilon": 1, "delta": "1e-9"} | NORM | options))


def test_it_is_paid_for_in_rho_and_bounded_in_l2() -> None:
    made = asked_norm()
    assert is_euclidean(made.method.rule)
    assert made.paid.noise == "gaussian"
    for table in made.bounded:
        assert isinstance(table.price, Rho)
        assert table.l2_squared == (3 * GRID) ** 2
        assert table.law.std() == pytest.approx(3 / (2 * float(table.price.value)) ** 0.5)
    assert parameters(made)["norm"] == "l2"
    assert "norm" not in parameters(asked_norm(method=ct.DPSense(3), noise="gaussian"))


def test_what_there_is_to_count_needs_no_cost() -> None:
    records = ct.read(ROWS_NORM, user="user", item="item", contexts=["day"])
    assert is_euclidean(make_subject(records, DOMAIN_NORM, **NORM).method.rule)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": 0}, "add --delta"),
        ({"noise": "laplace"}, "no --noise laplace"),
        ({"transform": ct.Dyadic("day")}, "no sum is taken of rows"),
        ({"transform": ct.Haar("day")}, "no sum is taken of rows"),
        ({"transform": ct.Sketch(4)}, "no sum is taken of rows"),
        ({"pairs": True}, "pairs of kept records"),
    ],
)
def test_what_does_not_go_with_it_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        asked_norm(**options)


def test_an_inspection_does_not_take_a_norm_for_a_sum() -> None:
    records = ct.read(ROWS_NORM, user="user", item="item", contexts=["day"])
    shown = str(ct.inspect(records, DOMAIN_NORM, **NORM))
    assert "Euclidean norm" in shown
    assert "would keep" not in shown


def test_a_plan_says_the_norm_and_compares_it_with_nothing() -> None:
    """Of pure ε there is none, and the theory of bounds is one of sums."""
    records = ct.read(ROWS_NORM, user="user", item="item", contexts=["day"])
    options = NORM | {"epsilon": 1, "delta": "1e-9", "guess_users": 90, "guess_records": 900}
    shown = str(ct.plan(records, DOMAIN_NORM, **options))
    assert "sensitivity 3 in L2, discrete-gaussian noise" in shown
    assert "instead of" not in shown
    assert "from bounding" not in shown


# ---- How ε is divided: exact shares, none of nothing, in all one ---------------------------------


@pytest.mark.parametrize("edges", ["0.6", "0.4", "0.5000000000000000000001", "1"])
def test_shares_that_do_not_sum_to_one_are_refused(edges: str) -> None:
    with pytest.raises(UsageError, match="must sum to 1: received"):
        complete_split({"items": "0.5", "edges": edges}, ["items", "edges"])


@pytest.mark.parametrize("share", ["0", "-0.5"])
def test_a_share_of_nothing_is_refused(share: str) -> None:
    rest = 1 - Fraction(share)
    with pytest.raises(UsageError, match="'items' must be above 0"):
        complete_split({"items": share, "edges": rest}, ["items", "edges"])


@pytest.mark.parametrize("choose", ["rank", "dpsense", None])
def test_default_shares_sum_to_one(choose: str | None) -> None:
    used = ["popularity", "items", "edges", *(["choose"] if choose else [])]
    shares = complete_split(None, used, choose)
    assert sum(shares.values()) == 1
    assert shares.keys() == set(used)
    assert shares["items"] == shares["edges"]
