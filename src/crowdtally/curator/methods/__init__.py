"""Methods: each asks questions and sees only noisy answers. None reaches records or draws.

::

    tables     sra, hpa, declared, dpsense, dpsense-s, l2, interval noise and rows
    top        the items that most users have
    discover   cells without public lists
"""
