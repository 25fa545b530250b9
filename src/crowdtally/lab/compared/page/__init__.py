"""One page about a comparison, without scripts."""
