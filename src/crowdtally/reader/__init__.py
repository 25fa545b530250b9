"""Anyone who reads a release: sees releases only."""
