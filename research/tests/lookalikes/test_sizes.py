"""Records per user: the printed numbers hold exactly, at full size too; the law is heavy-tailed."""

from __future__ import annotations

import numpy as np
import pytest

from crowdtally_research.lookalikes.drawing import SHAPES, records_per_user
from crowdtally_research.lookalikes.statistics import LOOKALIKES, statistics_of

PRINTED = {
    # users, items, records, most, fewest, mean to one decimal
    "gowalla": (12_579, 15_200, 739_600, 14_380, 1, 58.8),
    "foursquare": (45_289, 17_967, 1_276_988, 1_303, 1, 28.2),
    "netflix": (480_189, 17_770, 100_480_507, 17_653, 1, 209.3),
    "movielens": (6_040, 3_706, 1_000_209, 2_314, 20, 165.6),
    "movielens-10m": (71_567, 10_681, 10_000_086, 7_359, 20, 139.7),
    "transaction": (515_597, 1_657, 3_367_007, 164, 1, 6.5),
    "document": (8_200_000, 141_043, 483_450_270, 436, 1, 59.0),
    "aol": (657_426, 46_176, 23_034_898, 27_027, 1, 35.0),
    "kosarak": (990_002, 41_270, 8_019_174, 2_497, 1, 8.1),
}
AVERAGE_COLUMN_COUNT = {
    "netflix": 5654.50, "transaction": 2031.99, "movielens-10m": 936.25, "document": 3427.68,
    "aol": 498.85, "kosarak": 194.31,
}  # fmt: skip


def test_every_look_alike_has_its_printed_numbers() -> None:
    found = {
        name: (s.users, s.items, s.records, s.most, s.fewest, round(s.mean, 1))
        for name, s in LOOKALIKES.items()
    }
    assert found == PRINTED
    assert list(SHAPES) == list(LOOKALIKES)


@pytest.mark.parametrize("name", AVERAGE_COLUMN_COUNT)
def test_the_average_column_count_is_the_printed_one(name: str) -> None:
    numbers = LOOKALIKES[name]
    assert round(numbers.records / numbers.items, 2) == AVERAGE_COLUMN_COUNT[name]


@pytest.mark.parametrize("name", PRINTED)
def test_the_numbers_hold_exactly_at_full_size(name: str) -> None:
    users, _, records, most, fewest, _ = PRINTED[name]
    sizes = records_per_user(users, records, fewest=fewest, most=most, spread=SHAPES[name].spread)
    assert (len(sizes), int(sizes.sum())) == (users, records)
    assert (int(sizes.min()), int(sizes.max())) == (fewest, most)
    assert np.all(np.diff(sizes) >= 0)
    # Heavy-tailed, but no heap at the largest number: that one was attained, not cut to.
    assert float(np.median(sizes)) < 0.92 * records / users
    assert int((sizes == most).sum()) <= 3


@pytest.mark.parametrize(
    ("users", "records", "fewest", "most"),
    [
        (2, 8, 3, 5), (3, 12, 3, 5), (10, 37, 1, 28), (10, 10, 1, 1), (5, 25, 5, 5),
        (1000, 4200, 1, 9),
    ],
)  # fmt: skip
def test_small_and_narrow_numbers_hold_too(
    users: int, records: int, fewest: int, most: int
) -> None:
    sizes = records_per_user(users, records, fewest=fewest, most=most, spread=1.3)
    assert (len(sizes), int(sizes.sum())) == (users, records)
    assert (int(sizes[0]), int(sizes[-1])) == (fewest, most)
    assert np.all(np.diff(sizes) >= 0)


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="no such numbers"):
        records_per_user(10, 100, fewest=1, most=5, spread=1.0)


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("scale", ["0.1", "0.01", "smallest"])
def test_a_scale_keeps_mean_and_items_and_bounds(name: str, scale: str) -> None:
    whole = LOOKALIKES[name]
    share = 10.5 / whole.users if scale == "smallest" else scale
    numbers = statistics_of(name, share)
    assert (numbers.items, numbers.fewest) == (whole.items, whole.fewest)
    assert abs(numbers.mean - whole.mean) < whole.mean / numbers.users
    assert numbers.most == min(whole.most, numbers.records // 4)
    sizes = records_per_user(
        numbers.users, numbers.records, fewest=numbers.fewest, most=numbers.most,
        spread=SHAPES[name].spread,
    )  # fmt: skip
    assert (len(sizes), int(sizes.sum())) == (numbers.users, numbers.records)
    assert (int(sizes[0]), int(sizes[-1])) == (numbers.fewest, numbers.most)
