"""Comparisons on real data: what they measure, and which requests they try."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from unittest import mock

import numpy as np
import pandas
import pytest

import crowdtally as ct
from crowdtally import lab
from crowdtally.core.privacy import Epsilon
from crowdtally.core.records import Records
from crowdtally.curator.questions import SampledCounts
from crowdtally.curator.request.request import make_request
from crowdtally.errors import UsageError
from crowdtally.lab import rehearse
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.comparison.compare import Question
from crowdtally.lab.comparison.plan import (
    DENSE,
    Runs,
    baseline_of,
    bounds_of,
    epsilons_of,
    given_fields,
    jobs_of,
    names_of,
    plan_of,
    request_of,
    spelled,
    taken_of,
    typed_fields,
)
from crowdtally.lab.comparison.records import Held
from crowdtally.lab.comparison.run import Bench, Given, Task, Unit
from crowdtally.lab.comparison.summary import Setting
from crowdtally.lab.methods import NOT_PRIVATE, Method
from crowdtally.lab.rehearse import Rehearsal, largest_contribution
from crowdtally.records.duckdb import DuckDBEngine
from kit.draws import SilentDraws
from kit.lab import NAMES, declared, held_in, write_visits

# ---- A whole comparison of a few visits: what is drawn anew, what is kept, what is shown ---------


USED = {"methods": NAMES, "max_records": [2, 5], "runs": 4, "jobs": 1}


@pytest.fixture(scope="module")
def compared(
    tmp_path_factory: pytest.TempPathFactory, records: Records, domain: ct.Domain
) -> tuple[pandas.DataFrame, Path]:
    folder = tmp_path_factory.mktemp("compared") / "cmp"
    frame = lab.compare(records, domain, epsilon="0.5,1", output=folder, **USED)
    return frame, folder


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory, records: Records, domain: ct.Domain) -> Held:
    return held_in(tmp_path_factory.mktemp("held"), records, domain)


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine() as one:
        yield one


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Pictures and the page take longer than all runs."""
    with mock.patch("crowdtally.lab.comparison.compare.write"):
        yield


def _estimates(bench: Bench, task: Task) -> list[dict[str, Any]]:
    """The tables of every run of a task."""
    seen = []
    real = bench._measured

    def noted(estimates: Any, *others: Any) -> Any:
        seen.append(estimates)
        return real(estimates, *others)

    with mock.patch.object(bench, "_measured", noted):
        bench.run(task)
    return seen


def _task(
    method: str, key: int, *, noises: int = 2, bound: int | None = 2, epsilon: str = "1"
) -> Task:
    return Task((Unit(Setting(method, epsilon, bound), key),), noises)


def test_means_and_standard_errors_are_those_of_the_stored_runs(
    compared: tuple[pandas.DataFrame, Path],
) -> None:
    frame, folder = compared
    stored = [json.loads(file.read_bytes()) for file in (folder / "runs").iterdir()]
    for method, bound, metric, k in (
        ("sra", 5, "mae", None),
        ("hpa", 2, "precision", 3),
        ("lpa", None, "mse", None),
    ):
        setting = {"method": method, "epsilon": "0.5", "max_records": bound}
        by_key = {
            one["unit"]["key"]: [
                row[3] for rows in one["noises"] for row in rows if row[:3] == ["edges", metric, k]
            ]
            for one in stored
            if one["unit"]["setting"] == setting
        }
        assert sorted(by_key) == [0, 1]
        assert all(len(values) == 2 for values in by_key.values())
        row = frame[
            (frame.method == method) & (frame.epsilon == 0.5) & (frame.table == "edges")
            & (frame.metric == metric) & (frame.max_records.fillna(-1) == (bound or -1))
            & (frame.k.fillna(-1) == (k or -1))
        ]  # fmt: skip
        assert len(row) == 1
        means = [fmean(values) for values in by_key.values()]
        assert row["mean"].item() == pytest.approx(fmean(means))
        assert row["standard_error"].item() == pytest.approx(stdev(means) / 2**0.5)
        assert (row["keys"].item(), row["runs"].item()) == (2, 4)


