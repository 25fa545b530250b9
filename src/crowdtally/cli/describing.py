"""``crowdtally describe``: a release in plain words."""

from __future__ import annotations

import shutil
import sys

from crowdtally.cli import options
from crowdtally.cli.reading import ReleaseArgument

_WIDEST = 100


def describe(
    release: ReleaseArgument,
    as_json: options.JsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Say in plain words what a release counts, whom it protects and how far, and what not."""
    from crowdtally import format
    from crowdtally.reader.describe.description import WIDTH
    from crowdtally.reader.describe.description import describe as described

    found = described(format.load(release, options.remark(quiet=False)))
    if as_json:
        print(found.to_json())
        return
    # On a terminal as wide as that, within what can be read; elsewhere always the same.
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    print(found.text(min(columns, _WIDEST)))
