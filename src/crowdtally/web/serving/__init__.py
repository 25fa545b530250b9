"""Pages over HTTP on one's own machine: what every server of pages has in common.

A server is an ASGI application behind a :class:`~crowdtally.web.serving.gate.Gate`, run by
:func:`~crowdtally.web.serving.running.run`. Nothing here knows what the pages are about.
"""
