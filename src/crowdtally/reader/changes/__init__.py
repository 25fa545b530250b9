"""What changed between two releases of one domain, beyond noise and sampling: ``changes.md``."""
