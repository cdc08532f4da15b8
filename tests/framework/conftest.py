"""Distributions, plugins and actions that exist only for a test."""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoints, distributions
from pathlib import Path
from textwrap import dedent

import pytest
from pydantic import Field

from pumice import Action, Plugin, hookimpl
from pumice.config import Policy, load_policy
from pumice.discovery import Catalog, _scan
from pumice.errors import PolicyError


class Site:
    """A folder on the import path into which distributions are put without pip."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(
        self,
        distribution: str,
        source: str = "",
        *,
        version: str = "1.0",
        module: str = "",
        plugins: Mapping[str, str] | None = None,
        actions: Mapping[str, str] | None = None,
        hookspecs: Mapping[str, str] | None = None,
        metadata: str = "",
    ) -> None:
        """Install one module; ``plugins`` and so on map names to attributes of it."""
        module = module or distribution.replace("-", "_")
        (self.folder / f"{module}.py").write_text(dedent(source), encoding="utf-8")
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {distribution}\nVersion: {version}\n{metadata}")
        lines = []
        groups = {"plugins": plugins, "actions": actions, "hookspecs": hookspecs}
        for group, names in groups.items():
            lines.append(f"[pumice.{group}]")
            lines += [f"{name} = {module}:{attribute}" for name, attribute in (names or {}).items()]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        importlib.invalidate_caches()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site of the test's own; really installed distributions are hidden meanwhile."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def installed() -> dict[str, tuple[object, ...]]:
        points = EntryPoints(
            entry_point
            for distribution in distributions(path=[str(folder)])
            for entry_point in distribution.entry_points
        )
        return {kind: tuple(points.select(group=group)) for kind, group in _scan.GROUPS.items()}

    monkeypatch.setattr(_scan, "scan", installed)
    before = set(sys.modules)
    yield Site(folder)
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def catalog(site: Site) -> Catalog:
    """An empty catalog, to be filled with ``register_local``."""
    return Catalog()


class Gang(Plugin):
    @hookimpl
    def job_starving(self, job):
        return True

    @hookimpl
    def preemptable(self, candidates):
        return candidates


class NodeOrder(Plugin):
    class Options(Plugin.Options):
        least: int = Field(1, alias="leastrequested.weight", description="Weight of free room.")
        most: float = Field(0, alias="mostrequested.weight")
        strict: bool = False
        table: dict[str, int] = Field(default_factory=dict)

    @hookimpl
    def batch_node_order(self, task, nodes):
        return None


class Binpack(Plugin):
    class Options(Plugin.Options):
        collected = {"binpack.resources.": "weights"}  # noqa: RUF012 - as an author writes it
        weight: int = Field(1, alias="binpack.weight")
        resources: str = Field("", alias="binpack.resources")
        weights: dict[str, int] = Field(default_factory=dict)


class Go(Action):
    class Options(Action.Options):
        limit: int = 0

    def execute(self, session):
        pass


class Admit(Go):
    admits = True


class Place(Go):
    allocates = True


class Evict(Go):
    evicts = True
    needs = ("job_starving",)


@pytest.fixture
def parts(catalog: Catalog) -> Catalog:
    """A catalog with plugins and actions under the builtin names."""
    for name, cls in {"enqueue": Admit, "allocate": Place, "backfill": Go}.items():
        catalog.register_local("action", name, cls)
    for name in ("preempt", "reclaim"):
        catalog.register_local("action", name, Evict)
    for name in ("priority", "conformance", "predicates", "overcommit", "proportion"):
        catalog.register_local("plugin", name, type(name, (Plugin,), {}))
    catalog.register_local("plugin", "gang", Gang)
    catalog.register_local("plugin", "drf", Gang)
    catalog.register_local("plugin", "nodeorder", NodeOrder)
    catalog.register_local("plugin", "binpack", Binpack)
    return catalog


@pytest.fixture
def load(parts: Catalog, tmp_path: Path) -> Callable[..., Policy]:
    """Load a policy from its text; problems then begin with ``policy.toml``."""

    def load(text: str, *overrides: str, env: Mapping[str, str] | None = None) -> Policy:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        try:
            return load_policy(path, overrides=overrides, env=env or {}, catalog=parts)
        except PolicyError as error:
            prefix = f"{path.parent}/"
            error.problems[:] = [line.removeprefix(prefix) for line in error.problems]
            raise

    return load


@pytest.fixture
def problems(load: Callable[..., Policy]) -> Callable[..., list[str]]:
    """Load a policy that has problems."""

    def problems(text: str, *overrides: str, env: Mapping[str, str] | None = None) -> list[str]:
        with pytest.raises(PolicyError) as caught:
            load(text, *overrides, env=env)
        return caught.value.problems

    return problems
