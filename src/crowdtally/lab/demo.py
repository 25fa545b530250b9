"""Plausible made-up records for the demonstration: heavy-tailed users, skewed items, weekdays.

This is the lab's side: it knows the truth because it invented it. Ordinary pseudo-randomness is
fine here, and only here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ADJECTIVES = (
    "Amber Blue Brass Copper Corner Crystal Eastern Golden Green Hidden Iron Ivory Jade Little "
    "Lower Maple Marble Merry Misty North Oaken Old Pearl Quiet Red Royal Ruby Silver South "
    "Stone Sunny Upper Velvet Western White Wild Willow Winter Yellow Young"
).split()
_NOUNS = (
    "Arcade Bakery Bank Barn Bazaar Bistro Books Bridge Cafe Canteen Chapel Cinema Clinic Court "
    "Diner Dock Fountain Gallery Garden Gate Grill Grove Gym Hall Harbour Hotel House Inn Kiosk "
    "Lane Library Lodge Market Meadow Mill Museum Park Pier Plaza Pool Pub Quay School Square "
    "Stadium Station Studio Tavern Theatre Tower"
).split()


@dataclass(frozen=True)
class Demo:
    """Where the made-up records lie."""

    records: Path
    """Parquet: visit_id, user_id, place, weekday."""
    places: Path
    """CSV: the public list of places."""

    def visitors(self, places: list[str]) -> dict[str, int]:
        """The true number of visitors of these places. Not private."""
        users = "count(DISTINCT user_id)"
        query = f"SELECT place, {users} FROM read_parquet(?) WHERE place IN ? GROUP BY place"
        return dict(duckdb.execute(query, [str(self.records), places]).fetchall())


def place_names() -> list[str]:
    """Two thousand places of an invented city."""
    return [f"{adjective} {noun}" for noun in _NOUNS for adjective in _ADJECTIVES]


def generate(folder: Path, records: int = 1_000_000, seed: int = 1) -> Demo:
    """Write about ``records`` visits of an invented city."""
    rng = np.random.default_rng(seed)
    names = place_names()
    rng.shuffle(names)
    visits = _visits_per_user(rng, records)
    users = np.repeat(np.arange(len(visits)), visits)
    popularity = 1 / np.arange(1, len(names) + 1) ** 0.9
    places = rng.choice(len(names), size=len(users), p=popularity / popularity.sum())
    week = np.array([0.12, 0.12, 0.12, 0.13, 0.17, 0.19, 0.15])
    days = rng.choice(7, size=len(users), p=week)
    order = rng.permutation(len(users))
    table = {
        "visit_id": np.arange(len(users)),
        "user_id": users[order] + 10_000,
        "place": places[order],
        "day": days[order],
    }
    demo = Demo(folder / "visits.parquet", folder / "places.csv")
    demo.places.write_text("place\n" + "\n".join(sorted(names)) + "\n", encoding="utf-8")
    _write(demo.records, table, names)
    return demo


def _visits_per_user(rng: np.random.Generator, records: int) -> np.ndarray:
    """Log-normal: most people visit a few places, some visit a thousand."""
    wishes = rng.lognormal(2.5, 1.2, size=max(records // 25, 1))
    return np.asarray(np.maximum(1, np.rint(wishes * records / wishes.sum())), dtype=np.int64)


def _write(path: Path, table: dict[str, np.ndarray], names: list[str]) -> None:
    with duckdb.connect(":memory:") as connection:
        connection.register("visits", table)
        connection.register("names", _codes(names))
        connection.register("days", _codes(list(DAYS)))
        connection.execute(
            "COPY (SELECT visit_id, user_id, names.name AS place, days.name AS weekday "
            "FROM visits JOIN names ON place = names.code JOIN days ON day = days.code "
            f"ORDER BY visit_id) TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
        )


def _codes(names: list[str]) -> dict[str, np.ndarray]:
    return {"name": np.array(names, dtype=object), "code": np.arange(len(names))}
