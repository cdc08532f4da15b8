"""A solver action: evictions for urgent jobs, each plan proven by a simulation first."""

from pydantic import Field

from pumice import Action, Job, Plan, Session, Solver, solver


class MakeRoom(Action):
    """Evict jobs of lower priority, of any queue, for jobs that find no room."""

    evicts = True

    class Options(Action.Options):
        most: int = Field(2, ge=1, description="Most jobs that one plan may take tasks from.")

    def execute(self, session: Session) -> None:
        def victims(claimant: Job) -> solver.QueueTree:
            lower = [
                job
                for job in session.jobs.values()
                if job.preemptible and job.priority < claimant.priority
            ]
            return solver.QueueTree(session, lower, victims=True)

        def acceptable(plan: Plan) -> bool:
            return len(plan.victims) <= self.options.most

        placer = solver.GangPlacer(session)
        search = Solver(session, placer, victims=victims, validator=acceptable)
        waiting = solver.QueueTree(session, [job for job in session.jobs.values() if job.pending])
        while waiting:
            job = waiting.pop()
            with session.turn(job):
                statement = search.solve(job, range(len(session.nodes)))
                if statement is not None:
                    statement.commit()