def test_every_setting_is_there_once(compared: tuple[pandas.DataFrame, Path]) -> None:
    frame, folder = compared
    errors = frame[(frame.metric == "mae") & (frame.table == "items")]
    found = {
        (m, None if pandas.isna(b) else int(b), e)
        for m, b, e in errors[["method", "max_records", "epsilon"]].itertuples(index=False)
    }
    bounds = {
        "sra": (2, 5),
        "hpa": (2, 5),
        "declared": (40,),
        "sra+rank": (5,),
        "lpa": (None,),
        "gs": (None,),
    }
    assert len(errors) == len(found)
    assert found == {(m, b, e) for m, all_of in bounds.items() for b in all_of for e in (0.5, 1.0)}
    assert len(list((folder / "runs").iterdir())) == 2 * len(found)


def test_the_frame_is_the_csv_and_says_what_it_is(compared: tuple[pandas.DataFrame, Path]) -> None:
    frame, folder = compared
    written = pandas.read_csv(folder / "comparison.csv")
    assert list(frame.columns) == [
        "method", "max_records", "epsilon", "table", "metric", "k", "mean", "standard_error",
        "keys", "runs",
    ]  # fmt: skip
    numbers = ["max_records", "epsilon", "k", "mean", "standard_error", "keys", "runs"]
    np.testing.assert_allclose(
        frame[numbers].astype(float).to_numpy(), written[numbers].astype(float).to_numpy()
    )
    assert frame[["method", "table", "metric"]].to_numpy().tolist() == (
        written[["method", "table", "metric"]].to_numpy().tolist()
    )
    assert frame.attrs["warning"].startswith(NOT_PRIVATE)
    assert (folder / "comparison.html").is_file()


@pytest.mark.usefixtures("undrawn")
def test_a_finished_comparison_is_shown_again_without_a_run(
    compared: tuple[pandas.DataFrame, Path], records: Records, domain: ct.Domain
) -> None:
    frame, folder = compared
    with mock.patch.object(Bench, "run", side_effect=AssertionError("a run was made again")):
        again = lab.compare(records, domain, epsilon=["0.5", 1], output=folder, **USED)
        fewer = lab.compare(records, domain, epsilon=1, output=folder, **(USED | {"runs": 2}))
    pandas.testing.assert_frame_equal(frame, again)
    assert set(fewer[fewer.metric == "mae"]["runs"]) == {2}


@pytest.mark.usefixtures("undrawn")
def test_more_runs_use_those_that_are_there(
    compared: tuple[pandas.DataFrame, Path], records: Records, domain: ct.Domain, tmp_path: Path
) -> None:
    _, folder = compared
    ran: list[Unit] = []
    real = Bench.run

    def noted(bench: Bench, task: Task) -> Any:
        ran.extend(task.units)
        return real(bench, task)

    asked = USED | {"methods": "sra", "max_records": 2}
    with mock.patch.object(Bench, "run", noted):
        lab.compare(records, domain, epsilon="1,2", output=folder, **(asked | {"runs": 6}))
        assert {(u.setting.epsilon, u.key) for u in ran} == {("1", 0), ("1", 1), ("2", 0), ("2", 1)}
        ran.clear()
        lab.compare(records, domain, epsilon="1", output=folder, **(asked | {"runs": 9}))
    assert [(u.setting.epsilon, u.key) for u in ran] == [("1", 2)]  # 3 keys with 3 noises each


def test_other_data_and_other_settings_are_refused(
    compared: tuple[pandas.DataFrame, Path], domain: ct.Domain, records: Records, tmp_path: Path
) -> None:
    _, folder = compared
    before = sorted((file, file.read_bytes()) for file in folder.rglob("*.*"))
    other = declared(write_visits(tmp_path / "more.parquet", more=1))
    with pytest.raises(UsageError, match=r"other data .*95 of 11 there and are 96 of 11 here"):
        lab.compare(other, domain, epsilon=1, output=folder, **USED)
    table = pandas.read_parquet(str(records.source))
    table.loc[table.who == "visitor-9", "who"] = ["visitor-0", *["visitor-9"] * 9]
    with pytest.raises(UsageError, match="as many records and users, which are not the same"):
        lab.compare(declared(table), domain, epsilon=1, output=folder, **USED)
    turned = ct.Domain(domain.items.values[::-1].tolist(), {"day": ["Mon", "Tue"]})
    with pytest.raises(UsageError, match="other data"):
        lab.compare(records, turned, epsilon=1, output=folder, **USED)
    with pytest.raises(UsageError, match=r"popularity_records: not given there, 3 here"):
        lab.compare(records, domain, epsilon=1, output=folder, popularity_records=3, **USED)
    assert sorted((file, file.read_bytes()) for file in folder.rglob("*.*")) == before


