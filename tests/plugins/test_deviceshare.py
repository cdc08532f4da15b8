"""Assignment of cards: which pod gets which, annotations, undo."""

from dataclasses import replace

import pytest

from pumice.errors import PolicyError
from pumice.model.facts import Container, Pod
from pumice.model.resources import Resource
from pumice.verdicts import Code
from pumice_builtin_plugins.deviceshare.cards import (
    Card,
    CardAllocation,
    CardRequest,
    CardShare,
    SharedCards,
    WholeCards,
    matching_rules,
    requested,
)
from pumice_builtin_plugins.deviceshare.vgpu import (
    ContainerRequest,
    VirtualCards,
    VirtualGpuRequest,
    virtual_gpu_request,
)

A, B, C = (f"GPU-{name},4,8000,NVIDIA-{name.upper()}100,true,hami-core" for name in "abc")
SHARING = {"deviceshare.GPUSharingEnable": True}
NUMBER = {"deviceshare.GPUNumberEnable": True}
VIRTUAL = {"deviceshare.VGPUEnable": True}


def container(**amounts):
    limits = Resource.from_list({name.replace("__", "/"): n for name, n in amounts.items()})
    return Container("c", limits, limits)


def gpu(kind, amount, *more, **facts):
    """A pod that requests_device for a GPU resource in its one container."""
    name = f"volcano.sh/{kind}"
    limits = Resource.from_list({name: amount, **dict(more)})
    facts["containers"] = (Container("c", limits, limits),)
    return {name: amount, **dict(more), "facts": facts}


def virtual(memory, cards=1, cores=0, **facts):
    more = [("volcano.sh/vgpu-memory", memory), ("volcano.sh/vgpu-cores", cores)]
    return gpu("vgpu-number", cards, *more, **facts)


def shared_node(world, name, cards=2, memory=16000, **annotations):
    resources = {"volcano.sh/gpu-number": cards, "volcano.sh/gpu-memory": memory}
    world.node(name, **resources)
    node = world.inventory.nodes[name]
    world.inventory.nodes[name] = replace(node, annotations=annotations)


def virtual_node(world, name, *cards):
    world.node(name, **{"volcano.sh/vgpu-number": 40})
    node = world.inventory.nodes[name]
    note = {"volcano.sh/node-vgpu-register": ":".join(cards) + ":"}
    world.inventory.nodes[name] = replace(node, annotations=note)


def used(plugin, row=0):
    return [
        (card.used_memory, card.used_cores, card.share_count)
        for card in plugin._pools[row].cards.values()
    ]


# -- cards


def test_what_a_pod_asks_for_is_all_containers_or_the_largest_init_container():
    main = tuple(container(**{"volcano.sh__gpu-memory": n}) for n in (1000, 2000))
    init = tuple(container(**{"volcano.sh__gpu-memory": n}) for n in (2500, 4000))
    pod = Pod("p", "p", "ns", Resource(), containers=main)
    assert requested(pod, "volcano.sh/gpu-memory") == 3000
    assert requested(replace(pod, init_containers=init), "volcano.sh/gpu-memory") == 4000


def test_shared_memory_is_that_of_the_lowest_card_with_room():
    pool = SharedCards([Card(0, 8000), Card(1, 8000)])
    pool.allocate("r", CardAllocation((CardShare(0, 5000),)))
    assert pool.choose(CardRequest(3000)).allocation.shares == (CardShare(0, 3000),)
    assert pool.choose(CardRequest(3001)).allocation.shares == (CardShare(1, 3001),)
    assert pool.choose(CardRequest(8001)) == "no GPU has enough free memory"
    pool.release("r")
    pool.release("r")
    assert pool.choose(CardRequest(8000)).allocation.shares == (CardShare(0, 8000),)


def test_whole_cards_are_the_lowest_idle_ones():
    pool = WholeCards([Card(0, 8000), Card(2, 8000), Card(3, 8000)])
    pool.allocate("r", CardAllocation((CardShare(2, 8000),)))
    assert pool.choose(CardRequest(2)).allocation.shares == (CardShare(0, 8000), CardShare(3, 8000))
    assert pool.choose(CardRequest(3)) == "not enough idle GPUs"


