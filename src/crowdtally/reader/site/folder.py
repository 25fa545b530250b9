"""A site is written whole, or not at all, and never over something that is there."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from crowdtally.core import files as durable
from crowdtally.errors import CrowdtallyError, UsageError


def refuse_taken(target: Path) -> None:
    """Refuse a place where something is, or where nothing can be."""
    if os.path.lexists(target):
        raise UsageError(
            f"{str(target)!r} exists, and a site never replaces anything: choose another folder, "
            "or remove it first."
        )
    if not target.parent.is_dir():
        raise UsageError(f"{str(target.parent)!r} is not a folder: create it first.")


class new_folder:
    """Context manager: a folder beside ``target`` that gets its name at the end, or goes."""

    def __init__(self, target: Path) -> None:
        refuse_taken(target)
        self._target = target
        self._part = target.parent.resolve() / f".{secrets.token_hex(8)}.part"

    def __enter__(self) -> Path:
        try:
            self._part.mkdir()
        except OSError as error:
            raise _unwritable(self._target, error) from error
        return self._part

    def __exit__(self, kind: type[BaseException] | None, error: object, _: object) -> None:
        try:
            if kind is None:
                self._name()
        except OSError as failed:
            raise _unwritable(self._target, failed) from failed
        finally:
            shutil.rmtree(self._part, ignore_errors=True)
        if isinstance(error, OSError):
            raise _unwritable(self._target, error) from error

    def _name(self) -> None:
        for folder, _, files in os.walk(self._part):
            for name in files:
                durable.flush(Path(folder, name))
            durable.flush(Path(folder))
        refuse_taken(self._target)  # a rename would take the place of an empty folder
        os.rename(self._part, self._target)
        durable.flush(self._target.parent)


def _unwritable(target: Path, error: OSError) -> CrowdtallyError:
    return CrowdtallyError(
        f"{str(target)!r} cannot be written: {error.strerror or 'unknown reason'}. "
        "Check the path, its permissions and the free space."
    )
