"""Takes the pictures of the person's own page for the documents, of films that nobody made.

python tests/browser/person_pictures.py docs/pictures
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from crowdtally.person.page.actions import Choice, Desk
from kit.browsing import PHONE, chromium
from kit.person import desk_in, page_of

GENRES = {
    "action": 9, "comedy": 16, "crime": 8, "documentary": 4, "drama": 20, "fantasy": 4,
    "horror": 6, "music": 3, "romance": 9, "science fiction": 6, "thriller": 9, "western": 2,
}  # fmt: skip
"""How frequent each is."""
TASTE = {"comedy": 6.0, "science fiction": 5.0, "documentary": 4.0, "romance": 2.0}
"""What this person likes more than others."""


def films(folder: Path) -> Desk:
    """A made-up catalogue of 2,000 films, and somebody who saw 150 of them."""
    chance = np.random.default_rng(7)
    weights = np.array(list(GENRES.values()), float)
    made = {
        f"film {number}": chance.choice(
            list(GENRES), chance.integers(1, 3), replace=False, p=weights / weights.sum()
        ).tolist()
        for number in range(2000)
    }
    liked = np.array([np.prod([TASTE.get(name, 0.4) for name in made[film]]) for film in made])
    own = chance.choice(list(made), 150, replace=False, p=liked / liked.sum())
    return desk_in(folder, films=made, own=tuple(own.tolist()))


def take(target: Path) -> None:
    """Write all of them."""
    from playwright.sync_api import sync_playwright

    choice = Choice("1", {6: "no", 3: "0.5"})
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        page_of(replace(films(Path(folder)), folder=Path("~/for-others"))) as served,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])

        def shot(name: str, address: str, to: str, width: int, height: int, dark: bool) -> None:
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
            )
            page.goto(f"{served.url}{address}")
            page.evaluate("s => document.querySelector(s).scrollIntoView()", to)
            page.screenshot(path=target / f"person-{name}.png")
            page.close()

        shot("levels", f"levels?{choice.query()}", "html", 900, 960, False)
        shot("before", f"?{choice.query()}", "html", 900, 1240, False)
        served.draw(choice)
        shot("drawn", f"?{choice.query()}", "#yours", 900, 1000, False)
        shot("phone", f"?{choice.query()}", "#draw", PHONE, 812, True)
        browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
