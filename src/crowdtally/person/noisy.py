"""Noisy counts of categories: all that phase 2 may see of a history."""

from __future__ import annotations

from dataclasses import dataclass

from crowdtally.errors import UsageError


@dataclass(frozen=True)
class NoisyCategories:
    """One whole number for each measured category, with its noise.

    A type of its own, so that exact counts, or a history, cannot be handed on in its place.
    """

    categories: tuple[str, ...]
    """The measured categories, in the plan's order."""
    values: tuple[int, ...]
    """The count of each, with noise: negative ones too."""

    def __post_init__(self) -> None:
        if len(self.categories) != len(self.values):
            raise UsageError("noisy counts need one whole number for each category.")
        if not all(type(value) is int for value in self.values):
            raise UsageError("noisy counts are whole numbers.")
