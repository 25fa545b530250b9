"""A release described: sections of plain sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from crowdtally.core import display
from crowdtally.core.numbers import show
from crowdtally.format import Published, WithdrawalNote
from crowdtally.format.manifest import Standing
from crowdtally.laws.conversion import rounded_down
from crowdtally.reader.describe import promise
from crowdtally.reader.describe.protection import protection_lines
from crowdtally.reader.describe.tables import course_lines, what_lines
from crowdtally.reader.describe.words import whom_lines


def withdrawal_lines(note: WithdrawalNote | None) -> Iterator[str]:
    """When and why it was withdrawn, and what that does not change."""
    if note is None:
        return
    said = f"This release was {note}"
    yield said if said.endswith(".") else f"{said}."
    yield (
        "Do not use its numbers for anything new. What is said below still holds: its charge "
        "stays, because what was published cannot be taken back, and each person in it is "
        "protected as promised."
    )


def spending_lines(published: Published) -> Iterator[str]:
    """The ledger's words on it: they were true when it was made."""
    charged = published.charged
    if charged.spent_before == Standing(Fraction(0)):
        yield (
            "It was the first release that this ledger charged to the dataset: "
            f"{standing_words(charged.spent_after)} in all."
        )
    else:
        yield (
            f"{standing_words(charged.spent_before)} had been spent on the dataset before; with "
            f"this release it is {standing_words(charged.spent_after)}.{_belief(published)}"
        )
    if charged.limit is None:
        yield "No limit was set: nothing stops further releases of the same records."
    else:
        left = left_words(published)
        rest = "" if left is None else f", of which {left} were left"
        yield f"The limit was {standing_words(charged.limit)}{rest}."
    yield (
        f"This is as it was when the release was made (ledger entry {charged.entry}). Later "
        "releases of the same records add to it, and only the ledger knows them."
    )


def standing_words(standing: Standing) -> str:
    """The sums that say something.

    >>> standing_words(Standing(Fraction(1, 2)))
    'ε 0.5'
    >>> standing_words(Standing(Fraction(0), Fraction(1, 100), Fraction(1, 50)))
    'ρ 0.02, δ 0.01'
    """
    said = [f"ε {show(standing.epsilon)}"] if standing.epsilon or not standing.rho else []
    said += [f"ρ {show(standing.rho)}"] if standing.rho else []
    said += [f"δ {show(standing.delta)}"] if standing.delta else []
    return ", ".join(said)


def epsilon_after(published: Published) -> Fraction | None:
    """ε of all releases together, at the δ of the limit or of this release; None if unknown."""
    charged = published.charged
    if not charged.by_zcdp:
        return charged.spent_after.epsilon
    limit = charged.limit.delta if charged.limit is not None else Fraction(0)
    return charged.spent_after.epsilon_at(limit or published.guarantee.delta)


def left_words(published: Published) -> str | None:
    """What was left of the limit; None without one, or where no δ is left to say it with."""
    charged, after = published.charged, epsilon_after(published)
    if charged.limit is None:
        return None
    if charged.limit.rho:
        spent = charged.spent_after.rho + charged.spent_after.pure_rho
        return f"ρ {show(max(charged.limit.rho - spent, Fraction(0)))}"
    if after is None:
        return None
    left = max(charged.limit.epsilon - after, Fraction(0))
    return f"ε {show(rounded_down(left))}" if charged.by_zcdp else show(left)


def belief_after(published: Published) -> str | None:
    """What a belief of 50% about one person can become by all releases together, at most."""
    after = epsilon_after(published)
    return None if after is None else promise.at_most(after, Fraction(1, 2))


def _belief(published: Published) -> str:
    half = belief_after(published)
    if half is None:
        return ""
    # Without a limit, what earlier releases said may have decided the cost of later ones.
    open_ended = published.charged.by_zcdp and published.charged.limit is None
    given = ", unless what earlier ones said decided how much later ones cost" * open_ended
    return f" By all of them together a belief of 50% can become {half} at most{given}."


_Lines = Callable[[Published], Iterable[str]]
_SECTIONS: tuple[tuple[str, str, _Lines], ...] = (
    ("what", "What is counted", what_lines),
    ("from_whom", "From whom", whom_lines),
    ("steps", "How ε was spent, step by step", course_lines),
    ("protection", "How it is protected", protection_lines),
    ("odds", "What ε means as odds", promise.promise_lines),
    ("remark", "A remark on so large an ε", promise.remark_lines),
    ("spent", "What was spent", spending_lines),
    ("not_covered", "What is not covered", promise.uncovered_lines),
)
WIDTH = 88
"""Columns of a text whose reader is not known."""


@dataclass(frozen=True)
class Section:
    name: str
    """What programs know it by."""
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """A release in plain words; everything comes from its folder."""

    published: Published
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
            "beliefs": promise.beliefs(promised.epsilon),
            **{section.name: list(section.lines) for section in self.sections},
        }

    def to_json(self) -> str:
        return display.printable_json(self.to_dict())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Description of the release {self.published.id}: print it>"

    def _repr_html_(self) -> str:
        return display.sections((section.title, section.lines) for section in self.sections)


def describe(published: Published) -> Description:
    note = published.withdrawn
    told = (Section(name, title, tuple(lines(published))) for name, title, lines in _SECTIONS)
    sections = [Section("withdrawal", "Withdrawn", tuple(withdrawal_lines(note))), *told]
    return Description(published, tuple(section for section in sections if section.lines), note)
