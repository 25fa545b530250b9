"""What Spark is told, seen without a Spark: quick enough for the mutants."""

from __future__ import annotations

from unittest.mock import MagicMock, call

from crowdtally.records.spark.engine import SparkEngine
from crowdtally.records.spark.session import Joined
from crowdtally.records.spark.sql import translated_query


def test_a_condition_goes_along() -> None:
    query = 'SELECT "a" AS "b" FROM "source" WHERE TRY("a" + 1 > "c")'
    made = translated_query(query, lambda name: f"our_{name}", lambda *_: "int")
    assert made == "SELECT `a` AS `b` FROM `our_source` WHERE TRY_ADD(`a`, 1) > `c`"
    bare = translated_query(query.partition(" WHERE")[0], lambda name: name, lambda *_: "int")
    assert bare == "SELECT `a` AS `b` FROM `source`"


def test_the_session_is_told_the_zone() -> None:
    """And UTC while a source is opened: a view is bound to the zone in which it is made."""
    session, name = MagicMock(), "spark.sql.session.timeZone"
    engine = SparkEngine(Joined(session, True, MagicMock()))
    engine.in_zone("Asia/Tokyo")
    with engine._opening_in_utc():
        session.opened()
    zones = [one for one in session.mock_calls if one[0] in ("conf.set", "opened")]
    assert zones == [
        call.conf.set(name, "Asia/Tokyo"),
        call.conf.set(name, "UTC"),
        call.opened(),
        call.conf.set(name, "Asia/Tokyo"),
    ]
