"""A cluster that is made into that of the next cycle."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pumice.model.build import ModelBuilder, Vectors
from pumice.model.cluster import Cluster, assemble, by_name, grow_tree
from pumice.model.facts import Inventory
from pumice.model.families.kai.nodes import count_kai_gpus_of
from pumice.model.families.volcano.sub_jobs import has_topology
from pumice.model.incremental.diff import Difference, KnownFacts
from pumice.model.incremental.initial_nodes import InitialNodes
from pumice.model.incremental.restore import (
    record_job,
    record_task,
    restore_counts,
    restore_jobs,
    restore_tasks,
)
from pumice.model.job import Job
from pumice.model.task import Task

_SPARE_VECTORS = 1000


class CachedCluster:
    """A cluster, with what it takes to find it as it was after a cycle has changed it.

    :meth:`renew` puts everything back and makes anew what changed facts are about: tasks of
    changed pods, jobs whose group or one of whose tasks is new, rows whose node or pods are.
    """

    def __init__(self, cluster: Cluster, scheduler_names: Collection[str]) -> None:
        cluster.nodes.next_cycle(())
        self.cluster = cluster
        self._facts = KnownFacts(cluster.inventory, scheduler_names)
        self._nodes = InitialNodes(cluster.nodes)
        self._vectors = Vectors(cluster.dimensions)
        self._strays: dict[str, set[str]] = {}
        """By group: the pods that name it and are no part of its job."""
        for task in cluster.tasks.values():
            self._note_task(task)
        for job in cluster.jobs.values():
            record_job(job)

    def _note_task(self, task: Task) -> None:
        record_task(task)
        if task.job is None and task.pod.group:
            self._strays.setdefault(task.pod.group, set()).add(task.uid)

    def renew(self, inventory: Inventory, *, now: float, scheduler_names: Collection[str]) -> bool:
        """Make the cluster into that of a cycle that begins now; False: it must be built."""
        old = self.cluster
        difference = self._facts.difference(inventory, scheduler_names, old.dimensions)
        if difference is None:
            return False
        self._restore()
        rows = self._describe_nodes(inventory, difference)
        if len(self._vectors) > 2 * len(inventory.pods) + _SPARE_VECTORS:
            self._vectors = Vectors(old.dimensions)
        builder = ModelBuilder(
            inventory,
            now=now,
            scheduler_names=scheduler_names,
            vectors=self._vectors,
            dimensions=old.dimensions,
            kai=self._facts.kai,
            tree=grow_tree(inventory, old.nodes) if difference.tree else old.hyper_nodes,
        )
        builder.jobs, builder.job_journal = old.jobs, old.job_journal
        change = _Change(old, builder, difference)
        change.find(self._strays)
        for uid in change.leaving:
            self._forget(old.tasks.get(uid))
        change.carry_out()
        for task in change.arrived:
            self._note_task(task)
        for job in change.jobs.values():
            record_job(job)
        self._tell_statuses(builder, difference)
        self._refill(change, rows)
        old.nodes.next_cycle(rows)
        old.snapshot_cache.next_cycle(
            builder.jobs,
            change.tasks,
            changed_rows=change.rows,
            changed_jobs={*change.groups, *self._jobs_on(rows)},
            changed_tasks=change.anew,
            gone_tasks=difference.pods.gone,
        )
        self.cluster = assemble(builder, old.nodes, change.tasks, old.snapshot_cache)
        self._facts = KnownFacts(inventory, scheduler_names, kai=builder.kai)
        return True

    def _restore(self) -> None:
        cluster = self.cluster
        restore_tasks(cluster.tasks.values())
        restore_jobs(cluster.jobs.values())
        restore_counts({cluster.jobs[job.uid] for job in cluster.job_journal})
        cluster.job_journal.clear()

    def _describe_nodes(self, inventory: Inventory, difference: Difference) -> list[int]:
        """Take up the facts about nodes; their rows."""
        table = self.cluster.nodes
        rows = [table.row_of[name] for name in difference.nodes]
        if rows:
            table.describe(rows, [inventory.nodes[name] for name in difference.nodes])
            if self._facts.kai:
                count_kai_gpus_of(table, rows)
        return rows

    def _forget(self, task: Task | None) -> None:
        if task is not None and task.job is None and task.pod.group:
            self._strays[task.pod.group].discard(task.uid)

    def _tell_statuses(self, builder: ModelBuilder, difference: Difference) -> None:
        """Give jobs the new status of their group."""
        jobs, groups = builder.jobs, builder.inventory.groups
        for uid in difference.statuses:
            job = jobs.get(uid)
            if job is not None:
                job.read_status(groups[uid])
                record_job(job)

    def _refill(self, change: _Change, rows: Iterable[int]) -> None:
        change.rows.update(rows)
        self._nodes.restore(change.tasks, but=change.rows)
        for row in change.rows:
            stay = [t for t in self._nodes.on(row, change.tasks) if t.uid not in change.leaving]
            stay += change.arrivals.get(row, ())
            stay.sort(key=by_name)
            self._nodes.refill(row, stay)

    def _jobs_on(self, rows: Iterable[int]) -> Iterable[str]:
        held = self.cluster.nodes.held
        tasks = (entry.task for row in rows for entry in held[row].values())
        return [task.job.uid for task in tasks if task.job is not None]


class _Change:
    """Which tasks and jobs are made anew between two cycles, and the new ones."""

    def __init__(self, old: Cluster, builder: ModelBuilder, difference: Difference) -> None:
        self._old = old
        self._describer = builder
        self._difference = difference
        self.anew: dict[str, None] = dict.fromkeys(difference.pods.changed)
        """Uids of the pods that are read anew, in some fixed order."""
        self.leaving: set[str] = set()
        """Uids of the tasks that are replaced or gone."""
        self.groups: set[str] = set()
        """Groups whose jobs are made anew, or are no more."""
        self.rows: set[int] = set()
        """Rows whose nodes hold other tasks than before."""
        self.arrived: list[Task] = []
        self.arrivals: dict[int, list[Task]] = {}
        """By row: new tasks that it holds."""
        self.jobs: dict[str, Job] = {}
        """The jobs that were made anew."""
        self.tasks = old.tasks

    def find(self, strays: dict[str, set[str]]) -> None:
        """Find out what is to be made anew; nothing is changed yet."""
        old, difference, inventory = self._old, self._difference, self._describer.inventory
        for uid in difference.groups:
            job = old.jobs.get(uid)
            self.anew.update(dict.fromkeys(() if job is None else job.tasks))
            self.anew.update(dict.fromkeys(sorted(strays.get(uid, ()))))
        for uid in difference.pods.gone:
            self.anew.pop(uid, None)
        self.leaving.update(self.anew, difference.pods.gone)
        self.groups |= difference.groups
        if difference.tree:
            self.groups.update(uid for uid, job in old.jobs.items() if has_topology(job))
        for uid in self.leaving:
            task = old.tasks.get(uid)
            if task is not None:
                self.groups.add(task.pod.group)
                row = old.nodes.row_of.get(task.node)
                if row is not None:
                    self.rows.add(row)
        self.groups.update(inventory.pods[uid].group for uid in self.anew)

    def _row(self, task: Task) -> int | None:
        """The row of the node that holds a task."""
        if not self._describer.is_on_node(task):
            return None
        return self._old.nodes.row_of.get(task.node)

    def carry_out(self) -> None:
        """Make the new jobs and tasks and put them together."""
        members = self._make_jobs()
        self._make_tasks(members)
        builder = self._describer
        for uid, tasks in members.items():
            job = self.jobs[uid]
            for task in sorted(tasks, key=by_name):
                builder.join(task, job)
            builder.finish(job)
        self._sort_tasks()

    def _make_jobs(self) -> dict[str, list[Task]]:
        """The jobs without their tasks; answers the tasks that stay, by job."""
        builder, jobs = self._describer, self._describer.jobs
        members: dict[str, list[Task]] = {}
        lost: set[str] = set()
        for uid in self.groups:
            old, group = jobs.get(uid), builder.inventory.groups.get(uid)
            if group is not None and builder.makes_job(group):
                stay = () if old is None else old.tasks.values()
                members[uid] = [task for task in stay if task.uid not in self.leaving]
                self.jobs[uid] = builder.job(group)
            elif old is not None:
                lost.add(uid)
        if lost or not self.jobs.keys() <= jobs.keys():
            every = {**jobs, **self.jobs}
            builder.jobs = {uid: every[uid] for uid in sorted(every.keys() - lost)}
        else:
            jobs.update(self.jobs)
        return members

    def _make_tasks(self, members: dict[str, list[Task]]) -> None:
        builder = self._describer
        for uid in self.anew:
            pod = builder.inventory.pods[uid]
            owner = builder.owner(pod)
            task = builder.task(pod)
            self.arrived.append(task)
            if owner is not None:
                members[owner.uid].append(task)
            row = self._row(task)
            if row is not None:
                self.rows.add(row)
                self.arrivals.setdefault(row, []).append(task)

    def _sort_tasks(self) -> None:
        """All tasks in their order; the same table where nobody came, went or was renamed."""
        tasks, arrived = self.tasks, self.arrived
        if not self._difference.pods.gone and all(
            task.uid in tasks and tasks[task.uid].key == task.key for task in arrived
        ):
            for task in arrived:
                tasks[task.uid] = task
            return
        every = [task for uid, task in tasks.items() if uid not in self.leaving]
        every += arrived
        every.sort(key=by_name)
        self.tasks = {task.uid: task for task in every}
