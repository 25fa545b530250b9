"""Estimates from noisy values alone: neutral ground, nothing is private or random here.

The curator decides the next question of ``auto`` with it, from what it has already released. The
reader estimates every count with it. Same input, same output.
"""
