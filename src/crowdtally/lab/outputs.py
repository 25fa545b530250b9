"""What every output of the lab says, and where it may not be written."""

from __future__ import annotations

from pathlib import Path

from crowdtally.errors import UsageError

NOT_PRIVATE = (
    "NOT PRIVATE: this was computed from the true records. Do not publish it, and do not show it "
    "to anyone who may not see the records."
)
CHOSEN_BY_LOOKING = (
    "A method that is chosen by it was chosen by looking at the data, which no epsilon covers."
)
_METADATA = "release.json"


def check_apart(target: Path) -> None:
    """Refuse to write to a release's folder or inside one: it would be taken for a part of it."""
    place = target.resolve()  # where it would really be written, past links and ..
    for folder in (place, *place.parents):
        if (folder / _METADATA).is_file():
            raise UsageError(
                f"{target} lies in the release {folder}, and what the lab makes is not private: "
                "give a place outside of releases."
            )
