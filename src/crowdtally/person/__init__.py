"""On one person's own device: a history is perturbed before anything of it leaves.

::

    catalogue      public items and their categories; groups of items with one set of categories
    levels         no release, perturbed, all release: per category
    scales         phase 1: the noise rates of least mean noise, verified in rationals (barrier)
    quantify       an epsilon from a public policy (S-PBQ, a reconstruction)
    planning       all of the above, public: a Plan
    history        the private set of items; it is seen by perturbing alone
    perturbing     exact noise on the counts of categories, then phase 2: pure
    noisy          the noisy counts, all that phase 2 may see
    rebuild        phase 2: least squares on the public catalogue, then rounding

Nobody else is trusted on this side. What is protected is one item of one history
(``PrivacyUnit("item")``), not the person: a history of t items can lose t·ε together.
"""
