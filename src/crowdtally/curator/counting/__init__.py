"""Exact counts of the records, on their way to the noise; each read says what fell out of it.

::

    reading   what a read of the records gives; reading in parts that fit the memory
    cells     cells and their counts as arrays: fetched, added up
    tables    counts of items, of items in context, of pairs, of rows that are persons
    memberships  distinct users of every cell, nobody bounded
    rows      what a choice of a bound looks at: how long the users' rows are
    items     the items without a public list that users have

Counting draws nothing but what the sampling key decides, so the first read of a release is done
before its charge: it reads every record, and damage shows there.
"""
