"""Which types an expression needs of columns that are text: what to declare, where it is refused.

By the expression and the names of text columns alone: what the records hold has no say in it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from sqlglot import exp

from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.expressions import Tree, columns_of
from crowdtally.curator.engine.joining import Joined
from crowdtally.curator.engine.typed import TYPES
from crowdtally.errors import CrowdtallyError, InputError

_TRIED = ("int64", "float64", "timestamp", "timestamptz", "date", "bool")


def needed_types(engine: Engine, tree: Tree, what: str, joined: Joined) -> InputError | None:
    """A refusal that says which types to declare; None where none would help.

    Args:
        engine: on which the expression was refused.
        tree: the expression.
        what: what it is, for the message.
        joined: the columns that it reads.
    """
    offered = {name.lower(): name for name, c in joined.columns.items() if c.type == "VARCHAR"}
    texts = [offered[name.lower()] for name in columns_of(tree) if name.lower() in offered]
    for types in _candidates(tree, texts):
        if _fits(engine, tree, types, joined):
            options = typed_options(types)
            named = ", ".join(map(repr, types))
            return InputError(
                f"{what} needs another type than text for {named}. Columns of CSV files, frames "
                f"and views are text until their type is declared: add {options}{_or_zone(types)}."
            )
    return None


def _or_zone(types: Mapping[str, str]) -> str:
    """What fits times without a zone fits those with one too; which they are, records say."""
    return " (timestamptz, where times have a zone)" if "timestamp" in types.values() else ""


def typed_options(types: Mapping[str, str]) -> str:
    """The options that declare these types, as they are typed in a shell.

    >>> typed_options({"rating": "int64", "the day": "date"})
    "--type rating=int64 --type 'the day=date'"
    """
    return " ".join(f"--type {shlex.quote(f'{name}={kind}')}" for name, kind in types.items())


def _candidates(tree: Tree, texts: list[str]) -> Iterator[dict[str, str]]:
    """One column alone, then all together; floats first where a number has a point."""
    numbers = [one for one in tree.find_all(exp.Literal) if not one.is_string]
    tried = sorted(_TRIED, key=lambda kind: kind != "float64") if _any_point(numbers) else _TRIED
    for name in texts:
        yield from ({name: kind} for kind in tried)
    if len(texts) > 1:
        yield from (dict.fromkeys(texts, kind) for kind in tried)


def _any_point(numbers: list[Tree]) -> bool:
    return any("." in number.name for number in numbers)


def _fits(engine: Engine, tree: Tree, types: Mapping[str, str], joined: Joined) -> bool:
    wanted = {name.lower(): kind for name, kind in types.items()}

    def cast(node: Tree) -> Tree:
        if not isinstance(node, exp.Column) or node.name.lower() not in wanted:
            return node
        return exp.cast(node.copy(), TYPES[wanted[node.name.lower()]], dialect="duckdb")

    sql = tree.copy().transform(cast).sql(dialect="duckdb", identify=True)
    try:
        engine.define("probe", f"SELECT TRY({sql}) AS value FROM {joined.clause}")
    except CrowdtallyError:
        return False
    return True