@pytest.mark.usefixtures("undrawn")
def test_rows_in_another_order_are_the_same_data(
    compared: tuple[pandas.DataFrame, Path], visits: Path, domain: ct.Domain
) -> None:
    _, folder = compared
    turned = pandas.read_parquet(visits).iloc[::-1]
    with mock.patch.object(Bench, "run", side_effect=AssertionError("a run was made again")):
        lab.compare(declared(turned), domain, epsilon=1, output=folder, **USED)


@pytest.mark.parametrize("method", ["sra", "hpa", "declared"])
def test_the_sample_is_drawn_for_each_key_and_kept_for_its_noises(
    held: Held, engine: DuckDBEngine, method: str
) -> None:
    """Without noise: two runs with one key are the same, and those of two keys are not."""
    bench = Bench(Given(held, {}, seed=77), engine, SilentDraws())
    first, again = _estimates(bench, _task(method, 0, bound=3))
    other, _ = _estimates(bench, _task(method, 1, bound=3))
    np.testing.assert_array_equal(first["edges"], again["edges"])
    assert (first["edges"] != other["edges"]).any()
    for table in first.values():  # 10 users of whom 9 have 2 or more, cut to 3 records each
        assert table.sum() == 1 + 2 + 3 * 9


def test_noise_is_drawn_anew_in_each_run_of_each_method(held: Held, engine: DuckDBEngine) -> None:
    bench = Bench(Given(held, {}, seed=77), engine)
    for method in ("sra", "hpa", "sra+rank", *BASELINES):
        bound = None if method in BASELINES else 3
        # So small an ε that two noises are equal by chance once in a million years.
        tasks = [_task(method, key, noises=3, bound=bound, epsilon="0.001") for key in (0, 1)]
        runs = [run for task in tasks for run in _estimates(bench, task)]
        assert len(runs) == 6
        for one, other in combinations(runs, 2):
            for name in ("items", "edges"):
                assert (one[name] != other[name]).any(), (method, name)


def test_what_does_not_depend_on_epsilon_is_counted_once(
    records: Records, domain: ct.Domain
) -> None:
    counted = []
    real = rehearse.count

    def noted(question: Any, records: Any) -> Any:
        if isinstance(question, SampledCounts) and question.name != "popularity":
            counted.append(question.rule.name)
        return real(question, records)

    asked = USED | {"methods": "sra,hpa", "max_records": 2}
    with mock.patch.object(rehearse, "count", noted):
        lab.compare(records, domain, epsilon="0.5,1,2", **asked)
    # Two keys: for every ε at once, and for each ε, because its popularity is another one.
    assert sorted(counted) == ["hpa"] * 6 + ["sra"] * 2


def test_the_rows_of_a_key_of_auto_go_with_it(held: Held, engine: DuckDBEngine) -> None:
    """They are as many as the records: those of several keys would fill the memory."""
    Bench(Given(held, {}, seed=77), engine).run(_task("auto", 0, bound=None, epsilon="1"))
    left = "SELECT count(*) AS tables FROM duckdb_tables() WHERE temporary"
    assert engine.arrow(left).to_pylist() == [{"tables": 0}]


def test_lists_have_the_lengths_that_are_asked_for(held: Held, engine: DuckDBEngine) -> None:
    (outcome,) = Bench(Given(held, {}, seed=77, ks=(2, 4)), engine).run(_task("sra", 0, bound=3))
    assert {k for _, metric, k, _ in outcome.noises[0] if metric == "precision"} == {2, 4}


