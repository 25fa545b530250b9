"""``auto``: the charged steps that spend ε where it pays most, one module each.

::

    design     what is public before anything is counted
    deciding   which steps run and with which shares, from the request and from released values
    scaling    rows scaled to a sum of at most θ, over exactly the row that is divided
    sizes … head_rows   the steps, in the order in which they are taken

``course`` is the account of ε: asserted before each draw, recorded, never refunded.

Each step reads what earlier ones released and nothing else about the records, so its choices cost
nothing (adaptive composition): ``auto.md`` has the argument.
"""
