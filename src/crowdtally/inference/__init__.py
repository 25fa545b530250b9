"""Estimates from noisy values alone: neutral ground, nothing is private or random here.

The curator decides the next question of ``auto`` with it, from what it has already released. The
reader estimates every count with it. Same input, same output.

::

    rows              how long users' rows are, and what a bound leaves of them
    facts             what a release says about its items, as arrays
    auto_facts        the same, from the tables of a release of auto
    auto              from those facts to every item and the total
    auto_cells        items in contexts
    heads             items that were measured again, blended in
    items             estimates of one table; how likely each item is among the largest
    mixing            empirical Bayes: the posterior of every count of one table, or of a summary
    empirical_bayes   the distribution of the counts, estimated from their noisy values
    posterior         how likely a noisy value is under each true count
    lifts             how much more often items are found somewhere than expected
"""
