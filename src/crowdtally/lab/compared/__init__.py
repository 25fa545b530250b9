"""What a comparison found: its rows, and what tables, words and pictures make of them."""
