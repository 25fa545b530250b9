"""Help in groups: what everyone needs first, then the rest by what it is about.

The group of an option is declared with it; ``docs/cli.md`` has its tables from the same groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from typer.core import TyperCommand

TITLES = {
    "first": "What everyone needs",
    "what": "What is counted",
    "who": "Who is protected",
    "method": "Method (how a user is bounded)",
    "form": "Form (what is published)",
    "budget": "Budget",
    "guess": "Public guesses",
    "stop": "Before the charge",
    "engine": "Engine",
    "output": "Output",
}
"""Each group and how the help calls it, in the help's order."""
GROUPED = ("release", "plan", "inspect")
"""The commands that have so many options that their help has groups."""
_OTHERS = "Options"


class GroupedCommand(TyperCommand):
    """A command whose help lists its options by their groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments, then each group that has an option."""
        parameters = self.get_params(ctx)
        arguments = [p for p in parameters if p.param_type_name == "argument"]
        for title, members in [("Arguments", arguments), *by_group(parameters)]:
            shown = [record for p in members if (record := p.get_help_record(ctx)) is not None]
            if shown:
                with formatter.section(title):
                    formatter.write_dl(shown)


def by_group(parameters: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The options among parameters by the titles of their groups; those without a group last."""
    options = [p for p in parameters if p.param_type_name == "option"]
    for name, title in TITLES.items():
        yield title, [p for p in options if getattr(p, "rich_help_panel", None) == name]
    yield _OTHERS, [p for p in options if getattr(p, "rich_help_panel", None) not in TITLES]
