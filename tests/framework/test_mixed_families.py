"""Jobs of one family in the actions of the other, and both families in one policy."""

from pathlib import Path

import pytest

from pumice.backends.memory import MemoryBackend
from pumice.config import load_policy, policy_from_dict
from pumice.manifests import load
from pumice.model.cluster import build_cluster
from pumice.model.facts import SubGroup
from pumice.model.task import TaskStatus
from pumice.scheduler import Scheduler
from pumice.solver.task_batches import TaskBatches
from pumice_builtin_actions.greedy.whole_job_check import whole_job_refusal
from tests.framework._build import World, bound, policy, reasons
from tests.plugins._fair import FairWorld, ask

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "mixed"


def made(*actions, plugins, **more):
    return policy_from_dict({"actions": list(actions), "tiers": [{"plugins": plugins}], **more})


def run(world, policy, cycles=1):
    backend = MemoryBackend(world.inventory, now=1e6)
    scheduler = Scheduler(backend, policy, verify=True)
    for _ in range(cycles - 1):
        scheduler.run_once()
        backend.advance()
    return scheduler.run_once()


class TestTheExample:
    def decisions(self, cycles=1):
        backend = MemoryBackend(load([EXAMPLE]))
        scheduler = Scheduler(backend, load_policy(EXAMPLE / "policy.toml", env={}), verify=True)
        for _ in range(cycles - 1):
            scheduler.run_once()
            backend.advance()
        return scheduler.run_once()

    def test_each_action_does_what_it_is_there_for(self):
        decisions = self.decisions()
        by = [(e.task, e.action, e.claimant) for e in decisions.evictions]
        assert by == [
            ("demo/batch-4", "reclaim", "demo/shop"),
            ("demo/batch-3", "reclaim", "demo/shop"),
            ("demo/batch-2", "consolidate", "demo/camera"),
        ]
        pipelined = {one.task: one.node for one in decisions.pipelined}
        assert pipelined == {
            "demo/shop": "east",
            "demo/camera": "east",
            "demo/batch-2": "west",
        }
        assert len(self.decisions(cycles=2).binds) == 2

    def test_the_docs_page_shows_the_policy_of_the_example(self):
        page = (DOCS / "mixing-families.md").read_text("utf-8")
        assert (EXAMPLE / "policy.toml").read_text("utf-8") in page
        assert load_policy(EXAMPLE / "policy.toml", env={}).warnings == ()


