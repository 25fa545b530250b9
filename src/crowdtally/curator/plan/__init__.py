"""What a release would cost and how far off it would be, before anything is spent."""
