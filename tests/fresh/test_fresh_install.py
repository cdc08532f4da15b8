"""Pumice works when it is installed from its wheels and nothing of the checkout is in sight."""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

pytestmark = pytest.mark.fresh


def test_the_whole_ships_no_code_of_its_own(wheelhouse):
    (wheel,) = wheelhouse.glob("pumice-*.whl")
    with ZipFile(wheel) as archive:
        folders = {name.split("/")[0] for name in archive.namelist()}
    assert [folder.endswith(".dist-info") for folder in folders] == [True], folders


def test_the_command_line_starts(fresh_venv):
    assert "Usage" in fresh_venv.output("pumice", "--help")


def test_the_builtin_plugins_are_found(fresh_venv):
    listed = fresh_venv.output("pumice", "plugins")
    for name in ["gang", "priority", "predicates", "nodeorder", "binpack", "conformance"]:
        assert name in listed


def test_only_the_wheels_are_seen(fresh_venv):
    probe = """
import json, pathlib
from importlib import metadata, resources
import pumice
print(json.dumps({
    "home": pumice.__file__,
    "dists": sorted(d.name for d in metadata.distributions() if d.name.startswith("pumice")),
    "typed": resources.files("pumice").joinpath("py.typed").is_file(),
    "presets": [p.name for p in resources.files("pumice").joinpath("presets").iterdir()],
}))
"""
    seen = json.loads(fresh_venv.output("python", "-c", probe))
    assert Path(seen["home"]).is_relative_to(fresh_venv.folder)
    assert seen["dists"] == [
        "pumice",
        "pumice-builtin-actions",
        "pumice-builtin-plugins",
        "pumice-framework",
    ]
    assert seen["typed"]
    assert any(name.endswith(".toml") for name in seen["presets"])


def test_the_page_is_in_the_wheel(fresh_venv):
    probe = """
from pumice.serve.access import Access
from pumice.serve.app import App
app = App(None, Access("127.0.0.1", 8642), {})
print(*sorted(app._static))
"""
    files = fresh_venv.output("python", "-c", probe).split()
    assert {"app.js", "icon.svg", "index.html", "login.html", "style.css"} <= set(files)
    assert len(files) == 11  # nothing is left out, nothing else is sent
