"""Private choices: every candidate is public, every score exact, every choice charged."""
