"""The made-up paper in place of the real ones, whose work takes minutes."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

from crowdtally_research.reproducing import reproduction
from reproducing.made_up_paper import PAPER


@pytest.fixture
def made_up() -> Iterator[None]:
    """No paper but the made-up one exists."""
    with mock.patch.object(reproduction, "papers", return_value=(PAPER,)):
        yield
