"""A whole trial, and what is shown of one that nobody ran."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import crowdtally as ct
import crowdtally_research
from crowdtally.errors import CrowdtallyError, InputError, UsageError
from crowdtally.lab.methods import NOT_PRIVATE
from crowdtally_research.recommenders import writing
from crowdtally_research.recommenders.experiment import Question, Visits, tried
from crowdtally_research.recommenders.histories import DRAWN, Stock
from crowdtally_research.recommenders.running import Aggregates, Facts, Found, Quality, Tally, _mean
from crowdtally_research.recommenders.writing import (
    aggregates_table,
    as_frame,
    check_folder,
    lines,
    markdown,
    quality_table,
    sentences,
    write,
)
from kit import toys
from kit.draws import Seeded

# ---- The whole trial, on people with tastes that categories tell ---------------------------------


EPSILONS = ("0.1", "8")


@pytest.fixture(scope="module")
def found() -> Found:
    visits = Visits(toys.people(360, seed=8), 5040, 0)
    question = Question.of(",".join(EPSILONS), people=80, hidden=3, length=5, draws=2, seed=3)
    draws = Stock(Seeded(5))
    return tried(visits, toys.catalogue(), question, called="…", draws=draws)


def quality(found: Found, recommender: str, history: str, epsilon: str | None = None) -> float:
    (one,) = [
        q for q in found.qualities
        if (q.recommender, q.history, q.epsilon, q.metric)
        == (recommender, history, epsilon, "hit rate")
    ]  # fmt: skip
    return one.mean


MODELS = pytest.mark.parametrize("recommender", ["item-based", "factorisation"])


@MODELS
def test_raw_histories_recommend_far_better_than_random_ones(
    found: Found, recommender: str
) -> None:
    raw, random = (quality(found, recommender, kind) for kind in ("raw", "random"))
    assert raw > random + 0.2


@MODELS
def test_a_random_history_is_no_better_than_the_popular_list(
    found: Found, recommender: str
) -> None:
    for one in found.qualities:
        if (one.recommender, one.history) == (recommender, "random"):
            assert one.gain < 4 * one.gain_error


@MODELS
def test_histories_tell_more_with_less_noise(found: Found, recommender: str) -> None:
    for kind in DRAWN:
        noisy, clear = (quality(found, recommender, kind, epsilon) for epsilon in EPSILONS)
        assert clear > noisy + 0.1, kind


@MODELS
def test_where_categories_are_tastes_a_perturbed_history_beats_the_popular_list(
    found: Found, recommender: str
) -> None:
    popular = quality(found, "popular list", "none")
    assert quality(found, recommender, "posterior", "8") > popular + 0.1
    assert quality(found, recommender, "popularity prior", "8") > popular + 0.1


def test_measured_errors_are_the_expected_ones(found: Found) -> None:
    assert [(one.scales, one.epsilon) for one in found.aggregates] == [
        (scales, epsilon) for epsilon in EPSILONS for scales in ("perturbed", "uniform")
    ]
    for one in found.aggregates:
        assert one.measured == pytest.approx(one.expected, abs=6 * one.measured_error)


def test_the_facts_are_those_of_the_trial(found: Found) -> None:
    facts = found.facts
    assert (facts.people, facts.public, facts.items, facts.categories) == (80, 280, 100, 4)
    assert (facts.mean_history, facts.hidden, facts.length, facts.draws) == (11.0, 3, 5, 2)


def test_every_kind_is_there_for_every_epsilon_and_recommender(found: Found) -> None:
    keys = {(q.recommender, q.history, q.epsilon, q.metric) for q in found.qualities}
    assert len(keys) == len(found.qualities) == 2 * (1 + 2 * (2 + len(DRAWN) * len(EPSILONS)))


def test_a_mean_is_over_draws_and_its_error_over_people() -> None:
    tally = Tally()
    key = ("item-based", "perturbed", "1", "ndcg")
    for values in ([1.0, 0.0, 0.5], [0.0, 0.0, 1.0]):
        tally.add(key, np.array(values))
    assert tally.of(key).tolist() == [0.5, 0.0, 0.75]
    mean, error = _mean(tally.of(key))
    spread = sqrt(((0.5 - mean) ** 2 + mean**2 + (0.75 - mean) ** 2) / 2)
    assert (mean, error) == pytest.approx((1.25 / 3, spread / sqrt(3)))


def test_a_gain_is_the_difference_of_the_same_people(found: Found) -> None:
    popular = quality(found, "popular list", "none")
    for one in found.qualities:
        if one.metric == "hit rate":
            assert one.gain == pytest.approx(one.mean - popular)
        if one.recommender == "popular list":
            assert (one.gain, one.gain_error) == (0.0, 0.0)


def test_in_python_it_is_a_frame_that_says_that_it_is_not_private() -> None:
    visits = toys.people(60, seed=8).tocoo()
    import pandas as pd

    records = ct.read(
        pd.DataFrame({"who": visits.row, "film": visits.col}), user="who", item="film"
    )
    films = {place: [str(place % 3)] for place in range(100)}
    frame = crowdtally_research.recommend(records, films, epsilon=[1], people=20, draws=1)
    assert frame.attrs["warning"].startswith("NOT PRIVATE")
    assert frame.attrs["facts"]["rows"] == 60 * 14
    assert set(frame.recommender) == {"popular list", "item-based", "factorisation"}
    with pytest.raises(InputError, match="too few people"):
        crowdtally_research.recommend(records, films, epsilon=1, people=60)
    with pytest.raises(UsageError, match="would not fit the memory: give 200000 people or fewer"):
        crowdtally_research.recommend(records, films, epsilon=1, people=200_001)
    with pytest.raises(UsageError, match="longer than the catalogue's 100 items"):
        crowdtally_research.recommend(records, films, epsilon=1, people=20, length=101)


# ---- Tables, files and pictures of a trial that nobody ran ---------------------------------------


GAINS = {"perturbed": -0.1, "uniform": -0.2, "posterior": 0.1}


def made() -> Found:
    found = [
        Quality("popular list", "none", None, metric, 0.3, 0.01, 0.0, 0.0)
        for metric in ("hit rate", "ndcg")
    ]
    for recommender in ("item-based", "factorisation"):
        for metric in ("hit rate", "ndcg"):
            for history, mean in (("raw", 0.6), ("random", 0.05)):
                found.append(
                    Quality(recommender, history, None, metric, mean, 0.01, mean - 0.3, 0.01)
                )
            for epsilon in ("0.1", "1/3", "8"):
                found += [
                    Quality(
                        recommender, history, epsilon, metric, 0.3 + GAINS.get(history, 0.0), 0.01,
                        GAINS.get(history, 0.0), 0.05 if epsilon == "0.1" else 0.01,
                    )
                    for history in DRAWN
                ]  # fmt: skip
    errors = [
        Aggregates(scales, epsilon, 4.4944, 4.51, 0.1, 3.64, 0.12)
        for epsilon in ("0.1", "1/3", "8")
        for scales in ("perturbed", "uniform")
    ]
    facts = Facts(
        command="crowdtally lab recommend …", items=3883, categories=18, public=5040, people=1000,
        mean_history=155.2, hidden=5, length=10, draws=20, seed=1, rows=1_000_209, left_out=0,
    )  # fmt: skip
    return Found(found, errors, facts)


def test_a_table_has_a_row_for_each_history_and_a_column_for_each_epsilon() -> None:
    heads, raw, perturbed, *_, last = quality_table(made(), "hit rate", "item-based")
    assert heads == ["history", "no ε", "ε = 0.1", "ε = 1/3", "ε = 8"]
    assert raw == ["raw", "0.600 ± 0.010", "", "", ""]
    assert perturbed == ["perturbed", "", *["0.200 ± 0.010"] * 3]
    assert last[0] == "random"


def test_errors_of_counts_stand_beside_what_was_expected() -> None:
    heads, first, *_ = aggregates_table(made().aggregates)
    assert heads[:4] == ["ε", "perturbed, expected", "perturbed, measured", "perturbed, rebuilt"]
    assert first == ["0.1", *["4.494", "4.51 ± 0.10", "3.64 ± 0.12"] * 2]


def test_words_say_better_or_worse_only_beyond_two_standard_errors() -> None:
    told = list(sentences(made()))
    assert "perturbed, item-based: worse at ε = 1/3, 8." in told  # 0.1 ± 0.05 is not beyond
    assert "uniform, factorisation: worse at ε = 0.1, 1/3, 8." in told
    assert "posterior, factorisation: better at ε = 1/3, 8." in told
    assert "learned, item-based: no better and no worse at any ε." in told
    assert len(told) == 2 * len(DRAWN)


def test_what_is_said_first_is_what_epsilon_means() -> None:
    shown = "\n".join(lines(made()))
    assert "a whole history of t items has t·ε, here 155·ε on average" in shown
    assert "hit rate@10 of the popular list, the same for all: 0.300 ± 0.010" in shown
    assert "left out" not in shown
    dropped = made()
    dropped = replace(dropped, facts=replace(dropped.facts, left_out=1234))
    assert "Of 1,000,209 rows, 1,234 have no person or an item" in "\n".join(lines(dropped))


def test_the_page_has_every_table() -> None:
    page = markdown(made())
    assert page.count("### item-based") == page.count("### factorisation") == 2
    assert "| perturbed |  | 0.200 ± 0.010 |" in page
    assert "- perturbed, item-based: worse at ε = 1/3, 8." in page


def test_files_agree_and_say_that_they_are_not_private(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write(made(), folder)
    assert folder.stat().st_mode & 0o077 == 0
    told = json.loads((folder / "recommend.json").read_text())
    assert told["warning"] == NOT_PRIVATE
    with (folder / "recommend.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row.pop("warning") for row in rows} == {NOT_PRIVATE}
    as_text = [{k: "" if v is None else str(v) for k, v in q.items()} for q in told["qualities"]]
    assert rows == as_text
    assert (folder / "recommend.md").read_text().startswith(f"**{NOT_PRIVATE}**")
    for name in ("hit-rate", "ndcg", "aggregates"):
        drawing = ET.parse(folder / f"{name}.svg")
        texts = [node.text for node in drawing.iter() if node.tag.endswith("text")]
        assert "NOT PRIVATE: computed from the true records" in texts
        assert texts.count("ε of one item (larger: less private)") == 2
        assert ("popular list" in texts) == (name != "aggregates")
        assert set(DRAWN) <= set(texts) if name != "aggregates" else {*DRAWN[:2]} <= set(texts)
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_a_frame_has_a_row_for_each_number() -> None:
    frame = as_frame(made())
    assert len(frame) == len(made().qualities)
    assert set(frame.attrs) == {"warning", "facts", "aggregates"}


def test_nothing_is_replaced_and_nothing_half_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").mkdir()
    for path in (tmp_path / "taken", tmp_path / "no" / "such"):
        with pytest.raises(UsageError):
            check_folder(path)
    monkeypatch.setattr(writing, "pictures", lambda found: {"no/such": "<svg/>"})
    with pytest.raises(CrowdtallyError, match="cannot be written"):
        write(made(), tmp_path / "out")
    assert [one.name for one in tmp_path.iterdir()] == ["taken"]
