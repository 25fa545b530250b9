"""Where entries are kept: SQLite or PostgreSQL, found, opened, written and granted."""
