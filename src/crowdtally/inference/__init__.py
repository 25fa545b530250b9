"""Estimates from noisy values alone: neutral ground, nothing is private or random here.

The curator decides the next step of ``auto`` with it, from what it has already released. The reader
estimates every count with it. Same input, same output.

::

    sizes             how many users and records there are, from the charged histogram of sizes
    bounds            the bounds θ and C that follow from it
    facts             what a release says about its items, as arrays
    items             from those facts to estimates
    estimates         the estimates, and lists of items that follow from them
    chances           how likely each item is among the largest
    bounded           what bounding left of each item
    mixing            empirical Bayes: the posterior of every count of one table
    prior             the distribution of the counts, estimated from their noisy values
    likelihoods       how likely a noisy value is under each true count
    posteriors        what is known of each count
    joint             the same where some cells were measured a second time
    censored          the same for a summary that leaves cells out
    truncated         the posterior under a flat prior on counts of at least 0
    widening          intervals that contain a further error
    calibrating       from bounded counts to counts: what bounding took away
    heads             items that were measured directly, blended in
    repeats           a head of users beside counts of records
    consistent_items  item counts and their context counts that must add up
    contexts          cells of items and contexts: items × shares, moved by what was measured
    context_facts     what a release says about contexts, as arrays
    tastes            what users of a context like, by public features
    measured_lifts    items that were counted in each context
    shrinking         rows of noisy numbers, drawn towards zero by what they have in common
    specials          what is popular in a context, and what is special there
    stopping          whether contexts differ enough to go on paying for them
"""
