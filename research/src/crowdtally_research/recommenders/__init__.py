"""Does a perturbed history still recommend? Measured with recommenders that others wrote.

::

    reading      files → catalogue, and who had which of its items
    splitting    public people to learn from; others, each with a history and hidden items
    models       recommenders of the package implicit, and the list that is the same for all
    judging      hit rate and NDCG of each person's list
    histories    what a recommender may be given of a person: raw, perturbed, random, …
    stocking     exact noise for many people
    posterior    a better phase 2: public people whose counts are like the noisy ones
    learned      another: which items go with such counts, learned from perturbed public people
    aggregates   how far off the counts of categories are
    running      every history, every recommender, every draw
    found        what was found
    experiment   the question, checked, and its answer
    showing      the answer as tables in text and Markdown; pictures, writing: as files
"""
