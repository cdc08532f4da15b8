"""The answers of the API and what it says about wrong requests."""

import pytest


def test_cycles(client):
    rows = client.json("/api/cycles")["rows"]
    assert [row["cycle"] for row in rows] == [1, 2]
    assert rows[0]["states"] == {"waiting": 3, "running": 1, "evicted": 2, "completed": 0}
    assert (rows[0]["bound"], rows[0]["evicted"], rows[1]["evicted"]) == (1, 5, 0)


def test_queues_show_one_resource(client):
    answer = client.json("/api/queues?cycle=1")
    assert (answer["resource"], answer["allocatable_text"]) == ("nvidia.com/gpu", "12")
    research = next(row for row in answer["rows"] if row["queue"] == "research")
    assert research["texts"] == {"allocated": "6", "request": "10", "deserved": "6"}
    assert client.json("/api/queues?resource=memory")["rows"][2]["texts"]["deserved"] == "40Gi"


def test_nodes_are_columns(client):
    answer = client.json("/api/nodes?resource=cpu&cycle=1&offset=1&limit=2")
    assert answer["names"] == ["gpu-b", "gpu-c"]
    assert (answer["total"], answer["allocatable"]) == (4, [16000, 16000])
    assert len(answer["used"]) == len(answer["releasing"]) == 2
    assert client.json("/api/nodes?resource=pods")["used"] == [2, 2, 2, 4]


def test_a_node_lists_its_tasks(client):
    answer = client.json("/api/node/gpu-a?cycle=2")
    assert answer["resources"]["nvidia.com/gpu"] == {
        "allocatable": "4",
        "used": "4",
        "releasing": "0",
    }
    assert {row["job"] for row in answer["rows"]} == {"production/train"}


@pytest.mark.parametrize(
    "query, jobs",
    [
        ("", 6),
        ("state=waiting", 3),
        ("state=evicted", 2),
        ("q=SWEEP", 1),
        ("q=production+waitsfor", 2),
        ("q=victimsprotected", 1),
        ("queue=default", 1),
        ("q=sweep&state=waiting", 0),
        ("q=%3Cscript%3E", 0),
    ],
)
def test_jobs_are_filtered(client, query, jobs):
    answer = client.json(f"/api/jobs?cycle=1&{query}")
    assert (answer["total"], len(answer["rows"]), answer["all"]) == (jobs, jobs, 6)


def test_jobs_come_by_pages(client):
    pages = [client.json(f"/api/jobs?offset={n}&limit=4")["rows"] for n in (0, 4, 8)]
    assert [len(rows) for rows in pages] == [4, 2, 0]
    names = [row["job"] for rows in pages for row in rows]
    assert names == sorted(set(names))


def test_evictions_of_all_cycles_or_of_one(client):
    answer = client.json("/api/evictions")
    assert answer["tasks"] == 5
    assert [(row["job"], row["for"], row["count"]) for row in answer["rows"]] == [
        ("research/sweep", "production/train", 3),
        ("production/report", "production/serve", 2),
    ]
    assert client.json("/api/evictions?cycle=2")["total"] == 0
    assert client.json("/api/evictions?job=production/train")["total"] == 1


def test_a_job_is_explained(client):
    answer = client.json("/api/explain/research/ablation?cycle=1")
    assert (answer["verdict"], answer["code"], answer["cycle"]) == (
        "pending",
        "VictimsProtected",
        1,
    )
    assert answer["about"]["remedy"]
    assert next(level["level"] for level in answer["levels"] if not level["ok"]) == "share"
    assert answer["tasks"][0] == {
        "task": "research/ablation-0",
        "status": "Pending",
        "node": "",
    }
    assert client.json("/api/explain/research%2Fablation")["job"] == "research/ablation"


def test_an_evicted_job_is_explained_in_its_cycle(client):
    assert client.json("/api/explain/research/sweep?cycle=1")["verdict"] == "evicted"
    assert client.json("/api/explain/research/sweep?cycle=2")["verdict"] == "running"


@pytest.mark.parametrize(
    "target, status, text",
    [
        ("/api/jobs?state=asleep", 400, "state: 'asleep' is unknown"),
        ("/api/jobs?limit=0", 400, "limit: '0' is no whole number from 1 to 1000"),
        ("/api/jobs?limit=1001", 400, "limit"),
        ("/api/jobs?offset=-1", 400, "offset"),
        ("/api/jobs?offset=9999999999999999999", 400, "offset"),
        ("/api/jobs?cycle=one", 400, "cycle: 'one'"),
        ("/api/jobs?cycle=%C2%B2", 400, "cycle"),
        ("/api/jobs?q=a&q=b", 400, "q is given twice"),
        ("/api/jobs?qq=a", 400, "no parameter 'qq'"),
        ("/api/jobs?q=%FF", 400, "not UTF-8"),
        ("/api/jobs?q=" + "x" * 301, 400, "longer than 300"),
        ("/api/jobs?cycle=9", 404, "there is no cycle 9"),
        ("/api/queues?resource=gold", 400, "resource: 'gold' is unknown"),
        ("/api/node/gpu-x", 404, "did you mean"),
        ("/api/node/", 404, "there is no /api/node/"),
        ("/api/explain/research/ablatio", 404, "did you mean"),
        ("/api/explain/" + "x" * 5000, 404, "has no job"),
        ("/api/nothing", 404, "there is no /api/nothing"),
    ],
)
def test_wrong_requests_are_named(client, target, status, text):
    answer = client.json(target, status)
    assert text in answer["error"]


class TestChanges:
    def test_changes_that_would_let_it_run(self, client):
        answer = client.json("/api/changes/research/ablation?cycle=2", method="POST")
        assert answer["found"]
        assert set(answer["found"][0]) == {"change", "kind", "result"}
        assert answer["text"].startswith("Tried ")

    def test_a_job_that_runs_needs_none(self, client):
        answer = client.json("/api/changes/production/train?cycle=2", method="POST")
        assert answer == {"job": "production/train", "found": [], "text": "The job does not wait."}

    def test_they_are_not_tried_for_other_sites(self, client):
        target = "/api/changes/research/ablation"
        assert client(target, method="POST", Origin="http://evil.example").status == 403
        assert client(target).status == 404

    def test_an_unknown_job(self, client):
        assert "no job" in client.json("/api/changes/x", 404, method="POST")["error"]
