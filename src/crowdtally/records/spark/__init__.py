"""Spark as an engine: the same expressions, on many machines."""
