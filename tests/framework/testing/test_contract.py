"""The plugin contract: every installed plugin satisfies it, and each broken rule is reported."""

import pytest

from pumice import Plugin, hookimpl
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.testing import PluginContract
from pumice.testing.random_clusters import seeded_cluster
from pumice.verdicts import FitError, NodeVerdicts
from tests.framework.testing._plugins import Youngest
from tests.sampling import few_and_all, sample


class _CachedColumn(Plugin):
    """Sound: counts what queues hold, in integers."""

    @hookimpl
    def on_session_open(self):
        self.held = {}

    @hookimpl
    def on_allocate(self, task):
        self.held[task.queue] = self.held.get(task.queue, 0) + 1

    @hookimpl
    def on_deallocate(self, task):
        self.held[task.queue] = self.held.get(task.queue, 0) - 1

    @hookimpl
    def queue_order(self, left, right):
        return self.held.get(left.name, 0) - self.held.get(right.name, 0)


class _Forgetful(_CachedColumn):
    @hookimpl
    def on_deallocate(self, task):
        pass


class _Meddling(Plugin):
    @hookimpl
    def job_ready(self, job):
        job.phase = "Running"


class _Scribbling(Plugin):
    @hookimpl
    def batch_node_order(self, task, nodes):
        nodes.idle[:] -= 1
        return nodes.idle[:, 0]


class _Labelling(Plugin):
    @hookimpl
    def predicate(self, task):
        task.pod.labels["seen"] = "yes"


class _Shortening(Plugin):
    @hookimpl
    def preemptable(self, candidates):
        if candidates:
            candidates.pop()
        return candidates


class _Moody(Plugin):
    moods = iter(range(10**9))

    @hookimpl
    def node_order(self):
        return float(next(self.moods))


class _Counting(Plugin):
    @hookimpl
    def on_session_open(self):
        self.asked = 1

    @hookimpl
    def job_valid(self, job):
        self.asked += 1


class _Stubborn(Plugin):
    @hookimpl
    def job_order(self, left, right):
        return -1


class _TwoFaced(Plugin):
    @hookimpl
    def predicate(self, node):
        return FitError.of("no")

    @hookimpl
    def predicate_nodes(self, nodes):
        return NodeVerdicts.accept(len(nodes))


class _OtherKey(Youngest):
    @hookimpl
    def job_order_key(self, job):
        return job.created


class _TooFar(Plugin):
    @hookimpl(scope="static")
    def batch_node_order(self, nodes):
        return nodes.idle[:, 0] / 1000


class _Fearful(Plugin):
    @hookimpl
    def on_session_open(self):
        self.first = next(iter(self.session.jobs.values()))


class _Unmarked(Plugin):
    def job_order(self, left, right):
        return 0


RULES = [name for name in vars(PluginContract) if name.startswith("test_")]


def broken_rules(cls, rules=RULES, **facts) -> set[str]:
    kit = type("Kit", (PluginContract,), {"plugin": cls, **facts})()
    broken = set()
    for rule in rules:
        try:
            getattr(kit, rule)()
        except (AssertionError, PumiceError):
            broken.add(rule)
    return broken


DEVICES = frozenset({"devices"})
"""What plugins of pumice-fragmentation bring up to date when they are asked."""


class TestContract:
    @few_and_all(1, PluginContract.seeds)
    @pytest.mark.parametrize("name", Catalog().names("plugin"))
    def test_every_installed_plugin_satisfies_the_contract(self, name, count):
        seeds = sample(f"contract of {name}", PluginContract.seeds, count)
        caches = {
            "nodeorder": frozenset({"_terms"}),
            "fairshare": frozenset({"_jobs", "_order"}),
            "nodeplacement": frozenset({"_ranges"}),
            "kai_predicates": frozenset({"_affinity", "_ports", "_volumes"}),
            **dict.fromkeys(("bestfit", "dotprod", "fgd", "gpuclustering", "gpupacking"), DEVICES),
        }
        facts = {
            "clusters": lambda kit: [seeded_cluster(seed) for seed in seeds],
            "caches": caches.get(name, frozenset()),
        }
        assert broken_rules(name, **facts) == set(), f"seeds {seeds}"

    @pytest.mark.parametrize(
        "cls, rule",
        [
            (_Forgetful, "undoing_restores_its_state"),
            (_Meddling, "it_does_not_modify_its_input"),
            (_Scribbling, "it_does_not_modify_its_input"),
            (_Labelling, "it_does_not_modify_its_input"),
            (_Shortening, "it_does_not_modify_its_input"),
            (_Moody, "it_is_deterministic"),
            (_Counting, "asked_twice_it_answers_the_same"),
            (_Stubborn, "its_orders_are_consistent"),
            (_TwoFaced, "its_vector_and_scalar_forms_agree"),
            (_OtherKey, "its_vector_and_scalar_forms_agree"),
            (_TooFar, "its_answers_stay_within_their_scope"),
            (_Fearful, "it_tolerates_an_empty_cluster"),
            (_Unmarked, "it_loads_without_a_warning"),
        ],
    )
    def test_a_plugin_that_breaks_a_rule_fails_its_test(self, cls, rule):
        assert broken_rules(cls, [f"test_{rule}"])

    def test_a_plugin_that_satisfies_the_contract_passes(self):
        assert broken_rules(_CachedColumn) == set()

    def test_cache_attributes_may_be_excluded(self):
        assert broken_rules(_Counting, caches=frozenset({"asked"})) == set()


class TestYoungest(PluginContract):
    plugin = Youngest
