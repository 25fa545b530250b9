"""What the curator may look at before a release: exact, private, never published."""
