"""Row-wise SQL expressions that a person typed."""
