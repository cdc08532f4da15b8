"""Routes, headers, the token's form, and what plugins serve."""

import json

import pytest

from pumice import Plugin, hookimpl
from pumice.config import policy_from_dict
from pumice.discovery import Catalog
from pumice.model.facts import PodGroup, Queue
from tests.framework.serve._served import client_of, cluster_history, demo_history

TOKEN = "correct-horse-battery"


def test_the_page_and_its_files_are_sent(client):
    page = client("/")
    assert page.kind == "text/html; charset=utf-8"
    text = page.body.decode()
    for part in text.split('"'):
        if part.startswith("/static/"):
            assert client(part).status == 200, part
    assert "://" not in text
    assert "<script>" not in text
    assert "style=" not in text


def test_the_page_names_no_address_of_others(client):
    for name, file in client.app._static.items():
        for line in file.body.decode().splitlines():
            assert "://" not in line.replace("http://www.w3.org/2000/svg", ""), name


def test_every_answer_has_the_headers(client):
    for target in ("/", "/static/app.js", "/api/jobs", "/api/none", "/nothing"):
        headers = client(target).all_headers
        assert headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "unsafe" not in headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "target", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/", "/etc/passwd", "//x", "*"]
)
def test_only_known_files_are_sent(client, target):
    assert client.json(target, 404)["error"].startswith("there is no ")


def test_another_host_name_is_refused(client):
    answer = client.json("/api/jobs", 421, Host="evil.example")
    assert answer["hint"] == "open http://127.0.0.1:8642/"


def test_other_methods_are_refused(client):
    response = client("/api/jobs", method="DELETE")
    assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD, POST")
    assert client("/api/jobs", method="POST").status == 405


def test_a_cycle_is_run_by_post():
    client = client_of(demo_history(cycles=1))
    assert client.json("/api/cycles", 201, method="POST") == {"cycle": 2}
    assert client.json("/api/cycles")["total"] == 2
    assert client("/api/cycles", method="POST", Origin="http://evil.example").status == 403
    assert client.json("/api/cycles")["total"] == 2


def test_what_the_page_says_of_the_input(client):
    about = client.json("/api/about")
    assert about["policy"].endswith("policy.toml")
    assert about["resource"] == "nvidia.com/gpu"
    assert {"name": "memory", "unit": "bytes"} in about["resources"]


class TestToken:
    @pytest.fixture
    def client(self, demo):
        return client_of(demo, "0.0.0.0", TOKEN)

    def test_it_is_demanded(self, client):
        response = client("/api/jobs")
        assert response.status == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert client("/api/cycles", method="POST").status == 401
        assert client("/static/app.js").status == 401
        assert client("/login").status == 401
        assert client("/api/jobs", Authorization=f"Bearer {TOKEN}").status == 200

    def test_the_page_asks_for_it(self, client):
        form = client("/")
        assert form.status == 401
        assert b'action="/login"' in form.body
        assert client("/static/style.css").status == 200

    def test_the_address_with_the_token_stores_it(self, client):
        response = client(f"/?token={TOKEN}")
        assert (response.status, response.headers["Location"]) == (303, "/")
        cookie = response.headers["Set-Cookie"]
        assert cookie.endswith("; Path=/; HttpOnly; SameSite=Strict")
        assert client("/", Cookie=cookie.partition(";")[0]).status == 200
        assert client("/?token=wrong").status == 401

    def test_the_form_stores_it(self, client):
        sent = client("/login", method="POST", body=f"token={TOKEN}".encode())
        assert sent.status == 303
        assert "Set-Cookie" in sent.headers
        assert client("/login", method="POST", body=b"token=wrong").status == 401
        assert client("/login", method="POST", body=b"\xff").status == 401


def test_without_a_token_nobody_can_log_in(client):
    assert client("/login", method="POST", body=b"token=").status == 401


class Serving(Plugin):
    """Serves something of each kind."""

    @hookimpl
    def http_handlers(self):
        return {
            "/text": lambda: "<b>é</b>",
            "/data": lambda: {"cycle": self.session.uid, "inf": float("inf")},
            "/file": lambda: b"PK\x03\x04",
            "/bytes": lambda: b"\x00",
            "/fails": lambda: 1 / 0,
            "/api/jobs": lambda: "not this",
        }


class TestPlugins:
    @pytest.fixture
    def client(self):
        catalog = Catalog()
        catalog.register_local("plugin", "serving", Serving)
        policy = policy_from_dict(
            {"actions": ["allocate"], "tiers": [{"plugins": ["gang", "serving"]}]},
            where="test",
            catalog=catalog,
        )
        return client_of(cluster_history(lambda inventory: None, policy, cycles=2))

    def test_their_paths_are_listed(self, client):
        assert "/text" in client.json("/api/about")["handlers"]

    @pytest.mark.parametrize(
        "path, kind, body",
        [
            ("/text", "text/plain; charset=utf-8", "<b>é</b>".encode()),
            ("/data", "application/json", b'{"cycle":"cycle-2","inf":null}'),
            ("/data?cycle=1", "application/json", b'{"cycle":"cycle-1","inf":null}'),
            ("/file", "application/zip", b"PK\x03\x04"),
            ("/bytes", "application/octet-stream", b"\x00"),
        ],
    )
    def test_their_answers_are_sent_as_data(self, client, path, kind, body):
        response = client(path)
        assert (response.kind, response.body) == (kind, body)

    def test_a_file_has_a_name(self, client):
        disposition = client("/file").headers["Content-Disposition"]
        assert disposition == 'attachment; filename="file.zip"'

    def test_a_failing_handler_is_reported(self, client):
        answer = client.json("/fails", 500)
        assert answer["error"] == "ZeroDivisionError: division by zero"

    def test_they_do_not_replace_the_api(self, client):
        assert client.json("/api/jobs")["rows"] == []

    def test_wrong_parameters_are_refused(self, client):
        assert "cycle 7" in client.json("/text?cycle=7", 404)["error"]
        assert client("/text?x=1").status == 400


def test_names_are_data():
    def fill(inventory):
        name = "</script><img src=x onerror=alert(1)>"
        inventory.queues[name] = Queue(name)
        inventory.groups[f"ns/{name}"] = PodGroup(f"ns/{name}", name, "ns", queue=name)

    policy = policy_from_dict(
        {"actions": ["allocate"], "tiers": [{"plugins": ["gang"]}]}, where="test"
    )
    client = client_of(cluster_history(fill, policy))
    response = client("/api/jobs")
    assert response.kind == "application/json"
    assert json.loads(response.body)["rows"][0]["queue"].startswith("</script>")
