"""What changed, as a list: its lines, and what is said beside them."""

from __future__ import annotations

from dataclasses import dataclass

from crowdtally.reader.answers.answer import AnswerList, AnswerRow
from crowdtally.reader.changes.showing import change_line, change_table, printed


@dataclass(frozen=True)
class Change(AnswerRow):
    """One item that rose or fell."""

    rank: int
    """1 for the surest change: the smallest ``q_value``; of equal ones the larger change."""
    item: str | int
    """The item."""
    direction: str
    """``rose`` or ``fell``."""
    earlier: float | None
    """What its count is believed to be in the earlier release, as ``top`` says it; None where
    there is no estimate."""
    earlier_low: float | None
    """The lower end of its 95% interval."""
    earlier_high: float | None
    """The upper end of the same."""
    later: float | None
    """The same in the later release."""
    later_low: float | None
    """The lower end of its 95% interval."""
    later_high: float | None
    """The upper end of the same."""
    change: float
    """The later value less the earlier one, as both were measured, without a prior: not quite the
    difference of the estimates. Of shares, in percentage points. Where one release left the item
    out, the least change that agrees with that."""
    change_low: float | None
    """The lower end of the interval of the change. Of all intervals of a list, 5% miss their change
    on average, although the list was chosen by what it shows. None where one release left the item
    out and there is no such end."""
    change_high: float | None
    """The upper end of the same."""
    p_value: float
    """How likely so large a difference, up or down, is without a change."""
    q_value: float
    """The smallest false discovery rate with which the item is still listed."""
    earlier_count: float | None
    """The noisy count of the earlier release; None where it was left out."""
    later_count: float | None
    """The noisy count of the later release; None likewise."""


@dataclass(frozen=True)
class ChangeList(AnswerList[Change]):
    """The answer to ``changes``: a sequence of :class:`Change`."""

    rows: tuple[Change, ...]
    """The items that changed, the surest first."""
    fdr: float
    """The false discovery rate: of the items listed, this share at most is wrong on average."""
    of: str
    """What is compared: ``counts`` or ``shares``."""
    counted: str
    """What a count counts: records or users."""
    tested: int
    """How many items were looked at: all of the public list."""
    discovered: int
    """How many changed; more than there are rows where only the first k were asked for."""
    remarks: tuple[str, ...] = ()
    """What must be said beside the list."""

    @classmethod
    def row_type(cls) -> type[Change]:
        """The dataclass of its rows."""
        return Change

    @property
    def notes(self) -> list[str]:
        """What must be said beside the list."""
        return list(self.remarks)

    def __repr__(self) -> str:
        return change_line(self)

    def _repr_html_(self) -> str:
        return change_table(self)

    def __str__(self) -> str:
        return "\n".join(printed(self))
