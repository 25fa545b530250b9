"""The public lists that --items and --values name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from crowdtally.cli import syntax
from crowdtally.core.row_files import file_and_column
from crowdtally.errors import UsageError

if TYPE_CHECKING:
    from crowdtally.core.domain import Axis, Domain
    from crowdtally.core.records import Records
    from crowdtally.records.locate import Sources


def domain_of(
    sources: Sources, items: str | None, values: list[str] | None, *, discover: bool
) -> Domain | None:
    """The domain; None where no list of items is given.

    Where columns are discovered, it may have lists of some columns only.
    """
    records, axes = sources.declared, _axes(values or [], sources)
    if records.attributes:
        return None if discover and not axes and not items else _attributes(records, items, axes)
    if items is None or records.item is None:
        if axes and not discover:
            raise UsageError("give the public list of items with --items FILE.")
        return _contexts(records, axes) if axes else None
    from crowdtally.core.domain import Domain
    from crowdtally.curator.request.declare import read_list

    file, column = file_and_column(items)
    listed = read_list(file, records.item, column, apart_from=sources)
    return Domain(listed, _in_order(axes, records.contexts), item=records.item)


def _contexts(records: Records, axes: dict[str, Axis]) -> Domain:
    """The lists of contexts, where items are discovered."""
    from crowdtally.core.domain import Domain

    return Domain(contexts=_in_order(axes, records.contexts))


def _attributes(records: Records, items: str | None, axes: dict[str, Axis]) -> Domain:
    from crowdtally.core.domain import Domain

    if items is not None:
        raise UsageError("--items goes with --item; attributes have --values NAME=… each.")
    if not axes:
        raise UsageError(
            f"give the public values of each attribute: --values {records.attributes[0]}=a,b,c, or "
            "NAME=0..120, or NAME=@FILE."
        )
    return Domain(attributes=_in_order(axes, records.attributes))


def _in_order(axes: dict[str, Axis], names: Iterable[str]) -> dict[str, Axis]:
    """The lists in the order in which their columns were declared; others last."""
    first = [name for name in names if name in axes]
    return {name: axes[name] for name in (*first, *(n for n in axes if n not in first))}


def _axes(texts: list[str], sources: Sources) -> dict[str, Axis]:
    axes = {axis.name: axis for axis in (axis_of(text, sources) for text in texts)}
    if len(axes) != len(texts):
        raise UsageError("two --values options name the same list: give each once.")
    return axes


def axis_of(text: str, apart_from: Sources | None = None) -> Axis:
    """The list that one --values option describes.

    >>> axis_of("hour=0..23").kind, axis_of("sex=F,M").kind
    ('integer', 'text')
    """
    import numpy as np

    from crowdtally.core.domain import Axis

    name, listed = syntax.values(text)
    if isinstance(listed, range):
        return Axis(name, np.arange(listed.start, listed.stop, dtype=np.int64))
    if isinstance(listed, list):
        return Axis.plainest(name, listed)
    from crowdtally.curator.request.declare import read_list

    file, column = file_and_column(listed)
    return read_list(file, name, column, apart_from=apart_from)
