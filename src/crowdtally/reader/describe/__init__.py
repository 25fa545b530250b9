"""A release in plain words: what, from whom, how protected, and what is not covered."""
