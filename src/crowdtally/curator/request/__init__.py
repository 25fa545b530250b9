"""What a curator asks for: read, checked and put together before any record is read."""
