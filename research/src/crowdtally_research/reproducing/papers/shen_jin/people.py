"""People and the films that they rated; made up where the files are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.records import Records
from crowdtally.person.catalogue import Catalogue, read_catalogue
from crowdtally_research.recommenders.experiment import read_visits
from crowdtally_research.reproducing.figure import Data

NAME = "movie-genres"
_SEED = 20160
_ITEMS, _CATEGORIES, _PEOPLE = 400, 12, 600


@dataclass(frozen=True, eq=False)
class People:
    """Who had which items of a public catalogue."""

    catalogue: Catalogue
    matrix: Any
    """A sparse matrix of ones: a row for each person."""

    @property
    def categories(self) -> NDArray[np.int64]:
        """1 where an item, a row, has a category, a column."""
        found = np.zeros((len(self.catalogue.items), len(self.catalogue.categories)), np.int64)
        for group in self.catalogue.groups:
            found[np.ix_(group.places, np.array(group.categories))] = 1
        return found

    def history(self, person: int) -> list[str | int]:
        items = self.catalogue.items
        return [items[place] for place in self.matrix[person].indices.tolist()]


def people_of(data: Data) -> People:
    """MovieLens 1M by genres, or made-up people."""
    if not data.is_real(NAME):
        return made_up()
    genres, ratings = data.files(NAME)
    catalogue = read_catalogue(str(genres), item="movie_id", category="genre")
    visits = read_visits(Records(str(ratings), "user_id", "movie_id"), catalogue)
    return People(catalogue, visits.matrix)


def made_up() -> People:
    """A catalogue of 400 items with 1 to 4 of 12 categories, and 600 people with tastes."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(_SEED)
    popular = 1 / np.arange(1, _CATEGORIES + 1)
    names = np.array([f"category {chr(ord('a') + one)}" for one in range(_CATEGORIES)])
    mapping = {
        item: rng.choice(
            names, rng.integers(1, 5), replace=False, p=popular / popular.sum()
        ).tolist()
        for item in range(1, _ITEMS + 1)
    }
    catalogue = Catalogue.of(mapping, item="movie_id")
    made = People(catalogue, None)
    likes = made.categories @ rng.gamma(0.5, 1.0, (_CATEGORIES, _PEOPLE))
    shares = (likes / likes.sum(axis=0)).T * rng.integers(20, 120, (_PEOPLE, 1))
    had = rng.random(shares.shape) < shares
    return People(catalogue, csr_matrix(had.astype(np.int8)))