def test_what_is_held_are_the_records_of_a_release(held: Held, engine: DuckDBEngine) -> None:
    assert held.largest == 40 == largest_contribution(engine, held.prepared(engine), "records")
    assert held.known_by["records"] == 95
    assert held.known_by["users"] == 11
    assert held.tables == {"items": 5, "edges": 10}
    truth = held.truth()
    assert truth["items"].sum() == truth["edges"].sum() == 95
    assert truth["edges"].reshape(5, 2).sum(axis=1).tolist() == truth["items"].tolist()


@pytest.mark.parametrize("method", ["sra", "hpa"])
def test_a_sample_of_what_is_held_is_the_releases_own(
    held: Held, records: Records, domain: ct.Domain, method: str
) -> None:
    """Key by key: the same records are kept as from the source itself."""
    options = {"method": ct.SRA(3) if method == "sra" else ct.HPA(3), "epsilon": 1}
    with DuckDBEngine() as engine:
        kept = [
            rehearsal.halfway(9, SilentDraws()).counted.found[1].dense()
            for rehearsal in (
                Rehearsal(make_request(records, domain, **options), engine),
                Rehearsal(
                    make_request(held.records, domain, **options), engine, held.prepared(engine)
                ),
            )
        ]
    np.testing.assert_array_equal(*kept)


def test_quantities_persons_and_conditions_are_as_in_a_release() -> None:
    table = pandas.DataFrame(
        {"u": list("aabccc") * 5, "i": list("xyxzzy") * 5, "q": [1, 2, 3, 1, 2, 5] * 5}
    ).astype({"q": "Int64"})
    persons = pandas.DataFrame({"u": list("abc"), "p": list("112")})
    read = ct.read(
        table, user="u", item="i", quantity="q", max_quantity=4, where="q < 5",
        same_person=(persons, "p"), types={"q": "int64"},
    )  # fmt: skip
    frame = lab.compare(
        read, ct.Domain(["x", "y"]), epsilon=10**6, methods="declared,lpa,sra", max_records=1,
        runs=2, jobs=1,
    )  # fmt: skip
    of = frame[frame.metric == "mae"].set_index("method")
    # M is 15 records of the first person; nobody is cut, and noise is rarer than 10^-6.
    assert of["mean"][["declared", "lpa"]].tolist() == [0, 0]
    assert of["max_records"]["declared"] == 15
    assert of["mean"]["sra"] > 0
    assert frame.attrs["notes"][0] == (
        "Of 25 rows, 10 have no user or a value outside the lists, or no quantity of at least 1: "
        "no method counts them, and the truth does not either."
    )
    assert "take sra " in frame.attrs["recommendation"]


def test_what_cannot_run_is_left_out_with_its_reason_and_refused_where_it_is_named(
    held: Held,
) -> None:
    one = [Epsilon.of(1)]
    plan = plan_of(held, one, None, [1, 3], {"cap": 2, "scalings": "3"})
    assert "between 1 and 2" in plan.skipped["dpsense-s"]
    methods = {setting.method for setting in plan.settings}
    assert {"sra", "hpa", "declared", "dpsense+rank", "lpa", "dft"} <= methods
    assert [s.max_records for s in plan.settings if s.method == "sra"] == [1, 3]
    assert [s.max_records for s in plan.settings if s.method == "sra+rank"] == [3]
    assert [s.max_records for s in plan.settings if s.method == "declared"] == [40]
    with pytest.raises(UsageError, match=r"'dpsense-s' cannot run on .* between 1 and 2"):
        plan_of(held, one, ["sra", "dpsense-s"], [1], {"scalings": "3"})
    with pytest.raises(UsageError, match="no method that is compared has a field size"):
        plan_of(held, one, ["sra"], [1], {"size": "1"})


