"""What can be concluded from a release, for free."""
