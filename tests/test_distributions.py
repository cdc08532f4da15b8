"""The distributions of the workspace agree with each other and with the files they promise."""

import ast
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = ["framework", "builtin_plugins", "builtin_actions"]
BUILTINS = [
    ("builtin_plugins", "pumice_builtin_plugins", "pumice.plugins"),
    ("builtin_actions", "pumice_builtin_actions", "pumice.actions"),
]
SHARED = {
    "builtin_plugins": ("gpu", "kube", "quota"),
    "builtin_actions": ("gang", "greedy", "solver_action", "solver_jobs"),
}
"""What lies beside the plugins and actions: code that several of them share."""
CONTRIB = sorted(
    f"contrib/{folder.name}"
    for folder in (ROOT / "contrib").iterdir()
    if folder.is_dir() and not folder.name.startswith((".", "_"))
)


def project(folder: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def entry_points() -> list[tuple[str, str]]:
    """Every (folder, "module:name") that some distribution promises, console scripts included."""
    found = []
    complete = [folder for folder in CONTRIB if (ROOT / folder / "pyproject.toml").is_file()]
    for folder in [*PARTS, *complete]:
        groups = project(folder).get("entry-points", {})
        scripts = project(folder).get("scripts", {})
        for targets in [*groups.values(), scripts]:
            found += [(folder, target) for target in targets.values()]
    return found


def source_of(folder: str, module: str) -> Path | None:
    path = ROOT / folder / Path(*module.split("."))
    candidates = [path.with_name(f"{path.name}.py"), path / "__init__.py"]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def names_bound_in(source: Path) -> set[str]:
    """The names a module has at its top level: defined, assigned or imported."""
    names: set[str] = set()
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef() | ast.FunctionDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names |= {alias.asname or alias.name for alias in node.names}
            case ast.Assign():
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


@pytest.mark.parametrize("folder", ["builtin_plugins", "builtin_actions"])
def test_builtins_pin_the_framework_of_their_own_version(folder):
    assert f"pumice-framework=={project('.')['version']}" in project(folder)["dependencies"]


def test_the_build_hook_knows_every_part():
    tree = ast.parse((ROOT / "hatch_build.py").read_text(encoding="utf-8"))
    (parts,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PARTS"
    )
    assert parts == {project(folder)["name"]: folder for folder in PARTS}


@pytest.mark.parametrize("folder", [*PARTS, *CONTRIB])
def test_every_part_carries_the_licence(folder):
    assert (ROOT / folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize(
    "folder, package, group", BUILTINS, ids=[folder for folder, _, _ in BUILTINS]
)
def test_public_modules_and_entry_points_match(folder, package, group):
    modules = {
        f"{package}.{path.stem}"
        for path in (ROOT / folder / package).iterdir()
        if not path.name.startswith(("_", "."))
        and (path.suffix == ".py" or (path / "__init__.py").is_file())
    }
    promised = {
        target.partition(":")[0] for target in project(folder)["entry-points"][group].values()
    }
    shared = {f"{package}.{name}" for name in SHARED[folder]}
    assert modules - promised == shared, "neither an entry point nor a shared package"
    assert promised - modules == set(), "an entry point without a module"


@pytest.mark.parametrize("folder, target", entry_points(), ids=lambda value: value)
def test_every_entry_point_leads_to_a_name_in_a_file(folder, target):
    module, _, name = target.partition(":")
    source = source_of(folder, module)
    assert source is not None, f"{folder} has no module {module}"
    assert not name or name in names_bound_in(source)


@pytest.mark.parametrize("folder", CONTRIB)
def test_a_contrib_folder_is_a_complete_distribution(folder):
    assert (ROOT / folder / "README.md").is_file()
    assert (ROOT / folder / "pyproject.toml").is_file()
    assert project(folder)["name"] == f"pumice-{Path(folder).name}"
