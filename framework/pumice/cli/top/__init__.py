"""``pumice top``: the cycles of a cluster as a page of the terminal.

``cycles`` runs cycles in a thread and has what the page shows of the last one, ``panes`` makes
tables of it, ``state`` has what the keys change, ``page`` makes lines of all that, ``terminal``
reads keys and draws lines. ``app`` brings them together, ``command`` is the command.
"""
