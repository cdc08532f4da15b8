"""Topologies of node labels: domains with room, the tightest first, near those already there."""

import math

import numpy as np
import pytest

from pumice.model.facts import SubGroup
from pumice_builtin_plugins.topology.domains import Domain, GroupRequest, Topology, measure
from tests.plugins._fair import FairWorld, ask

LEVELS = ("block", "rack")


class Racks(FairWorld):
    """Nodes by ``block/rack`` with GPUs, in the topology ``dc``."""

    def __init__(self, *places, gpu=1, levels=LEVELS):
        super().__init__()
        self.queue("q")
        for number, place in enumerate(places):
            where, _, gpus = place.partition("=")
            name = f"n{number}"
            self.node(name, gpu=int(gpus or gpu), gpu_memory=1000)
            values = zip(LEVELS, where.split("/"), strict=False)
            self.inventory.nodes[name].labels.update({k: v for k, v in values if v})
        spec = {"levels": [{"nodeLabel": level} for level in levels]}
        self.inventory.others["Topology"] = {"dc": {"spec": spec}}

    def gang(self, *pods, required=None, preferred=None, topology="dc", **facts):
        """The job ``j`` and where ``topology`` lets it be placed."""
        constraint = {
            "topology": topology,
            "requiredTopologyLevel": required,
            "preferredTopologyLevel": preferred,
        }
        given = {key: value for key, value in constraint.items() if value}
        self.job("j", "q", *pods, topology_constraint=given, **facts)

    def sets(self, rows=None):
        """The sets of nodes that the plugin offers to the root of ``j``."""
        self.open("topology")
        session, job = self.session, self.job_of("j")
        root = job.sub_group_root
        pod_sets = {p.name: p for p in root.leaves()}
        rows = session.nodes.all_rows if rows is None else np.array(rows)
        session.ask.pre_job_allocation(job)
        subsets = session.ask.subset_nodes(job, root, pod_sets, job.pending, rows)
        return [[session.nodes.names[row] for row in subset] for subset in subsets]

    def refusal(self):
        (refusal,) = self.job_of("j").refusals
        return refusal.message


class TestWhere:
    def test_without_a_constraint_all_nodes_are_one_set(self):
        racks = Racks("b1/r1", "b1/r2")
        racks.job("j", "q", ask())
        assert racks.sets() == [["n0", "n1"]]

    def test_nothing_to_place_asks_for_nothing(self):
        racks = Racks("b1/r1", "b1/r2")
        racks.gang(ask(on="n0"), required="rack")
        assert racks.sets() == [["n0", "n1"]]

    def test_only_domains_with_room_for_all(self):
        racks = Racks("b1/r1", "b1/r1", "b1/r2")
        racks.gang(ask(), ask(), required="rack")
        assert racks.sets() == [["n0", "n1"]]

    def test_the_tightest_domain_first(self):
        racks = Racks("b1/r1=4", "b1/r2=2", "b1/r3=3")
        racks.gang(ask(), ask(), required="rack")
        assert racks.sets() == [["n1"], ["n2"], ["n0"]]

    def test_equally_tight_ones_by_name(self):
        racks = Racks("b1/r2", "b1/r1")
        racks.gang(ask(), required="rack")
        assert racks.sets() == [["n1"], ["n0"]]

    def test_tightness_counts_from_the_top(self):
        """The tightest rack of the tightest block, not the tightest rack of all."""
        racks = Racks("b1/r1=2", "b1/r2=8", "b2/r3=3")
        racks.gang(ask(), ask(), required="rack")
        assert racks.sets() == [["n2"], ["n0"], ["n1"]]

    def test_from_the_preferred_level_up_to_the_required_one(self):
        racks = Racks("b1/r1=2", "b1/r2=2", "b2/r3=1")
        racks.gang(ask(), ask(), required="block", preferred="rack")
        assert racks.sets() == [["n0"], ["n1"], ["n0", "n1"]]

    def test_a_preference_alone_ends_with_all(self):
        racks = Racks("b1/r1", "b2/r2")
        racks.gang(ask(), ask(), preferred="rack")
        assert racks.sets() == [["n0", "n1"]]

    def test_only_rows_that_were_asked_about(self):
        racks = Racks("b1/r1=2", "b1/r1=2", "b1/r2=2")
        racks.gang(ask(), ask(), required="rack")
        assert racks.sets(rows=[0, 2]) == [["n2"], ["n0"]]

    def test_pipelined_and_releasing_amounts_count(self):
        racks = Racks("b1/r1=2", "b1/r2=1")
        racks.job("old", "q", ask(on="n0", deleted=1.0))
        racks.gang(ask(), ask(), required="rack")
        assert racks.sets() == [["n0"]]

    def test_a_job_stays_where_its_tasks_are(self):
        racks = Racks("b1/r1=4", "b1/r2=4", "b1/r2=4")
        racks.gang(ask(on="n1"), ask(), required="rack", min_member=1)
        assert racks.sets() == [["n1", "n2"]]

    def test_a_preference_does_not_bind_it(self):
        racks = Racks("b1/r1=1", "b1/r2=4")
        racks.gang(ask(on="n1"), ask(), preferred="rack", min_member=1)
        assert racks.sets()[0] == ["n0"]

    def test_unlike_tasks_are_weighed_in_sum(self):
        racks = Racks("b1/r1=1", "b1/r2=2")
        racks.gang(ask(gpu=1), ask(gpu=0), ask(gpu=1), required="rack")
        assert racks.sets() == [["n1"]]


