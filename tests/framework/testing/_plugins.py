"""A plugin that satisfies the contract."""

from pumice import Plugin, hookimpl


class Youngest(Plugin):
    """The youngest job first."""

    @hookimpl
    def job_order(self, left, right):
        return (left.created < right.created) - (left.created > right.created)
