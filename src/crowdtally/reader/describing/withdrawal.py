"""That a release was called back: said before everything else."""

from __future__ import annotations

from collections.abc import Iterator

from crowdtally.format import WithdrawalNote


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