class TestVolcanoInTheSolver:
    FAIR = ("fairshare", "gang")

    def test_a_job_is_not_placed_before_it_is_inqueue(self):
        world = World().node("a").job("j", phase="Pending", min_resources=None)
        gated = made("fair_allocate", "enqueue", plugins=["gang"])
        assert run(world, gated).binds == []
        assert len(run(world, made("enqueue", "fair_allocate", plugins=["gang"])).binds) == 1
        ungated = run(world, made("fair_allocate", plugins=["gang"]))
        assert len(ungated.binds) == 1

    def test_a_pending_job_becomes_inqueue_as_in_allocate(self):
        world = World().node("a", cpu=1).job("j", cpu=2, phase="")
        decisions = run(world, made("fair_allocate", plugins=["gang"]))
        assert [state.phase for state in decisions.jobs] == ["Inqueue"]

    def test_a_job_that_is_not_valid_is_left_alone(self):
        world = World().node("a").job("j", tasks=2, min_task_member={"w": 1, "ps": 1})
        assert run(world, made("fair_allocate", plugins=["gang"])).binds == []
        assert len(run(world, made("fair_allocate", plugins=["nodeorder"])).binds) == 2

    def test_tasks_of_role_minimums_are_placed_first_and_evicted_last(self):
        world = World().node("a", cpu=8)
        world.job("j", tasks=0, min_member=2, min_task_member={"ps": 1, "w": 1})
        for number, role in enumerate(["w", "w", "w", "ps"]):
            world.pod(f"p{number}", "ns/j", role=role, created=float(number))
        session = world.session(policy([]))
        batches, job = TaskBatches(session.ask), session.jobs["ns/j"]
        assert [task.name for task in batches.to_allocate(job, real=True)] == ["p0", "p3"]
        statement = session.statement()
        for name in ("p3", "p2", "p1", "p0"):
            statement.allocate(session.cluster.tasks[name], 0)
        gone, more = batches.to_evict(job)
        assert ([task.name for task in gone], more) == (["p2"], True)
        left = job.subset([t for t in job.tasks.values() if t.name in ("p0", "p3")])
        assert {task.name for task in batches.to_evict(left)[0]} == {"p0", "p3"}
        statement.discard()

    def test_a_role_at_its_minimum_is_not_placed_first(self):
        world = World().node("a", cpu=8)
        world.job("j", tasks=0, min_member=3, min_task_member={"ps": 1, "w": 1})
        world.pod("p0", "ns/j", role="ps", node="a")
        for number, role in enumerate(["x", "ps", "w"], 1):
            world.pod(f"p{number}", "ns/j", role=role, created=float(number))
        session = world.session(policy([]))
        batch = TaskBatches(session.ask).to_allocate(session.jobs["ns/j"], real=True)
        assert [task.name for task in batch] == ["p3", "p1"]

    def test_a_failed_gang_leaves_nothing_behind(self):
        world = World().node("a", cpu=3).job("j", tasks=4).job("k", created=9.0)
        decisions = run(world, made("fair_allocate", plugins=["gang"]))
        assert bound(decisions) == {"k-t-0": "a"}

    def victims(self, **pod):
        world = World().node("a", cpu=2)
        world.queue("mine", weight=1)
        world.job("old", queue="b", on=["a"], phase="Running", created=1.0)
        world.job("young", queue="b", on=["a"], phase="Running", created=2.0, pod=pod)
        world.job("x", queue="mine", created=3.0)
        return world

    @pytest.mark.parametrize(
        "pod, plugins, taken",
        [
            ({}, FAIR, "young-t-0"),
            ({"annotations": {"volcano.sh/preemptable": "false"}}, FAIR, "old-t-0"),
            ({"annotations": {"volcano.sh/preemptable": "true"}}, FAIR, "young-t-0"),
            ({"priority_class": "system-node-critical"}, FAIR, "young-t-0"),
            (
                {"priority_class": "system-node-critical"},
                (*FAIR, "conformance"),
                "old-t-0",
            ),
        ],
        ids=[
            "plain",
            "not preemptable",
            "preemptable",
            "system pod without conformance",
            "system pod",
        ],
    )
    def test_annotations_that_protect_a_job(self, pod, plugins, taken):
        decisions = run(self.victims(**pod), made("solve_reclaim", plugins=list(plugins)))
        assert [eviction.uid for eviction in decisions.evictions] == [taken]

    def test_a_job_that_never_preempts_has_no_victims(self):
        world = self.victims()
        world.inventory.pods["x-t-0"].preemption_policy = "Never"
        assert run(world, made("solve_reclaim", plugins=list(self.FAIR))).evictions == []

    def test_priority_inside_a_queue(self):
        world = World().node("a", cpu=2)
        world.job("low", on=["a"], phase="Running")
        world.job("mid", on=["a"], phase="Running", priority=5)
        world.job("high", priority=9)
        decisions = run(world, made("solve_preempt", plugins=["priority", "fairshare"]))
        assert [eviction.uid for eviction in decisions.evictions] == ["low-t-0"]

    def test_a_gang_that_lost_members_is_stale(self):
        world = World().node("a").job("j", tasks=2, on=["a"], phase="Running")
        options = {"action": {"evict_stale_gangs": {"defaultStalenessGracePeriod": "0s"}}}
        decisions = run(world, made("evict_stale_gangs", plugins=["gang"], **options))
        assert [eviction.uid for eviction in decisions.evictions] == ["j-t-0"]


