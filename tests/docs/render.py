"""The tables of docs/api.md, from the registries and the declared options.

``python tests/docs/render.py`` writes them into the page; a test holds the page to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.publishing import PUBLISHINGS
from crowdtally.curator.request.options import declared
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.values.registry import Registry

PAGE = Path(__file__).parent.parent.parent / "docs" / "api.md"


def tables() -> dict[str, str]:
    """Every table of the page by its name."""
    registries = (BOUNDINGS, CHOICES, TRANSFORMS, PUBLISHINGS)
    return {"options": "\n".join(_options())} | {
        registry.option.removeprefix("--"): "\n".join(_registry(registry))
        for registry in registries
    }


def _registry(registry: Registry) -> Iterator[str]:
    yield "| name | what it does |"
    yield "|---|---|"
    for name, entry in registry.items():
        yield f"| `{name}` | {entry.words} |"


def _options() -> Iterator[str]:
    yield "| parameter | on the command line | default | |"
    yield "|---|---|---|---|"
    for name, (_, option) in declared().items():
        flag = f"--{name.replace('_', '-')}" + (f" {option.metavar}" if option.metavar else "")
        flag = flag.replace("|", "\\|")
        yield f"| `{name}` | `{flag}` | `{option.default!r}` | {option.help} |"


def rendered(page: str) -> str:
    """The page with its tables made anew."""
    for name, table in tables().items():
        mark = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        escaped = table.replace("\\", "\\\\")
        page = re.sub(mark, rf"\1{escaped}\n\2", page, flags=re.DOTALL)
    return page


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