class TestBadInput:
    @pytest.mark.parametrize(
        "constraint, message",
        [
            ({"required": "rack", "topology": "nowhere"}, "topology nowhere does not exist"),
            ({"required": "row"}, "it has no level row"),
            ({"required": "rack", "preferred": "block"}, "finer than the preferred"),
            ({}, "neither a required nor a preferred level"),
        ],
    )
    def test_constraints_that_cannot_be_satisfied(self, constraint, message):
        racks = Racks("b1/r1=8")
        racks.gang(ask(), **constraint)
        assert racks.sets() == []
        assert message in racks.refusal()

    def test_no_domain_has_room(self):
        racks = Racks("b1/r1", "b1/r2")
        racks.gang(ask(), ask(), required="rack")
        assert racks.sets() == []
        assert racks.refusal() == "no domain of rack has enough room"

    def test_the_whole_topology_has_too_little_room(self):
        racks = Racks("b1/r1", "b2/r2")
        racks.gang(ask(), ask(), ask(), required="rack")
        assert racks.sets() == []
        assert racks.refusal() == "topology dc has no room in root"

    def test_nodes_that_lack_a_label_are_outside(self):
        racks = Racks("b1=4", "b1/r1=4")
        racks.gang(ask(), required="block")
        assert racks.sets() == [["n1"]]
        racks = Racks("b1=4")
        racks.gang(ask(), required="block")
        assert racks.sets() == []
        assert racks.refusal() == "no node is part of topology dc"

    def test_different_parts_of_gpus_are_rejected(self):
        racks = Racks("b1/r1=8")
        racks.gang(ask(fraction=0.5), ask(fraction=0.25), required="rack")
        assert racks.sets() == []
        assert "different parts of a GPU" in racks.refusal()

    def test_a_topology_without_levels_fits_no_task(self):
        racks = Racks("b1/r1=8", levels=())
        racks.gang(ask(), required="rack")
        assert racks.sets() == []


class TestScores:
    def test_the_roomiest_preferred_domain_scores_most(self):
        racks = Racks("b1/r1=2", "b1/r2=4", "b1/r3=8")
        racks.gang(ask(), required="block", preferred="rack")
        racks.sets()
        scores = racks.session.queries.scores(racks.task("j-0"))
        assert scores.tolist() == [30_000, 60_000, 100_000]

    def test_nodes_outside_are_dropped(self):
        racks = Racks("b1/r1", "b1")
        racks.gang(ask(), preferred="rack")
        racks.sets()
        scores = racks.session.queries.scores(racks.task("j-0")).tolist()
        assert scores[0] == 100_000
        assert math.isnan(scores[1])

    def test_without_a_preference_there_are_none(self):
        racks = Racks("b1/r1", "b1/r2")
        racks.gang(ask(), required="rack")
        racks.sets()
        assert racks.session.queries.scores(racks.task("j-0")).tolist() == [0, 0]

    def test_the_next_job_starts_afresh(self):
        racks = Racks("b1/r1", "b1/r2")
        racks.gang(ask(), preferred="rack")
        racks.sets()
        racks.session.ask.pre_job_allocation(racks.job_of("j"))
        assert racks.session.queries.scores(racks.task("j-0")).tolist() == [0, 0]

    def test_a_pod_set_has_its_own_before_those_of_its_parents(self):
        racks = Racks("b1/r1=2", "b1/r2=4")
        racks.gang(ask(sub_group="a"), ask(sub_group="b"), preferred="rack")
        own = {"topology": "dc", "preferredTopologyLevel": "block"}
        racks.inventory.groups["ns/j"].sub_groups = [
            SubGroup("a", 1, topology_constraint=own),
            SubGroup("b", 1),
        ]
        racks.sets()
        session, job = racks.session, racks.job_of("j")
        pod_set = job.sub_jobs["a"]
        session.ask.subset_nodes(
            job, pod_set, {"a": pod_set}, pod_set.pending, session.nodes.all_rows
        )
        assert session.queries.scores(racks.task("j-0")).tolist() == [100_000, 100_000]
        assert session.queries.scores(racks.task("j-1")).tolist() == [50_000, 100_000]


