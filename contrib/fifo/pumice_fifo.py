"""First come, first served."""

from pumice import Job, Plugin, hookimpl


class Fifo(Plugin):
    """Serve jobs strictly in the order they were submitted, whatever their priority."""

    @hookimpl
    def job_order(self, left: Job, right: Job) -> int:
        return (left.created > right.created) - (left.created < right.created)
