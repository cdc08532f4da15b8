"""``pumice serve``: a web page on the cycles of an embedded cluster.

``history`` runs cycles and stores what the page shows of each, which is in ``views``.
``api`` and ``rows`` make JSON of it, ``query`` reads parameters, ``access`` decides who
may ask, ``app`` routes requests and ``server`` speaks HTTP. ``static/`` has the page.
"""
