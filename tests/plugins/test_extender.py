"""An HTTP service answers for a plugin: its requests, and what its failures count as."""

import pytest

from pumice import PERMIT, REJECT
from pumice.errors import PluginError, PolicyError
from pumice.model.facts import Container
from pumice.model.resources import Resource
from pumice.verdicts import Code
from pumice_builtin_plugins.extender.http import ExtenderError
from tests.plugins._extender import Service, options

VERBS = [
    "onSessionOpen", "onSessionClose", "predicate", "prioritize", "preemptable", "reclaimable",
    "queueOverused", "jobEnqueueable", "jobEnqueued", "jobReady", "allocateFunc", "deallocateFunc",
]  # fmt: skip


@pytest.fixture
def service():
    running = Service()
    yield running
    running.close()


@pytest.fixture
def opened(world, service):
    """Open a session in which the service answers these points."""

    def build(*verbs, **more):
        if not world.inventory.nodes:
            world.node("n1")
            world.node("n2")
            world.job("j", {"cpu": 1}, {"cpu": 1})
            world.job("r", {"cpu": 1, "on": "n1"}, {"cpu": 1, "on": "n1"})
        more.setdefault("httpTimeout", "5s")
        return world.open("extender", **options(service.prefix, *verbs, **more))

    return build


@pytest.fixture
def failing(opened, service):
    """As ``opened``, with a service that answers everything with status 500."""

    def build(*verbs, ignorable=False):
        service.answers = dict.fromkeys(verbs, (500, "{}"))
        return opened(*verbs, ignorable=ignorable)

    return build


# -- requests and answers


def test_nothing_is_asked_that_has_no_path(world, opened, service):
    plugin = opened()
    task, job, queue = world.task("j-0"), world.job_of("j"), world.session.queues["default"]
    node, view = world.session.nodes.handle(0), world.session.nodes.view()
    answers = [
        plugin.predicate(task, node, job), plugin.batch_node_order(task, view),
        plugin.preemptable(task, []), plugin.reclaimable(task, []), plugin.overused(queue),
        plugin.job_ready(job), plugin.job_enqueueable(job), plugin.job_enqueued(job),
        plugin.on_allocate(task), plugin.on_deallocate(task), plugin.on_session_close(),
    ]  # fmt: skip
    assert answers == [None] * 11
    assert service.asked == []


def test_a_predicate_is_asked_about_the_task_and_the_node(world, opened, service):
    opened("predicate")
    assert world.session.queries.predicate(world.task("j-0"), 0) is None
    (body,) = service.bodies("predicate")
    task, node = body["task"], body["node"]
    assert (task["UID"], task["Job"], task["Namespace"], task["Status"]) == ("j-0", "ns/j", "ns", 1)
    assert task["Resreq"] == {"MilliCPU": 1000, "Memory": 0, "ScalarResources": {"pods": 1}}
    assert node["Name"] == "n1"
    assert node["Idle"]["MilliCPU"] == 2000
    assert {name: held["Status"] for name, held in node["Tasks"].items()} == {
        "ns/r-0": 1 << 5,
        "ns/r-1": 1 << 5,
    }


@pytest.mark.parametrize(
    "answer, code",
    [
        ({}, None),
        ({"status": "", "code": 0}, None),
        ({"status": "full", "code": 2}, Code.UNSCHEDULABLE),
        ({"status": "wrong kind", "code": 3}, Code.UNRESOLVABLE),
        ({"status": "broken", "code": 0}, Code.ERROR),
        ({"status": "broken"}, Code.ERROR),
        ({"code": 2}, Code.UNSCHEDULABLE),
        ({"status": "odd", "code": 77}, Code.ERROR),
        ({"status": "odd", "code": "2"}, Code.ERROR),
        ({"status": "odd", "code": [2]}, Code.ERROR),
    ],
)
def test_what_the_answer_of_a_predicate_means(world, opened, service, answer, code):
    service.answers["predicate"] = answer
    opened("predicate")
    error = world.session.queries.predicate(world.task("j-0"), 0)
    assert (error and error.code) == code


def test_scores_are_taken_by_name_and_missing_ones_are_0(world, opened, service):
    service.answers["prioritize"] = {"nodeScore": {"n2": 7.5, "n9": 100}}
    opened("prioritize")
    assert world.session.queries.scores(world.task("j-0")).tolist() == [0, 7.5]
    (body,) = service.bodies("prioritize")
    assert [node["Name"] for node in body["nodes"]] == ["n1", "n2"]


