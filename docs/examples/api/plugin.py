"""A plugin: prefer the nodes of a team, and keep jobs that are too large waiting."""

from pydantic import Field

from pumice import Job, NodeView, Plugin, Refusal, Task, hookimpl


class Teams(Plugin):
    """Prefer nodes whose label names the job's queue; limit the size of a job."""

    class Options(Plugin.Options):
        label: str = Field("example.com/team", description="The label of a team's nodes.")
        weight: float = Field(10.0, ge=0, description="The score of a node of the team.")
        largest: int = Field(64, ge=1, description="Most tasks of a job.")

    reads = frozenset({"queue"})

    @hookimpl
    def job_valid(self, job: Job) -> Refusal | None:
        if len(job.tasks) <= self.options.largest:
            return None
        return Refusal("TooLarge", f"{len(job.tasks)} tasks, at most {self.options.largest}")

    @hookimpl(scope="static")
    def batch_node_order(self, task: Task, nodes: NodeView):
        label = self.options.label
        teams = nodes.fact(("teams", label), lambda node: node.labels.get(label), object)
        return (teams == task.job.queue) * self.options.weight
