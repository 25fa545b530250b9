"""For a researcher with the true data: nothing here is private, and every output says so."""
