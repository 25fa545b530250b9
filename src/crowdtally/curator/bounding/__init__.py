"""Rules that bound what one user contributes."""
