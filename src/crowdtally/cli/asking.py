"""A question to whoever sits at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable


def somebody_is_there() -> bool:
    """Whether a question would be seen and could be answered."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def asker(before: Callable[[], None]) -> Callable[[str], bool]:
    """A function that asks on stderr, where ``before`` makes room; anything but yes is no."""

    def ask(question: str) -> bool:
        before()
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
        try:
            answer = sys.stdin.readline()
        except KeyboardInterrupt:
            print("\nNothing was charged.", file=sys.stderr)  # a question comes before the charge
            raise
        if not answer.endswith("\n"):
            print(file=sys.stderr)  # the input ended instead of a line
        return answer.strip().lower() in ("y", "yes")

    return ask
