"""A mistyped output folder is told, and hides no other mistake in the same command."""

from __future__ import annotations

import pytest

from kit.town import Town

USAGE = 2
MISTAKES = {
    "epsilon": ({"epsilon": "-1"}, "epsilon"),
    "the bound of records": ({"max_records": "0"}, "--max-records"),
    "the rule of bounding": ({"bounding": "sar"}, "'sar'"),
    "two options at odds": ({"bounding": "sra", "scalings": "2"}, "scalings"),
    "the kind of publishing": ({"publishing": "filtre"}, "'filtre'"),
    "a size without its publishing": ({"publishing": "dense", "size": "10"}, "size"),
    "no items": ({"items": None}, "--items"),
}


@pytest.mark.parametrize("folder", ["nowhere/out", "taken"])
def test_the_folder_alone(town: Town, folder: str) -> None:
    (town.folder / "taken").mkdir()
    words = "'nowhere' is not a folder" if folder == "nowhere/out" else "'taken' exists"
    town.refuses(town.arguments(output=folder), USAGE, words)


@pytest.mark.parametrize("folder", ["nowhere/out", "taken"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistyped_folder_hides_no_other_mistake(town: Town, folder: str, mistake: str) -> None:
    (town.folder / "taken").mkdir()
    options, words = MISTAKES[mistake]
    town.refuses(town.arguments(**options), USAGE, words)
    town.refuses(town.arguments(**options, output=folder), USAGE, words)


def test_the_folder_is_looked_at_before_the_records(town: Town) -> None:
    """Nothing is read for a release that could not be written."""
    town.write("broken.csv", 'user_id,place\n"Zaphod-1,bar\n')
    town.refuses(town.arguments("broken.csv", output="nowhere/out"), USAGE, "is not a folder")
