"""What an entry is: events, sums, hashes, and what became of each charge."""
