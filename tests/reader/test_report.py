"""A report: the facts of its release, and a new file or none."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.core.files import write_new
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.format.withdrawal import write_note
from crowdtally.reader.report import page as writing
from crowdtally.reader.report.charts import heat_figure, top_figure
from crowdtally.reader.report.facts import SCHEMA, Facts, facts_of
from crowdtally.reader.report.page import page
from crowdtally.web import pages
from kit.auto import adaptive, known_way
from kit.stored import stored

# ---- The facts of a report are those of the release, for every kind of it ------------------------


KINDS = [
    "sra-two-contexts", "sra-attributes", "user-per-row-weight", "pairs-filter", "discovered",
    "discovered-none", "dyadic-context", "dyadic-wide", "haar-items", "sketch-wide", "filter-one",
    "hpa", "priority-two", "choose-rank-sra",
]  # fmt: skip
"""One of each shape, method and form."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def auto(folder: Path) -> Facts:
    return ct.load(adaptive(folder, method=ct.Auto("recommend"))).report_facts()


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_release_has_a_report(name: str) -> None:
    release = ct.load(stored(name))
    facts = release.report_facts()
    told = json.loads(facts.to_json())
    assert told["schema"] == SCHEMA
    assert told["epsilon"] == release.metadata["guarantee"]["epsilon"]
    assert [one["name"] for one in told["tables"]] == [
        one["name"] for one in release.metadata["tables"]
    ]
    assert [one["name"] for one in told["levels"]] == ["guarantee", "undermining", "resting"]
    assert sum(Fraction(one.cost) for one in facts.spent.steps) == Fraction(facts.epsilon)
    assert facts.budget.after == release.metadata["charged"]["spent_after"]
    made = page(facts)
    assert "<script" not in made
    assert len(made) < 200_000


def test_sentences_are_those_of_describe() -> None:
    release = ct.load(stored("sra-one-context"))
    described = release.describe().to_dict()
    told = {
        one.name: list(one.lines)
        for level in release.report_facts().levels
        for one in level.sections
    }
    assert told["odds"] == described["odds"]
    assert told["unit"] == described["from_whom"]
    assert set(told["bounded"] + told["mechanism"]) <= set(described["protection"])
    told_off = told["public"] + told["not_covered"] + told["accuracy"]
    assert sorted(told_off) == sorted(described["not_covered"])
    assert set(told["known"]) <= set(described["what"])


def test_numbers_are_the_answers_of_the_release() -> None:
    release = ct.load(stored("sra-one-context"))
    facts = release.report_facts()
    assert facts.top == release.top(20)
    (spread,), (heat,) = facts.distributions, facts.heat_maps
    assert facts.whole == release.sum()
    for one in spread.values:
        asked = release.sum(**{spread.name: one.value})
        assert (one.estimate, one.noisy) == (asked.estimate, asked.value)
    assert heat.row_values == tuple(row.item for row in release.top(15))
    for item, cells in zip(heat.row_values, heat.cells, strict=True):
        for cell in cells:
            asked = release.sum(**{heat.rows: item, heat.columns: cell.value})
            assert cell.estimate == pytest.approx(asked.estimate)
            assert (cell.low, cell.high) == pytest.approx((asked.estimate_low, asked.estimate_high))


def test_a_heat_map_of_sums_where_cells_have_no_estimates() -> None:
    release = ct.load(stored("dyadic-context"))
    (heat,) = release.report_facts().heat_maps
    cell = heat.cells[0][1]
    asked = release.sum(**{heat.rows: heat.row_values[0], heat.columns: cell.value})
    assert (cell.estimate, cell.noisy) == (asked.estimate, asked.value)


def test_attributes_are_shown_one_by_the_other() -> None:
    release = ct.load(stored("sra-attributes"))
    facts = release.report_facts()
    assert facts.top is None
    assert [one.name for one in facts.distributions] == [
        one["name"] for one in release.metadata["domain"]["attributes"]
    ]
    (heat,) = facts.heat_maps
    assert (heat.rows, heat.columns) == tuple(one.name for one in facts.distributions[:2])
    assert facts.domain_cells == 2 * 17 * 3


