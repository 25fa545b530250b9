"""Releases as pages to explore: every view is an address of its own, and works without scripts."""
