"""``pumice config import`` on the command line."""

import pytest
import tomli
from click.testing import CliRunner

from pumice.cli import main
from pumice.config import load_policy
from pumice.config.importers import importer, importer_names
from pumice.config.importers.volcano.policy import import_volcano
from pumice.errors import PumiceError
from tests.framework.config.importers._volcano import BUILT_IN, HELM


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "volcano.conf").write_text(HELM + "    enabledNodeOrder: false\n")

    def run(*args, status=0, **more):
        result = CliRunner().invoke(main, ["config", "import", *args], prog_name="pumice", **more)
        assert result.exit_code == status, result.output
        return result

    return run


def test_the_command_prints_the_policy(run):
    result = run("volcano.conf", "--from", "volcano")
    assert tomli.loads(result.stdout)["actions"] == ["enqueue", "allocate", "backfill"]
    assert result.stdout.startswith("# Imported from the Volcano configuration volcano.conf.\n")
    assert result.stderr == (
        "note: tiers[1].plugins[5].enabledNodeOrder: Volcano does not know it; "
        "did you mean 'enableNodeOrder'?\n"
    )


def test_the_command_reads_standard_input_and_writes_a_file(run, tmp_path):
    result = run("-", "--from", "volcano", "-O", "policy.toml", input=BUILT_IN)
    assert result.stdout == ""
    text = (tmp_path / "policy.toml").read_text("utf-8")
    assert text.startswith("# Imported from the Volcano configuration standard input.\n")
    assert load_policy(tmp_path / "policy.toml", env={}).warnings == ()


@pytest.mark.parametrize(
    "args, message",
    [
        (("none.conf", "--from", "volcano"), "none.conf: cannot be read: No such file"),
        (("volcano.conf", "--from", "volcanoes"), "'--from'"),
        (("volcano.conf",), "'--from'"),
        (("volcano.conf", "--from", "volcano", "-O", "no/such.toml"), "cannot be written"),
        (("bad.conf", "--from", "volcano"), "bad.conf: actions: Volcano has no action 'x'"),
        (("fatal.conf", "--from", "volcano"), "only one of deviceshare.GPUSharingEnable"),
        (("binary.conf", "--from", "volcano"), "binary.conf: cannot be read: not UTF-8"),
    ],
)
def test_errors_name_the_file_and_end_with_status_2(run, tmp_path, args, message):
    (tmp_path / "bad.conf").write_text(HELM.replace("backfill", "x"))
    fatal = "{deviceshare.VGPUEnable: true, deviceshare.GPUSharingEnable: true}"
    (tmp_path / "fatal.conf").write_text(f"{HELM}  - name: deviceshare\n    arguments: {fatal}\n")
    (tmp_path / "binary.conf").write_bytes(b"\xff\xfe\x00")
    result = run(*args, status=2)
    assert message in result.stderr
    assert result.stdout == ""


def test_importers_are_modules():
    assert "volcano" in importer_names()
    assert importer("volcano") is import_volcano
    with pytest.raises(PumiceError, match="did you mean 'volcano'"):
        importer("vulcano")
