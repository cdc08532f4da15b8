"""Affinity between roles, and the buckets made of it."""

import pytest

from pumice_builtin_plugins.task_topology.roles import AFFINITY, ANTI_AFFINITY, ORDER, RoleAffinity

NAME = "task-topology"


def train(world, annotations, *pods):
    """A job whose pods are given as (role, node or nothing, cpu)."""
    specs = [
        {"cpu": cpu, "on": node, "facts": {"annotations": {"volcano.sh/task-spec": role}}}
        for role, node, cpu in pods
    ]
    world.job("j", *specs, annotations=annotations)


class TestRoles:
    known = ("ps", "worker", "chief")

    def test_one_role_is_about_itself_and_several_about_each_other(self):
        roles = RoleAffinity.read({AFFINITY: "ps, worker;chief", ANTI_AFFINITY: "ps"}, self.known)
        assert roles.affinity == {("ps", "worker"), ("worker", "ps"), ("chief", "chief")}
        assert roles.anti_affinity == {("ps", "ps")}
        assert roles.balance("ps", {"worker": 3, "ps": 1, "chief": 9}) == 2

    def test_rank(self):
        annotations = {AFFINITY: "ps,worker;chief", ANTI_AFFINITY: "ps", ORDER: "chief,worker"}
        assert RoleAffinity.read(annotations, self.known).rank == {
            "chief": (2, 2),
            "worker": (1, 3),
            "ps": (0, 4),
        }

    def test_without_annotations(self):
        assert RoleAffinity.read({ORDER: "ps"}, self.known) is None
        assert RoleAffinity.read({AFFINITY: " ; ,"}, self.known) is None

    @pytest.mark.parametrize(
        "annotations, message",
        [
            ({AFFINITY: "ps,master"}, "task-topology-affinity: no task has the role 'master'"),
            ({ANTI_AFFINITY: "ps,ps"}, "anti-affinity: the role 'ps' is named twice in 'ps,ps'"),
            ({AFFINITY: "ps", ORDER: "ps,chief,ps"}, "task-order: the role 'ps' is named twice"),
        ],
    )
    def test_bad_annotations(self, annotations, message):
        with pytest.raises(ValueError, match=message):
            RoleAffinity.read(annotations, self.known)

    def test_a_role_may_stand_in_several_groups(self):
        assert RoleAffinity.read({AFFINITY: "ps,worker;ps,chief"}, self.known).rank["ps"] == (0, 3)


@pytest.fixture
def nodes(world):
    world.node("n1", cpu=4)
    world.node("n2", cpu=4)
    return world


def buckets(plugin):
    """The bucket of each task, by index."""
    return {uid: bucket.index for uid, bucket in plugin._jobs["ns/j"].bucket_of.items()}


class TestBuckets:
    def test_running_tasks_are_sorted_by_node_and_attract_their_partners(self, nodes):
        pods = [("ps", "n2", 1), ("worker", "", 1), ("ps", "n1", 1), ("worker", "", 1)]
        train(nodes, {AFFINITY: "ps,worker"}, *pods)
        plugin = nodes.open(NAME)
        # Both attract the workers alike: the first goes to the older bucket, whose request grows.
        assert buckets(plugin) == {"j-0": 0, "j-2": 1, "j-1": 0, "j-3": 1}

    def test_a_role_that_repels_itself_opens_new_buckets(self, nodes):
        pods = [("worker", "", 1)] * 2 + [("ps", "", 1)] * 2
        train(nodes, {AFFINITY: "ps,worker", ANTI_AFFINITY: "ps"}, *pods)
        assert buckets(nodes.open(NAME)) == {"j-2": 0, "j-3": 1, "j-0": 0, "j-1": 1}

    def test_the_smaller_request_wins_a_tie(self, nodes):
        pods = [("ps", "", 1), ("ps", "", 3), ("worker", "", 1)]
        train(nodes, {AFFINITY: "ps,worker", ANTI_AFFINITY: "ps"}, *pods)
        assert buckets(nodes.open(NAME)) == {"j-0": 0, "j-1": 1, "j-2": 0}

    def test_roles_that_are_not_named_are_in_none(self, nodes):
        train(nodes, {AFFINITY: "ps"}, ("ps", "", 1), ("log", "", 1), ("", "", 1))
        assert buckets(nodes.open(NAME)) == {"j-0": 0}


