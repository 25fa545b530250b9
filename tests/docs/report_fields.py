"""The tables of docs/report.md, from the dataclasses of the report.

``python tests/docs/report_fields.py`` writes them into the page; a test holds the page to them.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from crowdtally.reader.report.answers import Counted
from crowdtally.reader.report.facts import Facts, Step, TableSize

PAGE = Path(__file__).parent.parent.parent / "docs" / "report.md"
_HEADS = {
    Facts: "field",
    Step: "of `spent.steps`",
    TableSize: "of `tables`",
    Counted: "of `distributions.values` and `heat_maps.cells`",
}


def fields(kind: type) -> str:
    """A table of a dataclass's fields, with the text that stands under each."""
    (made,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(made, ast.ClassDef)
    lines = [f"| {_HEADS[kind]} | meaning |", "|---|---|"]
    for field, words in zip(made.body, made.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            assert isinstance(words, ast.Expr), f"{field.target.id} has no words"
            said = " ".join(str(ast.literal_eval(words.value)).split()).replace("``", "`")
            lines.append(f"| `{field.target.id}` | {said} |")
    return "\n".join(lines)


def rendered(page: str) -> str:
    """The page with its tables."""
    for kind in _HEADS:
        marks = rf"(<!-- fields: {kind.__name__} -->\n).*?(<!-- end -->)"
        page = re.sub(marks, lambda m, k=kind: f"{m[1]}{fields(k)}\n{m[2]}", page, flags=re.DOTALL)
    return page


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text("utf-8")), "utf-8")