def test_steps_of_auto_are_numbered_with_their_share_and_why(auto: Facts) -> None:
    steps = {one.name: one for one in auto.spent.steps}
    assert [one.place for one in auto.spent.steps] == list(range(1, len(steps) + 1))
    assert (steps["pilot"].share, steps["pilot"].cost) == (pytest.approx(0.07), "0.28")
    assert (steps["pilot_short"].share, steps["pilot_short"].cost) == (0, "0.28")
    assert sum(one.share for one in auto.spent.steps) == pytest.approx(1)
    assert "Together they spent all of ε 4." in auto.spent.words
    assert not [line for line in auto.spent.words if line.startswith("Step ")]
    assert "<td>the same</td>" in page(auto).replace(' class="number"', "")


def test_the_error_by_bounding_is_told_where_it_can_be_known(auto: Facts) -> None:
    said = {one.name: one.bounding for one in auto.tables}
    assert said["sizes"] == said["pilot_short"] == "none: nothing was cut"
    assert "scal" in said["items"]
    assert "scal" in said["total"]
    head = {one.name: one for one in known_way("long users").report_facts().tables}
    assert head["head"].bounding == "none: nothing was cut"
    named = {one.name: one for one in ct.load(stored("sra-items")).report_facts().tables}
    assert "cannot be known from this release" in named["items"].bounding
    rows = ct.load(stored("user-per-row")).report_facts()
    assert {one.bounding for one in rows.tables} == {"none: nothing was cut"}


def test_lists_in_contexts_alone() -> None:
    release = known_way("top in contexts")
    facts = release.report_facts()
    assert facts.top is None
    assert [dict(one.context) for one in facts.tops] == [{"sex": "f"}, {"sex": "m"}]
    assert facts.tops[1].top == release.top(10, sex="m")
    made = page(facts)
    assert "The largest items, sex = m" in made
    assert "no list to rank" not in made


def test_pairs_are_the_largest_of_the_table() -> None:
    release = ct.load(stored("pairs"))
    found = release.report_facts().pairs
    assert found is not None
    counts = sorted((row[2] for row in release.table("pairs").fetchall()), reverse=True)
    assert [one.count for one in found.rows] == counts[:10]
    assert all(one.above_floor == (one.count > found.floor) for one in found.rows)


def test_labels_stand_beside_items() -> None:
    release = ct.load(stored("sra-items"))
    first = release.top(1)[0].item
    facts = facts_of(release.view, {first: "<b>The First</b>"})
    assert facts.labels == {str(first): "<b>The First</b>"}
    assert f"&lt;b&gt;The First&lt;/b&gt; ({first})" in page(facts)


def test_a_withdrawn_release_says_so_before_all_else(tmp_path: Path) -> None:
    copy = shutil.copytree(stored("sra-items"), tmp_path / "release")
    evil = "<script>alert(1)</script>\u202e"
    write_note(copy, ct.load(copy).metadata["id"], "2026-11-17T08:00:00+00:00", evil)
    facts = ct.load(copy).report_facts()
    assert facts.withdrawn[0].startswith("This release was withdrawn on 2026-11-17")
    made = page(facts)
    body = made.partition("<body>")[2]
    assert body.index("Withdrawn.") < body.index("<h1>")
    assert "<script" not in made
    assert "\u202e" not in made
    assert "Withdrawn." not in page(ct.load(stored("sra-items")).report_facts())


def test_a_list_of_mere_noise_says_so_first() -> None:
    found = ct.load(stored("sra-one-context")).report_facts()
    assert found.top is not None
    lost = replace(found.top, rows=tuple(replace(one, above_floor=False) for one in found.top))
    noise, some = top_figure(lost, str), top_figure(found.top, str)
    assert noise is not None
    assert some is not None
    assert "None of these items is told apart from noise" in noise.warning
    assert some.warning == ""
    assert any(one.above_floor for one in found.top)
    made = page(replace(found, top=lost))
    assert made.index(noise.warning) < made.index(">Dot: what is believed.")
    assert "None of these items" not in page(found)


def test_noisy_counts_far_from_estimates_are_explained(auto: Facts) -> None:
    assert auto.top is not None
    row = replace(auto.top[0], covers="the true counts", estimate_low=50.0, estimate_high=70.0)
    for count, told in ((60.0, False), (20.0, True), (90.0, True), (None, False)):
        figure = top_figure(replace(auto.top, rows=(replace(row, count=count),)), str)
        assert figure is not None
        assert ("bounding kept of each user" in figure.chart.words) is told, count
        assert ("Upright stroke" in figure.chart.words) is (count is not None)


