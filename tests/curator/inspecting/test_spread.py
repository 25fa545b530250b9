"""Buckets and bounds by plain sums."""

from __future__ import annotations

import random
from itertools import pairwise

from crowdtally.curator.inspect import Spread


def test_buckets_hold_every_user_once() -> None:
    drawn = random.Random(5)
    users_with = {drawn.randrange(1, 30_000): drawn.randrange(1, 9) for _ in range(200)}
    spread = Spread(dict(sorted(users_with.items())), "records")
    buckets = spread.buckets()
    assert sum(bucket.users for bucket in buckets) == spread.users == sum(users_with.values())
    assert buckets[-1].least <= max(users_with) <= buckets[-1].most
    ends = [(bucket.least, bucket.most) for bucket in buckets]
    assert ends[:6] == [(1, 1), (2, 2), (3, 5), (6, 10), (11, 20), (21, 50)]
    assert all(low == high + 1 for (_, high), (low, _) in pairwise(ends))


def test_the_bound_that_was_asked_for_is_among_those_shown() -> None:
    spread = Spread({1: 3, 100: 1}, "records")
    for limit in (1, 2, 3, 10, 77):
        shown = [one.limit for one in spread.around(limit)]
        assert limit in shown
        assert shown == sorted(set(shown))
    assert [one.kept for one in spread.around(10)] == [5, 8, 13, 23, 53]
    assert [one.cut for one in spread.around(100)] == [1, 1, 0, 0, 0]
