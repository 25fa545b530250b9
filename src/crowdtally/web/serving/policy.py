"""What browsers are told with every answer: nothing from outside, and only our own scripts."""

from __future__ import annotations

from collections.abc import Mapping

# Attributes may have a style: drawings say how wide they may get. Elements with one may not.
_WITHOUT_SCRIPTS = (
    "default-src 'none'",
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
)
POLICY = "; ".join((*_WITHOUT_SCRIPTS, "script-src 'self'", "connect-src 'self'"))
"""Of pages with our own scripts."""
STILL_POLICY = "; ".join(_WITHOUT_SCRIPTS)
"""Of pages that have no script at all."""
ALONE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Of a page that has its style with it and asks for nothing."""
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Of every answer, whatever it is."""
