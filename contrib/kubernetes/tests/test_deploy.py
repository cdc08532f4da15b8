"""What is shipped to deploy the scheduler: the API server accepts it, and all forms agree."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from _control_plane import DEPLOY, ControlPlane, collection
from _helm import Chart

from pumice import load_policy
from pumice_kubernetes.resources import RESOURCES

ROOT = DEPLOY.parent.parent.parent


def base() -> list[dict[str, Any]]:
    """The objects of the kustomize base."""
    listed = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    texts = ((DEPLOY / name).read_text() for name in listed)
    return [item for text in texts for item in yaml.safe_load_all(text)]


def chart(namespace: str = "pumice-system", **values: Any) -> list[dict[str, Any]]:
    """The objects of the Helm chart, those of its folder ``crds`` included."""
    crds = [yaml.safe_load(file.read_text()) for file in sorted((DEPLOY / "crds").glob("*.yaml"))]
    return crds + Chart(DEPLOY).render(namespace, **values)


def by_name(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    named = {f"{item['kind']} {item['metadata']['name']}": item for item in items}
    assert len(named) == len(items)
    return named


FORMS = {"kustomize": base(), "helm": chart(replicas=3, tolerations=[{"operator": "Exists"}])}


@pytest.mark.kubernetes
@pytest.mark.xdist_group("kubernetes")
@pytest.mark.parametrize("form", FORMS)
def test_every_manifest_is_accepted(cluster: ControlPlane, form: str) -> None:
    for item in FORMS[form]:
        path = f"{collection(item)}/{item['metadata']['name']}"
        query = "?dryRun=All&fieldManager=test&force=true&fieldValidation=Strict"
        kind = "application/apply-patch+yaml"
        answer = cluster.request("PATCH", path + query, item, kind=kind)
        assert answer["metadata"]["name"] == item["metadata"]["name"]


def test_every_manifest_is_part_of_the_base() -> None:
    listed = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    files = {str(path.relative_to(DEPLOY)) for path in DEPLOY.rglob("*.yaml")}
    helm = {file for file in files if file.startswith("templates/")} | {"Chart.yaml", "values.yaml"}
    assert set(listed) == files - helm - {"kustomization.yaml"}


def test_the_chart_deploys_what_the_kustomize_base_does() -> None:
    expected = by_name([item for item in base() if item["kind"] != "Namespace"])
    rendered = by_name(chart())
    spec = rendered["Deployment pumice"]["spec"]["template"]["spec"]
    assert (spec.pop("nodeSelector"), spec.pop("tolerations")) == ({}, [])
    assert rendered == expected


def test_a_release_is_in_its_own_namespace() -> None:
    texts = yaml.safe_dump_all(chart("elsewhere"))
    assert "pumice-system" not in texts
    assert by_name(chart("elsewhere"))["Role pumice-lease"]["metadata"]["namespace"] == "elsewhere"


def test_values_of_the_chart_are_used() -> None:
    given: dict[str, Any] = {"replicas": 5, "image": "mine:1", "policy": 'preset = "kai"\n'}
    given |= {"priorityClassName": "p", "nodeSelector": {"a": "b"}}
    made = by_name(chart(**given, resources={"limits": {"cpu": "1"}}))
    deployment = made["Deployment pumice"]["spec"]
    pod = deployment["template"]["spec"]
    (container,) = pod["containers"]
    assert (deployment["replicas"], container["image"]) == (5, "mine:1")
    assert (pod["priorityClassName"], pod["nodeSelector"]) == ("p", {"a": "b"})
    assert container["resources"] == {"limits": {"cpu": "1"}}
    assert made["ConfigMap pumice-policy"]["data"]["policy.toml"].strip() == 'preset = "kai"'


def test_the_shipped_policy_can_be_loaded(tmp_path: Any) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(by_name(base())["ConfigMap pumice-policy"]["data"]["policy.toml"])
    assert load_policy(file).scheduler.scheduler_names == ("pumice",)


def test_what_may_be_read_is_what_is_read() -> None:
    rules = by_name(base())["ClusterRole pumice-scheduler"]["rules"]
    allowed = {
        (group, plural)
        for rule in rules
        for group in rule["apiGroups"]
        for plural in rule["resources"]
        if "list" in rule["verbs"]
    }
    assert allowed == {(resource.group, resource.plural) for resource in RESOURCES}
    assert all("*" not in [*r["apiGroups"], *r["resources"], *r["verbs"]] for r in rules)


def test_the_image_runs_as_the_user_that_the_deployment_demands() -> None:
    recipe = (DEPLOY / "Dockerfile").read_text()
    security = by_name(base())["Deployment pumice"]["spec"]["template"]["spec"]["securityContext"]
    assert security["runAsNonRoot"]
    (user,) = re.findall(r"^USER (\d+):\d+$", recipe, re.MULTILINE)
    assert int(user) == security["runAsUser"]
    for part in re.findall(r"(?<= )\./[\w/]+", recipe.partition("pip wheel")[2].partition("\n")[0]):
        assert (ROOT / part / "pyproject.toml").is_file(), part
    assert all("/" not in image for image in re.findall(r"^FROM (\S+)", recipe, re.MULTILINE))
