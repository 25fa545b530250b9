"""What was found, as files in a new folder and as a frame. Each says that it is not private."""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.lab.outputs import NOT_PRIVATE, check_apart
from crowdtally_research.recommenders.found import Found
from crowdtally_research.recommenders.pictures import pictures
from crowdtally_research.recommenders.showing import markdown


def as_frame(found: Found) -> Any:
    """A pandas frame of the qualities; its ``attrs`` have the rest."""
    import pandas as pd

    frame = pd.DataFrame([asdict(one) for one in found.qualities])
    frame.attrs |= {name: value for name, value in as_json(found).items() if name != "qualities"}
    return frame


def as_json(found: Found) -> dict[str, Any]:
    """All of it, the warning first."""
    return {
        "warning": NOT_PRIVATE,
        "facts": asdict(found.facts),
        "qualities": [asdict(one) for one in found.qualities],
        "aggregates": [asdict(one) for one in found.aggregates],
    }


def check_folder(path: Path) -> None:
    """Refuse, before anything is read, a place that is not free."""
    check_apart(path)
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} exists, and nothing is replaced: give another folder with -o.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.absolute().parent}: make it first.")


def write(found: Found, folder: Path) -> None:
    """Write tables, pictures and the page, all of them or none."""
    files = {
        "recommend.json": json.dumps(as_json(found), ensure_ascii=False, indent=1) + "\n",
        "recommend.csv": _csv([asdict(one) for one in found.qualities]),
        "aggregates.csv": _csv([asdict(one) for one in found.aggregates]),
        "recommend.md": f"**{NOT_PRIVATE}**\n\n{markdown(found)}",
    }
    files |= {f"{name}.svg": drawn + "\n" for name, drawn in pictures(found).items()}
    part = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.part")
    try:
        part.mkdir(mode=0o700)  # what is computed from true records is nobody else's to read
        for name, text in files.items():
            (part / name).write_text(text, encoding="utf-8")
        check_folder(folder)
        os.rename(part, folder)
    except OSError as error:
        raise CrowdtallyError(
            f"{str(folder)!r} cannot be written: {error.strerror or 'unknown reason'}. "
            "Check the path, its permissions and the free space."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _csv(rows: list[dict[str, Any]]) -> str:
    told = [row | {"warning": NOT_PRIVATE} for row in rows]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(told[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(told)
    return text.getvalue()
