"""Which method to take, in one sentence with its reason."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally.lab.comparing.facts import Facts
from crowdtally.lab.comparing.summary import Summary


def recommendation(summaries: Sequence[Summary], facts: Facts) -> str:
    """One sentence, with its reason and the options to type."""
    raise NotImplementedError
