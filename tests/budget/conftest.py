"""Fixtures of the ledger's tests."""

from budget.ledger_kit import folder, location, server

__all__ = ["folder", "location", "server"]
