"""The one script that a page may have, which its policy names by its hash, and data beside it."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from crowdtally.core.display import printable_json


def own_script(package: str, name: str) -> str:
    """A script that lies beside a template; it stands inside the page as it is."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError(f"{name} would end the element that it stands in")
    return text


def script_source(text: str) -> str:
    """How a Content-Security-Policy names this script, and no other.

    Unlike ``'self'`` a hash also holds where a page is opened from a disk.

    >>> script_source("alert(1)")
    "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
    """
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def embedded(data: object) -> str:
    r"""JSON that can stand within an element of a page: no text in it begins or ends a tag.

    >>> print(embedded(["</script>", "a&b"]))
    ["\u003c/script\u003e", "a\u0026b"]
    """
    text = printable_json(data)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