class TestTaskOrder:
    def test_bigger_and_older_buckets_first_those_in_none_last(self, nodes):
        pods = [("a", "", 1), ("b", "", 1), ("b", "", 1), ("c", "", 1), ("d", "", 1)]
        train(nodes, {AFFINITY: "b", ANTI_AFFINITY: "a,b,c;a,c"}, *pods)
        plugin = nodes.open(NAME)
        order = ["j-1", "j-0", "j-3", "j-4"]
        for index, left in enumerate(order):
            for right in order[index + 1 :]:
                assert plugin.task_order(*nodes.tasks(left, right)) == -1
                assert plugin.task_order(*nodes.tasks(right, left)) == 1
        assert plugin.task_order(*nodes.tasks("j-1", "j-2")) == 0

    def test_within_a_bucket_by_order_then_by_kind(self, nodes):
        annotations = {AFFINITY: "a,b,c", ANTI_AFFINITY: "b", ORDER: "c"}
        train(nodes, annotations, *[(role, "", 1) for role in "abc"])
        plugin = nodes.open(NAME)
        assert plugin.task_order(*nodes.tasks("j-2", "j-1")) == -1
        assert plugin.task_order(*nodes.tasks("j-0", "j-1")) == 1

    def test_jobs_are_not_compared(self, nodes):
        train(nodes, {AFFINITY: "a"}, ("a", "", 1))
        nodes.job("other", {"cpu": 1})
        plugin = nodes.open(NAME)
        assert plugin.task_order(*nodes.tasks("j-0", "other-0")) == 0


def scores(world, plugin, task):
    scores_of_nodes = plugin.batch_node_order(world.task(task), world.session.nodes.view())
    return None if scores_of_nodes is None else scores_of_nodes.tolist()


class TestNodeOrder:
    def test_what_is_there_and_what_would_fit(self, nodes):
        pods = [("a", "n1", 1), ("a", "", 1), ("a", "", 1), ("a", "", 2)]
        train(nodes, {AFFINITY: "a"}, *pods)
        plugin = nodes.open(NAME)
        # 4 cpu are asked for: all fit n2; on n1, with 3 idle, one is left out, one is there.
        assert scores(nodes, plugin, "j-3") == [75, 75]
        assert scores(nodes, plugin, "j-1") == [75, 75]

    def test_no_room_no_score(self, nodes):
        train(nodes, {AFFINITY: "a"}, ("a", "n1", 2), ("a", "", 3))
        plugin = nodes.open(NAME)
        assert scores(nodes, plugin, "j-1") == [0, 50]

    def test_room_that_is_being_freed_counts(self, nodes):
        train(nodes, {AFFINITY: "a"}, ("a", "n1", 2), ("a", "", 3))
        plugin = nodes.open(NAME)
        statement = nodes.session.statement()
        statement.evict(nodes.task("j-0"), "test")
        assert scores(nodes, plugin, "j-1") == [100, 50]

    def test_only_what_is_placed_in_this_cycle_repels(self, nodes):
        pods = [("a", "n1", 1), ("a", "", 1), ("a", "", 1)]
        train(nodes, {ANTI_AFFINITY: "a"}, *pods)
        plugin = nodes.open(NAME)
        assert scores(nodes, plugin, "j-2") == [100, 100]
        nodes.allocate("j-1", node="n1")
        assert scores(nodes, plugin, "j-2") == [0, 100]

    def test_undo_restores(self, nodes):
        train(nodes, {AFFINITY: "a", ANTI_AFFINITY: "b"}, *[(r, "", 1) for r in "aabb"])
        plugin = nodes.open(NAME, **{"task-topology.weight": 3})
        before = [scores(nodes, plugin, f"j-{index}") for index in range(4)]
        statement = nodes.allocate("j-0", "j-2", node="n2")
        during = [scores(nodes, plugin, f"j-{index}") for index in (1, 3)]
        # The first bucket holds j-2, j-0 and j-1, the second j-3, which its like repels.
        assert during == [[100, 300], [100, 0]]
        statement.discard()
        assert [scores(nodes, plugin, f"j-{index}") for index in range(4)] == before

    def test_evicting_and_taking_it_back_changes_nothing(self, nodes):
        train(nodes, {AFFINITY: "a"}, ("a", "n1", 1), ("a", "", 1))
        plugin = nodes.open(NAME)
        before = scores(nodes, plugin, "j-1")
        statement = nodes.session.statement()
        statement.evict(nodes.task("j-0"), "test")
        statement.discard()
        assert scores(nodes, plugin, "j-1") == before

    def test_tasks_in_no_bucket_have_no_preference(self, nodes):
        train(nodes, {AFFINITY: "a"}, ("a", "", 1), ("b", "", 1))
        nodes.job("plain", {"cpu": 1})
        plugin = nodes.open(NAME)
        assert scores(nodes, plugin, "j-1") is None
        assert scores(nodes, plugin, "plain-0") is None
