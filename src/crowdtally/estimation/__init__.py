"""Estimates from released values: pure functions on arrays, the same for curator and reader."""
