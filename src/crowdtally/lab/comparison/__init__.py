"""Every method on the same records, beside the truth."""
