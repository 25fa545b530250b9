"""What ``auto`` is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crowdtally.core.numbers import received
from crowdtally.core.values import names, one_of, value
from crowdtally.curator.bounding import scaling
from crowdtally.curator.bounding.scaling import AIMS, Aim
from crowdtally.errors import UsageError


@value
@dataclass(frozen=True)
class Auto:
    """Measure first, then decide: the default, for the least error."""

    aim: Aim = "counts"
    """What epsilon is spent on: ``counts`` of all items, the largest items (``top``), or what to
    ``recommend`` in each context."""
    repeats: bool | None = None
    """Whether a user's several records at one item count as several. Without it they do, unless
    users are counted."""
    context_per_user: str | Sequence[str] = ()
    """The contexts that are a property of the user, such as gender: all of them, or none."""

    def __post_init__(self) -> None:
        one_of(self.aim, AIMS, "aim of Auto")
        if not isinstance(self.repeats, bool | None):
            raise UsageError(
                "repeats of Auto is yes or no, in Python True or False: received "
                f"{received(self.repeats)}."
            )
        found = names(self.context_per_user, "context_per_user of Auto", least=0)
        object.__setattr__(self, "context_per_user", found)

    def rule(self, count: str) -> scaling.Auto:
        """What bounds a user."""
        repeats = count != "users" if self.repeats is None else self.repeats
        if repeats and count == "users":
            raise UsageError(
                "with --count users a user counts once at an item: remove --method "
                "auto:repeats=yes, or count records with --count records."
            )
        return scaling.Auto(self.aim, repeats, tuple(self.context_per_user))
