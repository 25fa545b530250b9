"""A ledger outlives its file and its format: backups, moves, upgrades."""
