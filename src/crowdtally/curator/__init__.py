"""Whoever holds the records: this is the code to audit."""
