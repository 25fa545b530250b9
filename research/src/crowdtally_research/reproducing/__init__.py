"""Every table and figure of the four papers, in our numbers, beside what the papers state."""
