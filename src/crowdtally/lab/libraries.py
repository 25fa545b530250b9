"""The libraries of the extra ``lab``: one check, before anything is begun."""

from __future__ import annotations

from importlib.util import find_spec

from crowdtally.errors import UsageError

_NEEDED = ("jinja2", "pandas", "pyarrow", "scipy", "vl_convert")


def check_libraries() -> None:
    """Refuse, with what to install, where one of them is missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"the lab needs {', '.join(missing)}: pip install 'crowdtally[lab]'.")
