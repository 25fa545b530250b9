"""The work of a comparison, cut into tasks: one key of one method and bound, at one ε or more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from crowdtally.curator.method import steps_of
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.compared.summary import Measured, Setting
from crowdtally.lab.comparing.held import Held
from crowdtally.lab.comparing.planning import request_of

Row = tuple[str, str, int | None, float]
"""Table, metric, K and value."""


@dataclass(frozen=True)
class Unit:
    """One key of one setting: what is kept together, and not made again."""

    setting: Setting
    """What is run."""
    key: int
    """Which draw of the sampling key."""


@dataclass(frozen=True)
class Outcome:
    """What the runs of a unit measured."""

    unit: Unit
    """What was run."""
    noises: tuple[tuple[Row, ...], ...]
    """The numbers of each run, one for each draw of the last noise."""

    def measured(self, noises: int) -> Iterator[Measured]:
        """The numbers of the first so many runs."""
        for noise, rows in enumerate(self.noises[:noises]):
            for table, metric, k, value in rows:
                yield Measured(self.unit.setting, self.unit.key, noise, table, metric, k, value)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Outcome:
        """From JSON; KeyError, TypeError or ValueError where it is damaged."""
        unit = Unit(Setting(**told["unit"]["setting"]), int(told["unit"]["key"]))
        noises = tuple(tuple(_row(*row) for row in rows) for rows in told["noises"])
        return cls(unit, noises)


def _row(table: str, metric: str, k: int | None, value: float) -> Row:
    return str(table), str(metric), None if k is None else int(k), float(value)


@dataclass(frozen=True)
class Task:
    """Units of one method, bound and key, which differ in ε: their records are counted once."""

    units: tuple[Unit, ...]
    """What is run."""
    noises: int
    """How many noises are drawn for each unit."""


def tasks_of(
    settings: Sequence[Setting],
    keys: int,
    noises: int,
    is_done: Callable[[Unit], bool],
    counts_once: Callable[[Setting], bool],
) -> list[Task]:
    """The tasks that are left: the first keys of all settings come first.

    Where nothing is released before the last noise, the counts are the same for every ε.
    """
    tasks = []
    for key in range(keys):
        for (method, bound), group in groupby(settings, lambda s: (s.method, s.max_records)):
            units = [Unit(setting, key) for setting in group]
            left = [unit for unit in units if not is_done(unit)]
            if left and counts_once(Setting(method, left[0].setting.epsilon, bound)):
                tasks.append(Task(tuple(left), noises))
            else:
                tasks += [Task((unit,), noises) for unit in left]
    return tasks


def counts_once(setting: Setting, held: Held, options: Mapping[str, Any]) -> bool:
    """Whether what is counted is the same for every ε: where nothing is released before."""
    return setting.method in BASELINES or len(steps_of(request_of(setting, held, options))) == 1
