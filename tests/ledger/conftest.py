"""Fixtures of the ledger's tests."""

from kit.ledgers import folder, location, server

__all__ = ["folder", "location", "server"]
