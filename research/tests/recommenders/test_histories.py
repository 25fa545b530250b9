"""Histories, catalogues and records from files, and one release of each person."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.errors import InputError, UsageError
from crowdtally.noise.draws import SystemDraws
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.history import NoisyCategories
from crowdtally.person.plan import Plan
from crowdtally_research.recommenders import histories
from crowdtally_research.recommenders.experiment import catalogue_of, read_visits
from crowdtally_research.recommenders.histories import (
    DRAWN,
    PERTURBED,
    UNIFORM,
    WORDS,
    Histories,
    Learned,
    Posterior,
    Stock,
    categories_of,
    expected_error,
    rounded,
    split,
    uniform,
)
from kit import toys
from kit.draws import Seeded

# ---- Kinds of histories: one release of each person, and public things ---------------------------


PEOPLE = 12


@pytest.fixture(scope="module")
def tried() -> Histories:
    return Histories(toys.catalogue(), split(toys.people(90), PEOPLE, 3, seed=1))


def drawn(tried: Histories, epsilon: object = 1, seed: int = 1) -> histories.Drawn:
    plan = Plan.of(tried.catalogue, epsilon)
    return tried.drawn(plan, tried.learned(plan, Stock(Seeded(99))), Stock(Seeded(seed)))


def test_every_kind_is_explained_and_made(tried: Histories) -> None:
    assert list(drawn(tried).weights) == list(DRAWN)
    assert set(DRAWN) < set(WORDS)


def test_each_person_is_measured_once_with_each_kind_of_scales(tried: Histories) -> None:
    with mock.patch.object(histories, "measure", wraps=histories.measure) as measured:
        drawn(tried)
    plans = [call.args[1] for call in measured.call_args_list]
    assert len(plans) == 2 * PEOPLE
    assert len({id(plan) for plan in plans}) == 2


def test_a_prior_changes_nothing_that_was_drawn(tried: Histories) -> None:
    """Other public people: the same noise, and the same history where no prior is used."""
    others = toys.people(78, seed=3)
    changed = Histories(tried.catalogue, replace(tried.split, public=others[:, ::-1].tocsr()))
    one, other = drawn(tried), drawn(changed)
    for kind in (PERTURBED, UNIFORM):
        assert (one.weights[kind] == other.weights[kind]).all()
        assert (one.noise[kind] == other.noise[kind]).all()
    for kind in ("popularity prior", "posterior", "learned"):
        assert (one.weights[kind] != other.weights[kind]).any()


def test_rebuilding_sees_noisy_counts_and_no_history(tried: Histories) -> None:
    """Everybody is given the same noisy counts: then all rebuilt weights are alike."""
    told = NoisyCategories(tried.catalogue.categories, (9, 3, 4, 2))
    with mock.patch.object(histories, "measure", return_value=told):
        weights = drawn(tried).weights
    for kind in ("posterior", "likely", "learned"):
        assert (weights[kind] == weights[kind][0]).all()
    counts = weights["popularity prior"] @ categories_of(tried.catalogue)
    assert np.abs(counts - [9, 3, 4, 2]).max() <= 2  # a category's sum is off by its sets at most


def test_without_noise_the_rebuilt_counts_are_the_true_ones(tried: Histories) -> None:
    found = drawn(tried, epsilon=10**6)
    assert (found.noise[PERTURBED] == 0).all()
    assert found.rebuilt[PERTURBED].max() <= 2
    exact = tried.had @ categories_of(tried.catalogue)
    rebuilt = found.weights[PERTURBED] @ categories_of(tried.catalogue)
    assert found.rebuilt[PERTURBED] == pytest.approx(np.abs(rebuilt - exact).mean(axis=1))


def test_random_histories_are_as_long_and_blind(tried: Histories) -> None:
    generator = np.random.default_rng(1)
    draws = np.array([tried.random(generator) for _ in range(400)])
    assert (draws.sum(axis=2) == tried.had.sum(axis=1)).all()
    share = draws.mean(axis=(0, 1))  # 4,800 histories of 11 in 100 items
    assert np.abs(share - 0.11).max() < 6 * np.sqrt(0.11 * 0.89 / 4800)


def test_a_public_twin_is_found() -> None:
    public = toys.people(60, seed=2)
    table = categories_of(toys.catalogue())
    posterior = Posterior.of(public, table)
    counts = (public @ table).astype(int)
    alone = next(n for n in range(60) if (counts == counts[n]).all(axis=1).sum() == 1)
    told = NoisyCategories(toys.TASTES, tuple(counts[alone].tolist()))
    plan = Plan.of(toys.catalogue(), 1000)
    weights = posterior.weights([told], plan)[0]
    assert weights.sum() == pytest.approx(14)  # a mean of histories, each of 14 items
    own = public[alone].toarray()[0] > 0
    assert weights[own].mean() > 3 * weights[~own].mean()


def test_more_noise_means_odds_that_are_more_alike() -> None:
    public = toys.people(60, seed=2)
    posterior = Posterior.of(public, categories_of(toys.catalogue()))
    told = [NoisyCategories(toys.TASTES, (14, 1, 1, 2))]
    mean = public.toarray().mean(axis=0)
    off = [
        np.abs(posterior.weights(told, Plan.of(toys.catalogue(), epsilon))[0] - mean).sum()
        for epsilon in ("10", "1", "0.1", "0.001")
    ]
    assert off == sorted(off, reverse=True)
    assert off[-1] < 0.1 < 1 < off[0]


def test_people_worked_out_in_parts_are_all_there() -> None:
    public = toys.people(30, seed=2)
    posterior = Posterior.of(public, categories_of(toys.catalogue()))
    plan = Plan.of(toys.catalogue(), 1)
    told = [NoisyCategories(toys.TASTES, (n, 2, 1, 0)) for n in range(150)]
    together = posterior.weights(told, plan)
    assert together.shape == (150, 100)
    assert together[149] == pytest.approx(posterior.weights(told[149:], plan)[0])


def test_a_rounded_history_has_the_likeliest_items() -> None:
    weights = np.array([[0.4, 0.9, 0.8, 0.1], [0.1, 0.1, 0.1, 0.0]])
    assert rounded(weights).tolist() == [[0, 1, 1, 0], [0, 0, 0, 0]]


def test_a_regression_learns_which_items_go_with_a_category() -> None:
    public = toys.people(200, seed=4)
    table = categories_of(toys.catalogue())
    plan = Plan.of(toys.catalogue(), 4)
    learned = Learned.of(public, np.asarray(public @ table, float), plan, Stock(Seeded(1)))
    space = tuple(10 if taste == "space" else 1 for taste in toys.TASTES)
    weights = learned.weights([NoisyCategories(toys.TASTES, space)])[0]
    own = slice(2 * toys.EACH, 3 * toys.EACH)
    assert weights[own].sum() > 2 * (weights.sum() - weights[own].sum())
    assert weights[own][0] > weights[own][-1]  # the popular ones of the taste first


def test_uniform_noise_has_the_global_sensitivity() -> None:
    plan = Plan.of(toys.catalogue(), "1/2")
    alike = uniform(plan)
    assert alike.rates == (Fraction(1, 4),) * 4  # two categories at most: 2/ε is 4
    assert alike.mean_scale == pytest.approx(plan.mean_scale)  # all tastes are alike here


def test_the_expected_error_of_the_methods_example() -> None:
    """Five items, sets {1,2,3}, {1,3,4}, {1,5} and two inside them: mean scale 2.6109, not 3."""
    sets = {"a": "123", "b": "134", "c": "15", "d": "13", "e": "12"}
    plan = Plan.of(Catalogue.of({item: list(names) for item, names in sets.items()}), "0.001")
    assert expected_error(plan) * 0.001 == pytest.approx(2.6109, abs=2e-4)
    assert expected_error(uniform(plan)) * 0.001 == pytest.approx(3, abs=1e-4)


def test_the_expected_error_is_that_of_the_discrete_law() -> None:
    plan = uniform(Plan.of(Catalogue.of({"a": ["x"]}), 2))
    k = np.arange(1, 60)
    ratio = np.exp(-2.0)
    direct = 2 * (k * ratio**k).sum() * (1 - ratio) / (1 + ratio)
    assert expected_error(plan) == pytest.approx(direct)


def test_noise_from_the_stock_is_handed_out_once_and_in_order() -> None:
    stock, scale = Stock(Seeded(3)), Fraction(5)
    handed = np.concatenate([stock.laplace(scale, n) for n in (1, 2, 1000, 7189)])
    direct = SystemDraws(Seeded(3)).laplace(scale, 8192)
    assert (handed == direct).all()
    assert len(stock.laplace(scale, 9000)) == 9000


def test_noise_of_two_scales_is_kept_apart() -> None:
    stock = Stock(Seeded(3))
    small, large = (stock.laplace(Fraction(scale), 1000) for scale in (1, 100))
    again = stock.laplace(Fraction(1), 1000)
    assert np.abs(large).mean() == pytest.approx(100, rel=0.3)
    assert np.abs(small).mean() == pytest.approx(np.abs(again).mean(), rel=0.3)


# ---- Catalogues and records from files: ids meet whatever their types, and what is left out
#      counts


CATALOGUE = "film,genre\n7,crime\n7,space\n11,space\n"


def visits(folder: Path, rows: str, catalogue: str = CATALOGUE) -> tuple[list[list[float]], int]:
    (folder / "films.csv").write_text(catalogue)
    (folder / "seen.csv").write_text(f"who,film\n{rows}")
    listed = catalogue_of(str(folder / "films.csv"), "film")
    found = read_visits(ct.read(str(folder / "seen.csv"), user="who", item="film"), listed)
    return found.matrix.toarray().tolist(), found.left_out


def test_repeated_items_count_once_and_others_are_left_out(tmp_path: Path) -> None:
    assert visits(tmp_path, "a,7\na,7\nb,11\nb,7\nb,12\n,7\n") == ([[1, 0], [1, 1]], 2)


def test_ids_that_are_text_stay_text(tmp_path: Path) -> None:
    listed = "film,genre\n07,crime\n11,space\n"
    assert visits(tmp_path, "a,07\nb,7\nb,11\n", listed) == ([[1, 0], [0, 1]], 1)


def test_integers_of_a_typed_file_meet_a_catalogue_of_text(tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text(CATALOGUE)
    pq.write_table(pa.table({"who": ["a", "b"], "film": [11, 7]}), tmp_path / "seen.parquet")
    listed = catalogue_of(str(tmp_path / "films.csv"), "film")
    records = ct.read(str(tmp_path / "seen.parquet"), user="who", item="film")
    assert read_visits(records, listed).matrix.toarray().tolist() == [[0, 1], [1, 0]]


def test_a_row_may_have_all_categories_and_the_column_another_name(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("id,title,genres\n7,Alien,horror|space\n11,Heat,crime\n")
    file = str(tmp_path / "f.csv")
    listed = catalogue_of(f"{file}:id", "film", "genres", "|")
    assert (listed.items, listed.categories) == (("7", "11"), ("crime", "horror", "space"))
    with pytest.raises(UsageError, match=r"no column 'film'.*FILE:COLUMN.*id, title, genres"):
        catalogue_of(file, "film")
    with pytest.raises(UsageError, match=r"2 columns beside 'id'.*--category"):
        catalogue_of(f"{file}:id", "film")


def test_records_of_other_items_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the 2 rows"):
        visits(tmp_path, "a,1\nb,2\n")