class TestGpusOfBothFamilies:
    def mixed(self, **gpus):
        """Nodes of KAI, and a job of Volcano that asks for these GPUs."""
        world = FairWorld()
        world.node(gpu=2)
        world.queue("q")
        scalars = {name.replace("_", ".com/"): count * 1000 for name, count in gpus.items()}
        world.job("v", "q", ask(gpu=0, scalars=scalars, on="n"), family="volcano")
        return world

    def test_whole_gpus_count_alike(self):
        world = self.mixed(nvidia_gpu=1)
        task = build_cluster(world.inventory, now=1.0).tasks["v-0"]
        assert (task.gpu.kind, task.gpu.milli) == ("regular", 1000)

    def test_gpus_of_other_vendors_count_alike_too(self):
        world = self.mixed(amd_gpu=1)
        cluster = build_cluster(world.inventory, now=1.0)
        gpu = cluster.dimensions.position["nvidia.com/gpu"]
        assert cluster.nodes.idle[0, gpu] == 1000
        assert cluster.nodes.idle.min() >= 0

    def test_gpu_fraction_annotations_count_for_kai_only(self):
        world = self.mixed(nvidia_gpu=1)
        world.inventory.pods["v-0"].annotations["gpu-fraction"] = "0.5"
        task = build_cluster(world.inventory, now=1.0).tasks["v-0"]
        assert (task.gpu.kind, task.gpu.devices) == ("regular", 1)


class TestKaiInTheGreedyActions:
    def jobs(self, **facts):
        world = FairWorld()
        world.node(gpu=4, gpu_memory=1000)
        world.queue("q")
        world.job("j", "q", ask(**facts))
        return world

    def test_pod_sets_are_sub_jobs_with_minimums(self):
        world = FairWorld()
        world.node(gpu=2)
        world.queue("q")
        asked = (("a", 9), ("b", 1), ("b", 1))
        pods = [ask(sub_group=name, gpu=gpu) for name, gpu in asked]
        world.job("j", "q", *pods)
        world.inventory.groups["ns/j"].sub_groups = [SubGroup("a", 1), SubGroup("b", 2)]
        greedy = made("allocate", plugins=["gang"])
        assert run(world, greedy).binds == []
        world.inventory.pods["j-0"].request.scalars["nvidia.com/gpu"] = 0
        assert len(run(world, greedy).binds) == 3

    def test_a_single_pod_set_makes_no_sub_jobs(self):
        job = build_cluster(self.jobs().inventory, now=1.0).jobs["ns/j"]
        assert not job.has_sub_job_policy
        assert len(run(self.jobs(), made("allocate", plugins=["gang"])).binds) == 1

    def test_gpu_fractions_are_left_to_other_actions(self):
        world = self.jobs(fraction=0.5)
        alone = run(world, made("allocate", plugins=["gang"]))
        assert alone.binds == []
        assert "GPU fractions are placed by fair_allocate" in reasons(alone)["j"]
        both = run(world, made("allocate", "fair_allocate", plugins=["gang"]))
        assert [bind.gpu_groups for bind in both.binds] == [("n/shared-1",)]

    @pytest.mark.parametrize("where", ["job", "sub-group", "inner sub-group"])
    def test_topologies_are_left_to_other_actions(self, where):
        constraint = {"topology": "dc", "requiredTopologyLevel": "rack"}
        world = self.jobs(sub_group="a")
        group = world.inventory.groups["ns/j"]
        group.sub_groups = [SubGroup("top", 1), SubGroup("a", 1, parent="top")]
        if where == "job":
            group.topology_constraint = constraint
        else:
            group.sub_groups[where == "sub-group"].topology_constraint = constraint
        job = build_cluster(world.inventory, now=1.0).jobs["ns/j"]
        refusal = whole_job_refusal(job)
        assert refusal is not None
        assert "topology" in refusal.message

    @pytest.mark.parametrize("preemptibility, taken", [("non-preemptible", 0), ("preemptible", 1)])
    def test_non_preemptible_jobs_are_not_evicted(self, preemptibility, taken):
        world = self.jobs(gpu=4, on="n")
        world.inventory.groups["ns/j"].preemptibility = preemptibility
        world.job("x", "q", ask(), priority=90)
        plugins = ["priority", {"name": "gang", "disable": ["preemptable"]}]
        decisions = run(world, made("allocate", "preempt", plugins=plugins))
        assert len(decisions.evictions) == taken

    def test_victims_that_share_a_gpu_free_it(self):
        world = self.jobs(fraction=0.5, on="n", labels={"runai-gpu-group": "g"})
        session = world.open("elastic").session
        gpu = session.nodes.dimensions.position["nvidia.com/gpu"]
        with session.statement() as statement:
            statement.evict(world.task("j-0"), "greedy")
            assert session.nodes.future_idle[0, gpu] == 4000
            assert world.task("j-0").status is TaskStatus.RELEASING
        assert session.nodes.future_idle[0, gpu] == 3000
