"""Read records and catalogue, check the question, and answer it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from crowdtally.core.domain import Axis, Domain
from crowdtally.core.numbers import whole_number
from crowdtally.core.privacy import Epsilon
from crowdtally.core.records import Records
from crowdtally.core.row_files import file_and_column, opened
from crowdtally.curator.counting.bounded import dropped_in
from crowdtally.curator.failures import reading
from crowdtally.curator.request.wording import python_words
from crowdtally.errors import InputError, UsageError, check_libraries, did_you_mean
from crowdtally.lab.comparison.plan import epsilons_of
from crowdtally.noise.draws import Draws
from crowdtally.person.catalogue import Catalogue, read_catalogue
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.prepare import prepare
from crowdtally_research.recommenders.histories import Histories, Stock, split
from crowdtally_research.recommenders.models import Factors, ItemBased, Popular
from crowdtally_research.recommenders.running import Facts, Found, Progress, Trial, run
from crowdtally_research.recommenders.writing import as_frame, check_folder, write

# Files → the public catalogue, and who had which of its items.


@dataclass(frozen=True, eq=False)
class Visits:
    """Who had which items of the catalogue; not private."""

    matrix: Any
    """A sparse matrix of ones: a row for each person, a column for each item."""
    rows: int
    left_out: int
    """Rows without a person, or with an item outside the catalogue."""


def catalogue_of(
    text: str, item: str, category: str | None = None, separator: str | None = None
) -> Catalogue:
    """The catalogue that ``FILE[:COLUMN]`` names.

    Args:
        text: the file, and perhaps the column of its items.
        item: the column of the items where none is named: as the records call it.
        category: the column of the categories; None for the only other one.
        separator: what stands between categories, where a row has all of an item's.
    """
    file, named = file_and_column(text)
    with opened(Path(file)) as table:
        names = table.columns
    column = named or item
    if column not in names:
        raise UsageError(
            f"the catalogue {file!r} has no column {column!r}: say which one holds the items, as "
            f"--catalogue FILE:COLUMN. {did_you_mean(column, names)}"
        )
    category = category or _only_other(names, column, file)
    return read_catalogue(file, item=column, category=category, separator=separator)


def read_visits(records: Records, catalogue: Catalogue) -> Visits:
    """Each person's items, each once however often it was met.

    Args:
        records: the declaration, with a user and an item.
        catalogue: the public items; others are left out and counted.
    """
    from scipy.sparse import csr_matrix

    if records.user is None or records.item is None:
        raise UsageError("say whose record it is, and of what: --user COL --item COL.")
    # Files of catalogues have texts: the list alone decides whether ids are integers.
    axis = Axis.plainest(records.item, list(map(str, catalogue.items)))
    domain = Domain(axis, item=records.item)
    with reading(), DuckDBEngine() as engine:
        rows = prepare(engine, records, domain).rows
        dropped = dropped_in(engine, rows)
        inside = rows.filter(rows.user.notnull(), rows.cell.notnull())
        found = engine.columns(inside.select("user", "cell").distinct())
    users, codes = np.unique(found["user"], return_inverse=True)
    if not len(users):
        raise InputError(
            f"none of the {dropped.rows:,} rows has a person and an item of the catalogue: check "
            "that --item and the catalogue's column hold the same ids."
        )
    entries = (np.ones(len(codes), dtype=np.float32), (codes, found["cell"].astype(np.int64)))
    matrix = csr_matrix(entries, shape=(len(users), len(catalogue.items)))
    return Visits(matrix, dropped.rows, dropped.without_user + dropped.outside)


def _only_other(columns: Sequence[str], item: str, file: str) -> str:
    others = [name for name in columns if name != item]
    if len(others) == 1:
        return others[0]
    raise UsageError(
        f"the catalogue {file!r} has {len(others)} columns beside {item!r}: say which one holds "
        f"the categories, --category COLUMN. There are: {', '.join(others) or 'none'}."
    )


# The question, checked before anything is read, and its answer. Not private.

USUAL_EPSILONS = "0.1,0.3,1,2,4,8"
_MOST = 1_000_000
_LARGEST = 20_000_000
"""People times items whose weights and scores are held at once, in some ten arrays."""


@dataclass(frozen=True)
class Question:
    epsilons: tuple[Epsilon, ...]
    """Each ε of one item."""
    people: int = 500
    """How many people are held out."""
    hidden: int = 5
    """How many items of each are hidden."""
    length: int = 10
    draws: int = 20
    """How often each history is perturbed at each ε."""
    seed: int = 1
    """Decides who is held out and what is hidden, and the random histories; not the noise."""

    @classmethod
    def of(cls, epsilon: object = USUAL_EPSILONS, **numbers: object) -> Question:
        """From what a person gave; None means the usual number."""
        least = {"people": 2, "hidden": 1, "length": 1, "draws": 1, "seed": 0}
        given = {name: number for name, number in numbers.items() if number is not None}
        checked = {
            name: whole_number(number, f"--{name}", least[name], _MOST)
            for name, number in given.items()
        }
        return cls(epsilons_of(epsilon), **checked)


def check_implicit() -> None:
    """Refuse, with what to install, where the libraries of the lab or ``implicit`` are missing."""
    check_libraries()
    if find_spec("implicit") is None:
        raise UsageError(
            "the recommenders are those of the package implicit, which is not installed: "
            "pip install 'crowdtally-research[recommenders]'."
        )


def recommend(
    records: Records,
    catalogue: Catalogue | Mapping[Any, Iterable[str]],
    *,
    epsilon: object = USUAL_EPSILONS,
    people: int = 500,
    hidden: int = 5,
    length: int = 10,
    draws: int = 20,
    seed: int = 1,
    output: str | os.PathLike[str] | None = None,
) -> Any:
    """Does a perturbed history still recommend? A pandas frame. Not private; see ``frame.attrs``.

    Args:
        records: from :func:`crowdtally.read`, with a user and an item.
        catalogue: the public items and the categories of each.
        epsilon: what one item of a history may lose, or several: ``"0.1,1"``, ``[0.1, 1]``.
        people: how many people are held out; recommenders learn from all others.
        hidden: how many items of each of them are hidden.
        length: of the lists.
        draws: how often each history is perturbed at each ε.
        seed: decides who is held out and what is hidden; the noise is drawn anew.
        output: a new folder for tables and pictures.

    Returns:
        A frame with a row for each recommender, history, ε and metric. Its ``attrs`` have the
        ``warning``, the ``aggregates`` and the ``facts``.
    """
    with python_words():
        check_implicit()
        question = Question.of(
            epsilon, people=people, hidden=hidden, length=length, draws=draws, seed=seed
        )
        if output is not None:
            check_folder(Path(output))
        known = catalogue if isinstance(catalogue, Catalogue) else Catalogue.of(catalogue)
        visits = read_visits(records, known)
        found = tried(visits, known, question, called="crowdtally_research.recommend(…)")
        if output is not None:
            write(found, Path(output))
    return as_frame(found)


def tried(
    visits: Visits,
    catalogue: Catalogue,
    question: Question,
    *,
    called: str,
    stage: Callable[[str], None] = lambda words: None,
    progress: Progress = lambda done, total: None,
    draws: Draws | None = None,
) -> Found:
    """Learn from the public people, and recommend to the others.

    Args:
        visits: who had what.
        catalogue: of which items.
        question: what is tried.
        called: what was typed.
        stage: is told what is being done.
        progress: is told how many of how many draws are done.
        draws: where the noise comes from; the process's own unless another is given.
    """
    _check_size(question, len(catalogue.items))
    stage("learning from the public people")
    apart = split(visits.matrix, question.people, question.hidden, question.seed)
    histories, popular = Histories(catalogue, apart), Popular(apart.public)
    models = (ItemBased(apart.public), Factors(apart.public, question.seed))
    trial = Trial(histories, popular, models, question.length)
    qualities, aggregates = run(
        trial, question.epsilons, question.draws, question.seed, draws or Stock(), progress
    )
    facts = Facts(
        command=called,
        items=len(catalogue.items),
        categories=len(catalogue.categories),
        public=int(apart.public.shape[0]),
        people=apart.people,
        mean_history=float(histories.had.sum(axis=1).mean()),
        hidden=question.hidden,
        length=question.length,
        draws=question.draws,
        seed=question.seed,
        rows=visits.rows,
        left_out=visits.left_out,
    )
    return Found(qualities, aggregates, facts)


def _check_size(question: Question, items: int) -> None:
    if question.length > items:
        raise UsageError(
            f"--length {question.length} is longer than the catalogue's {items} items: give a "
            "smaller one."
        )
    if question.people * items > _LARGEST:
        raise UsageError(
            f"--people {question.people} with {items:,} items of the catalogue would not fit the "
            f"memory: give {max(_LARGEST // items, 2)} people or fewer, or a smaller catalogue."
        )
