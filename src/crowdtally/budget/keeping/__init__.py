"""A ledger outlives its file: backups and moves."""