def test_rules_match_with_all_their_labels():
    rules = [{"team": "a", "tier": "gold"}, {"team": "a"}, {}]
    assert matching_rules(rules, {"team": "a", "tier": "gold", "x": "y"}) == {0, 1}
    assert matching_rules(rules, {"team": "a"}) == {1}
    assert matching_rules(rules, {}) == frozenset()


def test_a_card_is_barred_to_pods_under_the_same_rule_only():
    pool = SharedCards([Card(0, 8000)])
    pool.allocate("r", CardAllocation((CardShare(0, 1000),), frozenset({0, 1})))
    assert pool.choose(CardRequest(1000, frozenset({1}))) == "no GPU has enough free memory"
    assert pool.choose(CardRequest(1000, frozenset({2}))).allocation.shares == (CardShare(0, 1000),)


# -- virtual cards


def request(*parts, **more):
    return VirtualGpuRequest(tuple(ContainerRequest(*part) for part in parts), **more)


@pytest.mark.parametrize(
    "policy, cards, score",
    [
        ("", [2], 0),
        ("binpack", [1], 50.0),  # 3000 + 1000 of 8000
        ("spread", [2], 0),  # cards 0 and 2 are without pods; the higher one goes first
    ],
)
def test_order_of_cards(policy, cards, score):
    pool = VirtualCards(":".join([A, B, C]), policy)
    pool.allocate("r", CardAllocation((CardShare(1, 3000),)))
    choice = pool.choose(request((1, 1000, 100, 0)))
    assert [share.card for share in choice.allocation.shares] == cards
    assert choice.score == score


def test_containers_are_placed_one_after_the_other_and_all_count_in_the_score():
    pool = VirtualCards(":".join([A, B]), "binpack")
    choice = pool.choose(request((2, 2000, 100, 30), (0, 0, 100, 0), (1, 0, 50, 70)))
    assert choice.allocation.shares == (
        CardShare(1, 2000, 30, 0),
        CardShare(0, 2000, 30, 0),
        CardShare(1, 4000, 70, 2),
    )
    assert choice.score == 25 + 25 + 75
    assert pool.choose(request((2, 2000, 100, 30), (1, 0, 50, 71))) == "not enough virtual GPUs"
    assert used_of(pool) == [(0, 0, 0), (0, 0, 0)]  # asking takes nothing


def used_of(pool):
    return [(card.used_memory, card.used_cores, card.share_count) for card in pool.cards.values()]


def test_unhealthy_cards_are_left_out_and_the_others_are_not_renumbered():
    pool = VirtualCards(":".join([A.replace("true", "false"), B]), "")
    assert list(pool.cards) == [1]
    assert pool.choose(request((2, 1, 100, 0))) == "not enough virtual GPUs"


def test_nodes_that_share_by_mig_are_refused_with_the_reason():
    pool = VirtualCards("GPU-a,4,8000,NVIDIA-A100,true,mig", "")
    assert "MIG" in pool.choose(request((1, 1, 100, 0)))
    wanted = pool.choose(request((1, 1, 100, 0), mode="hami-core"))
    assert wanted == "the node shares its GPUs by mig, the pod requires hami-core"


def test_a_registration_without_mode_is_of_the_ordinary_one():
    assert VirtualCards("GPU-a,4,8000,NVIDIA-A100,true:", "").mode == "hami-core"


@pytest.mark.parametrize(
    "text", ["GPU-a", "GPU-a,4,8000,NVIDIA", "GPU-a,x,8000,T,true", "a,1,-1,T,true"]
)
def test_what_is_no_registration(text):
    with pytest.raises(ValueError, match=r"volcano\.sh/node-vgpu-register: .* is not like 'UUID,"):
        VirtualCards(text, "")


