"""CPUs by NUMA node: assignment to containers, admission of pods, state across cycles."""

import json
from itertools import product

import pytest

from pumice.model.facts import Container
from pumice.model.resources import Resource
from pumice.session.session import Session
from pumice.verdicts import Code
from pumice_builtin_plugins.numa_aware.fit import assign, fewest, narrowest, take
from pumice_builtin_plugins.numa_aware.topology import CpuTopologyPool, cpu_set, read_topology

POLICY = "volcano.sh/numa-topology-policy"


def topology(free="0-7", policy="single-numa-node", manager="static", numa=2, threads=2):
    """Eight CPUs, with the given number of NUMA nodes and of CPUs per core."""
    cpus = range(8)
    place = {
        str(c): {"numa": c * numa // 8, "socket": c * numa // 8, "core": c // threads} for c in cpus
    }
    return {
        "metadata": {"name": "n1"},
        "spec": {
            "policies": {"CPUManagerPolicy": manager, "TopologyManagerPolicy": policy},
            "numares": {"cpu": {"allocatable": free, "capacity": 8}},
            "cpuDetail": place,
        },
    }


def cpu_topology(**shape):
    return read_topology(topology(**shape), CpuTopologyPool()).cpu_topology


def cpus(text):
    return cpu_set(text, "")


# -- reading


@pytest.mark.parametrize(
    "text, bits", [("", 0), ("0", 1), ("0-3", 0b1111), ("0-1, 4,6-7", 0b11010011), ("2-2", 0b100)]
)
def test_lists_of_cpus(text, bits):
    assert cpus(text) == bits


@pytest.mark.parametrize("text", ["0-", "a", "0,,2", "3-1", "-1", "0-99999999"])
def test_what_is_no_list_of_cpus(text):
    with pytest.raises(ValueError, match=r"spec\.numares\.cpu\.allocatable: "):
        read_topology(topology(free=text), CpuTopologyPool())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"cpuDetail": {"x": {}}}, "spec.cpuDetail: 'x' is no number"),
        ({"cpuDetail": {"0": {"numa": -1}}}, "spec.cpuDetail.0.numa: -1 is no number"),
        ({"cpuDetail": {"0": 7}}, "spec.cpuDetail.0: 7 is no table"),
        ({"policies": "static"}, "spec.policies: 'static' is no table"),
        ({"numares": {"cpu": "0-7"}}, "spec.numares.cpu: '0-7' is no table"),
    ],
)
def test_a_malformed_object_is_reported_with_the_field(change, message):
    raw = topology()
    raw["spec"].update(change)
    with pytest.raises(ValueError, match="is no") as caught:
        read_topology(raw, CpuTopologyPool())
    assert str(caught.value).startswith(message)


def test_what_an_object_leaves_out():
    read = read_topology({"metadata": {"name": "n1"}}, CpuTopologyPool())
    assert (read.policy, read.static, read.free, read.cpu_topology.nodes) == (
        "none",
        False,
        None,
        (),
    )
    # Numbers that are zero are left out of the object, CPUs that it does not place do not exist.
    spec = {"cpuDetail": {"0": {}, "1": {"numa": 1}}, "numares": {"cpu": {"allocatable": "0-3"}}}
    read = read_topology({"spec": spec}, CpuTopologyPool())
    assert read.cpu_topology.nodes == (0b01, 0b10)
    assert read.free == 0b11


# -- aligning


def test_the_narrowest_set_is_that_of_the_smallest_bit_mask():
    def by_trial(room, count):
        """All masks, as the kubelet goes through them: fewest nodes, then the smallest number."""
        size = len(room)
        fitting = [
            tuple(i for i in range(size) if mask >> i & 1)
            for mask in range(1, 2**size)
            if sum(room[i] for i in range(size) if mask >> i & 1) >= count
        ]
        return min(fitting, key=lambda s: (len(s), sum(1 << i for i in s)), default=None)

    for room in product(range(4), repeat=4):
        for count in range(1, sum(room) + 2):
            assert narrowest(room, count) == by_trial(room, count), (room, count)


def test_how_many_numa_nodes_it_takes():
    assert [fewest([4, 2, 4], count) for count in (1, 4, 5, 8, 9, 10, 11)] == [
        1,
        1,
        2,
        2,
        3,
        3,
        None,
    ]


