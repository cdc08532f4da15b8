"""A scheduler that runs in a thread of the test."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pumice import Bind, Decisions, Eviction, Scheduler, load_policy
from pumice_kubernetes.backend import KubernetesBackend


class RunningScheduler:
    """Schedules until it is stopped."""

    def __init__(
        self,
        kubeconfig: Path,
        *,
        policy: Path | None = None,
        dry_run: bool = False,
        **options: Any,
    ) -> None:
        preset = None if policy else "pumice"
        chosen = load_policy(policy, preset=preset, overrides=["scheduler.period=0.05"])
        given = {"leader_election": False, "idle": 1, "quiet": 1, "discovery": 0.5, **options}
        self.backend = KubernetesBackend.from_options(
            {"kubeconfig": str(kubeconfig), **given}, chosen, dry_run=dry_run
        )
        self.scheduler = Scheduler(self.backend, chosen, verify=True)
        self._history: list[Decisions] = []
        self._cycle = threading.Lock()
        """Held during a cycle."""
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while self.backend.wait():
                with self._cycle:
                    self._history.append(self.scheduler.run_once())
        except BaseException as error:
            self.error = error

    def stop(self) -> None:
        self.backend.stop()
        self._thread.join(30)
        self.scheduler.close()
        self.backend.close()
        if self.error is not None:
            raise self.error

    @property
    def history(self) -> list[Decisions]:
        """The decisions of all cycles; what the cluster shows of the one under way is in it."""
        with self._cycle:
            return list(self._history)

    @property
    def binds(self) -> list[Bind]:
        return [bind for decisions in self.history for bind in decisions.binds]

    @property
    def evictions(self) -> list[Eviction]:
        return [one for decisions in self.history for one in decisions.evictions]

    def reason(self, job: str) -> str:
        """Why a job waited in the last cycle."""
        for state in self.history[-1].jobs if self._history else ():
            if state.job == job:
                return state.reason
        return ""
