"""An action: place what fits, the first job first."""

from pumice import Action, Job, Session


class FirstFit(Action):
    """Place each job on the nodes that score best, whole or not at all."""

    def execute(self, session: Session) -> None:
        jobs = session.order.job_heap(job for job in session.jobs.values() if job.pending)
        while jobs:
            job = jobs.pop()
            with session.turn(job):
                self.place(session, job)

    def place(self, session: Session, job: Job) -> None:
        # Without a commit the statement undoes everything when the block is left.
        with session.statement() as statement:
            for task in session.order.sorted_tasks(job.pending):
                if session.queries.prepare(task) is not None:
                    continue  # a plugin rules all nodes out
                choice = session.queries.best(task)
                if choice is None:
                    job.fit_errors[task.uid] = session.queries.fit_errors(task)
                elif choice.idle:
                    statement.allocate(task, choice.row)
                else:
                    statement.pipeline(task, choice.row)
            if session.ask.job_ready(job):
                statement.commit()