def test_assignments_are_written_and_read_back():
    pool = VirtualCards(":".join([A, B]), "")
    allocation = pool.choose(
        request((2, 1000, 100, 10), (0, 0, 100, 0), (1, 500, 100, 0))
    ).allocation
    notes = pool.annotations("n1", allocation, 1_000_000.5)
    text = "GPU-b,NVIDIA,1000,10:GPU-a,NVIDIA,1000,10:;;GPU-b,NVIDIA,500,0:"
    assert notes["volcano.sh/vgpu-ids-new"] == notes["volcano.sh/devices-to-allocate"] == text
    assert notes["volcano.sh/vgpu-node"] == "n1"
    assert notes["volcano.sh/vgpu-time"] == notes["volcano.sh/bind-time"] == "1000000"
    assert notes["volcano.sh/bind-phase"] == "allocating"
    pod = Pod("p", "p", "ns", Resource(), annotations=notes)
    assert pool.read_allocation(pod, request()) == allocation
    assert pool.read_allocation(replace(pod, annotations={}), request()) is None


def test_only_a_pod_that_asks_for_a_number_of_cards_asks_for_virtual_gpus():
    memory = container(**{"volcano.sh__vgpu-memory": 100})
    pod = Pod("p", "p", "ns", Resource(), containers=(memory,))
    assert virtual_gpu_request(pod, frozenset()) is None
    number = container(**{"volcano.sh__vgpu-number": 2})
    parts = virtual_gpu_request(replace(pod, containers=(memory, number)), frozenset()).containers
    assert parts == (ContainerRequest(0, 100, 100, 0), ContainerRequest(2, 0, 100, 0))


# -- the plugin


def test_placements_are_counted_and_undone_exactly(world):
    shared_node(world, "n1")
    running = gpu("gpu-memory", 2000, on="n1", annotations={"volcano.sh/gpu-index": "1"})
    running["on"] = running["facts"].pop("on")
    world.job("r", running)
    world.job("j", gpu("gpu-memory", 5000), gpu("gpu-memory", 5000), gpu("gpu-memory", 5000))
    plugin = world.open("deviceshare", **SHARING)
    assert used(plugin) == [(0, 0, 0), (2000, 0, 1)]
    statement = world.allocate("j-0", "j-1", node="n1")
    assert used(plugin) == [(5000, 0, 1), (7000, 0, 2)]
    error = world.session.queries.predicate(world.task("j-2"), 0)
    assert (error.code, str(error)) == (Code.UNSCHEDULABLE, "no GPU has enough free memory")
    assert statement.allocate(world.task("j-2"), 0) == "no GPU has enough free memory"
    assert used(plugin) == [(5000, 0, 1), (7000, 0, 2)]
    statement.evict(world.task("r-0"), "test")
    assert used(plugin) == [(5000, 0, 1), (5000, 0, 1)]
    statement.discard()
    assert used(plugin) == [(0, 0, 0), (2000, 0, 1)]


def test_a_pod_that_is_leaving_no_longer_holds_its_card(world):
    shared_node(world, "n1")
    leaving = gpu("gpu-memory", 8000, annotations={"volcano.sh/gpu-index": "0"}, deleted=1.0)
    world.job("r", {**leaving, "on": "n1"})
    plugin = world.open("deviceshare", **SHARING)
    assert used(plugin) == [(0, 0, 0), (0, 0, 0)]


@pytest.mark.parametrize(
    "kind, amount, options, index", [("memory", 100, SHARING, "0"), ("number", 2, NUMBER, "0,1")]
)
def test_the_cards_go_out_with_the_bind(world, kind, amount, options, index):
    shared_node(world, "n1")
    world.job("j", gpu(f"gpu-{kind}", amount))
    world.open("deviceshare", **options)
    world.allocate("j-0", node="n1").commit()
    (bind,) = world.session.decisions.binds
    assert bind.annotations == {
        "volcano.sh/gpu-index": index,
        "volcano.sh/predicate-time": "1000000000000000",
    }


def test_parameters_of_virtual_gpus_are_hidden_from_the_session(world):
    virtual_node(world, "n1", A)
    world.job("j", virtual(3000, cores=10), min_resources={"cpu": 1, "volcano.sh/vgpu-memory": 3})
    world.open("deviceshare", **VIRTUAL)
    session, task = world.session, world.task("j-0")
    memory = session.nodes.dimensions.position["volcano.sh/vgpu-memory"]
    assert task.vector[memory] == session.cluster.total[memory] == 0
    assert set(task.request.scalars) == {"pods", "volcano.sh/vgpu-number"}
    assert session.jobs["ns/j"].min_resources == Resource(1000)
    assert world.inventory.pods["j-0"].request.get("volcano.sh/vgpu-memory") == 3_000_000
    assert session.queries.fits_idle(task).tolist() == [True]


