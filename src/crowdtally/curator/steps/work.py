"""What every step works with."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from crowdtally.curator.engine.engine import Engine
from crowdtally.curator.engine.prepare import Prepared
from crowdtally.curator.request.request import Request
from crowdtally.noise.draws import Draws


@dataclass(frozen=True)
class Work:
    """A charged request on its way through the steps."""

    request: Request
    """What was asked for."""
    engine: Engine
    """What runs on the records."""
    prepared: Prepared
    """The records, in domain, not yet bounded."""
    draws: Draws
    """Where noise and choices are drawn."""

    def fresh_key(self) -> int:
        """A sampling key of the OS.

        It has nothing to do with the noise: privacy holds for every fixed key, also for one that
        leaks into a log.
        """
        return secrets.randbits(63)

    def width_of(self, table: str) -> int:
        """How many cells of the domain make one of this table: those of an item, or 1."""
        return 1 if table in ("edges", "cells") else self.prepared.domain.contexts_size
