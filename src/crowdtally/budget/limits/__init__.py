"""Limits that an officer keeps in a file of their own."""
