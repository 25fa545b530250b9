"""Takes the pictures of the explorer for the documents, of a made-up city.

python tests/browser/pictures.py docs/pictures
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import crowdtally as ct
from crowdtally.lab.demo import DAYS, generate
from kit.browsing import DESK, PHONE, chromium
from kit.pages import serving


@dataclass(frozen=True)
class Picture:
    """One picture."""

    name: str
    path: str
    width: int = DESK
    height: int = 900
    dark: bool = False


PICTURES = (
    Picture("overview", "/r/march/", 1000, 1000),
    Picture("top", "/r/march/top?context=weekday%3DSaturday&context=weekday%3DSunday", 1000, 1150),
    Picture("map", "/r/march/map", 1000, 900, dark=True),
    Picture("sums", "/r/march/sum?value=weekday%3DSaturday&value=weekday%3DSunday", PHONE, 1000),
    Picture("compare", "/compare", 1000, 1000),
)


def city(folder: Path, name: str, records: int) -> ct.Release:
    """A release of visits that nobody made."""
    inside = folder / f"visits-{name}"
    inside.mkdir()
    made_up = generate(inside, records)
    return ct.release(
        ct.read(
            made_up.records, user="user_id", item="place", contexts=["weekday"],
            record_id="visit_id",
        ),
        ct.Domain(ct.read_list(made_up.places, "place"), {"weekday": DAYS}),
        epsilon=1, count="users", output=folder / name, ledger=inside / "ledger.sqlite",
        dataset=f"visits in {name.title()}", new_dataset=True,
    )  # fmt: skip


def take(target: Path, pictures: tuple[Picture, ...] = PICTURES) -> None:
    """Write all of them."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        releases = [city(Path(folder), "march", 200_000), city(Path(folder), "april", 240_000)]
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        with serving(releases) as server:
            server.until_ready()
            for one in pictures:
                page = browser.new_page(
                    viewport={"width": one.width, "height": one.height},
                    color_scheme="dark" if one.dark else "light",
                    device_scale_factor=1,
                )
                page.goto(f"{server.url.rstrip('/')}{one.path}", wait_until="networkidle")
                page.screenshot(path=target / f"explorer-{one.name}.png")
                page.close()
        browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
