"""The tables and schemas of docs/answers.md, from the answers' dataclasses."""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator

from crowdtally.reader.answers.columns import LABELS, Column, columns_of, schema_of, type_of
from crowdtally.reader.changes.changes import Change
from crowdtally.reader.questions.recommendations import Recommendation
from crowdtally.reader.questions.sum import Sum
from crowdtally.reader.questions.top_list import TopItem

ANSWERS: dict[str, tuple[type, bool]] = {
    "top": (TopItem, True),
    "recommend": (Recommendation, True),
    "sum": (Sum, False),
    "changes": (Change, True),
}
"""The row of each answer, and whether there are many."""


def answer_tables() -> dict[str, str]:
    """Every table of the page by its name: fields in words, and the schema."""
    found = {name: "\n".join(_fields(row)) for name, (row, _) in ANSWERS.items()}
    for name, (row, many) in ANSWERS.items():
        schema = json.dumps(schema_of(row, many=many), indent=1)
        found[f"schema of {name}"] = f"```json\n{_shorter(schema)}\n```"
    return found


def _shorter(schema: str) -> str:
    """The same JSON with the types of a field, and the names of all, on one line."""
    lists = re.sub(r"\[[^][{}]*\]", lambda one: " ".join(one[0].split()), schema)
    fields = re.sub(r"\{\s*(\"type\": [^{}]*?)\s*\}", r"{\1}", lists)
    return fields.replace("[ ", "[").replace(" ]", "]")


def _fields(row: type) -> Iterator[str]:
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    words = said_of(row)
    for column in columns_of(row, LABELS):
        yield f"| `{column.name}` | {_type(column)} | {words[column.name]} |"


def _type(column: Column) -> str:
    found = type_of(column)
    return found if isinstance(found, str) else " or ".join(found)


def said_of(row: type) -> dict[str, str]:
    """What the docstring under each field of a dataclass, and of its bases, says."""
    found: dict[str, str] = {}
    for one in reversed(row.__mro__[:-1]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        assert isinstance(tree, ast.ClassDef)
        for field, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                assert isinstance(field.target, ast.Name)
                assert isinstance(below.value, ast.Constant)
                words = " ".join(str(below.value.value).split()).replace("``", "`")
                found[field.target.id] = words.replace("|", "\\|")
    return found
