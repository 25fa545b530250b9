"""The folder of a comparison: each unit's runs in a file of its own, whole or not at all.

``compare.json`` says which records and settings they are of, so that no other runs are mixed with
them. What is asked for may grow: more ε, methods, bounds or runs use what is there.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crowdtally.errors import UsageError
from crowdtally.lab.comparing.tasks import Outcome, Unit
from crowdtally.lab.outputs import (
    ANOTHER_FOLDER,
    CHOSEN_BY_LOOKING,
    NOT_PRIVATE,
    check_own_folder,
    write_json,
)

_MANIFEST = "compare.json"
_RUNS = "runs"


def check_folder(path: Path) -> None:
    """Refuse, before anything is read, a place that is no comparison's and not free."""
    check_own_folder(path, _MANIFEST, "comparison")


@dataclass(frozen=True)
class Folder:
    """A comparison's own folder."""

    path: Path
    """Where it is."""
    seed: int
    """Where its sampling keys begin: drawn once, so that runs go on where they ended."""
    started: datetime
    """When it was begun."""

    @classmethod
    def open(cls, path: Path, data: Mapping[str, Any], settings: Mapping[str, Any]) -> Folder:
        """The folder of these records and settings, made where there is none."""
        check_folder(path)
        manifest = path / _MANIFEST
        if not manifest.is_file():
            _begin(manifest, data, settings)
        told = _told(manifest)
        _check_same(path, told, data, settings)
        return cls(path, told["seed"], told["started"])

    def outcome(self, unit: Unit, noises: int = 1) -> Outcome | None:
        """What a unit measured in so many runs; None where that was not done, or not all of it."""
        try:
            found = Outcome.of(json.loads(self._file(unit).read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if found.unit == unit and len(found.noises) >= noises else None

    def keep(self, outcome: Outcome) -> None:
        """Keep what a unit measured; what is there already stays, as it may have been shown."""
        if self.outcome(outcome.unit, len(outcome.noises)) is not None:
            return  # by another process with the same folder
        self._file(outcome.unit).parent.mkdir(exist_ok=True)
        write_json(self._file(outcome.unit), {"warning": NOT_PRIVATE, **outcome.to_dict()})

    def ended(self, unit: Unit) -> datetime:
        """When a unit was kept."""
        return datetime.fromtimestamp(self._file(unit).stat().st_mtime, UTC)

    def _file(self, unit: Unit) -> Path:
        setting = unit.setting
        bound = "M" if setting.max_records is None else str(setting.max_records)
        name = f"{setting.method}-l{bound}-e{setting.epsilon}-k{unit.key}.json"
        return self.path / _RUNS / name.replace("/", "_")


def _begin(manifest: Path, data: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    # What is computed from the true records is nobody else's to read.
    manifest.parent.mkdir(mode=0o700, exist_ok=True)
    write_json(
        manifest,
        {
            "warning": f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING}",
            "seed": secrets.randbits(48),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "data": dict(data),
            "settings": dict(settings),
        },
        put=_put_first,
    )


def _told(manifest: Path) -> dict[str, Any]:
    """What the manifest says; a UsageError where it is none of ours."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        told = json.loads(manifest.read_bytes())
        known = {name: dict(told[name]) for name in ("data", "settings")}
        started = datetime.fromisoformat(told["started"])
        return {"seed": int(told["seed"]), "started": started, **known}
    raise UsageError(f"{manifest} is damaged, or of something else: {ANOTHER_FOLDER}")


def _check_same(
    path: Path, told: Mapping[str, Any], data: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    known = told["settings"]
    differ = [name for name in {**known, **settings} if known.get(name) != settings.get(name)]
    if differ:
        name = differ[0]
        raise UsageError(
            f"{path} holds a comparison with other settings ({name}: {_shown(known.get(name))} "
            f"there, {_shown(settings.get(name))} here), and is left as it is: {ANOTHER_FOLDER}"
        )
    if told["data"] != dict(data):
        before, now = (f"{d.get('records')} of {d.get('users')}" for d in (told["data"], data))
        how = (
            f"records of users were {before} there and are {now} here"
            if before != now
            else "as many records and users, which are not the same"
        )
        raise UsageError(
            f"{path} holds a comparison of other data ({how}), and is left as it is: "
            f"{ANOTHER_FOLDER}"
        )


def _shown(value: object) -> str:
    return "not given" if value is None else str(value)


def _put_first(staged: Path, path: Path) -> None:
    """Where another process was quicker, its file stays: it may be of other records."""
    try:
        os.link(staged, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        os.replace(staged, path)
