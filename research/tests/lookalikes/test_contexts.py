"""Weekdays follow a week, with habits; gender and age follow the user."""

from __future__ import annotations

import numpy as np

from crowdtally_research.lookalikes.drawing import Demographics, Weekdays

WEEK = (0.10, 0.10, 0.10, 0.15, 0.15, 0.25, 0.15)
ROWS = 200_000


def test_weekdays_follow_the_week_over_all() -> None:
    rng = np.random.default_rng(4)
    users = np.arange(ROWS, dtype=np.int32)
    items = rng.permutation(users)
    days = Weekdays(WEEK).codes(rng, users, items, users)["weekday"]
    assert np.allclose(np.bincount(days, minlength=7) / ROWS, WEEK, atol=0.008)


def test_a_user_and_an_item_have_a_favourite_day() -> None:
    """One user, one item: their days are the week's, and the two habits' on top."""
    rng = np.random.default_rng(4)
    one, other = (np.full(ROWS, number, dtype=np.int32) for number in (12, 777))
    spread = np.arange(ROWS, dtype=np.int32)
    law = Weekdays(WEEK, habit=0.2, suits=0.1)
    for users, items, share in ((one, spread, 0.2), (spread, other, 0.1)):
        days = law.codes(rng, users, items, users)["weekday"]
        found = np.bincount(days, minlength=7) / ROWS
        above = found - (1 - share) * np.array(WEEK)
        favourite = int(above.argmax())
        assert abs(above[favourite] - share) < 0.01
        assert np.all(np.abs(np.delete(above, favourite)) < 0.01)


def test_users_do_not_share_one_favourite_day() -> None:
    rng = np.random.default_rng(4)
    users = np.repeat(np.arange(700, dtype=np.int32), 100)
    items = np.zeros(len(users), dtype=np.int32)
    days = Weekdays((1 / 7,) * 7, habit=1, suits=0).codes(rng, users, items, users)["weekday"]
    by_user = days.reshape(700, 100)
    assert np.all(by_user == by_user[:, :1])
    assert np.bincount(by_user[:, 0], minlength=7).min() > 60


def test_six_groups_are_two_genders_of_three_ages() -> None:
    law = Demographics((1, 2, 3, 4, 5, 5))
    assert np.allclose(law.kinds, np.array([1, 2, 3, 4, 5, 5]) / 20)
    kinds = np.arange(6, dtype=np.int32)
    codes = law.codes(np.random.default_rng(1), kinds, kinds, kinds)
    values = law.values
    groups = [
        (values["gender"][g], values["age"][a])
        for g, a in zip(codes["gender"], codes["age"], strict=True)
    ]
    assert groups[0] == ("F", "Under 25")
    assert groups[5] == ("M", "Above 34")
    assert len(set(groups)) == 6
