"""Records: opened, joined, matched, hashed and counted."""
