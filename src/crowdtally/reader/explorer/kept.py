"""Answers that were given before: the last few, since a release does not change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

MOST = 256
"""Answers that are kept."""


class Kept:
    """The answers that were asked for last."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._found: OrderedDict[object, Any] = OrderedDict()

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        """The answer of a question; made where it is not kept."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = make()
        with self._lock:
            self._found[key] = made
            if len(self._found) > self._most:
                self._found.popitem(last=False)
        return made
