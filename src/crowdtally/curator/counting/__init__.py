"""Exact counts of the records; only sampling keys are drawn, so it may precede the charge."""