def test_every_method_runs_without_options_of_its_own(held: Held) -> None:
    plan = plan_of(held, [Epsilon.of(1)], None, [1, 3], {})
    assert not plan.skipped
    assert {setting.method for setting in plan.settings} == {*DENSE, *BASELINES}
    dpsense = Method.of("dpsense")
    assert taken_of(dpsense, "records", {}) == {"cap": 10}
    assert taken_of(dpsense, "records", {"cap": 2, "size": 9}) == {"cap": 2}
    assert taken_of(dpsense, "users", {}) == {}


def test_large_tables_are_published_in_part(held: Held) -> None:
    with mock.patch("crowdtally.lab.comparison.plan.LARGE", 9):
        plan = plan_of(held, [Epsilon.of(1)], None, [1, 3], {"cap": 2})
    assert not plan.skipped
    methods = {setting.method for setting in plan.settings} - set(BASELINES)
    assert {"sra/filter", "sra/threshold", "dpsense/filter-priority"} <= methods
    assert all(Method.of(name).publishing != "dense" for name in methods)
    setting = Setting("sra/priority", "1", 3)
    table = request_of(setting, held, {}).tables[0]
    assert table.publishing.wanted == 10_000  # type: ignore[attr-defined]


def test_users_are_compared_with_users(records: Records, domain: ct.Domain) -> None:
    frame = lab.compare(
        records, domain, epsilon=10**6, count="users", methods="dpsense,declared,lpa",
        max_records=4, runs=2, jobs=1,
    )  # fmt: skip
    exact = frame[(frame.metric == "mae") & (frame.method != "dpsense")]
    assert len(exact) == 4
    assert (exact["mean"] == 0).all()  # nobody is cut, and noise is rarer than 10^-6


def test_the_baselines_have_noise_for_the_largest_user(held: Held) -> None:
    """Nobody is cut by M, so that nobody is sampled; the noise must be made for M all the same."""
    assert held.largest > 1
    for name in ("lpa", "alpa", "gs"):
        parts = baseline_of(Setting(name, "1"), held).parts(Epsilon.of(1))
        bounds = [part.parameters["l1_bound"] for part in parts if "order" not in part.name]
        assert bounds == [held.largest] * len(held.tables), name


def test_bad_input_in_python_is_told_in_pythons_words(
    records: Records, domain: ct.Domain, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="runs must be 2 or more"):
        lab.compare(records, domain, epsilon=1, runs=1)
    with pytest.raises(UsageError, match="no method has a field 'epsilom'"):
        lab.compare(records, domain, epsilon=1, epsilom=2)
    rows = ct.read(records.source, item="place", user_per_row=True)
    with pytest.raises(UsageError, match="user_per_row=True"):
        lab.compare(rows, ct.Domain(["bar"]), epsilon=1)
    with pytest.raises(UsageError, match=r"ct.Domain\(ITEMS\)"):
        lab.compare(ct.read(records.source, user="who", item="place"), epsilon=1)
    with pytest.raises(UsageError, match="output is the path of a folder: received a int"):
        lab.compare(records, domain, epsilon=1, output=3)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("largest", "bounds"),
    [
        (0, (1,)), (1, (1,)), (2, (1, 3)), (3, (1, 3)), (26, (1, 3, 10, 30)),
        (100, (1, 3, 10, 30, 100)), (2314, (1, 3, 10, 30, 100)),
    ],
)  # fmt: skip
def test_one_bound_cuts_nobody_where_users_have_few_records(
    largest: int, bounds: tuple[int, ...]
) -> None:
    """Of users with 26 records at most, 30 is often the best that can be asked for."""
    question = Question.of(epsilon=1, fields={})
    assert question.bounds_within(largest) == bounds


# ---- What a comparison is asked for: every slip is told before a record is read ------------------


@pytest.mark.parametrize(
    ("runs", "keys", "noises"),
    [(2, 2, 1), (3, 3, 1), (4, 2, 2), (6, 2, 3), (8, 2, 4), (10, 5, 2), (20, 5, 4), (30, 10, 3)],
)
def test_runs_are_keys_times_noises(runs: int, keys: int, noises: int) -> None:
    assert Runs.of(runs) == Runs(keys, noises)
    assert Runs.of(runs).total == runs


