"""``pumice serve``: a web page on the cycles of an embedded cluster.

``history`` runs cycles and stores what the page shows of each, ``views`` and ``queues`` are that,
``api`` answers the page's requests as JSON, ``access`` decides who may ask, ``app`` routes requests
and ``server`` speaks HTTP. ``static/`` has the page.
"""