@pytest.mark.parametrize(
    "free, policy, counts, expected",
    [
        ("0-7", "single-numa-node", (3,), "0-2"),
        ("0-1,4-7", "single-numa-node", (3,), "4-6"),
        ("0-1,4-5", "single-numa-node", (3,), None),
        ("0-7", "single-numa-node", (5,), None),  # no one NUMA node could ever hold five
        ("0-7", "restricted", (5,), "0-4"),
        ("0-1,4-5", "restricted", (3,), None),
        ("0-1,4-5", "best-effort", (3,), "0-1,4"),
        ("0-1", "best-effort", (3,), ""),  # admitted, but there is nothing to give
        ("0-7", "single-numa-node", (3, 3), "0-2,4-6"),
        ("0-7", "single-numa-node", (3, 3, 2), None),
        ("0-7", "single-numa-node", (), ""),
        ("0-7", "restricted", (9,), None),
    ],
)
def test_which_pods_are_admitted_with_which_cpus(free, policy, counts, expected):
    assigned = assign(cpu_topology(), cpus(free), policy, counts)
    assert assigned == (None if expected is None else cpus(expected))


def test_whole_numa_nodes_then_whole_cores_then_single_cpus_are_taken():
    pairs = cpu_topology()  # NUMA nodes 0-3 and 4-7, cores of two CPUs
    assert take(pairs, cpus("0-7"), 5) == cpus("0-3,4")
    assert take(pairs, cpus("1-7"), 5) == cpus("4-7,1")  # the core of CPU 0 is broken already
    assert take(pairs, cpus("1-3"), 2) == cpus("2-3")
    assert take(pairs, cpus("1-3"), 1) == cpus("1")
    assert take(pairs, cpus("0-2,4-5,7"), 3) == cpus("0-2")
    assert take(pairs, cpus("0-3,5-7"), 2) == cpus("6-7")  # of the fuller NUMA node


# -- the plugin


def guaranteed(count, **facts):
    """A pod whose container has that many CPUs to itself."""
    amounts = Resource.from_list({"cpu": count, "memory": "1Gi"})
    container = Container("c", amounts, amounts)
    return {"cpu": count, "memory": "1Gi", "facts": {"containers": (container,), **facts}}


def insisting(count, policy="single-numa-node"):
    return guaranteed(count, annotations={POLICY: policy})


@pytest.fixture
def one(world):
    """A world of one node with a topology and jobs of one pod each."""

    def build(*pods, **shape):
        world.node("n1", cpu=8, memory="64Gi")
        world.inventory.others["Numatopology"] = {"n1": topology(**shape)}
        for number, pod in enumerate(pods):
            world.job(f"j{number}", pod)
        return world.open("numa-aware")

    return build


def verdict(world, name, node="n1"):
    error = world.session.queries.predicate(world.task(name), world.session.nodes.row_of[node])
    return None if error is None else (error.code, str(error))


@pytest.mark.parametrize(
    "shape, reason",
    [
        ({"manager": "none"}, "the node's CPU manager is not static"),
        (
            {"policy": "restricted"},
            "the node's topology policy is restricted, the pod requires single-numa-node",
        ),
    ],
)
def test_a_node_without_what_the_policy_needs_is_an_error(world, one, shape, reason):
    one(insisting(2), **shape)
    assert verdict(world, "j0-0") == (Code.ERROR, reason)


def test_a_node_that_does_not_report_its_cpus_is_an_error(world, one):
    one(insisting(2))
    spec = world.inventory.others["Numatopology"]["n1"]["spec"]
    del spec["numares"]
    world.node("n2")
    world.open("numa-aware")
    assert verdict(world, "j0-0") == (Code.ERROR, "the node does not report its free CPUs")
    assert verdict(world, "j0-0", "n2") == (
        Code.ERROR,
        "the node has no Numatopology",
    )


def test_cpus_that_cannot_be_aligned_are_not_resolved_by_evictions(world, one):
    one(insisting(3), guaranteed(3), free="0-1,4-5")
    refused = (Code.UNRESOLVABLE, "cannot align the pod's CPUs with NUMA nodes")
    assert verdict(world, "j0-0") == verdict(world, "j1-0") == refused


