"""Filters and scores on random clusters: both forms agree, caches are right, undo is exact.

The session runs with ``verify``: whenever an answer is remembered, it is asked again and compared.
"""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.plugins._kube import HOST, PREFERRED, REQUIRED, ZONE, Kube, node, pod
from tests.sampling import random_examples

KEYS = st.sampled_from([HOST, ZONE, "rack"])
APPS = st.sampled_from(["x", "y"])
SELECTORS = st.builds(lambda app: {"matchLabels": {"app": app}}, APPS)
TERMS = st.builds(
    lambda key, selector: {"topologyKey": key, "labelSelector": selector}, KEYS, SELECTORS
)
TAINTS = st.builds(
    lambda key, effect: {"key": key, "effect": effect},
    st.sampled_from(["k", "l"]),
    st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
)
EXPRESSIONS = st.one_of(
    st.builds(
        lambda op, values: {"key": ZONE, "operator": op, "values": values},
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from(["z0", "z1"]), min_size=1, max_size=2),
    ),
    st.builds(
        lambda op: {"key": "rack", "operator": op}, st.sampled_from(["Exists", "DoesNotExist"])
    ),
)
NODE_TERMS = st.builds(
    lambda e: {"matchExpressions": e}, st.lists(EXPRESSIONS, min_size=1, max_size=2)
)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> dict[str, Any]:
    labels = {}
    for key, value in ((ZONE, draw(st.integers(0, 2))), ("rack", draw(st.integers(0, 2)))):
        if value < 2:
            labels[key] = f"{key[0] if key == 'rack' else 'z'}{value}"
    return node(
        name,
        labels,
        cpu=draw(st.sampled_from([0, "750m", 2, 3, 64])),
        memory=draw(st.sampled_from([0, "1Gi", "3000M", "7Gi"])),
        gpu=draw(st.sampled_from([0, 0, 3, 8])),
        pods=draw(st.sampled_from([1, 2, 110])),
        taints=draw(st.lists(TAINTS, max_size=2)),
        unschedulable=draw(st.sampled_from([False, False, True])),
        images=draw(
            st.lists(
                st.builds(
                    lambda name, size: {"names": [name], "sizeBytes": size},
                    st.sampled_from(["i:latest", "j:1"]),
                    st.integers(0, 3 << 30),
                ),
                max_size=2,
            )
        ),
    )


@st.composite
def affinities(draw: st.DrawFn) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for part in draw(st.sets(st.sampled_from(["podAffinity", "podAntiAffinity"]))):
        preferred = st.builds(
            lambda weight, term: {"weight": weight, "podAffinityTerm": term},
            st.integers(1, 100),
            TERMS,
        )
        result[part] = {
            REQUIRED: draw(st.lists(TERMS, max_size=2)),
            PREFERRED: draw(st.lists(preferred, max_size=2)),
        }
    if draw(st.booleans()):
        preferences = st.builds(
            lambda weight, term: {"weight": weight, "preference": term},
            st.integers(1, 100),
            NODE_TERMS,
        )
        required = draw(st.lists(NODE_TERMS, max_size=1))
        result["nodeAffinity"] = {
            **({REQUIRED: {"nodeSelectorTerms": required}} if required else {}),
            PREFERRED: draw(st.lists(preferences, max_size=2)),
        }
    return result


SPREADS = st.builds(
    lambda key, skew, when, selector: {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": when,
        "labelSelector": selector,
    },
    KEYS,
    st.integers(1, 2),
    st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    SELECTORS,
)


@st.composite
def pods(draw: st.DrawFn, name: str, on: str = "") -> dict[str, Any]:
    requests = {
        "cpu": draw(st.sampled_from([None, "100m", "333m", 1])),
        "memory": draw(st.sampled_from([None, "100Mi", "1G"])),
        "nvidia.com/gpu": draw(st.sampled_from([None, None, 1, 2])),
    }
    spec: dict[str, Any] = {}
    if draw(st.booleans()):
        spec["affinity"] = draw(affinities())
    if draw(st.integers(0, 3)) == 0:
        spec["topologySpreadConstraints"] = draw(st.lists(SPREADS, min_size=1, max_size=2))
    port = draw(st.sampled_from([0, 0, 0, 80, 81]))
    return pod(
        name,
        {"app": draw(st.sampled_from(["x", "y", "z"]))},
        on=on,
        requests={key: value for key, value in requests.items() if value is not None},
        deleted=bool(on) and draw(st.integers(0, 4)) == 0,
        container={
            "image": draw(st.sampled_from(["i", "j:1", "k"])),
            "ports": [{"containerPort": port, "hostPort": port}] if port else [],
        },
        tolerations=draw(
            st.lists(st.sampled_from([{"key": "k", "operator": "Exists"}]), max_size=1)
        ),
        **spec,
    )