class TestDomains:
    def topology(self, *places):
        racks = Racks(*places)
        racks.job("j", "q", ask(), ask())
        racks.open("topology")
        nodes = racks.session.nodes
        raw = racks.inventory.others["Topology"]["dc"]
        return racks, Topology(raw, nodes), nodes

    def test_a_domain_is_its_whole_path(self):
        _, topology, _ = self.topology("b1/r1", "b2/r1")
        assert [d.id for d in topology.root.subtree()] == ["root", "b1", "b1.r1", "b2", "b2.r1"]
        assert [d.id for d in topology.path_of[1]] == ["root", "b2", "b2.r1"]

    def test_the_deepest_domain_that_rows_share(self):
        _, topology, _ = self.topology("b1/r1", "b1/r2", "b2/r3")
        assert topology.common([0], 2).id == "b1.r1"
        assert topology.common([0], 1).id == "b1"
        assert topology.common([0, 1], 2).id == "b1"
        assert topology.common([0, 2], 2).id == "root"

    def test_measuring_counts_copies_and_the_scarcest_resource(self):
        racks, topology, nodes = self.topology("b1/r1=3", "b1/r2=1")
        request = GroupRequest(nodes, list(racks.job_of("j").tasks.values()))
        measure(topology.root, nodes, request)
        pods = {d.id: (d.pods, d.ratio) for d in topology.root.subtree()}
        assert pods["b1"] == (4, 0.5)
        assert pods["b1.r1"] == (3, pytest.approx(2 / 3))
        assert pods["b1.r2"] == (1, 2)
        assert list(topology.root.children["b1"].children) == ["b1.r2", "b1.r1"]

    def test_no_room_of_what_is_asked(self):
        racks, _, nodes = self.topology("b1/r1=3")
        request = GroupRequest(nodes, list(racks.job_of("j").tasks.values()))
        free = nodes.idle[0].copy()
        free[nodes.dimensions.position["nvidia.com/gpu"]] = 0
        assert request.ratio(free) == math.inf
        free = nodes.idle[0].copy()
        free[0] = -5
        assert request.ratio(free) == 1000

    def test_tasks_that_request_only_a_pod_fit_everywhere(self):
        racks = Racks("b1/r1", "b1/r1")
        racks.job("j", "q", *[ask(gpu=0, cpu=0, memory=0)] * 5)
        racks.open("topology")
        nodes = racks.session.nodes
        request = GroupRequest(nodes, list(racks.job_of("j").tasks.values()))
        assert request.copies(nodes.idle).tolist() == [5, 5]

    def test_a_domain_fits_by_copies_or_else_by_ratio(self):
        domain = Domain("d", 1)
        domain.pods, domain.ratio = 2, 9.0
        assert domain.fits(2)
        assert not domain.fits(3)
        domain.pods, domain.ratio = -1, 1.0
        assert domain.fits(100)
        domain.ratio = 1.01
        assert not domain.fits(1)

    def test_raw_objects_may_lack_levels(self):
        _, _, nodes = self.topology("b1/r1")
        assert Topology({"spec": {}}, nodes).path_of == {}
        with pytest.raises(ValueError, match="rack"):
            Topology({"spec": {}}, nodes).depth("rack")
