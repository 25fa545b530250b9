"""What the static site and the explorer share: questions, tables, and parts of pages."""