def test_cells_that_add_up_to_less_than_their_items_are_explained() -> None:
    facts = ct.load(stored("sra-one-context")).report_facts()
    heat, top = facts.heat_maps[0], facts.top
    assert top is not None
    shy = replace(
        heat,
        cells=tuple(tuple(replace(one, estimate=0.1) for one in row) for row in heat.cells),
    )
    assert "add up to less" in heat_figure(shy, "records", 0, str, top).chart.words
    assert "add up to less" not in heat_figure(heat, "records", 0, str, top).chart.words


def test_a_release_of_nothing_names_no_sums() -> None:
    made = page(ct.load(stored("discovered-none")).report_facts())
    assert "No item passed the threshold" in made
    assert "ask it for sums" not in made
    assert "0 combinations" not in made
    assert "Where the public lists come from" not in made


def test_what_a_table_of_short_rows_costs_is_not_counted_twice(auto: Facts) -> None:
    words = "costs nothing beside that of the others"
    assert words in page(auto)
    assert words not in page(ct.load(stored("sra-one-context")).report_facts())


def test_what_only_the_curator_knows_is_asked_by_the_unit() -> None:
    for name, words in (("user-per-row", "nobody is in several rows"), ("pairs", "tells users")):
        (lines,) = (
            section.lines
            for level in ct.load(stored(name)).report_facts().levels
            for section in level.sections
            if section.name == "to_say"
        )
        assert [one for one in lines if words in one], name


# ---- A report is a new file, whole or not at all -------------------------------------------------


@pytest.fixture(scope="module")
def release() -> ct.Release:
    return ct.load(stored("sra-one-context"))


def test_the_ending_says_as_what(release: ct.Release, tmp_path: Path) -> None:
    page = release.report(tmp_path / "report.html")
    assert page.read_text("utf-8").startswith("<!doctype html>")
    told = json.loads(release.report(str(tmp_path / "REPORT.JSON")).read_text("utf-8"))
    assert told == json.loads(release.report_facts().to_json())
    assert sorted(one.name for one in tmp_path.iterdir()) == ["REPORT.JSON", "report.html"]


def test_nothing_is_replaced(release: ct.Release, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    (tmp_path / "link.html").symlink_to(tmp_path / "nowhere")
    for name in ("report.html", "link.html"):
        with pytest.raises(UsageError, match="is never replaced"):
            release.report(tmp_path / name)
    assert (tmp_path / "report.html").read_text() == "mine"
    with pytest.raises(UsageError, match="is never replaced"):
        write_new(tmp_path / "report.html", b"too late")  # it came while the report was made
    assert (tmp_path / "report.html").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [("report", "Type -o report.html"), ("a.docx", "'a.docx'"), ("no/report.html", "create it")],
)
def test_what_cannot_be_written(release: ct.Release, tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        release.report(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing(
    release: ct.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("crowdtally.core.files.flush", full)
    with pytest.raises(CrowdtallyError, match=r"No space left on device\. Check"):
        release.report(tmp_path / "report.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("missing", "name", "extra"),
    [
        ("weasyprint", "a.pdf", "pdf"),
        ("jinja2", "a.html", "report"),
        ("vl_convert", "a.html", "report"),
    ],
)
def test_what_is_not_installed_is_named(
    release: ct.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, name: str,
    extra: str,
) -> None:  # fmt: skip
    pages._environment.cache_clear()  # what an earlier test compiled would do without
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=rf"pip install 'crowdtally\[{extra}\]'"):
        release.report(tmp_path / name)
    assert not list(tmp_path.iterdir())
    release.report(tmp_path / "a.json")  # needs none of them


def test_a_pdf_is_made_without_fetching_anything(tmp_path: Path) -> None:
    pytest.importorskip("weasyprint")
    made = ct.load(stored("sra-items")).report(tmp_path / "report.pdf").read_bytes()
    assert made.startswith(b"%PDF-")
    assert len(made) < 500_000
    with pytest.raises(ValueError, match="nothing from outside"):
        writing._refuse("file:///etc/hostname")