@pytest.mark.parametrize(
    "pod, shape",
    [
        (guaranteed(3), {"policy": "none"}),
        (guaranteed(3), {"manager": "none"}),
        (guaranteed(3, annotations={POLICY: "none"}), {"policy": "none"}),
        (guaranteed(3, annotations={POLICY: "restricted"}, qos="Burstable"), {}),
    ],
    ids=["no policy", "no static manager", "policy none", "not guaranteed"],
)
def test_tasks_that_the_plugin_ignores(world, one, pod, shape):
    one(pod, free="0-1,4-5", **shape)
    assert verdict(world, "j0-0") is None


def test_scores_are_reversed_and_scaled_over_the_nodes_asked(world, one):
    one(insisting(4, "best-effort"), guaranteed(4), free="0-3", policy="best-effort")
    for name, free in (("n2", "0-1,4-5"), ("n3", "0,2,4,6")):
        world.node(name, cpu=8)
        raw = topology(free=free, policy="best-effort", numa=4 if name == "n3" else 2)
        world.inventory.others["Numatopology"][name] = raw
    numa = world.open("numa-aware", weight=10)
    view, task = world.session.nodes.view(), world.task("j0-0")
    # n1 needs one NUMA node, n2 two, n3 four (of two CPUs each): 100 - 100 * n / 4
    assert numa.batch_node_order(task, view).tolist() == [750, 500, 0]
    two = world.session.nodes.view(view.rows[:2])
    assert numa.batch_node_order(task, two).tolist() == [500, 0]
    assert numa.batch_node_order(world.task("j1-0"), view) is None


def test_what_is_placed_counts_and_undoing_restores_it(world, one):
    numa = one(insisting(3), insisting(3), insisting(2))
    before = list(numa._free)
    first = world.allocate("j0-0", "j1-0", node="n1")
    assert numa._free == [cpus("3,7")]
    assert verdict(world, "j2-0")[0] is Code.UNRESOLVABLE
    first.discard()
    assert numa._free == before
    assert verdict(world, "j2-0") is None


def test_the_decision_goes_out_with_the_bind_and_is_remembered(world, one):
    one(guaranteed(5, annotations={POLICY: "restricted"}), insisting(2), policy="restricted")
    world.allocate("j0-0", node="n1").commit()
    (bind,) = world.session.decisions.binds
    numa = {"numa": {"0": {"cpu": "4"}, "1": {"cpu": "1"}}}
    assert json.loads(bind.annotations["volcano.sh/topology-decision"]) == numa


def next_cycle(world, memory, running):
    """Open the next session, with this task running where it was bound."""
    for name in running:
        pod = world.inventory.pods[name]
        pod.phase, pod.node_name = "Running", "n1"
    old = world.session
    world.open("numa-aware")
    world.session = Session(world.session.cluster, old.policy, memory=memory)
    return world.session.plugins["numa-aware"]


def test_cpus_stay_taken_until_the_node_reports_anew_or_the_pod_is_gone(world, one):
    one(insisting(3), insisting(1))
    world.allocate("j0-0", node="n1").commit()
    world.session.ask.on_session_close()
    memory = world.session.memory
    assert next_cycle(world, memory, ["j0-0"])._free == [cpus("3-7")]
    world.session.ask.on_session_close()

    statement = world.session.statement()
    statement.evict(world.task("j0-0"), "test")
    numa = world.session.plugins["numa-aware"]
    assert numa._free == [cpus("0-7")]
    statement.discard()
    assert numa._free == [cpus("3-7")]

    raw = world.inventory.others["Numatopology"]["n1"]
    world.inventory.others["Numatopology"]["n1"] = topology(free="4-7")
    assert next_cycle(world, memory, [])._free == [cpus("4-7")]
    world.inventory.others["Numatopology"]["n1"] = raw
    del world.inventory.pods["j0-0"]
    assert next_cycle(world, memory, [])._free == [cpus("0-7")]


def test_an_evicted_pod_keeps_its_cpus_in_the_next_cycle_while_it_terminates(world, one):
    one(insisting(3))
    world.allocate("j0-0", node="n1").commit()
    world.session.ask.on_session_close()
    memory = world.session.memory
    next_cycle(world, memory, ["j0-0"])
    with world.session.statement() as statement:
        statement.evict(world.task("j0-0"), "test")
        statement.commit()
    world.session.ask.on_session_close()
    world.inventory.pods["j0-0"].deleted = world.now
    assert next_cycle(world, memory, ["j0-0"])._free == [cpus("3-7")]