@pytest.mark.parametrize("runs", [1, 0, -3])
def test_a_standard_error_needs_two_runs(runs: int) -> None:
    with pytest.raises(UsageError, match=r"--runs must be 2 or more.*received"):
        Runs.of(runs)


@pytest.mark.parametrize("given", ["20", 2.0, True, None])
def test_runs_are_a_whole_number(given: object) -> None:
    with pytest.raises(UsageError, match="whole number"):
        Runs.of(given)


def test_epsilons_are_exact_in_every_spelling() -> None:
    assert [str(e) for e in epsilons_of("0.1, 1/3,2")] == ["0.1", "1/3", "2"]
    assert epsilons_of([0.1, "1/3", 2]) == epsilons_of("0.1,1/3,2")
    assert epsilons_of(1) == epsilons_of("1")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("1,,2", "empty entry"),
        ("1,2,", "empty entry"),
        ("", "empty entry"),
        ([], "empty entry"),
        ("0", "greater than 0"),
        ("1,-2", "greater than 0"),
        ("abc", "abc"),
        ("1,1.0", "names 1 twice"),
        ("0.5,1/2", "names 0.5 twice"),
    ],
)
def test_a_fault_in_a_list_of_epsilons_is_told(given: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        epsilons_of(given)


def test_bounds_are_sorted_and_whole() -> None:
    assert bounds_of("30,1,10") == (1, 10, 30)
    assert bounds_of([5, 3]) == (3, 5)
    assert bounds_of(7) == (7,)
    assert bounds_of(None) is None
    for given in ("1,,3", "ten", "1.5", "-1", True, "3,3"):
        with pytest.raises(UsageError, match="--max-records"):
            bounds_of(given)
    with pytest.raises(UsageError, match="between 1 and"):
        bounds_of("0")


def test_jobs_are_one_or_more() -> None:
    assert jobs_of(3) == 3
    assert jobs_of(None) >= 1
    with pytest.raises(UsageError, match=r"--jobs must be a whole number.*received 0"):
        jobs_of(0)


def test_a_method_has_one_name() -> None:
    """Two spellings would be run twice, and advice would tell them apart."""
    assert spelled(("sra/dense", "hpa/none/filter", "lpa")) == ("sra", "hpa/filter", "lpa")
    assert spelled(None) is None
    with pytest.raises(UsageError, match="names sra twice, as sra and sra/dense"):
        spelled(("sra", "sra/dense"))


def test_methods_by_name() -> None:
    assert names_of("sra, hpa+rank") == ("sra", "hpa+rank")
    assert names_of(["sra ", " lpa"]) == ("sra", "lpa")
    assert names_of("all") is None
    with pytest.raises(UsageError, match="name no other beside it"):
        names_of("all,sra")
    with pytest.raises(UsageError, match="names sra twice"):
        names_of("sra,sra")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("srra", "Did you mean 'sra'"),
        ("dtf", "Did you mean the method 'dft'"),
        ("sra+rnak", "unknown choose 'rnak'"),
        ("sra/sparse", "has the form 'sparse'"),
    ],
)
def test_an_unknown_method_is_told_with_what_was_meant(name: str, words: str) -> None:
    with pytest.raises(UsageError) as told:
        spelled([name])
    assert words in str(told.value)
    assert "lpa" in str(told.value)


@pytest.mark.parametrize("name", ["max_records", "choose"])
def test_what_a_comparison_tries_itself_is_not_given(name: str) -> None:
    with pytest.raises(UsageError, match=f"tries every {name} itself"):
        given_fields({name: 3})


def test_fields_are_typed_as_after_a_name() -> None:
    assert typed_fields("size=8,columns=day,hour,threshold=1/3,repeats=no") == {
        "size": 8, "columns": ("day", "hour"), "threshold": "1/3", "repeats": False,
    }  # fmt: skip
    assert typed_fields(None) == {}
    for text, words in (("size", "--fields is followed by"), ("size=1,size=2", "size twice")):
        with pytest.raises(UsageError, match=words):
            typed_fields(text)
    with pytest.raises(UsageError, match=r"no method has a field 'siz'\. Did you mean 'size'"):
        given_fields(typed_fields("siz=3"))