@pytest.mark.parametrize("point", ["preemptable", "reclaimable"])
@pytest.mark.parametrize(
    "answer, expected",
    [
        ({"status": 1, "victims": [{"UID": "r-1"}, {"UID": "r-9"}]}, ["r-1"]),
        ({"status": -1, "victims": ["r-1", ["r-0"], 7, "r-0"]}, ["r-1", "r-0"]),
        ({"status": 1, "victims": None}, []),
        ({"status": 0, "victims": [{"UID": "r-1"}]}, None),
        ({}, None),
    ],
)
def test_victims_are_named_by_uid(world, opened, service, point, answer, expected):
    service.answers[point] = answer
    plugin = opened(point)
    victims = getattr(plugin, point)(world.task("j-0"), world.tasks("r-0", "r-1"))
    assert (victims and [task.name for task in victims]) == expected
    (body,) = service.bodies(point)
    assert body["evictor"]["UID"] == "j-0"
    assert [task["UID"] for task in body["evictees"]] == ["r-0", "r-1"]


def test_questions_about_jobs_and_queues(world, opened, service):
    service.answers = {
        "queueOverused": {"overused": True},
        "jobEnqueueable": {"status": -1},
        "jobReady": {"status": False},
    }
    plugin = opened("queueOverused", "jobEnqueueable", "jobEnqueued", "jobReady")
    job, queue = world.job_of("j"), world.session.queues["default"]
    assert plugin.overused(queue) is True
    assert plugin.job_enqueueable(job) == REJECT
    assert plugin.job_ready(job) is False
    plugin.job_enqueued(job)
    assert service.bodies("queueOverused")[0]["queue"]["Name"] == "default"
    sent = service.bodies("jobEnqueued")[0]["job"]
    assert (sent["UID"], sent["MinAvailable"], sorted(sent["Tasks"])) == ("ns/j", 1, ["j-0", "j-1"])


def test_it_is_notified_of_the_cycle_and_of_placements(world, opened, service):
    plugin = opened("onSessionOpen", "onSessionClose", "allocateFunc", "deallocateFunc")
    world.allocate("j-0", node="n1").discard()
    plugin.on_session_close()
    assert [verb for verb, _ in service.asked] == [
        "onSessionOpen", "allocateFunc", "deallocateFunc", "onSessionClose",
    ]  # fmt: skip
    everything = service.asked[0][1]
    assert sorted(everything["jobs"]) == ["ns/j", "ns/r"]
    assert sorted(everything["nodes"]) == ["n1", "n2"]
    assert sorted(everything["queues"]) == ["default"]
    placed = service.bodies("allocateFunc")[0]["task"]
    assert (placed["NodeName"], placed["Status"]) == ("n1", 1 << 1)


def test_an_objection_to_a_placement_undoes_it(world, opened, service):
    service.answers["allocateFunc"] = {"errorMessage": "not there"}
    opened("allocateFunc")
    statement = world.session.statement()
    assert statement.allocate(world.task("j-0"), 0) == "not there"
    assert world.task("j-0").node == ""


def test_only_tasks_with_a_managed_resource_are_sent(world, opened, service):
    service.answers["predicate"] = {"status": "no", "code": 2}
    opened()
    amounts = Resource.from_list({"example.com/fpga": 1})
    pod = {"facts": {"containers": (Container("c", Resource(), amounts),)}}
    world.job("k", pod)
    named = [{"name": "example.com/fpga"}, "example.com/other"]
    plugin = opened(*VERBS[2:6], *VERBS[10:], managedResources=named)
    node, view, plain = world.session.nodes.handle(0), world.session.nodes.view(), world.task("j-0")
    assert plugin.predicate(plain, node, None) is None
    assert plugin.batch_node_order(plain, view) is None
    assert plugin.preemptable(plain, []) is None
    assert plugin.on_allocate(plain) is None
    assert service.asked == []
    assert plugin.predicate(world.task("k-0"), node, None).code is Code.UNSCHEDULABLE


# -- failures


@pytest.mark.parametrize("ignorable", [False, True])
def test_what_failures_count_as(world, failing, ignorable):
    plugin = failing(*VERBS[2:], ignorable=ignorable)
    task, job, queue = world.task("j-0"), world.job_of("j"), world.session.queues["default"]
    node, view = world.session.nodes.handle(0), world.session.nodes.view()
    error = plugin.predicate(task, node, job)
    assert error is None if ignorable else error.code is Code.ERROR
    assert plugin.preemptable(task, world.tasks("r-0")) == []
    assert plugin.reclaimable(task, world.tasks("r-0")) == []
    assert plugin.overused(queue) is not ignorable
    assert plugin.job_ready(job) is not ignorable
    assert plugin.job_enqueueable(job) == (PERMIT if ignorable else REJECT)
    plugin.job_enqueued(job)
    plugin.on_deallocate(task)
    objection = plugin.on_allocate(task)
    assert objection is None if ignorable else "status 500" in objection
    if ignorable:
        assert plugin.batch_node_order(task, view) is None
    else:
        with pytest.raises(ExtenderError, match=r"no scores for ns/j-0: .*status 500"):
            plugin.batch_node_order(task, view)


