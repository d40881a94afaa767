"""The manifests of deploy/ are consistent, request only what karptui needs, and use existing metrics."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from karptui.cli.parser import build_parser
from karptui.session.history_marks import NOT_PROBLEMS
from karptui.verdict.finding import FindingCode
from karptui.views.metrics import METRICS
from tools import make_alerts

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
FILES = {
    path.name: list(yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader)) for path in sorted(DEPLOY.glob("*.yaml"))
}
NAMES = {metric.name: metric for metric in METRICS}
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "dashboard.json").read_text())
PANEL = {
    "type": "object",
    "required": ["id", "type", "title", "datasource", "gridPos", "targets"],
    "properties": {
        "id": {"type": "integer"},
        "type": {"enum": ["timeseries", "stat"]},
        "title": {"type": "string", "minLength": 3},
        "datasource": {"const": {"type": "prometheus", "uid": "${datasource}"}},
        "gridPos": {"type": "object", "required": ["x", "y", "w", "h"]},
        "targets": {"type": "array", "minItems": 1, "items": {"required": ["refId", "expr", "legendFormat"]}},
    },
}
DASHBOARD_SCHEMA = {
    "type": "object",
    "required": ["uid", "title", "schemaVersion", "templating", "time", "panels"],
    "properties": {"schemaVersion": {"type": "integer", "minimum": 36}, "panels": {"type": "array", "items": PANEL}},
}


def manifest_of(kind: str) -> dict[str, Any]:
    (result,) = (document for documents in FILES.values() for document in documents if document["kind"] == kind)
    return dict(result)


POD: dict[str, Any] = manifest_of("Deployment")["spec"]["template"]
(CONTAINER,) = POD["spec"]["containers"]


def test_every_file_is_a_resource_or_listed_as_optional() -> None:
    (kustomization,) = FILES["kustomization.yaml"]
    text = (DEPLOY / "kustomization.yaml").read_text()
    optional = set(re.findall(r"^# - (\S+)$", text, re.MULTILINE))
    assert {*kustomization["resources"], *optional, "kustomization.yaml"} == set(FILES)
    assert [image["name"] for image in kustomization["images"]] == [CONTAINER["image"]]


def test_objects_are_unique_and_in_the_right_namespace() -> None:
    whole = [document for documents in FILES.values() for document in documents if document["kind"] != "Kustomization"]
    assert len({(each["kind"], each["metadata"]["name"]) for each in whole}) == len(whole)
    cluster_wide = {"Namespace", "ClusterRole", "ClusterRoleBinding"}
    spaces = {each["kind"]: each["metadata"].get("namespace") for each in whole if each["kind"] not in cluster_wide}
    assert {kind: space for kind, space in spaces.items() if space != "karptui"} == {
        "Role": "kube-system",
        "RoleBinding": "kube-system",
    }


def test_references_between_manifests_are_valid() -> None:
    account = manifest_of("ServiceAccount")["metadata"]
    assert POD["spec"]["serviceAccountName"] == account["name"]
    for kind, role in (("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")):
        binding = manifest_of(kind)
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (role, manifest_of(role)["metadata"]["name"])
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account["name"], "namespace": "karptui"}]
    labels = POD["metadata"]["labels"]
    selectors = (
        manifest_of("Deployment")["spec"]["selector"]["matchLabels"],
        manifest_of("Service")["spec"]["selector"],
    )
    assert all(
        selector == labels for selector in (*selectors, manifest_of("PodMonitor")["spec"]["selector"]["matchLabels"])
    )
    volumes = {volume["name"]: volume for volume in POD["spec"]["volumes"]}
    assert {mount["name"] for mount in CONTAINER["volumeMounts"]} == set(volumes)
    assert (
        volumes["history"]["persistentVolumeClaim"]["claimName"]
        == manifest_of("PersistentVolumeClaim")["metadata"]["name"]
    )


def test_the_port_is_the_same_everywhere() -> None:
    (port,) = CONTAINER["ports"]
    (service_port,) = manifest_of("Service")["spec"]["ports"]
    (endpoint,) = manifest_of("PodMonitor")["spec"]["podMetricsEndpoints"]
    assert port["name"] == service_port["targetPort"] == endpoint["port"]
    probes = [CONTAINER[name] for name in ("startupProbe", "livenessProbe", "readinessProbe")]
    assert {(probe.get("tcpSocket") or probe["httpGet"])["port"] for probe in probes} == {port["name"]}
    assert CONTAINER["readinessProbe"]["httpGet"]["path"] == "/healthz"
    assert str(port["containerPort"]) == manifest_of("Service")["metadata"]["annotations"]["prometheus.io/port"]
    args = build_parser("watch").parse_args(CONTAINER["args"][1:])
    assert args.metrics == ("0.0.0.0", port["containerPort"])
    assert Path(args.history).parent == Path(CONTAINER["volumeMounts"][0]["mountPath"])


def test_the_deployment_has_one_replica_and_minimal_rights() -> None:
    spec = manifest_of("Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")
    assert manifest_of("Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    of_pod, of_container = POD["spec"]["securityContext"], CONTAINER["securityContext"]
    assert (of_pod["runAsNonRoot"], of_pod["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
    assert of_container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert CONTAINER["resources"]["limits"].keys() == {"memory"}


def test_the_roles_match_the_documentation() -> None:
    cluster_role, role = yaml.safe_load_all((ROOT / "docs" / "cluster-role.yaml").read_text())
    assert manifest_of("ClusterRole") == cluster_role
    assert manifest_of("Role") == role


def test_the_image_has_the_pods_user_and_the_wheels_sources() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    user = POD["spec"]["securityContext"]
    assert f"USER {user['runAsUser']}:{user['runAsGroup']}" in lines
    assert sum(line.startswith("FROM ") for line in lines) == 2
    copied = {
        word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]
    }
    assert all((ROOT / name).exists() for name in copied)
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert {*build["wheel"]["packages"], *build["wheel"]["force-include"]} <= copied
    assert not any("deploy" in name for name in build["sdist"]["include"])


def expressions() -> list[str]:
    rules = manifest_of("PrometheusRule")["spec"]["groups"][0]["rules"]
    targets = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return [rule["expr"] for rule in rules] + targets


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_rules_and_panels_use_existing_metrics_and_labels(expression: str) -> None:
    (name,) = re.findall(r"karptui_\w+", expression)
    selected = re.findall(r"(\w+)=\"", expression)
    grouped = [label for group in re.findall(r"(?:by|without) \(([^)]*)\)", expression) for label in group.split(", ")]
    assert {*selected, *grouped} <= {*NAMES[name].labels}


def test_every_cause_has_an_alert_for_each_severity() -> None:
    assert (DEPLOY / "alerts.yaml").read_text() == make_alerts.text(), "run python tools/make_alerts.py"
    rules = manifest_of("PrometheusRule")["spec"]["groups"][0]["rules"]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    assert all(set(rule) == {"alert", "expr", "for", "labels", "annotations"} for rule in rules)
    wanted = {f'karptui_findings{{cause="{c}", severity="error"}} > 0' for c in FindingCode if c not in NOT_PROBLEMS}
    assert wanted <= {rule["expr"] for rule in rules}


def test_the_dashboard_is_valid_and_shows_every_metric() -> None:
    Draft202012Validator(DASHBOARD_SCHEMA).validate(DASHBOARD)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    shown = {name for target in expressions() for name in re.findall(r"karptui_\w+", target)}
    assert set(NAMES) - shown == {"karptui_verdict_timestamp_seconds"}


def test_the_documentation_lists_every_metric() -> None:
    text = (ROOT / "docs" / "history.md").read_text()
    rows = dict(re.findall(r"^\| `(karptui_\w+)` \| ([^|]*) \|", text, re.MULTILINE))
    assert rows == {m.name: ", ".join(f"`{label}`" for label in m.labels) for m in METRICS}
