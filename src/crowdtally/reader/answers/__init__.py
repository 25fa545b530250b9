"""What all answers have in common: rows with fixed columns, labels, and ways to other programs."""
