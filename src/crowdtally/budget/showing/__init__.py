"""The record for people: what was spent, by whom and what for."""
