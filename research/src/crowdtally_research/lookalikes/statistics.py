"""What the papers print of their datasets, and the same at a smaller scale.

Fan & Jin (2015), Table 4, prints users, items, records, and the largest, mean and smallest number
of records of a user. Day & Li (2015), Table 2, prints rows, columns, the most ones in a row and the
average column count, to two decimals: records are columns times that average, rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from crowdtally.core.numbers import exact, show
from crowdtally.errors import UsageError, did_you_mean

_FAN_JIN = "Fan & Jin (2015), Table 4"
_DAY_LI = "Day & Li (2015), Table 2"
_FEWEST_USERS = 10
_LARGEST_SHARE = 4
"""At a small scale one user has at most one in so many of all records."""


@dataclass(frozen=True)
class Statistics:
    """The numbers that a look-alike has exactly."""

    name: str
    users: int
    items: int
    """How many are in the public list."""
    records: int
    most: int
    """The largest number of records of one user; one has it."""
    fewest: int
    """The smallest number of records of one user; one has it."""
    source: str
    """Where the numbers are printed."""
    note: str = ""
    """What is at odds there, or not printed, and what is used instead."""

    @property
    def mean(self) -> float:
        """Records per user."""
        return self.records / self.users

    @property
    def sentence(self) -> str:
        return (
            f"{self.records:,} records of {self.users:,} users and {self.items:,} items; "
            f"{self.fewest:,} to {self.most:,} records per user, {self.mean:.1f} on average. "
            f"Source: {self.source}."
        )

    def scaled(self, scale: Fraction) -> Statistics:
        """Fewer users with as many records each on average, of all the items.

        The largest number stays, unless it would be more than a quarter of all records.

        >>> LOOKALIKES["kosarak"].scaled(Fraction(1, 100)).records
        80192
        """
        users, records = round(self.users * scale), round(self.records * scale)
        if users < _FEWEST_USERS:
            least = Fraction(_FEWEST_USERS, self.users)
            raise UsageError(
                f"--scale {show(scale)} leaves fewer than {_FEWEST_USERS} of {self.users:,} users: "
                f"give {float(least) * 1.01:.2g} or more."
            )
        most = min(self.most, records // _LARGEST_SHARE)
        return replace(self, users=users, records=records, most=most)


def _printed(
    name: str, rows: int, columns: int, most: int, column_count: str, *, fewest: int = 1, note: str
) -> Statistics:
    """A row of Day & Li's table."""
    records = round(columns * Fraction(column_count))
    return Statistics(name, rows, columns, records, most, fewest, _DAY_LI, note)


_EACH_HAS_ONE = "The smallest number is not printed: every row is taken to have a one."

LOOKALIKES = {
    look.name: look
    for look in (
        Statistics("gowalla", 12_579, 15_200, 739_600, 14_380, 1, _FAN_JIN),
        Statistics(
            "foursquare", 45_289, 17_967, 1_276_988, 1_303, 1, _FAN_JIN,
            note="The mean printed there, 60.2, is not records over users, which is 28.2.",
        ),
        Statistics(
            "netflix", 480_189, 17_770, 100_480_507, 17_653, 1, f"{_FAN_JIN}; {_DAY_LI}",
            note="Items and the largest number are Day & Li's; Fan & Jin print 17,700 and 17,000. "
            "The records are Fan & Jin's; Day & Li's average column count agrees with them.",
        ),
        Statistics("movielens", 6_040, 3_706, 1_000_209, 2_314, 20, _FAN_JIN),
        _printed(
            "movielens-10m", 71_567, 10_681, 7_359, "936.25", fewest=20,
            note="The smallest number is not printed: 20, as in the other MovieLens.",
        ),
        _printed("transaction", 515_597, 1_657, 164, "2031.99", note=_EACH_HAS_ONE),
        _printed("document", 8_200_000, 141_043, 436, "3427.68", note=_EACH_HAS_ONE),
        _printed("aol", 657_426, 46_176, 27_027, "498.85", note=_EACH_HAS_ONE),
        _printed("kosarak", 990_002, 41_270, 2_497, "194.31", note=_EACH_HAS_ONE),
    )
}  # fmt: skip
"""Every look-alike at full size, by name."""


def statistics_of(name: str, scale: object = 1) -> Statistics:
    """The numbers of the look-alike ``name`` at a scale, as typed.

    >>> statistics_of("netflix", "0.1").records
    10048051
    """
    if name not in LOOKALIKES:
        raise UsageError(f"there is no look-alike {name!r}. {did_you_mean(name, LOOKALIKES)}")
    share = exact(scale, "--scale")
    if not 0 < share <= 1:
        raise UsageError(
            f"--scale must be greater than 0 and at most 1, the full size: received {show(share)}."
        )
    return LOOKALIKES[name].scaled(share)
