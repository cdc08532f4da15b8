"""Backends of live clusters on the command line: options, the loop, dry run, reload and dump."""

import json
import os
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner

from pumice import MemoryBackend, OptionsModel
from pumice.cli import main
from pumice.discovery import Catalog

POLICY = 'actions = ["allocate"]\n[[tiers]]\nplugins = ["gang", "predicates"]\n'


class Options(OptionsModel):
    speed: int = 1


class Live(MemoryBackend):
    """A cluster with one pod, on which three cycles are due."""

    Options = Options
    made: ClassVar[list["Live"]] = []

    @classmethod
    def from_options(cls, options, policy, *, dry_run=False):
        item = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "x"}}
        backend = cls(_inventory())
        backend.speed = Options.model_validate(options).speed
        backend.dry_run, backend.items = dry_run, [item]
        backend.names = tuple(policy.scheduler.scheduler_names)
        backend.due, backend.closed, backend.stopped = 3, False, False
        backend.between = lambda: None
        cls.made.append(backend)
        return backend

    def wait(self):
        self.between()
        self.due -= 1
        return self.due >= 0 and not self.stopped

    def stop(self):
        self.stopped = True

    def close(self):
        self.closed = True

    def dump(self):
        return self.items


def _inventory():
    from pumice.manifests import read_objects

    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    return read_objects([("node", node)])


@pytest.fixture
def pumice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(POLICY)
    Live.made = []

    def catalog():
        made = Catalog()
        made.register_local("backend", "live", Live)
        return made

    monkeypatch.setattr("pumice.cli.run.Catalog", catalog)
    monkeypatch.setattr("pumice.cli.dump.Catalog", catalog)
    monkeypatch.setattr("pumice.cli.shadow.Catalog", catalog)
    monkeypatch.setattr("pumice.cli._options.Catalog", catalog)

    def invoke(*arguments):
        return CliRunner().invoke(main, [*arguments, "--backend", "live", "-c", "policy.toml"])

    return invoke


def test_cycles_are_run_as_long_as_they_are_due(pumice):
    result = pumice("run", "-o", "jsonl", "--backend-set", "speed=7", "--dry-run")
    assert result.exit_code == 0, result.output
    assert [json.loads(line)["cycle"] for line in result.stdout.splitlines()] == [1, 2, 3]
    (backend,) = Live.made
    assert (backend.speed, backend.dry_run, backend.closed) == (7, True, True)


def test_the_number_of_cycles_may_be_limited(pumice):
    assert len(pumice("run", "-o", "jsonl", "--cycles", "2").stdout.splitlines()) == 2


def test_a_signal_ends_the_run_after_the_cycle(pumice, monkeypatch):
    from_options = Live.from_options.__func__

    def with_signal(cls, *arguments, **more):
        backend = from_options(cls, *arguments, **more)

        def between():
            if backend.due == 2:
                os.kill(os.getpid(), signal.SIGTERM)

        backend.between = between
        return backend

    monkeypatch.setattr(Live, "from_options", classmethod(with_signal))
    before = signal.getsignal(signal.SIGTERM)
    result = pumice("run", "-o", "jsonl")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 1
    assert Live.made[0].closed
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("text", [POLICY.replace("allocate", "backfill"), "actions = 7\n"])
def test_a_policy_file_that_changes_is_loaded_again_unless_it_is_wrong(pumice, monkeypatch, text):
    seen = []
    monkeypatch.setattr(
        "pumice.cli.run.print_live_cycle",
        lambda *_: seen.append([*Live.made[0].scheduler.holder.actions]),
    )
    from pumice.cli import _live

    run_live = _live.run_live

    def watched(backend, scheduler, step, **settings):
        backend.scheduler = scheduler

        def between():
            if backend.due == 2:
                Path("policy.toml").write_text(text)

        backend.between = between
        run_live(backend, scheduler, step, **settings)

    monkeypatch.setattr("pumice.cli.run.run_live", watched)
    assert pumice("run").exit_code == 0
    changed = "backfill" if "backfill" in text else "allocate"
    assert [[a.name for a in actions] for actions in seen] == [["allocate"], [changed], [changed]]


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("--backend-set", "sped=1"), "has no option 'sped'; did you mean 'speed'"),
        (("--backend-set", "speed"), "there is no '='"),
        (("--backend-set", "speed=fast"), "--backend-set speed: "),
        (("cluster.yaml",), "does not take FILES"),
        (("--state", "state.json"), "does not take --state"),
        (("-o", "json"), "does not take -o json"),
    ],
)
def test_what_makes_no_sense_is_refused(pumice, arguments, text):
    result = pumice("run", *arguments)
    assert result.exit_code != 0
    assert text in result.stderr


