"""Tables, files and pictures of a trial that nobody ran."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.lab.methods import NOT_PRIVATE
from crowdtally_research.recommenders import writing
from crowdtally_research.recommenders.histories import DRAWN
from crowdtally_research.recommenders.running import Aggregates, Facts, Found, Quality
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
