"""A page that is served, for each test or for all that only read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.person import PageServed, desk_in, page_of


@pytest.fixture
def served(tmp_path: Path) -> Iterator[PageServed]:
    """A history of its own."""
    with page_of(desk_in(tmp_path)) as page:
        yield page


@pytest.fixture(scope="package")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServed]:
    """One that nobody draws from."""
    with page_of(desk_in(tmp_path_factory.mktemp("read"))) as page:
        yield page
        assert not page.desk.store.home.path.exists(), "something was made"
