"""Features merged and weighed: by hand, and their edges."""

from __future__ import annotations

import numpy as np

from crowdtally.core.domain import PARTS, Features
from crowdtally.core.profile import FINE, HEAVIEST, WEIGHT, Profile
from crowdtally.curator.steps.auto.profiles import profile_of


def features(*columns: tuple[str, list[str]]) -> Features:
    """One feature per item and column."""
    names: list[str] = []
    groups: list[int] = []
    blocks = []
    for number, (column, values) in enumerate(columns):
        known = sorted(set(values))
        names += [f"{column}={value}" for value in known]
        groups += [number] * len(known)
        blocks.append(np.array([[PARTS * (v == k) for k in known] for v in values], dtype=np.int64))
    shares = np.concatenate(blocks, axis=1)
    return Features(tuple(c for c, _ in columns), tuple(names), tuple(groups), shares, "")


def means(profile: Profile) -> dict[str, float]:
    return dict(zip(profile.names, (profile.means / FINE).round(3).tolist(), strict=True))


def test_small_features_are_merged_into_other() -> None:
    told = features(("genre", ["a", "b", "c", "d", "other"]))
    profile = profile_of(told, np.array([50.0, 40, 3, 3, 4]))
    assert profile is not None
    assert means(profile) == {"genre=a": 0.5, "genre=b": 0.4, "genre=other": 0.1}
    assert profile.merged == {"genre=c": "genre=other", "genre=d": "genre=other"}
    assert (profile.kinds.sum(axis=1) == PARTS).all()
    assert profile.kinds[profile.items[2]].tolist() == [0, 0, PARTS]


def test_an_other_that_is_small_itself_joins_the_smallest() -> None:
    told = features(("genre", ["a", "b", "c", "d"]))
    profile = profile_of(told, np.array([56.0, 41, 2, 1]))
    assert profile is not None
    assert means(profile) == {"genre=a": 0.56, "genre=b": 0.44}
    assert profile.merged == {"genre=c": "genre=b", "genre=d": "genre=b"}


def test_a_group_of_one_feature_is_left_out() -> None:
    told = features(("genre", ["a", "b", "a"]), ("decade", ["90", "90", "80"]))
    profile = profile_of(told, np.array([50.0, 49, 1]))
    assert profile is not None
    assert profile.names == ("genre=a", "genre=b")
    assert profile.merged == {"decade=80": None, "decade=90": None}
    assert profile_of(features(("decade", ["90", "90", "80"])), np.array([50.0, 49, 1])) is None


def test_weights_are_the_inverse_roots_and_at_most_five() -> None:
    told = features(("genre", ["a", "b", "c"]))
    profile = profile_of(told, np.array([4.0, 25, 71]))
    assert profile is not None
    assert profile.weights.tolist() == [HEAVIEST * WEIGHT, 2 * WEIGHT, int(WEIGHT / 0.71**0.5)]


def test_counts_that_say_nothing_weigh_every_item_alike() -> None:
    told = features(("genre", ["a", "a", "a", "b"]))
    for counts in (np.zeros(4), np.array([-1.0, -2, -3, -4])):
        profile = profile_of(told, counts)
        assert profile is not None
        assert means(profile) == {"genre=a": 0.75, "genre=b": 0.25}


def test_a_profile_survives_its_json() -> None:
    told = features(("genre", ["a", "b", "c", "a"]), ("decade", ["90", "80", "70", "90"]))
    profile = profile_of(told, np.array([3.0, 2, 7, 1]))
    assert profile is not None
    again = Profile.from_dict(profile.as_dict())
    assert again.as_dict() == profile.as_dict()
    assert again.kinds.tolist() == profile.kinds.tolist()
    assert again.means.tolist() == profile.means.tolist()
    assert np.allclose(again.shares.sum(axis=1), 2)
