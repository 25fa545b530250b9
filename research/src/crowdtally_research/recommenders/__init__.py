"""Does a perturbed history still recommend? Measured with recommenders that others wrote.

::

    models       recommenders of the package implicit, the popular list, and how lists are judged
    histories    who is public and who is held out; what a recommender may be given of a person
    running      every history, every recommender, every draw, and what was found
    writing      the answer as tables, pictures and files
    experiment   the records and the question, checked, and the answer
    command      ``crowdtally lab recommend``
"""
