"""A release described: sections of plain sentences, for a terminal, a notebook and programs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from crowdtally.core import display
from crowdtally.core.numbers import show
from crowdtally.format import Published, WithdrawalNote
from crowdtally.reader.describing.course import course_lines
from crowdtally.reader.describing.promise import beliefs, promise_lines, remark_lines
from crowdtally.reader.describing.protection import protection_lines
from crowdtally.reader.describing.spending import spending_lines
from crowdtally.reader.describing.uncovered import uncovered_lines
from crowdtally.reader.describing.what import what_lines
from crowdtally.reader.describing.whom import whom_lines
from crowdtally.reader.describing.withdrawal import withdrawal_lines

_Lines = Callable[[Published], Iterable[str]]
_SECTIONS: tuple[tuple[str, str, _Lines], ...] = (
    ("what", "What is counted", what_lines),
    ("from_whom", "From whom", whom_lines),
    ("steps", "How ε was spent, step by step", course_lines),
    ("protection", "How it is protected", protection_lines),
    ("odds", "What ε means as odds", promise_lines),
    ("remark", "A remark on so large an ε", remark_lines),
    ("spent", "What was spent", spending_lines),
    ("not_covered", "What is not covered", uncovered_lines),
)
WIDTH = 88
"""Columns of a text whose reader is not known."""


@dataclass(frozen=True)
class Section:
    """One part of a description."""

    name: str
    """What programs know it by."""
    title: str
    """Its heading."""
    lines: tuple[str, ...]
    """Sentences that belong together, in order."""


@dataclass(frozen=True)
class Description:
    """A release in plain words; everything comes from its folder."""

    published: Published
    """The release."""
    sections: tuple[Section, ...]
    """What is said of it, in order; sections without a line are left out."""
    withdrawn: WithdrawalNote | None = None
    """When and why it was called back, as of when it was described."""

    def text(self, width: int = WIDTH) -> str:
        """The sections, wrapped to so many columns."""
        wrapper = textwrap.TextWrapper(
            max(width, 40), initial_indent="  - ", subsequent_indent="    ",
            break_on_hyphens=False,
        )  # fmt: skip
        blocks = [
            "\n".join([section.title, *map(wrapper.fill, section.lines)])
            for section in self.sections
        ]
        return "\n\n".join(blocks)

    def to_dict(self) -> dict[str, Any]:
        """For programs: the numbers that sum it up, and all sentences."""
        promised = self.published.guarantee
        return {
            "id": self.published.id,
            "dataset": self.published.charged.dataset,
            "withdrawn": None if self.withdrawn is None else self.withdrawn.to_dict(),
            "epsilon": show(promised.epsilon),
            "delta": show(promised.delta),
            "unit": promised.unit,
            "beliefs": beliefs(promised.epsilon),
            **{section.name: list(section.lines) for section in self.sections},
        }

    def to_json(self) -> str:
        """JSON text."""
        return display.printable_json(self.to_dict())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Description of the release {self.published.id}: print it>"

    def _repr_html_(self) -> str:
        return display.sections((section.title, section.lines) for section in self.sections)


def describe(published: Published) -> Description:
    """What a release is, in plain words."""
    note = published.withdrawn
    told = (Section(name, title, tuple(lines(published))) for name, title, lines in _SECTIONS)
    sections = [Section("withdrawal", "Withdrawn", tuple(withdrawal_lines(note))), *told]
    return Description(published, tuple(section for section in sections if section.lines), note)
