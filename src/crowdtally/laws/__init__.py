"""Noise laws in closed form: every package may use them, and nothing is random here.

``base.py`` is the protocol of a law, ``registry.py`` reads one from ``release.json``.
"""
