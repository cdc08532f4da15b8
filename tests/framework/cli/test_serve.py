"""``pumice serve`` as a user calls it."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main
from pumice.serve.server import Server

DEMO = Path(__file__).resolve().parents[3] / "docs" / "examples" / "demo"


def serve(*arguments):
    return CliRunner().invoke(main, ["serve", *arguments], prog_name="pumice")


def test_it_serves_until_it_is_interrupted():
    command = [sys.executable, "-c", "from pumice.cli import main; main(prog_name='pumice')"]
    more = ["serve", str(DEMO), "--port", "0", "-c", str(DEMO / "policy.toml"), "--cycles", "2"]
    process = subprocess.Popen(
        [*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        with urllib.request.urlopen(f"{address}api/cycles", timeout=10) as response:
            assert json.load(response)["total"] == 2
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 0
        assert errors.splitlines() == ["Ctrl-C ends it", "stopped"]
    finally:
        process.kill()


class TestAnnouncement:
    @pytest.fixture(autouse=True)
    def _interrupted(self, monkeypatch):
        def interrupted(server):
            raise KeyboardInterrupt

        monkeypatch.setattr(Server, "serve_forever", interrupted)

    def test_an_address_that_others_can_reach_has_a_token(self):
        lines = {serve(str(DEMO), "--host", "0.0.0.0", "--port", "0").stdout for _ in range(2)}
        assert len(lines) == 2
        for line in lines:
            assert re.fullmatch(r"http://(?!0\.0\.0\.0)\S+:\d+/\?token=[\w-]{32}\n", line)

    def test_the_token_may_come_from_the_environment(self, monkeypatch):
        monkeypatch.setenv("PUMICE_SERVE_TOKEN", "correct-horse-battery")
        result = serve(str(DEMO), "--port", "0")
        assert result.stdout.endswith("/?token=correct-horse-battery\n")
        assert "warning" not in result.stderr  # it is not a setting of a policy

    def test_warnings_about_the_input_come_first(self, tmp_path):
        file = tmp_path / "empty.yaml"
        file.write_text("")
        result = serve(str(file), "--port", "0")
        assert result.stderr.splitlines() == [
            f"warning: {file}: file: holds no objects",
            "Ctrl-C ends it",
            "stopped",
        ]


def test_nothing_to_show():
    result = serve()
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "error: there is nothing to show: give FILES\nhint: pumice serve"
    )


def test_a_port_in_use():
    with Server("127.0.0.1", 0) as taken:
        result = serve(str(DEMO), "--port", str(taken.port))
    assert result.exit_code == 2
    assert f"port {taken.port} of 127.0.0.1 is in use" in result.stderr
    assert "--port 0" in result.stderr


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["--port", "70000"], "--port"),
        (["--host", "no such host"], "--host: 'no such host' has no address"),
        (["--token", "short"], "--token: a token has 16 to 200 letters"),
        (["--cycles", "0"], "--cycles"),
        (["--preset", "nothing"], "nothing"),
    ],
)
def test_wrong_options_are_named(arguments, text):
    result = serve(str(DEMO), *arguments)
    assert result.exit_code == 2
    assert text in result.stderr
