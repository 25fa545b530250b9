"""What the buttons do. Each is done to its end, one after the other: see ``web/serving/finishing``.

A button that is pressed twice does its work once: the store returns the draw that is there, another
draw is only made for who saw the last one, and a file of the same content is the file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from crowdtally.errors import UsageError
from crowdtally.person.handing import FORMS, checked_target, hand_over
from crowdtally.person.page.choice import Choice
from crowdtally.person.page.desk import Desk
from crowdtally.person.planning import Plan
from crowdtally.person.store import Draw

_LONGEST = 100
_FORBIDDEN = frozenset('/\\:*?"<>|')
"""What is part of a path somewhere, or no part of a name."""
_USUAL = "perturbed"


@dataclass(frozen=True, eq=False)
class Deeds:
    """What can be done at a desk."""

    desk: Desk
    """Whose."""

    def draw(self, choice: Choice) -> Draw:
        """The draw of this choice: charged and stored before it is returned, or the stored one."""
        return self.desk.draw(self.desk.plan(choice))

    def draw_again(self, choice: Choice, seen: int) -> Draw:
        """Another draw of this choice, charged anew.

        Args:
            choice: which.
            seen: how many draws of it the person had before them: one that came since is the draw
                that was asked for, by the same button.
        """
        plan = self.desk.plan(choice)
        stored = self.desk.draws(plan)
        if len(stored) > seen:
            return stored[-1]
        return self.desk.draw(plan, again=True)

    def release(self, choice: Choice, number: int, name: str) -> Path:
        """Write the items of a draw to a new file in the folder."""
        plan = self.desk.plan(choice)
        found = which(self.desk.draws(plan), number)
        if found is None:
            raise UsageError("there is no such draw: nothing was written.")
        path = self.desk.folder / checked_name(name)
        if not _is_written(path, found, plan):
            hand_over(found.perturbed, plan, checked_target(path))
        return path


def which(stored: list[Draw], number: int | None) -> Draw | None:
    """The draw of a number; without one the first."""
    return next((draw for draw in stored if number in (None, draw.number)), None)


def checked_name(name: str) -> str:
    """The name of a file in the folder: no path leads out of it."""
    plain = name.strip()
    if (
        not plain
        or len(plain) > _LONGEST
        or plain.startswith(".")
        or not plain.isprintable()
        or _FORBIDDEN & set(plain)
    ):
        raise UsageError(
            "the file needs a plain name in the folder, such as perturbed.csv: at most "
            f"{_LONGEST} letters, no folder, no dot at its beginning. Nothing was written."
        )
    return plain


def free_name(folder: Path) -> str:
    """A name that is not taken yet, to begin with."""
    taken = set(os.listdir(folder)) if folder.is_dir() else set()
    number = 1
    while (name := f"{_USUAL}{'' if number == 1 else f'-{number}'}.csv") in taken:
        number += 1
    return name


def _is_written(path: Path, draw: Draw, plan: Plan) -> bool:
    """Whether the same button wrote this file a moment ago."""
    form = FORMS.get(path.suffix.lower())
    if form is None or path.is_symlink() or not path.is_file():
        return False
    try:
        return path.read_bytes() == form(draw.perturbed, plan).encode()
    except OSError:
        return False
