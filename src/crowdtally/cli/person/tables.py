"""Small tables for a terminal: text to the left, numbers to the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crowdtally.core.display import plainly


def table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """The lines of a table; the first column is text."""
    cells = [list(titles), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(titles))]
    for row in cells:
        rest = (text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join([row[0].ljust(widths[0]), *rest]).rstrip()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else plainly(value)
