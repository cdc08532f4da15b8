"""The shortcut of the plugins that account for queues."""

from __future__ import annotations

from pumice import Shortcut

QUEUE_BOOKS = Shortcut(
    "queue_books",
    "shares of jobs and queues, and what a job holds and requests next, are cached until something"
    " happens to them",
    "they are computed whenever queues or jobs are compared",
)