def test_without_virtual_gpus_their_memory_is_a_resource_as_any_other(world):
    virtual_node(world, "n1", A)
    world.job("j", virtual(3000))
    world.open("deviceshare", **SHARING)
    assert world.session.queries.fits_idle(world.task("j-0")).tolist() == [False]


def test_nodes_score_by_the_rounded_sum_of_their_cards_times_the_weight(world):
    virtual_node(world, "n1", A)
    virtual_node(world, "n2", A, B)
    world.node("n3")
    world.job("r", {**virtual(0, annotations=assigned("GPU-a,NVIDIA,4000,0:")), "on": "n1"})
    world.job("j", virtual(1000), virtual(1004), {"cpu": 1})
    options = {"deviceshare.SchedulePolicy": "binpack", "deviceshare.ScheduleWeight": 3}
    plugin = world.open("deviceshare", **VIRTUAL, **options)
    view = world.session.nodes.view()
    # 5000/8000 = 62.5, rounded up; 1000/8000 = 12.5, too; 5004/8000 = 62.55, 1004/8000 = 12.55
    assert plugin.batch_node_order(world.task("j-0"), view).tolist() == [189, 39, 0]
    assert plugin.batch_node_order(world.task("j-1"), view).tolist() == [189, 39, 0]
    assert plugin.batch_node_order(world.task("j-2"), view) is None


def assigned(text):
    return {"volcano.sh/vgpu-ids-new": text}


def test_a_node_without_devices_is_left_to_the_count_of_resources(world):
    world.node("n1")
    world.job("j", gpu("gpu-memory", 100))
    plugin = world.open("deviceshare", **SHARING)
    node = world.session.nodes.handle(0)
    assert plugin.predicate(world.task("j-0"), node, None) is None
    assert world.session.queries.fits_idle(world.task("j-0")).tolist() == [False]


@pytest.mark.parametrize(
    "options, message",
    [
        ({**SHARING, **NUMBER}, "only one of"),
        ({**SHARING, **VIRTUAL}, "only one of"),
        ({**NUMBER, **VIRTUAL}, "only one of"),
        (
            {"deviceshare.AscendHAMiVNPUEnable": True},
            "deviceshare.AscendHAMiVNPUEnable: Ascend devices are not built in",
        ),
        (
            {"deviceshare.AscendMindClusterVNPUEnable": "true"},
            "deviceshare.AscendMindClusterVNPUEnable: Ascend devices are not built in",
        ),
        ({"deviceshare.SchedulePolicy": "pack"}, "'binpack' or 'spread'"),
        ({"deviceshare.VGPUEnabled": True}, "did you mean 'deviceshare.VGPUEnable'"),
        ({"deviceshare.GPUExclusiveRules": ["team"]}, "GPUExclusiveRules"),
    ],
)
def test_invalid_options_are_refused(world, options, message):
    with pytest.raises(PolicyError, match="1 problem") as caught:
        world.open("deviceshare", **options)
    assert message in str(caught.value)


def test_ascend_options_are_fine_while_they_are_off(world):
    off = {"AscendHAMiVNPUEnable": False, "AscendMindClusterVNPUEnable": "false"}
    world.open("deviceshare", **{f"deviceshare.{name}": value for name, value in off.items()})


def test_undoing_a_placement_releases_its_node_lock(world):
    virtual_node(world, "n1", A)
    world.job("j", virtual(100), virtual(100))
    world.open("deviceshare", **VIRTUAL, **{"deviceshare.NodeLockEnable": True})
    first = world.allocate("j-0", node="n1")
    objection = world.session.statement().allocate(world.task("j-1"), 0)
    assert objection == "node n1 is locked for the devices of another pod"
    first.discard()
    world.allocate("j-1", node="n1")
