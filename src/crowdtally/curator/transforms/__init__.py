"""Linear maps of counts, each with the bound that its result obeys."""
