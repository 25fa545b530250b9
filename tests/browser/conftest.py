"""One browser for all tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.browsing import Browser, chromium


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The system's Chromium; it ends with this folder, because its event loop is in others' way."""
    place = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield Browser(started)
        started.close()
