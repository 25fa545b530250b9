"""Choosing which items a release speaks about, from the records, privately."""
