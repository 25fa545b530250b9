"""``ct.load``: a folder becomes a release that can be asked; nothing of the curator is needed."""

from __future__ import annotations

import logging
import os

from crowdtally import format
from crowdtally.reader.release import Release

_logger = logging.getLogger("crowdtally")


def load(folder: str | os.PathLike[str]) -> Release:
    """Open a release that was saved; an InputError says what is damaged."""
    return Release(format.load(folder, _logger.warning))
