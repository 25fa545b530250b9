"""``Release``: a published folder, with a method for every question; ``ct.load`` opens one."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from crowdtally import format
from crowdtally.core.display import one_line, paragraph, table
from crowdtally.core.numbers import show
from crowdtally.core.privacy import in_words
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.format import Published, WithdrawalNote, tables
from crowdtally.reader.answers.answer import AnswerList
from crowdtally.reader.answers.catalogue import read_labels
from crowdtally.reader.answers.columns import Labels
from crowdtally.reader.conditions import all_of
from crowdtally.reader.describe.description import Description
from crowdtally.reader.describe.description import describe as _describe
from crowdtally.reader.estimates.estimator import ReleaseView
from crowdtally.reader.export import SITE, Export
from crowdtally.reader.questions.recommend import recommend as _recommend
from crowdtally.reader.questions.recommendations import Recommendations
from crowdtally.reader.questions.sum import Sum, range_of, stated_by, sum_over
from crowdtally.reader.questions.top import top as _top
from crowdtally.reader.questions.top_list import TopList

if TYPE_CHECKING:
    from crowdtally.reader.page_parts import Source
    from crowdtally.reader.report.facts import Facts


_HEADS = ("table", "columns", "cells", "rows", "ε", "noise, std", "noise interval")


def release_table(published: Published) -> str:
    """What is promised, and what each table holds; first of all, that it was withdrawn."""
    promised, tables = published.guarantee, published.tables
    delta = f", δ {show(promised.delta)}" if promised.delta else ""
    rows = (
        (
            one.name,
            " × ".join(one.axes),
            f"{one.cells:,}",
            f"{one.published_cells:,}",
            in_words(one.price),
            f"{one.noise_std:.4g}",
            f"±{one.interval_half_width:.6g}",
        )
        for one in tables
    )
    caption = f"Release: ε {show(promised.epsilon)}{delta}, counts of {published.counted}"
    made = table(caption, _HEADS, rows, total=len(tables), right=_HEADS[2:])
    asked = "Ask it: .top(10), .sum(…), .table(…); .describe() says in words what it is."
    note = published.withdrawn
    first = "" if note is None else paragraph(f"This release was {note}")
    return first + made + paragraph(published.promise) + paragraph(asked)


_List = TypeVar("_List", bound=AnswerList[Any])


class Release:
    """A differentially private release. Asking it costs nothing: all of it is public."""

    def __init__(self, published: Published) -> None:
        self._published = published
        self.view = ReleaseView(published)
        self._labels: Labels | None = None

    @property
    def metadata(self) -> Mapping[str, Any]:
        """``release.json``: guarantee, method, noise, domain, charge, versions."""
        return self._published.metadata

    @property
    def folder(self) -> Path:
        """Where the release lies."""
        return self._published.folder

    @property
    def withdrawn(self) -> WithdrawalNote | None:
        """When and why it was called back (``.time``, ``.reason``); None if it was not.

        A note that is damaged has a ``.damage`` instead.
        """
        return self._published.withdrawn

    def top(self, k: int = 10, /, *, raw: object = False, **context: object) -> TopList:
        """The k items with the largest estimated counts, overall or in a context.

        ``release.top(10, day="Monday")`` asks in one context; contexts not named are summed over.
        Noisy counts stand beside the estimates; with ``raw=True`` they alone decide.
        """
        if not isinstance(raw, bool):  # a context has that name
            found = _top(self.view, k, {**context, "raw": raw})
        else:
            found = _top(self.view, k, context, raw=raw)
        return self._labelled(found)

    def recommend(
        self,
        k: int = 10,
        /,
        *,
        by: str = "popular",
        without: object = (),
        item: object = None,
        raw: bool = False,
        context: Mapping[str, object] | None = None,
        **contexts: object,
    ) -> Recommendations:
        """The k items to recommend: overall, in some contexts, or beside another item.

        ``release.recommend(5, day=["Saturday", "Sunday"])`` is about the weekend; contexts not
        named are summed over.

        Args:
            k: how many.
            by: ``popular`` ranks by how many have an item there, ``special`` by how much larger
                its share is there than overall.
            without: an item, or a list of items, to leave out.
            item: instead of contexts: the items that users of this one also used, from the
                release's pairs; ``special`` then ranks by lift.
            raw: whether noisy counts alone decide.
            context: contexts by name, where a name cannot be typed as a parameter.
            contexts: the value, or list of values, of each context.
        """
        both = set(context or {}) & set(contexts)
        if both:
            raise UsageError(f"the context {min(both)!r} is given twice: give it once.")
        named = {**(context or {}), **contexts}
        found = _recommend(self.view, k, by, named, without=without, like=item, raw=raw)
        return self._labelled(found)

    def sum(self, where: str | None = None, **equals: object) -> Sum:
        """The sum over the cells that satisfy a condition: an estimate, and the noisy sum.

        Args:
            where: a condition such as ``"age between 30 and 40 and sex = 'F'"``. It is parsed and
                looked up in the public lists, never run; ``<`` and its like go by their order.
            equals: columns and the value, or list of values, that each shall have.

        Without either: the sum over all cells.
        """
        return sum_over(self.view, stated_by(self.view, where, equals, self._labels))

    def point(self, **equals: object) -> Sum:
        """The count of one cell: every column of its table has a value."""
        answer = self.sum(None, **equals)
        if answer.cells != 1:
            raise UsageError(
                f"a point is one cell, and these values leave {answer.cells} cells of the table "
                f"{answer.table!r}: give a value for each of its columns, or use sum."
            )
        return answer

    def prefix(self, column: str, last: object, /, **equals: object) -> Sum:
        """The sum from the first value of a column's list to ``last``, which is included."""
        return self.range(column, None, last, **equals)

    def range(self, column: str, first: object, last: object, /, **equals: object) -> Sum:
        """The sum from ``first`` to ``last``, both included, in the order of the column's list.

        ``release.range("age", 30, 40, sex="F")``.
        """
        ends = range_of(self.view, column, first, last)
        others = stated_by(self.view, None, equals, self._labels)
        return sum_over(self.view, all_of([ends, others]))

    def table(self, name: str = "items") -> Any:
        """A whole table as a DuckDB relation, in the order of the public lists.

        ``release.table("items").df()`` is a pandas frame, ``.pl()`` a Polars one,
        ``.to_arrow_table()`` a pyarrow table, ``.fetchall()`` plain Python.
        """
        table = self._published.table(name)
        if table is None:
            known = [one.name for one in self._published.tables]
            raise UsageError(f"this release has no table {name!r}. {did_you_mean(name, known)}")
        return tables.relation(self._published.path(table))

    def with_labels(
        self, labels: str | os.PathLike[str] | Mapping[Any, str | None] | Labels
    ) -> Release:
        """The same release, whose answers carry what a public catalogue says about items.

        Lists have ``label``, and ``category`` where there are categories; sums understand both in
        conditions, such as ``category = 'Comedy'``.

        Args:
            labels: ``"films.csv:title,genre"``: a file (CSV, Parquet or JSON lines) and its columns
                of labels and, perhaps, categories. Or a dictionary of labels by item. The file's
                items stand in the column that is called as the release's, else in the first.

        Raises:
            InputError: it cannot be read, misses items of the release, or has one twice.
        """
        if not self._published.domain.has_items:
            raise UsageError("this release is a table of attributes: no items, and no labels.")
        item = next(iter(self.view.by_name.values()))
        items = item.axis.values.tolist()
        if isinstance(labels, Labels | Mapping):
            known = labels if isinstance(labels, Labels) else Labels.of(labels)
            known.refuse_missing(items)
        else:
            known = read_labels(labels, item.name, item.axis.kind, items)
        labelled = copy.copy(self)
        labelled._labels = known
        return labelled

    def describe(self) -> Description:
        """The release in plain words: what, from whom, how protected, and what is not covered."""
        return _describe(self._published)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one printable page about the release: a new file, ``.html``, ``.json`` or ``.pdf``.

        What is promised and to whom, what can undermine it, what it rests on, how ε was spent, and
        what the release says. Nothing is in it that is not in the release.
        """
        from crowdtally.reader.report.page import check_target, write

        check_target(Path(path))
        return write(self.report_facts(), path)

    def report_facts(self) -> Facts:
        """The facts of the report, without its look: ``.to_dict()``, ``.to_json()``."""
        from crowdtally.reader.report.facts import facts_of

        labels = None if self._labels is None else self._labels.labels
        return facts_of(self.view, labels)

    def export(
        self,
        *,
        registry: str | os.PathLike[str] | None = None,
        croissant: str | os.PathLike[str] | None = None,
        site: str | os.PathLike[str] | None = None,
    ) -> Path:
        """Write what the release says about itself for others; exactly one of these is given.

        Args:
            registry: a YAML file: the release as an entry of the public registry of differential
                privacy deployments. Comments in it name what the curator must add.
            croissant: a JSON-LD file: Croissant metadata, to be put beside the tables.
            site: a folder of plain pages for any web server, or none: overview, top lists, a page
                for each value of a context, search, report, downloads.

        Returns:
            What was written. What exists is never replaced.
        """
        asked = Export.of({"registry": registry, "croissant": croissant, SITE: site}, "{}={}")
        if asked.form != SITE:
            return asked.run(self._published)
        from crowdtally.reader.site.pages import write_site

        return write_site(self.source(), asked.target)

    def source(self) -> Source:
        from crowdtally.reader.page_parts import Source

        return Source(self.view, self._labels)

    def save(self, folder: str | os.PathLike[str]) -> Release:
        """Copy the release to a new folder, atomically; never over an existing one."""
        saved = Release(self._published.save(folder))
        saved._labels = self._labels
        return saved

    def _labelled(self, found: _List) -> _List:
        return found if self._labels is None else found.with_labels(self._labels)

    def __repr__(self) -> str:
        promised = self._published.guarantee
        names = ", ".join(f"{t.name} ({t.cells} cells)" for t in self._published.tables)
        merged = promised.unit in ("same-person", "bounded-elsewhere")
        unit = "person" if merged else promised.unit
        note = self.withdrawn
        called_back = "" if note is None else f"{note}; "
        delta = f", δ={show(promised.delta)}" if promised.delta else ""
        cost = f"ε={show(promised.epsilon)}{delta}"
        return one_line(f"<Release {called_back}{cost} per {unit}: {names}>")

    def _repr_html_(self) -> str:
        return release_table(self._published)


_logger = logging.getLogger("crowdtally")


def load(folder: str | os.PathLike[str]) -> Release:
    """Open a release that was saved; an InputError says what is damaged."""
    return Release(format.load(folder, _logger.warning))
