"""The methods of a comparison, and what they write."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError
from crowdtally.lab.methods import CHOSEN_BY_LOOKING, NOT_PRIVATE, Method, check_apart

# ---- Methods by name: one spelling each, and every misspelling refused ---------------------------


def test_every_method_parses_as_it_prints() -> None:
    for bounding in BOUNDINGS:
        for choice in (None, *CHOICES):
            for transform in TRANSFORMS:
                for publishing in PUBLISHINGS:
                    method = Method(bounding, choice, transform, publishing)
                    assert Method.of(str(method)) == method


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("sra", Method("sra")),
        (" hpa ", Method("hpa")),
        ("sra+rank", Method("sra", "rank")),
        ("sra/filter", Method("sra", publishing="filter")),
        ("sra/dyadic", Method("sra", transform="dyadic")),
        ("dpsense-s+dpsense/dyadic/filter", Method("dpsense-s", "dpsense", "dyadic", "filter")),
        ("sra/none/dense", Method("sra")),
    ],
)
def test_a_name(name: str, method: Method) -> None:
    assert Method.of(name) == method


def test_what_a_release_is_asked_for() -> None:
    fields = {"max_records": 3, "cap": 2, "size": 7, "columns": "day", "popularity_records": 9}
    assert Method.of("dpsense+rank/haar/priority").options(fields) == {
        "method": ct.DPSense(3, cap=2, choose="rank"), "summary": ct.Priority(7),
        "transform": ct.Haar("day"),
    }  # fmt: skip
    assert Method.of("hpa").options(fields) == {"method": ct.HPA(3, popularity_records=9)}
    with pytest.raises(UsageError, match="declared has no private choice of its bound"):
        Method.of("declared+rank").options(fields)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sar", "unknown --method 'sar'"),
        ("", "unknown --method ''"),
        ("sra+", "unknown choose ''"),
        ("sra+rnak", "unknown choose 'rnak'"),
        ("sra/fliter", "has the form 'fliter'"),
        ("sra/filter/dyadic", "has the form 'dyadic'"),
        ("sra/dyadic/haar", "has the form 'haar'"),
        ("sra/filter/priority", "has the form 'priority'"),
        ("sra/dyadic/filter/filter", "has the form 'filter'"),
        ("sra/", "has the form ''"),
    ],
)
def test_a_misspelled_name_is_refused(name: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        Method.of(name)
    assert words in str(refused.value)
    assert repr(name) in str(refused.value)


# ---- Nothing of the lab is written where a release is --------------------------------------------


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "release.json").write_text("{}")
    return folder


@pytest.mark.parametrize("inside", [".", "page.html", "lab/deep/er", "../out/x"])
def test_a_release_folder_is_refused(release: Path, inside: str) -> None:
    with pytest.raises(UsageError, match="what the lab makes is not private") as refused:
        check_apart(release / inside)
    assert "give a place outside of releases" in str(refused.value)


def test_a_relative_place_inside_a_release_is_refused(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(release)
    for target in (Path("."), Path("comparison"), Path("../out/comparison")):
        with pytest.raises(UsageError):
            check_apart(target)
    check_apart(Path("../beside"))


def test_a_link_into_a_release_is_refused(release: Path, tmp_path: Path) -> None:
    link = tmp_path / "innocent"
    link.symlink_to(release, target_is_directory=True)
    for target in (link, link / "comparison"):
        with pytest.raises(UsageError):
            check_apart(target)
    inner = release / "sub"
    inner.mkdir()
    deeper = tmp_path / "deeper"
    deeper.symlink_to(inner, target_is_directory=True)
    with pytest.raises(UsageError):
        check_apart(deeper / "comparison")


def test_other_places_are_fine(release: Path, tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "comparison", release.with_name("out2")):
        check_apart(target)


def test_the_words_forbid_showing_it() -> None:
    assert NOT_PRIVATE.startswith("NOT PRIVATE")
    assert "Do not publish it" in NOT_PRIVATE
    assert "no epsilon covers" in CHOSEN_BY_LOOKING
