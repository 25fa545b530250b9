"""Catalogues and records from files: ids meet whatever their types, and what is left out counts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.errors import InputError, UsageError
from crowdtally_research.recommenders.experiment import catalogue_of, read_visits

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
