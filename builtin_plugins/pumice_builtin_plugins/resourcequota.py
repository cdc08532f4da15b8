"""Admit jobs only while they fit into the ResourceQuotas of their namespace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from pumice import PERMIT, Job, Plugin, ResourceQuota, hookimpl
from pumice_builtin_plugins.quota.min_resources import refuse


class ResourceQuotas(Plugin):
    """Admit jobs while their minResources fit into every ResourceQuota of the namespace.

    As in Volcano, names are compared literally (a quota on ``requests.cpu`` bounds only jobs whose
    minResources list ``requests.cpu``) and scopes of quotas are ignored.
    """

    @hookimpl
    def on_session_open(self) -> None:
        self._quotas: defaultdict[str, list[ResourceQuota]] = defaultdict(list)
        for quota in self.session.cluster.inventory.quotas.values():
            self._quotas[quota.namespace].append(quota)
        self._admitted: defaultdict[str, dict[str, float]] = defaultdict(dict)

    @hookimpl
    def job_enqueueable(self, job: Job) -> int:
        minimum, admitted = _minimum(job), self._admitted[job.namespace]
        for quota in self._quotas[job.namespace]:
            exceeded = [
                name
                for name, hard in quota.hard.items()
                if name in minimum
                and minimum[name] + quota.used.get(name, 0) + admitted.get(name, 0) > hard
            ]
            if exceeded:
                what = f"resource quota {quota.name} insufficient"
                return refuse(job, what, "insufficient", exceeded)
        return PERMIT

    @hookimpl
    def job_enqueued(self, job: Job) -> None:
        admitted = self._admitted[job.namespace]
        for name, amount in _minimum(job).items():
            admitted[name] = admitted.get(name, 0) + amount


def _minimum(job: Job) -> Mapping[str, float]:
    """The job's minResources under the names that the pod group uses."""
    return job.group.quota_min_resources
