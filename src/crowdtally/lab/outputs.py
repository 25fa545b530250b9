"""What every output of the lab says, and where it may not be written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from crowdtally.errors import UsageError

NOT_PRIVATE = (
    "NOT PRIVATE: this was computed from the true records. Do not publish it, and do not show it "
    "to anyone who may not see the records."
)
CHOSEN_BY_LOOKING = (
    "A method that is chosen by it was chosen by looking at the data, which no epsilon covers."
)
ANOTHER_FOLDER = "give another folder with -o DIR, or remove this one."
"""What to do where a folder is not to be used."""
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


def check_own_folder(path: Path, manifest: str, what: str) -> None:
    """Refuse a folder that is not free, and not what is to be gone on with.

    Args:
        path: where the lab is to write.
        manifest: the file by which a folder of this kind is known.
        what: what such a folder is called: ``comparison``.
    """
    check_apart(path)
    if path.is_dir():
        _check_inside(path, manifest, what)
    elif path.exists():
        raise UsageError(f"{path} is a file: give a folder with -o DIR.")
    elif not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.absolute().parent}: make it first.")


def _check_inside(path: Path, manifest: str, what: str) -> None:
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise UsageError(f"{path} cannot be read and written: give another folder with -o DIR.")
    if (path / manifest).is_file():
        return
    if any(not one.name.endswith(".part") for one in path.iterdir()):
        raise UsageError(f"{path} holds other things, and no {what}: {ANOTHER_FOLDER}")


def write_json(
    path: Path, content: Mapping[str, Any], put: Callable[[Path, Path], None] = os.replace
) -> None:
    """A JSON file, whole or not at all; OSError, which names the file, where it cannot be."""
    write_text(path, json.dumps(content), put)


def write_text(path: Path, text: str, put: Callable[[Path, Path], None] = os.replace) -> None:
    """A text file, whole or not at all; OSError, which names the file, where it cannot be."""
    staged = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        staged.write_text(text, encoding="utf-8")
        put(staged, path)
    except OSError as error:  # a full disk names no file
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        staged.unlink(missing_ok=True)
