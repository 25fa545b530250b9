"""Ways to publish counts with noise."""
