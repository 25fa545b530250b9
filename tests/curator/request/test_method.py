"""What a request may ask together: options, price, its shares, the norm that bounds it."""

from __future__ import annotations

import inspect
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.bounding.scaling import GRID, DPSenseL2
from crowdtally.curator.manifest import parameters
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.request.method import complete_split
from crowdtally.curator.request.options import completed, declared, flag_of
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


# ---- What a release is paid for in: ε, or the ρ that ε and δ buy; and what the ledger is
#      charged


ITEMS, DAYS = ["a", "b", "c"], ["Mon", "Tue"]
ROWS = visits({("a", "Mon"): 5, ("b", "Tue"): 3}, "day")
DOMAIN = ct.Domain(ITEMS, {"day": DAYS})
USERS = {"bounding": "sra", "count": "users"}
RHO = rho_of(Fraction(1), Fraction(1, 10**9))


def asked(**options: Any) -> Request:
    records = ct.read(ROWS, user="user", item="item", contexts=["day"])
    return make_request(records, DOMAIN, **({"epsilon": 1} | options))


def laws(request: Request) -> set[type]:
    return {type(table.law) for table in request.tables}


def test_without_a_delta_noise_is_that_of_pure_epsilon() -> None:
    request = asked(max_records=100, **USERS)
    assert (request.paid.noise, request.paid.rho, request.delta) == ("laplace", None, Delta())
    assert laws(request) == {DiscreteLaplace}
    assert request.part("items") == Epsilon.of("1/2")


def test_a_delta_buys_the_smaller_noise() -> None:
    long = asked(max_records=100, delta="1e-9", **USERS)
    assert long.paid.rho == Rho(RHO)
    assert laws(long) == {GaussianNoise}
    items = long.tables[0]
    assert items.price == Rho(RHO / 2)
    assert items.law == GaussianNoise(100 / (2 * RHO / 2))
    assert delta_of(long.paid.rho.value, Fraction(1)) <= Fraction(1, 10**9)
    short = asked(max_records=1, delta="1e-9", **USERS)
    assert (short.paid.rho, short.delta) == (None, Delta())
    assert laws(short) == {DiscreteLaplace}


@pytest.mark.parametrize(
    ("noise", "law"), [("gaussian", GaussianNoise), ("laplace", DiscreteLaplace)]
)
@pytest.mark.parametrize("bound", [1, 100])
def test_noise_that_is_named_is_used(noise: str, law: type, bound: int) -> None:
    request = asked(max_records=bound, delta="1e-9", noise=noise, **USERS)
    assert laws(request) == {law}


def test_a_delta_that_is_not_spent_is_told() -> None:
    assert unspent_words(asked(max_records=100, delta="1e-9", **USERS).paid) is None
    assert unspent_words(asked(max_records=1, **USERS).paid) is None
    words = unspent_words(asked(max_records=1, delta="1e-9", **USERS).paid)
    assert words is not None
    assert "delta 1e-9 is not spent" in words


def test_more_of_one_users_records_in_a_cell_cost_their_square() -> None:
    repeated = asked(bounding="sra", max_records=7, delta="1e-9", noise="gaussian")
    assert [table.l2_squared for table in repeated.tables] == [49, 49]
    once = asked(max_records=7, delta="1e-9", noise="gaussian", **USERS)
    assert [table.l2_squared for table in once.tables] == [7, 7]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": "gaussian", "max_records": 5}, "--noise gaussian needs --delta"),
        ({"noise": "gaussian", "delta": 0}, "--noise gaussian needs --delta"),
        ({"delta": "0.2", "max_records": 5}, "a delta above 1/10 is refused: received 0.2"),
        ({"delta": 1, "max_records": 5}, "delta must be at least 0 and below 1"),
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


SAMPLES = [{"publishing": "priority", "size": 3}, {"publishing": "threshold", "threshold": 9}]


@pytest.mark.parametrize("form", SAMPLES)
def test_a_sample_needs_a_cut_under_gaussian_noise(form: dict[str, Any]) -> None:
    with pytest.raises(ct.UsageError, match="can be sampled only after a cut"):
        asked(max_records=100, delta="1e-9", noise="gaussian", **USERS, **form)
    left_open = asked(max_records=100, delta="1e-9", **USERS, **form)
    assert laws(left_open) == {DiscreteLaplace}


@pytest.mark.parametrize(
    "form", [{"publishing": "filter-priority", "size": 3}, {"publishing": "filter", "cut": 4}]
)
def test_what_passes_a_filter_may_be_sampled(form: dict[str, Any], tmp_path: Path) -> None:
    release = made(
        tmp_path, ROWS, DOMAIN, max_records=50, delta="1e-9", noise="gaussian", epsilon=50,
        **USERS, **form,
    )  # fmt: skip
    assert release.metadata["tables"][1]["publishing"] == form["publishing"]
    assert "rho" in release.metadata["tables"][1]


