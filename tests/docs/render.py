"""The tables of docs and research/docs, from the code that they are about."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import crowdtally as ct
from crowdtally.cli.options import GROUPED, by_group
from crowdtally.core.registry import Registry
from crowdtally.core.values import help_of, public
from crowdtally.curator.bounding import CHOICES, METHODS
from crowdtally.curator.request.options import Options
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.reader.answers.columns import LABELS, Column, columns_of, schema_of, type_of
from crowdtally.reader.changes.changes import Change
from crowdtally.reader.questions.recommendations import Recommendation
from crowdtally.reader.questions.sum import Sum
from crowdtally.reader.questions.top_list import TopItem

# ---- The tables and schemas of docs/answers.md, from the answers' dataclasses --------------------


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
    return {name: words.replace("|", "\\|") for name, words in help_of(row, "`").items()}


# ---- The tables of docs/{api,cli,answers}.md and research/docs, from the code that they are
#      about
#
# ``python tests/docs/render.py`` writes them into the pages; tests hold the pages to them.


sys.path.insert(0, str(Path(__file__).parents[1]))  # a script knows its own folder alone

_DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = _DOCS / "api.md"
COMMANDS_PAGE = _DOCS / "cli.md"
ANSWERS_PAGE = _DOCS / "answers.md"
RESEARCH_DOCS = _DOCS.parent / "research" / "docs"
REQUEST = "request"
"""The table of what release, plan and inspect share."""
COMPARED = "lab compare"
"""Takes what says what is counted, and of a release's method and budget what it does not try."""
_FLAT = (
    "demo",
    "top",
    "recommend",
    "sum",
    "changes",
    "describe",
    "report",
    "export",
    "serve",
    "withdraw",
    "person perturb",
    "person levels",
    "person show",
    "person page",
    "lab audit",
    "check",
)
RESEARCH = {
    "lab lookalike": "lookalikes.md",
    "lab recommend": "recommending.md",
    "lab reproduce": "reproducing.md",
}
"""Commands of research, each with its page in ``research/docs``."""
_EVERYWHERE = {"--help", "--debug"}
_APART = {"--json", "--quiet", "--engine", "--engine-setting"}
"""Options that say how a command runs, and not what is asked for."""


def tables() -> dict[str, str]:
    """Every table of the page on Python by its name."""
    found = {"options": "\n".join(_options())}
    for registry in (METHODS, PUBLISHINGS, TRANSFORMS):
        name = registry.option.removeprefix("--")
        found[name] = "\n".join(_values(registry))
        found[f"{name} fields"] = "\n".join(_value_fields(registry))
    return found | {"choose": "\n".join(_registry(CHOICES))}


def _registry(registry: Registry) -> Iterator[str]:
    yield "| name | what it does |"
    yield "|---|---|"
    for name, entry in registry.items():
        yield f"| `{name}` | {entry.words} |"


def _values(registry: Registry) -> Iterator[str]:
    yield "| on the command line | in Python | what it does |"
    yield "|---|---|---|"
    for name, entry in registry.items():
        kind = registry.load(name)
        known = kind.__name__ in ct.__all__
        typed = f"`ct.{kind.__name__}({', '.join(public(kind))})`" if known else "`None`"
        yield f"| `{name}` | {typed} | {entry.words} |"


def _value_fields(registry: Registry) -> Iterator[str]:
    """A row for each field, of all values that have it with the same words."""
    yield "| field | of | meaning |"
    yield "|---|---|---|"
    rows: dict[tuple[str, str], list[str]] = {}
    for name in registry:
        kind = registry.load(name)
        words = help_of(kind, "`")
        for field in public(kind):
            rows.setdefault((field, words[field]), []).append(f"`{name}`")
    for (field, meaning), names in rows.items():
        yield f"| `{field}` | {', '.join(names)} | {_cell(meaning)} |"


def _options() -> Iterator[str]:
    yield "| parameter | on the command line | default | |"
    yield "|---|---|---|---|"
    words = help_of(Options, "`")
    for field in fields(Options):
        flag = f"--{field.name}"
        yield f"| `{field.name}` | `{flag}` | `{field.default!r}` | {_cell(words[field.name])} |"


def command_tables() -> dict[str, str]:
    """Every table of the page on the command line by its name, from the commands themselves."""
    from kit.command import COMMANDS

    options = {name: _options_of(COMMANDS[f"crowdtally {name}"]) for name in (*GROUPED, *_FLAT)}
    shared = set.intersection(*({p.opts[0] for p in options[name]} for name in GROUPED)) - _APART
    found = {REQUEST: _table(p for p in options["release"] if p.opts[0] in shared)}
    for name in GROUPED:
        found[name] = _table(p for p in options[name] if p.opts[0] not in shared)
    compared = _options_of(COMMANDS[f"crowdtally {COMPARED}"])
    own = {"--epsilon", "--max-records"}  # lists, there
    found[COMPARED] = _table(p for p in compared if p.opts[0] not in shared - own)
    return found | {name: "\n".join(_rows(options[name])) for name in _FLAT}


def research_tables() -> dict[Path, dict[str, str]]:
    """The tables of each page on a command of research."""
    from kit.command import COMMANDS

    return {
        RESEARCH_DOCS / page: {name: "\n".join(_rows(_options_of(COMMANDS[f"crowdtally {name}"])))}
        for name, page in RESEARCH.items()
    }


def _options_of(command: Any) -> list[Any]:
    return [
        p for p in command.params
        if p.param_type_name == "option" and not p.hidden and not _EVERYWHERE & set(p.opts)
    ]  # fmt: skip


def _table(options: Iterable[Any]) -> str:
    """A table of options, each under its group's name."""
    listed = [*_rows(())]
    for title, members in by_group(options):
        if members:
            _, _, *rows = _rows(members)
            listed += [f"| **{title}** | |", *rows]
    return "\n".join(listed)


def _rows(options: Iterable[Any]) -> Iterator[str]:
    yield "| option | meaning |"
    yield "|---|---|"
    for p in options:
        flags = ", ".join(f"`{flag}`" for flag in sorted(p.opts, key=len, reverse=True))
        metavar = "" if p.is_flag else f" {p.metavar}"
        yield f"| {flags}{_cell(metavar)} | {_cell(p.help)}{_default(p)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _default(p: Any) -> str:
    plain = p.default in (None, (), [], False) or p.is_flag
    return "" if plain or not p.show_default else f" By default {p.default}."


def rendered(page: str, made: Mapping[str, str] | None = None) -> str:
    """The page with its tables made anew."""
    for name, table in (tables() if made is None else made).items():
        mark = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        escaped = table.replace("\\", "\\\\")
        page = re.sub(mark, rf"\1{escaped}\n\2", page, flags=re.DOTALL)
    return page


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    text = COMMANDS_PAGE.read_text(encoding="utf-8")
    COMMANDS_PAGE.write_text(rendered(text, command_tables()), encoding="utf-8")
    text = ANSWERS_PAGE.read_text(encoding="utf-8")
    ANSWERS_PAGE.write_text(rendered(text, answer_tables()), encoding="utf-8")
    for page, made in research_tables().items():
        page.write_text(rendered(page.read_text(encoding="utf-8"), made), encoding="utf-8")
