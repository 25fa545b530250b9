"""One server of a release of each kind, for all tests that change nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import crowdtally as ct
from kit.pages import Served, all_kinds, serving


@pytest.fixture(scope="package")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ct.Release]:
    return all_kinds(tmp_path_factory.mktemp("kinds"))


@pytest.fixture(scope="package")
def server(releases: dict[str, ct.Release]) -> Iterator[Served]:
    with serving(list(releases.values())) as found:
        yield found.until_ready()