@pytest.mark.parametrize(
    ("bounding", "choose"),
    [("sra", "rank"), ("dpsense", "rank"), ("dpsense", "dpsense"), ("dpsense-s", "dpsense")],
)
def test_choices_cost_an_eighth_of_their_square(bounding: str, choose: str) -> None:
    options: dict[str, Any] = {"scalings": "1,2"} if bounding == "dpsense-s" else {}
    request = asked(
        bounding=bounding, count="users", max_records=3, choose=choose, delta="1e-9",
        noise="gaussian", **options,
    )  # fmt: skip
    charge = charge_of(request, method_of(request), {})
    choices = [part for part in charge.parts if part.selects]
    assert len(choices) == (1 if bounding == "sra" else 2)
    spent = sum((part.epsilon.value**2 / 8 for part in choices if part.epsilon), Fraction(0))
    share = request.part("choose").value
    assert share * (1 - Fraction(1, 10**9)) < spent <= share
    assert charge.loss.rho <= RHO
    assert charge.loss.epsilon == 0


def test_a_new_dataset_counts_by_zcdp_and_others_add_epsilon_and_delta(tmp_path: Path) -> None:
    options = {"max_records": 100, "delta": "1e-9", "domain": DOMAIN} | USERS
    domain = options.pop("domain")
    first = made(tmp_path, ROWS, domain, name="first", **options)
    assert first.metadata["charged"]["rho"] == str(Rho(RHO))
    assert first.metadata["charged"]["accountant"] == "zcdp"
    second = made(tmp_path, ROWS, domain, name="second", **options)
    after = second.metadata["charged"]["spent_after"]
    assert Fraction(after["rho"]) == 2 * RHO
    pure = made(tmp_path, ROWS, domain, name="pure", max_records=1)
    assert pure.metadata["charged"]["spent_after"]["epsilon"] == "1"
    other = tmp_path / "other"
    other.mkdir()
    made(other, ROWS, domain, name="pure", max_records=1)
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
    release = made(tmp_path, ROWS, DOMAIN, max_records=100, delta="1e-9", **USERS)
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
    made(tmp_path, ROWS, DOMAIN, max_records=100, delta="1e-9", **USERS)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        asked_for = ledger.charges("made")[0].asked
    assert asked_for is not None
    said = {name: asked_for.parameters[name] for name in ("noise", "epsilon", "delta")}
    assert said == {"noise": "gaussian", "epsilon": "1", "delta": "1/1000000000"}


# ---- ``--bounding dpsense --norm l2``: what it makes, and what does not go with it ---------------


ROWS_NORM = pa.table({"user": [1, 1, 2], "item": ["a", "b", "a"], "day": ["x", "y", "x"]})
DOMAIN_NORM = ct.Domain(["a", "b", "c", "d", "e"], {"day": ["x", "y"]})
NORM = {"bounding": "dpsense", "norm": "l2", "count": "users", "max_records": 3}


def asked_norm(**options: Any) -> Request:
    records = ct.read(ROWS_NORM, user="user", item="item", contexts=["day"])
    return make_request(records, DOMAIN_NORM, **({"epsilon": 1, "delta": "1e-9"} | NORM | options))


def test_it_is_paid_for_in_rho_and_bounded_in_l2() -> None:
    made = asked_norm()
    assert isinstance(made.method.rule, DPSenseL2)
    assert made.paid.noise == "gaussian"
    for table in made.bounded:
        assert isinstance(table.price, Rho)
        assert table.l2_squared == (3 * GRID) ** 2
        assert table.law.std() == pytest.approx(3 / (2 * float(table.price.value)) ** 0.5)
    assert parameters(made)["norm"] == "l2"
    assert "norm" not in parameters(asked_norm(norm="l1", noise="gaussian"))


def test_what_there_is_to_count_needs_no_cost() -> None:
    records = ct.read(ROWS_NORM, user="user", item="item", contexts=["day"])
    assert isinstance(make_subject(records, DOMAIN_NORM, **NORM).method.rule, DPSenseL2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": 0}, "add --delta"),
        ({"noise": "laplace"}, "no --noise laplace"),
        ({"transform": "dyadic", "ordered": "day"}, "no sum is taken of rows"),
        ({"transform": "haar", "ordered": "day"}, "no sum is taken of rows"),
        ({"transform": "sketch", "buckets": 4}, "no sum is taken of rows"),
        ({"choose": "rank"}, "use --choose histogram"),
        ({"choose": "dpsense"}, "use --choose histogram"),
        ({"norm": "l1", "choose": "histogram"}, "is for --bounding dpsense --norm l2"),
        ({"bounding": "sra"}, "--norm is for --bounding dpsense"),
        ({"bounding": "dpsense-s", "scalings": "1.2"}, "--norm is for --bounding dpsense"),
        ({"bounding": "auto", "max_records": None}, "--norm is for --bounding dpsense"),
        ({"norm": "l3"}, "unknown --norm 'l3'"),
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