def test_dump_writes_the_objects_as_a_list(pumice):
    result = pumice("dump", "-o", "out.json")
    assert result.exit_code == 0, result.output
    assert result.stdout == "out.json: 1 objects\n"
    assert json.loads(Path("out.json").read_text())["items"][0]["metadata"]["name"] == "a"


def test_only_a_live_cluster_can_be_dumped(pumice):
    result = CliRunner().invoke(main, ["dump", "-o", "x", "--backend", "memory"])
    assert "has no live cluster to dump" in result.stderr


def test_a_shadow_touches_nothing_and_reports_a_line_for_each_cycle(pumice):
    result = pumice("shadow", "-o", "jsonl", "--scheduler", "other")
    assert result.exit_code == 0, result.output
    *cycles, last = map(json.loads, result.stdout.splitlines())
    assert [cycle["cycle"] for cycle in cycles] == [1, 2, 3]
    assert last["summary"]["cycles"] == 3
    (backend,) = Live.made
    assert (backend.dry_run, backend.closed) == (True, True)
    assert backend.names == ("other",)


def test_a_shadow_follows_the_default_scheduler_unless_the_policy_names_one(pumice):
    assert "3 cycles" in pumice("shadow").stdout
    assert Live.made[0].names == ("default-scheduler",)
    pumice("shadow", "--set", 'scheduler.scheduler_names=["mine"]')
    assert Live.made[1].names == ("mine",)


def test_only_a_live_cluster_has_a_shadow(pumice):
    result = CliRunner().invoke(main, ["shadow", "--backend", "memory"])
    assert "has no live cluster" in result.stderr


def test_the_page_shows_the_cycles_of_a_live_cluster(pumice, monkeypatch):
    from_options = Live.from_options.__func__
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    answers = []

    def ask(path, method="GET"):
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                answers.append((answer.status, json.loads(answer.read())))
        except urllib.error.HTTPError as error:
            answers.append((error.code, json.loads(error.read())))

    def with_requests(cls, *arguments, **more):
        backend = from_options(cls, *arguments, **more)

        def between():
            if backend.due == 1:  # two cycles have been run
                ask("/api/cycles")
                ask("/api/about")
                ask("/api/cycles", "POST")

        backend.between = between
        return backend

    monkeypatch.setattr(Live, "from_options", classmethod(with_requests))
    result = pumice("run", "-o", "jsonl", "--serve", f"127.0.0.1:{port}")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 3
    assert f"http://127.0.0.1:{port}/" in result.stderr
    listed, about, posted = answers
    assert [row["cycle"] for row in listed[1]["rows"]] == [1, 2]
    assert about[1]["live"] is True
    assert posted[0] == 405
    assert "when it changes" in posted[1]["error"]


@pytest.mark.parametrize("address", ["here", "127.0.0.1:99999"])
def test_a_page_needs_an_address(pumice, address):
    assert "is not host:port" in pumice("run", "--serve", address).stderr


def test_files_have_no_live_page(pumice):
    result = CliRunner().invoke(main, ["run", "--serve", "127.0.0.1:0", "cluster.yaml"])
    assert "has no live cluster" in result.stderr
