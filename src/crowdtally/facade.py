"""The public verbs: the only place, with the command line, that knows curator and reader."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Unpack

from crowdtally.budget import Ledger
from crowdtally.curator.dataset import dataset_of
from crowdtally.curator.dropping import Tell
from crowdtally.curator.engine.located import Sources
from crowdtally.curator.engine.starting import starter
from crowdtally.curator.planning.accuracy import LARGEST, Target, check_either
from crowdtally.curator.planning.plan import Plan, make_plan
from crowdtally.curator.publish import Outside, publish
from crowdtally.curator.request.declaring import declare
from crowdtally.curator.request.options import ReleaseOptions, with_options
from crowdtally.curator.request.request import make_request
from crowdtally.curator.request.wording import python_words
from crowdtally.noise.draws import SystemDraws
from crowdtally.published import Published, check_target, temporary_target
from crowdtally.reader.release import Release
from crowdtally.values.domain import Domain
from crowdtally.values.rational import Number
from crowdtally.values.records import Records

_logger = logging.getLogger("crowdtally")


def read(
    source: object,
    *,
    user: str | None = None,
    item: str | None = None,
    contexts: Mapping[str, str | None] | Iterable[str] = (),
    record_id: str | None = None,
    joins: Iterable[tuple[object, str]] = (),
    attributes: Iterable[str] = (),
    user_per_row: bool = False,
    weight: str | None = None,
) -> Records:
    """Declare records: where they are and which column plays which role. Nothing is read yet.

    Args:
        source: a path, glob, ``file.duckdb#table`` or ``URL#table``; or a pandas, Polars or
            Spark DataFrame, pyarrow Table, DuckDB relation or Ibis table.
        user: the column that says whose record it is; all of a user's records are protected.
        item: the column that is counted.
        contexts: columns to count items in, or a mapping from a name to a row-wise SQL expression,
            such as ``{"day": "dayname(to_timestamp(timestamp))"}``.
        record_id: a stored column that tells a user's records apart (quicker than without).
        joins: pairs of a source and the key column that it shares with the records.
        attributes: instead of ``item``: the columns, or names of ``contexts``, of one joint
            table.
        user_per_row: instead of ``user``: each row is one person. The release says so.
        weight: with ``user_per_row``: a column that says how many persons a row stands for.
    """
    with python_words():
        return declare(
            source, user=user, item=item, contexts=contexts, record_id=record_id, joins=joins,
            attributes=attributes, user_per_row=user_per_row, weight=weight,
        )  # fmt: skip


@with_options
def release(
    records: Records,
    domain: Domain | None = None,
    *,
    epsilon: Number,
    delta: Number = 0,
    split: Mapping[str, Number] | None = None,
    strict: bool = False,
    output: str | os.PathLike[str] | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    engine: str | None = None,
    engine_settings: Mapping[str, str] | None = None,
    **options: Unpack[ReleaseOptions],
) -> Release:
    """Make a differentially private release of item counts, and of item-in-context counts.

    Args:
        records: from :func:`read`.
        domain: the public items and context values; None with ``discover_items=True``.
        epsilon: the whole cost, exact: ``"0.1"``, ``"1/3"``, an int, a Fraction, or a float, which
            means its shortest decimal.
        delta: 0, unless items are discovered.
        split: each part's share of ε, such as ``{"items": "0.5", "edges": "0.5"}``.
        strict: stop, before anything is charged, where a row would be dropped.
        output: the folder to write; without one the release lives as long as the object, and
            :meth:`Release.save` keeps it.
        ledger: where to charge: a :class:`Ledger`, a path or URL; by default $CROWDTALLY_LEDGER or
            the user's own.
        dataset: the name to charge under; by default the source's resolved name.
        engine: what counts: ``"duckdb"``, on this machine (the default); ``"spark"``, the running
            session or else one on this machine; or Spark's master or Connect server
            (``"spark://…"``, ``"sc://…"``). A Spark DataFrame is counted where it lives.
        engine_settings: Spark's, such as ``{"spark.executor.memory": "4g"}``.
        options: how users are bounded, what is counted and in which form it is published, each a
            keyword parameter: see :class:`ReleaseOptions`.
    """
    with python_words():
        request = make_request(
            records, domain, epsilon=epsilon, delta=delta, split=split, strict=strict, **options
        )
        outside, held = surroundings(
            request.sources, output=output, ledger=ledger, dataset=dataset, tell=_logger.warning,
            engine=engine, engine_settings=engine_settings,
        )  # fmt: skip
        made = publish(request, outside)
    return Release(Published(made.folder, made.metadata, held))


def surroundings(
    sources: Sources,
    *,
    output: str | os.PathLike[str] | None,
    ledger: Ledger | str | os.PathLike[str] | None,
    dataset: str | None,
    tell: Tell,
    engine: str | None = None,
    engine_settings: Mapping[str, str] | None = None,
) -> tuple[Outside, object]:
    """What is around a release, and what keeps its temporary folder alive."""
    start_engine = starter(engine, engine_settings or {}, sources.every)
    target, held = (Path(output), None) if output else temporary_target()
    check_target(target)
    books = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    charged = dataset_of(sources, dataset, books.names())
    return Outside(charged, target, books, SystemDraws(), tell, start_engine), held


@with_options
def plan(
    records: Records,
    domain: Domain | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    split: Mapping[str, Number] | None = None,
    guess_users: int | None = None,
    guess_records: int | None = None,
    query_cells: int | None = None,
    half_width: Number | None = None,
    accuracy_of: str | None = None,
    **options: Unpack[ReleaseOptions],
) -> Plan:
    """Noise, size and cost of a release before anything is spent; reads no record.

    Takes what :func:`release` takes, and public guesses of the number of users and of records; with
    ``query_cells``, the number of cells that a question will sum over, it advises on publishing.
    Instead of ``epsilon``, ``half_width=N`` finds the smallest ε whose 95% noise interval is at
    most ±N, for ``accuracy_of``: ``"item"``, one item's count (the default); ``"cell"``, one cell
    of the contexts' table; or ``"sum:R"``, a sum of R cells of it.
    """
    with python_words():
        check_either(epsilon, half_width, accuracy_of)
        target = None if half_width is None else Target.of(half_width, accuracy_of)
        request = make_request(
            records, domain, epsilon=LARGEST if epsilon is None else epsilon, delta=delta,
            split=split, **options,
        )  # fmt: skip
        return make_plan(
            request, guess_users=guess_users, guess_records=guess_records,
            query_cells=query_cells, target=target,
        )  # fmt: skip