def test_scores_that_fail_cost_the_job_its_turn(world, failing):
    failing("prioritize")
    with pytest.raises(PluginError, match=r"plugin extender .* failed in batch_node_order"):
        world.session.queries.scores(world.task("j-0"))


@pytest.mark.parametrize(
    "answer",
    [
        {"errorMessage": "no"},
        {"nodeScore": [1, 2]},
        {"nodeScore": {"n1": "high"}},
        {"nodeScore": {"n1": 10**400}},
        {"nodeScore": {"n1": float("inf")}},
        (200, '{"a":' * 100_000),
    ],
    ids=["error", "list", "text", "400 digits", "infinite", "deeply nested"],
)
def test_scores_that_cannot_be_used_are_a_failure(world, opened, service, answer):
    service.answers["prioritize"] = answer
    plugin = opened("prioritize")
    with pytest.raises(ExtenderError, match="no scores for ns/j-0"):
        plugin.batch_node_order(world.task("j-0"), world.session.nodes.view())
    plugin = opened("prioritize", ignorable=True)
    assert plugin.batch_node_order(world.task("j-0"), world.session.nodes.view()) is None


@pytest.mark.parametrize("ignorable, asked", [(False, 0), (True, 1)])
def test_a_failure_at_the_beginning_switches_it_off_for_the_cycle(
    world, opened, service, ignorable, asked
):
    service.answers["onSessionOpen"] = (503, "")
    plugin = opened("onSessionOpen", "predicate", ignorable=ignorable)
    assert plugin.predicate(world.task("j-0"), world.session.nodes.handle(0), None) is None
    assert len(service.bodies("predicate")) == asked


# -- the circuit breaker


def ask_predicate(plugin, world):
    return plugin.predicate(world.task("j-0"), world.session.nodes.handle(0), None)


def test_after_failures_in_a_row_it_is_left_alone_for_a_while(world, failing, service):
    world.memory = {}
    plugin = failing("predicate")
    errors = [str(ask_predicate(plugin, world)) for _ in range(10)]
    assert len(service.asked) == 3
    assert "status 500" in errors[2]
    assert errors[9].startswith("not asked for 30s after 3 failures in a row: http://127.0.0.1")
    world.now += 29
    assert "not asked for 1s" in str(ask_predicate(failing("predicate"), world))
    assert len(service.asked) == 3
    world.now += 1
    ask_predicate(failing("predicate"), world)
    ask_predicate(failing("predicate"), world)
    assert len(service.asked) == 4  # one more failure is enough
    world.now += 30
    plugin = failing("predicate")
    service.answers = {}
    assert ask_predicate(plugin, world) is None
    assert ask_predicate(plugin, world) is None
    assert len(service.asked) == 6


def test_an_ignorable_service_that_is_left_alone_does_not_cost_the_job(world, failing, service):
    plugin = failing("predicate", ignorable=True)
    assert [ask_predicate(plugin, world) for _ in range(10)] == [None] * 10
    assert len(service.asked) == 3


def test_an_answer_in_between_starts_the_count_anew(world, failing, opened, service):
    plugin = failing("predicate")
    for _ in range(4):
        service.answers = {"predicate": (500, "{}")}
        ask_predicate(plugin, world)
        ask_predicate(plugin, world)
        service.answers = {}
        ask_predicate(plugin, world)
    assert len(service.asked) == 12


def test_the_breaker_can_be_switched_off(world, opened, service):
    service.answers = {"predicate": (500, "{}")}
    plugin = opened("predicate", maxFailures=0)
    for _ in range(10):
        ask_predicate(plugin, world)
    assert len(service.asked) == 10


@pytest.mark.parametrize(
    "given, message",
    [
        ({"extender.predicateVerb": "p"}, "extender.urlPrefix should be a URL like"),
        ({"extender.urlPrefix": "ftp://x"}, "extender.urlPrefix should be a URL like"),
        ({"extender.urlPrefix": "http://x:port"}, "extender.urlPrefix"),
        ({"extender.httpTimeout": "0s"}, "greater than 0"),
        ({"extender.httpTimeout": "soon"}, "a duration"),
        ({"extender.predicatesVerb": "p"}, "did you mean 'extender.predicateVerb'"),
        ({"extender.managedResources": "gpu"}, "managedResources"),
    ],
)
def test_invalid_options_are_refused(world, given, message):
    with pytest.raises(PolicyError, match="1 problem") as caught:
        world.open("extender", **given)
    assert message in str(caught.value)
