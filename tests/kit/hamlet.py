"""A few visits to three places on two days, released: what tests of a release's folder share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crowdtally as ct
from kit.made import made, visits
from kit.silent import SilentDraws

PLACES, DAYS = ["zoo", "arena", "mill"], ["Tue", "Mon"]
CELLS = {("zoo", "Mon"): 5, ("arena", "Tue"): 3, ("mill", "Mon"): 1, ("arena", "Mon"): 4}


def hamlet(folder: Path, **options: Any) -> ct.Release:
    """Its release, without noise unless draws are given."""
    domain = ct.Domain(PLACES, {"day": DAYS})
    return made(folder, visits(CELLS, "day"), domain, **({"draws": SilentDraws()} | options))
