"""Pages in a real browser, from a disk or a server: as wide as a telephone, dark, by axe-core."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

PHONE, DESK = 375, 1280
"""Widths in pixels."""
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_CUT_LABELS = """() => [...document.querySelectorAll('svg text')].filter(text => {
    const own = text.getBoundingClientRect(), all = text.ownerSVGElement.getBoundingClientRect();
    return own.left < all.left - 1 || own.right > all.right + 1
        || own.top < all.top - 1 || own.bottom > all.bottom + 1;
}).map(text => text.textContent)"""


def chromium() -> str:
    """The system's browser; where it is missing, the test is skipped, and fails on CI."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        words = "Chromium is missing: apt-get install chromium fonts-dejavu-core"
        pytest.fail(words) if os.environ.get("CI") else pytest.skip(words)
    return found


@dataclass
class Looked:
    """A page as somebody sees it, and what happened while it was opened."""

    page: Any
    """Playwright's."""
    outside: list[str]
    """Addresses that it wanted from elsewhere; they were refused."""
    alarms: list[str]
    """Dialogs, errors and messages of its console."""

    @property
    def is_scrolled_sideways(self) -> bool:
        """Whether the page is wider than the window."""
        wide = "document.documentElement.scrollWidth > window.innerWidth"
        return bool(self.page.evaluate(wide))

    @property
    def cut_labels(self) -> list[str]:
        """Texts of drawings that stick out of them."""
        found: list[str] = self.page.evaluate(_CUT_LABELS)
        return found

    def faults(self) -> list[str]:
        """What axe-core finds."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [f"{one['id']}: {[node['target'] for node in one['nodes']]}" for one in found]


class Browser:
    """One browser, in which pages are looked at."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser

    @contextmanager
    def looking(
        self,
        page: Path | str,
        *,
        width: int = DESK,
        dark: bool = False,
        scripts: bool = True,
        language: str = "en-US",
    ) -> Iterator[Looked]:
        """The page in a file, or at an address; those of other places are noted and refused."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            locale=language,
            reduced_motion="reduce",
        )
        address = page if isinstance(page, str) else page.resolve().as_uri()
        home = urljoin(address, "/" if isinstance(page, str) else ".")
        seen = Looked(context.new_page(), [], [])

        def route(found: Any) -> None:
            if found.request.url.startswith(home):
                found.continue_()
            else:
                seen.outside.append(found.request.url)
                found.abort()

        def refuse(dialog: Any) -> None:
            seen.alarms.append(dialog.message)
            dialog.dismiss()

        context.route("**/*", route)
        seen.page.on("dialog", refuse)
        seen.page.on("pageerror", lambda error: seen.alarms.append(str(error)))
        seen.page.on("console", lambda said: seen.alarms.append(said.text))
        try:
            seen.page.goto(address)
            yield seen
        finally:
            context.close()

    @contextmanager
    def roaming(self, **names: str) -> Iterator[Any]:
        """A page of Playwright's that may go anywhere.

        Args:
            names: addresses that names have in a browser of its own, such as a liar's name server
                would say; dots are written as ``__``.
        """
        rules = ", ".join(f"MAP {name.replace('__', '.')} {at}" for name, at in names.items())
        # Newer browsers ask before a name reaches this machine; older ones do not.
        trusting = "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"
        own = self._browser
        if names:
            options = ["--no-sandbox", f"--host-resolver-rules={rules}", trusting]
            own = own.browser_type.launch(executable_path=chromium(), args=options)
        context = own.new_context()
        try:
            yield context.new_page()
        finally:
            context.close()
            if names:
                own.close()
