"""Nobody is both learned from and recommended to, and a history has nothing of what is hidden."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, vstack

from crowdtally.errors import InputError
from crowdtally_research.recommenders.histories import split
from kit import tastes


def numbered(people: int, length: int = 6) -> csr_matrix:
    """Person n has the items n·length and those after it: a row says whose it is."""
    rows = np.repeat(np.arange(people), length)
    return csr_matrix((np.ones(len(rows), np.float32), (rows, np.arange(len(rows)))))


def test_everybody_is_public_or_held_out_and_nobody_both() -> None:
    made = split(numbered(50), 20, 2, seed=1)
    public = {row.indices[0] // 6 for row in made.public}
    held_out = {row.indices[0] // 6 for row in made.histories}
    assert (len(public), len(held_out), made.people) == (30, 20, 20)
    assert public | held_out == set(range(50))


def test_history_and_hidden_items_are_the_persons_and_do_not_overlap() -> None:
    made = split(numbered(50), 20, 2, seed=1)
    assert made.histories.multiply(made.hidden).nnz == 0
    assert (np.diff(made.hidden.indptr) == 2).all()
    for row in made.histories + made.hidden:
        (whose,) = set(row.indices // 6)
        assert sorted(row.indices) == list(range(whose * 6, whose * 6 + 6))
        assert set(row.data) == {1.0}


def test_the_seed_decides_who_and_what() -> None:
    visits = tastes.people(60)
    one, again, other = (split(visits, 20, 3, seed) for seed in (1, 1, 2))
    assert (one.hidden != again.hidden).nnz == (one.public != again.public).nnz == 0
    assert (one.hidden != other.hidden).nnz


def test_who_has_too_little_is_learned_from_and_not_held_out() -> None:
    few = csr_matrix((np.ones(3, np.float32), ([0, 0, 1], [0, 1, 2])), shape=(3, 120))
    made = split(vstack([few, numbered(20)]).tocsr(), 10, 2, seed=1)
    assert (np.diff(made.histories.indptr) == 4).all()
    assert sorted(np.diff(made.public.indptr))[:2] == [1, 2]  # and nobody without an item
    assert made.public.shape[0] == 12


@pytest.mark.parametrize(("people", "hidden", "words"), [
    (41, 2, "--people 40 or fewer"), (51, 2, "--people 40 or fewer"), (5, 4, "more people"),
])  # fmt: skip
def test_too_few_people_are_refused_with_what_would_do(
    people: int, hidden: int, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        split(numbered(50), people, hidden, seed=1)
