"""With the documented ClusterRole everything is live; without one of its rules, the missing permission is named."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from karptui.cli.main import main
from karptui.cli.parser import COMMANDS
from karptui.decode.kinds import Kind
from karptui.sources.cluster.connection import Impersonation, load_connection
from karptui.sources.cluster.credentials import credentials_for
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.cluster.transport import Transport
from karptui.sources.metrics.source import Endpoint, find_endpoints
from karptui.sources.source import Phase, SourceError
from karptui.sources.usage import read_nodes
from tests.builders import a_manifest
from tests.sources.cluster.cluster_role import FOLLOWED, role_lines
from tests.sources.cluster.live import WatchedMailbox

from .control_plane import Client, ControlPlane
from .test_live_cluster import following as following_as

pytestmark = pytest.mark.apiserver

SECONDS = 120.0
CLUSTER_ROLE, ROLE = yaml.safe_load_all("\n".join(role_lines()))
RULES: list[dict[str, Any]] = CLUSTER_ROLE["rules"]
POOL_SPEC = {
    "template": {"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                          "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In",
                                            "values": ["spot"]}]}},
}  # fmt: skip
SETTLED = (Phase.LIVE, Phase.FORBIDDEN, Phase.NOT_INSTALLED)


@pytest.fixture(scope="module", name="plane")
def plane_with_karpenter(karpenter_plane: ControlPlane) -> ControlPlane:
    return karpenter_plane


def following(plane: ControlPlane, user: str) -> AbstractContextManager[tuple[ClusterSource, WatchedMailbox]]:
    return following_as(plane, impersonation=Impersonation(user))


def settle(source: ClusterSource, mailbox: WatchedMailbox, forbidden: set[Kind]) -> None:
    """Wait until every kind is settled and exactly these kinds are forbidden."""
    kinds = {resource.kind for resource in FOLLOWED} | {Kind.NODECLASS}

    def is_settled() -> bool:
        if not all(kind in mailbox.statuses and mailbox.statuses[kind].phase in SETTLED for kind in kinds):
            return False
        if {kind for kind in kinds if mailbox.statuses[kind].phase is Phase.FORBIDDEN} == forbidden:
            return True
        source.refresh()  # the authorizer applies a binding a moment later
        return False

    mailbox.until(is_settled, SECONDS)


def test_with_the_documented_role_everything_is_live(plane: ControlPlane, client: Client) -> None:
    """The test server has no metrics-server, and karptui reports that."""
    client.allow("everything", RULES)
    with following(plane, "everything") as (source, mailbox):
        settle(source, mailbox, set())
        assert {crd["spec"]["names"]["kind"] for crd in source.crds()} >= {"NodePool", "NodeClaim", "EC2NodeClass"}
        with pytest.raises(SourceError, match="metrics-server is not installed"):
            read_nodes(source)


def forbidden_without(rule: dict[str, Any]) -> set[Kind]:
    """Return the kinds that are forbidden without this rule."""
    group = rule["apiGroups"][0]
    kinds = {resource.kind for resource in FOLLOWED if resource.group == group and resource.plural in rule["resources"]}
    return kinds | ({Kind.NODECLASS} if group == "karpenter.k8s.aws" else set())


def test_without_a_rule_the_missing_permission_is_reported(plane: ControlPlane, client: Client) -> None:
    cases = [(rule, f"without-{at}") for at, rule in enumerate(RULES) if forbidden_without(rule)]
    for rule, user in cases:
        client.allow(user, [manifest for manifest in RULES if manifest is not rule])
    assert len(cases) >= 8
    with ExitStack() as stack:
        opened = [stack.enter_context(following(plane, user)) for _, user in cases]
        for (rule, _), (source, mailbox) in zip(cases, opened, strict=True):
            settle(source, mailbox, forbidden_without(rule))
            for kind in forbidden_without(rule):
                assert "no permission to list" in mailbox.statuses[kind].last_error


def without(field: str, value: str) -> list[dict[str, Any]]:
    """Return the documented rules without one group, resource or verb."""
    rules = [{**rule, field: [item for item in rule[field] if item != value]} for rule in RULES]
    return [rule for rule in rules if rule[field]]


ON_DEMAND: dict[str, tuple[list[dict[str, Any]], Callable[[ClusterSource], object], str]] = {
    "no-usage": (without("apiGroups", "metrics.k8s.io"), read_nodes, "permission to list nodes of metrics.k8s.io"),
    "no-crds": (without("resources", "customresourcedefinitions"), ClusterSource.crds, "customresourcedefinitions"),
    "no-get": (without("verbs", "get"), lambda source: source.fetch_object("Namespace", "kube-system"),
               "permission|forbidden"),
}  # fmt: skip


@pytest.mark.parametrize("user", ON_DEMAND)
def test_reading_on_demand_without_permission_names_the_permission(
    plane: ControlPlane, client: Client, user: str
) -> None:
    rules, ask, sentence = ON_DEMAND[user]
    client.allow(user, rules)
    with following(plane, user) as (source, mailbox):
        settle(source, mailbox, set())
        with pytest.raises(SourceError, match=sentence):
            ask(source)


PODS = "/api/v1/namespaces/{}/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
OWN, TENANT = "karptui-own", "karptui-tenant"


def a_controller(client: Client, namespace: str) -> None:
    """Create a pod with the labels of Karpenter, and its lease."""
    client.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}, expect=None)
    metadata = {"name": "karpenter-0", "labels": {"app.kubernetes.io/name": "karpenter"}}
    spec = {"containers": [{"name": "controller", "image": "karpenter:1.14.1"}], "automountServiceAccountToken": False}
    account = {"metadata": {"name": "default"}}
    client.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", account, expect=None)
    client.request("POST", PODS.format(namespace), {"metadata": metadata, "spec": spec})
    status = {"status": {"phase": "Running"}}
    client.request("PATCH", f"{PODS.format(namespace)}/karpenter-0/status", status)
    lease = {"metadata": {"name": "karpenter-leader-election"}, "spec": {"holderIdentity": "karpenter-0_1"}}
    client.request("POST", LEASES.format(namespace), lease)


def test_the_controller_is_found_by_its_service_account_and_only_its_pods_are_queried(
    plane: ControlPlane, client: Client
) -> None:
    a_controller(client, TENANT)
    a_controller(client, OWN)
    writes = [{"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["create", "patch"]}]
    client.allow("default", writes, kind="ServiceAccount", namespace=OWN)
    client.allow("metrics", RULES)
    client.allow_in(OWN, "metrics", ROLE["rules"])
    connection = load_connection(kubeconfig=plane.kubeconfig, environ={}, impersonation=Impersonation("metrics"))
    transport = Transport(connection, credentials_for(connection))
    try:
        endpoints: tuple[Endpoint, ...] = ()
        for _ in range(200):  # the authorizer applies a binding a moment later
            endpoints = find_endpoints(transport, read_seconds=10)
            if endpoints:
                break
            time.sleep(0.05)
        assert [endpoint.title for endpoint in endpoints] == [f"pod {OWN}/karpenter-0"]
        for namespace, status in ((OWN, 503), (TENANT, 403)):
            with pytest.raises(ApiError) as caught:
                transport.get(endpoints[0].path.replace(OWN, namespace), read_seconds=10)
            assert (caught.value.status == 403) == (status == 403), namespace
        with pytest.raises(ApiError, match="403"):
            transport.get("/apis/coordination.k8s.io/v1/leases", read_seconds=10)
    finally:
        transport.close()
        for namespace in (OWN, TENANT):
            client.request("DELETE", f"{PODS.format(namespace)}/karpenter-0", {"gracePeriodSeconds": 0})
            client.request("DELETE", f"{LEASES.format(namespace)}/karpenter-leader-election")


ARGUMENTS = {
    "explain": ["pool", "general"],
    "forward": ["--horizon", "10m"],
    "headroom": ["--most", "2"],
    "plan": ["-f", "pool.json", "--horizon", "10m"],
    "policies": ["--horizon", "10m", "--after", "0s"],
    "rehearse": ["--horizon", "10m"],
    "simulate": ["--self-check"],
    "solve": ["pending", "--tries", "2"],
    "sweep": ["--set", "RESERVED_ENIS=0", "--jobs", "1"],
}
"""Further arguments that commands need."""


def test_the_documented_role_permits_every_command(
    plane: ControlPlane,
    client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    pool = a_manifest("NodePool", "general", api_version="karpenter.sh/v1", spec=POOL_SPEC)
    client.request("POST", "/apis/karpenter.sh/v1/nodepools", pool, expect=None)
    Path("pool.json").write_text(json.dumps(pool))
    client.allow("commands", RULES)
    client.allow_in("kube-system", "commands", ROLE["rules"])
    with following(plane, "commands") as (source, mailbox):
        settle(source, mailbox, set())
    refused = []
    for command in (command for command in COMMANDS if command not in ("audit", "completion", "do", "mcp", "watch")):
        words = [command, *(["out.json"] if command == "record" else ARGUMENTS.get(command, []))]
        with contextlib.suppress(SystemExit):
            main([*words, "--kubeconfig", plane.kubeconfig, "--as", "commands", "--no-aws"])
        _, error = capsys.readouterr()
        refused += [line for line in error.splitlines() if re.search("permission|forbidden|may not be|usage:", line)]
    assert refused == []


def test_without_watch_nothing_is_live(plane: ControlPlane, client: Client) -> None:
    """Without ``list``, kinds can be live: streaming lists need only ``watch``. Older servers need ``list``."""
    client.allow("no-watch", without("verbs", "watch"))
    with following(plane, "no-watch") as (_, mailbox):
        mailbox.until(
            lambda: Kind.POD in mailbox.statuses and "watch" in str(mailbox.statuses[Kind.POD]).lower(), SECONDS
        )
        assert mailbox.statuses[Kind.POD].phase is not Phase.LIVE
