"""Damage to a release is seen: what ``release.json`` and the tables must look like.

Neutral ground: nothing here sees a record, draws noise or answers a question. Every finding is one
:class:`~crowdtally.errors.InputError` that names the file, what is wrong with it, and what to do.
"""
