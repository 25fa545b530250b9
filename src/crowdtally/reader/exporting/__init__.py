"""A release for other programs: an entry of a public registry, or Croissant metadata."""
