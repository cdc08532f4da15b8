"""Refreshes a cluster for the next cycle."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pumice.model.build import ModelBuilder, Vectors
from pumice.model.cluster import Cluster, assemble, by_name, grow_tree
from pumice.model.facts import Inventory
from pumice.model.families.kai.nodes import count_claimable, count_kai_gpus_of
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
from pumice.model.job import Job, sum_requests
from pumice.model.task import Task

_MAX_UNUSED_VECTORS = 1000
"""So many cached vectors, beside two per pod, may belong to requests that no pod has."""


class CachedCluster:
    """A cluster, and what is needed to restore it after a cycle has changed it.

    :meth:`refresh` restores everything and rebuilds what changed facts are about: tasks of changed
    pods, jobs with a changed group or task, rows with a changed node or pod.
    """

    def __init__(self, cluster: Cluster, scheduler_names: Collection[str]) -> None:
        cluster.nodes.next_cycle(())
        self.cluster = cluster
        self._facts = KnownFacts(cluster.inventory, scheduler_names)
        self._nodes = InitialNodes(cluster.nodes)
        self._vectors = Vectors(cluster.dimensions)
        self._unowned: dict[str, set[str]] = {}
        """By group: the pods that name it and are not part of its job."""
        for task in cluster.tasks.values():
            self._record_task(task)
        for job in cluster.jobs.values():
            record_job(job)

    def _record_task(self, task: Task) -> None:
        record_task(task)
        if task.job is None and task.pod.group:
            self._unowned.setdefault(task.pod.group, set()).add(task.uid)

    def refresh(
        self, inventory: Inventory, *, now: float, scheduler_names: Collection[str]
    ) -> bool:
        """Refresh the cluster for a cycle that begins now; False: it must be built from scratch."""
        old = self.cluster
        difference = self._facts.difference(inventory, scheduler_names, old.dimensions)
        if difference is None:
            return False
        self._restore()
        jobs = self._jobs_of(difference.moved_nodes)
        rows = self._describe_nodes(inventory, difference)
        if len(self._vectors) > 2 * len(inventory.pods) + _MAX_UNUSED_VECTORS:
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
        rebuild = _Rebuild(old, builder, difference)
        rebuild.find(self._unowned)
        for uid in rebuild.leaving:
            self._forget(old.tasks.get(uid))
        rebuild.apply()
        for task in rebuild.arrived:
            self._record_task(task)
        for job in rebuild.jobs.values():
            record_job(job)
        self._read_statuses(builder, difference)
        self._refill(rebuild, rows)
        old.nodes.next_cycle(rows)
        old.snapshot_cache.next_cycle(
            builder.jobs,
            rebuild.tasks,
            changed_rows=rebuild.rows,
            changed_jobs={*rebuild.groups, *self._jobs_on(rows), *jobs},
            changed_tasks=rebuild.pods,
            gone_tasks=difference.pods.gone,
        )
        self.cluster = assemble(builder, old.nodes, rebuild.tasks, old.snapshot_cache)
        self._facts = KnownFacts(inventory, scheduler_names, kai=builder.kai)
        return True

    def _restore(self) -> None:
        cluster = self.cluster
        restore_tasks(cluster.tasks.values())
        restore_jobs(cluster.jobs.values())
        restore_counts({cluster.jobs[job.uid] for job in cluster.job_journal})
        cluster.job_journal.clear()

    def _describe_nodes(self, inventory: Inventory, difference: Difference) -> list[int]:
        """Take over changed facts about nodes; returns their rows."""
        table, changed = self.cluster.nodes, difference.nodes.changed
        if difference.moved_nodes:
            source = table.rearrange(inventory.nodes.values())
            self._nodes.rearrange(source)
            self.cluster.snapshot_cache.rearrange_nodes(source.tolist())
        rows = [table.row_of[name] for name in changed]
        if rows:
            table.describe(rows, [inventory.nodes[name] for name in changed])
            if self._facts.kai:
                new = [table.row_of[n] for n in changed if n in difference.moved_nodes]
                count_claimable(table, inventory, new)
                count_kai_gpus_of(table, rows)
        return rows

    def _forget(self, task: Task | None) -> None:
        if task is not None and task.job is None and task.pod.group:
            self._unowned[task.pod.group].discard(task.uid)

    def _read_statuses(self, builder: ModelBuilder, difference: Difference) -> None:
        """Give jobs the new status of their group."""
        jobs, groups = builder.jobs, builder.inventory.groups
        for uid in difference.statuses:
            job = jobs.get(uid)
            if job is not None:
                job.read_status(groups[uid])
                record_job(job)

    def _refill(self, rebuild: _Rebuild, rows: Iterable[int]) -> None:
        rebuild.rows.update(rows)
        self._nodes.restore(rebuild.tasks, except_rows=rebuild.rows)
        rebuild.find_early_tasks()
        for row in rebuild.rows:
            stay = [t for t in self._nodes.on(row, rebuild.tasks) if t.uid not in rebuild.leaving]
            stay += rebuild.arrivals.get(row, ())
            stay.sort(key=by_name)
            self._nodes.refill(row, stay)

    def _jobs_of(self, nodes: Collection[str]) -> Iterable[str]:
        """Jobs with a task that names one of these nodes, whether or not it exists."""
        if not nodes:
            return ()
        tasks = self.cluster.tasks.values()
        return {t.job.uid for t in tasks if t.node in nodes and t.job is not None}

    def _jobs_on(self, rows: Iterable[int]) -> Iterable[str]:
        held = self.cluster.nodes.held
        tasks = (entry.task for row in rows for entry in held[row].values())
        return [task.job.uid for task in tasks if task.job is not None]


class _Rebuild:
    """Which tasks and jobs are rebuilt between two cycles, and the new ones."""

    def __init__(self, old: Cluster, builder: ModelBuilder, difference: Difference) -> None:
        self._old = old
        self._builder = builder
        self._difference = difference
        self.pods: dict[str, None] = dict.fromkeys(difference.pods.changed)
        """Uids of the pods that are read again, in a fixed order."""
        self.leaving: set[str] = set()
        """Uids of the tasks that are replaced or gone."""
        self.groups: set[str] = set()
        """Groups whose jobs are rebuilt, or gone."""
        self.rows: set[int] = set()
        """Rows whose nodes hold other tasks than before."""
        self.arrived: list[Task] = []
        self.arrivals: dict[int, list[Task]] = {}
        """By row: new tasks that it holds."""
        self.jobs: dict[str, Job] = {}
        """The jobs that were rebuilt."""
        self.tasks = old.tasks

    def find(self, unowned: dict[str, set[str]]) -> None:
        """Find what must be rebuilt; nothing is changed yet."""
        old, difference, inventory = self._old, self._difference, self._builder.inventory
        for uid in difference.groups:
            job = old.jobs.get(uid)
            self.pods.update(dict.fromkeys(() if job is None else job.tasks))
            self.pods.update(dict.fromkeys(sorted(unowned.get(uid, ()))))
        for uid in difference.pods.gone:
            self.pods.pop(uid, None)
        self.leaving.update(self.pods, difference.pods.gone)
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
        self.groups.update(inventory.pods[uid].group for uid in self.pods)

    def find_early_tasks(self) -> None:
        """Let tasks that name a node which has come only now be on it."""
        row_of = self._old.nodes.row_of
        came = {name for name in self._difference.moved_nodes if name in row_of}
        if not came:
            return
        for task in self.tasks.values():
            if task.node in came and task.uid not in self.leaving and self._row(task) is not None:
                self.arrivals.setdefault(row_of[task.node], []).append(task)

    def _row(self, task: Task) -> int | None:
        """The row of the node on which the task counts."""
        if not self._builder.is_on_node(task):
            return None
        return self._old.nodes.row_of.get(task.node)

    def apply(self) -> None:
        """Make the new jobs and tasks, and let the tasks join their jobs."""
        members = self._make_jobs()
        self._make_tasks(members)
        builder = self._builder
        for uid, tasks in members.items():
            job = self.jobs[uid]
            for task in sorted(tasks, key=by_name):
                builder.join(task, job)
            builder.finish(job)
        sum_requests(self.jobs.values())
        self._sort_tasks()

    def _make_jobs(self) -> dict[str, list[Task]]:
        """Make the jobs without their tasks; returns the tasks that stay, by job."""
        builder, jobs = self._builder, self._builder.jobs
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
        builder = self._builder
        for uid in self.pods:
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
        """Sort all tasks; the same table stays where no task came, went or was renamed."""
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