@st.composite
def clusters(draw: st.DrawFn) -> list[dict[str, Any]]:
    count = draw(st.integers(1, 4))
    objects = [draw(nodes(f"n{i}")) for i in range(count)]
    objects += [
        draw(pods(f"r{i}", on=f"n{draw(st.integers(0, count - 1))}"))
        for i in range(draw(st.integers(0, 4)))
    ]
    objects += [draw(pods(f"p{i}")) for i in range(draw(st.integers(1, 4)))]
    return objects


def answers(kube: Kube) -> dict[str, Any]:
    """The verdict on every node for every pending task."""
    answered = {}
    for task in kube.session.cluster.tasks.values():
        if task.name.startswith("p") and not task.node:
            error = kube.session.queries.prepare(task)
            assert error is None
            verdicts = kube.session.queries.verdicts(task)
            scores = kube.session.queries.scores(task)
            columns = verdicts.codes, verdicts.reasons, scores
            answered[task.name] = tuple(column.tolist() for column in columns)
    return answered


def change(kube: Kube, statement: Any, data: st.DataObject) -> None:
    """Do something at random: place, pipeline or evict."""
    session = kube.session
    tasks = sorted(session.cluster.tasks.values(), key=lambda task: task.name)
    task = data.draw(st.sampled_from(tasks), "task")
    row = data.draw(st.integers(0, len(session.nodes) - 1), "row")
    if task.node:
        if task.status.name == "RUNNING":
            statement.evict(task, "test")
    elif data.draw(st.booleans(), "pipeline"):
        statement.pipeline(task, row)
    else:
        statement.allocate(task, row)


PLUGINS = st.sampled_from(["predicates", "nodeorder"])


@random_examples(15, 60, clusters(), PLUGINS, st.data())
def test_cached_answers_equal_the_current_ones(objects, plugin, data):
    kube = Kube(*objects, plugin=plugin)
    with kube.session.statement() as statement:
        for _ in range(4):
            answers(kube)
            change(kube, statement, data)
        answers(kube)


@random_examples(15, 60, clusters(), st.data())
def test_both_forms_of_the_filter_agree(objects, data):
    kube = Kube(*objects)
    with kube.session.statement() as statement:
        for _ in range(3):
            change(kube, statement, data)
    nodes = kube.session.nodes
    for task in kube.session.cluster.tasks.values():
        if task.name.startswith("p"):
            assert kube.session.queries.prepare(task) is None
            kube.session.queries.class_id(task)
            many = kube.plugin.predicate_nodes(task, nodes.view())
            for row in range(len(nodes)):
                assert many.error(row) == kube.plugin.predicate(task, nodes.handle(row), task.job)


@random_examples(15, 60, clusters(), st.data())
def test_both_forms_of_the_score_agree(objects, data):
    options = {
        "mostrequested.weight": data.draw(st.integers(0, 2)),
        "leastrequested.weight": data.draw(st.integers(0, 2)),
    }
    kube = Kube(*objects, plugin="nodeorder", options=options)
    nodes = kube.session.nodes
    with kube.session.statement() as statement:
        for _ in range(3):
            change(kube, statement, data)
        for task in kube.session.cluster.tasks.values():
            kube.session.queries.class_id(task)
            many = kube.plugin.batch_node_order(task, nodes.view())
            for row in range(len(nodes)):
                alone = kube.plugin.batch_node_order(task, nodes.view(np.array([row])))[0]
                one = kube.plugin.node_order(task, nodes.handle(row))
                assert one == alone
                if kube.plugin._scope(task) == "row":
                    assert one == many[row]


@random_examples(15, 60, clusters(), PLUGINS, st.data())
def test_undoing_restores_every_answer(objects, plugin, data):
    kube = Kube(*objects, plugin=plugin)
    before = answers(kube)
    statement = kube.session.statement()
    for _ in range(data.draw(st.integers(1, 5))):
        change(kube, statement, data)
        if data.draw(st.booleans(), "ask"):
            answers(kube)
    statement.discard()
    assert answers(kube) == before


@random_examples(15, 60, clusters(), PLUGINS, st.data())
def test_a_changed_session_answers_like_a_fresh_one(objects, plugin, data):
    """Updated counts equal those of a fresh session."""
    kube = Kube(*objects, plugin=plugin)
    pending = [o for o in objects if o["kind"] == "Pod" and o["status"]["phase"] == "Pending"]
    answers(kube)
    with kube.session.statement() as statement:
        moved = data.draw(st.sampled_from(pending))
        row = data.draw(st.integers(0, len(kube.session.nodes) - 1))
        statement.allocate(kube.task(moved["metadata"]["uid"]), row)
        seen = answers(kube)
        moved["spec"]["nodeName"] = kube.session.nodes.names[row]
        moved["status"]["phase"] = "Running"
        fresh = Kube(*objects, plugin=plugin)
        assert answers(fresh) == seen
