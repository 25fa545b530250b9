"""Questions to a release."""
