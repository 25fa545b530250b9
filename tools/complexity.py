"""Fail where a function has more ways through it than a reader can hold (``make lint``)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from radon.complexity import cc_visit
from radon.visitors import Class, Function

MOST = 12
"""The largest cyclomatic complexity of a function, as radon counts it."""
ROOT = Path(__file__).parent.parent
SOURCES = (ROOT / "src", ROOT / "research" / "src")


def functions(path: Path) -> Iterator[Function]:
    """Every function of a file: those of classes, and those inside others."""
    blocks = list(cc_visit(path.read_text(encoding="utf-8")))
    while blocks:
        block = blocks.pop()
        if isinstance(block, Class):
            blocks += [*block.methods, *block.inner_classes]
        else:
            yield block
            blocks += block.closures


def main() -> None:
    """List what is too complex; exit 1 where anything is."""
    measured = {
        f"{path.relative_to(ROOT)}:{found.lineno} {found.fullname}": found.complexity
        for source in SOURCES
        for path in sorted(source.rglob("*.py"))
        for found in functions(path)
    }
    for where, complexity in measured.items():
        if complexity > MOST:
            print(f"{where} has complexity {complexity}, more than {MOST}: take it apart.")
    sys.exit(max(measured.values()) > MOST)


if __name__ == "__main__":
    main()
