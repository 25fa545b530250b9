"""Small syntaxes of options, and the public lists that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from crowdtally.core.numbers import exact
from crowdtally.core.row_files import file_and_column
from crowdtally.errors import UsageError

if TYPE_CHECKING:
    from crowdtally.core.domain import Axis, Domain
    from crowdtally.core.records import Records
    from crowdtally.records.locate import Sources


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")
_LONGEST_RANGE = 10_000_000


def names(text: str, option: str) -> list[str]:
    """``A,B,C``.

    >>> names("age, sex", "--attributes")
    ['age', 'sex']
    """
    found = [name.strip() for name in text.split(",")]
    if "" in found:
        raise UsageError(f"{option} is A,B,C, the names of columns: received {text!r}.")
    return found


def settings(texts: Iterable[str]) -> dict[str, str]:
    """``KEY=VALUE`` each.

    >>> settings(["spark.executor.memory=4g"])
    {'spark.executor.memory': '4g'}
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"an engine setting is KEY=VALUE: received {text!r}.")
        found[name.strip()] = value.strip()
    return found


def shares(text: str) -> dict[str, Fraction]:
    """``NAME=SHARE,…``.

    >>> shares("items=0.3,edges=0.7")["edges"]
    Fraction(7, 10)
    """
    found: dict[str, Fraction] = {}
    for piece in text.split(","):
        name, equals, share = piece.partition("=")
        name = name.strip()
        if not equals or name in found:
            raise UsageError(
                f"a split is NAME=SHARE,NAME=SHARE with each name once: received {text!r}."
            )
        found[name] = exact(share, f"the share of {name!r}")
    return found


def joined(text: str) -> tuple[str, tuple[str, str]]:
    """``FILE:KEY``, or ``FILE:KEY=KEY`` where the file's key has another name.

    >>> joined("users.parquet:user_id"), joined("films.csv:item_id=film")
    (('users.parquet', ('user_id', 'user_id')), ('films.csv', ('item_id', 'film')))
    """
    file, colon, keys = text.rpartition(":")
    mine, equals, theirs = (part.strip() for part in keys.partition("="))
    if not colon or not file or not mine or (equals and not theirs):
        raise UsageError(
            f"a join is FILE:KEY, or FILE:KEY=KEY where the file's key has another name: received "
            f"{text!r}."
        )
    return file, (mine, theirs or mine)


def once_each(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str | None]:
    """Contexts by name, each given once."""
    found: dict[str, str | None] = {}
    for name, value in pairs:
        if name in found:
            raise UsageError(f"context {name!r} is given twice: give each --context once.")
        found[name] = value
    return found


def types(texts: Iterable[str]) -> dict[str, str]:
    """``COL=TYPE`` each.

    >>> types(["rating=int64"])
    {'rating': 'int64'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, kind = (part.strip() for part in text.rpartition("="))
        if not equals or not name:
            raise UsageError(f"a type is COL=TYPE, such as rating=int64: received {text!r}.")
        if name in found:
            raise UsageError(f"the type of {name!r} is given twice: give each --type once.")
        found[name] = kind
    return found


def chosen_values(texts: Iterable[str]) -> dict[str, object]:
    """``NAME=VALUE`` each: the contexts that a reader asks about.

    >>> chosen_values(["day=Friday"])
    {'day': 'Friday'}
    """
    found: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"a context is NAME=VALUE: received {text!r}.")
        if name in found:
            raise UsageError(f"context {name!r} is given twice: give it once.")
        found[name] = value
    return found


def several_values(texts: Iterable[str]) -> dict[str, object]:
    """``NAME=VALUE`` each: the contexts that a reader asks about, perhaps several values of one.

    >>> several_values(["day=Saturday", "day=Sunday"])
    {'day': ['Saturday', 'Sunday']}
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"a context is NAME=VALUE: received {text!r}.")
        found.setdefault(name, []).append(value)
    return {**found}


def definition(text: str, what: str = "a context") -> tuple[str, str | None]:
    """``NAME=EXPR``, or a plain column, which has no expression.

    >>> definition("day=dayname(t)"), definition("gender")
    (('day', 'dayname(t)'), ('gender', None))
    """
    name, equals, expression = text.partition("=")
    name = name.strip()
    if not equals:
        return name, None
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{what} is a column, or NAME=EXPRESSION with a plain name: received {text!r}."
        )
    if not expression.strip():
        raise UsageError(f"{what} {name!r} has no expression after '=': received {text!r}.")
    return name, expression


def item(text: str) -> str | dict[str, str]:
    """A column, or ``NAME=EXPR``.

    >>> item("place"), item("genre=split_part(genres, '|', 1)")
    ('place', {'genre': "split_part(genres, '|', 1)"})
    """
    name, expression = definition(text, "an item")
    return name if expression is None else {name: expression}


def values(text: str) -> tuple[str, str | range | list[str]]:
    """``NAME=a,b,c``, ``NAME=0..120`` or ``NAME=@FILE[:COLUMN]``; a file stays one text.

    >>> values("hour=0..23"), values("sex=F,M"), values("zip=@zips.csv")
    (('hour', range(0, 24)), ('sex', ['F', 'M']), ('zip', 'zips.csv'))
    """
    name, equals, listed = (part.strip() for part in text.partition("="))
    if not equals or not name or not listed:
        raise UsageError(
            f"a list of values is NAME=a,b,c or NAME=0..120 or NAME=@FILE[:COLUMN]: "
            f"received {text!r}."
        )
    if listed.startswith("@"):
        return name, listed[1:]
    ends = _RANGE.fullmatch(listed)
    if ends:
        return name, _range(name, int(ends[1]), int(ends[2]))
    found = [value.strip() for value in listed.split(",")]
    if "" in found:
        raise UsageError(
            f"the list of values for {name!r} has an empty value between two commas or at an end: "
            f"received {listed!r}. Remove the comma, or give the list as {name}=@FILE."
        )
    return name, found


def _range(name: str, first: int, last: int) -> range:
    if not 0 < last - first + 1 <= _LONGEST_RANGE or max(abs(first), abs(last)) >= 2**63:
        raise UsageError(
            f"the range '{first}..{last}' of {name!r} is empty or too long: at most "
            f"{_LONGEST_RANGE} values, the smaller end first."
        )
    return range(first, last + 1)


# The public lists that --items and --values name.


def domain_of(
    sources: Sources, items: str | None, values: list[str] | None, *, discover: bool
) -> Domain | None:
    """The public lists; ``None`` without any. Where columns are discovered, some have none."""
    from crowdtally.core.domain import Domain

    records, axes = sources.declared, _axes(values or [], sources)
    if records.attributes:
        return None if discover and not axes and not items else _attributes(records, items, axes)
    if items is None or records.item is None:
        if axes and not discover:
            raise UsageError("give the public list of items with --items FILE.")
        # The lists of contexts, where items are discovered.
        return Domain(contexts=_in_order(axes, records.contexts)) if axes else None
    from crowdtally.curator.request.declare import read_list

    file, column = file_and_column(items)
    listed = read_list(file, records.item, column, apart_from=sources)
    return Domain(listed, _in_order(axes, records.contexts), item=records.item)


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

    name, listed = values(text)
    if isinstance(listed, range):
        return Axis(name, np.arange(listed.start, listed.stop, dtype=np.int64))
    if isinstance(listed, list):
        return Axis.plainest(name, listed)
    from crowdtally.curator.request.declare import read_list

    file, column = file_and_column(listed)
    return read_list(file, name, column, apart_from=apart_from)
