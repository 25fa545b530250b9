"""Parts of the default method, which have no other place."""
