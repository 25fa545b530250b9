"""Attacks on the real line of a release, and what they certify."""
