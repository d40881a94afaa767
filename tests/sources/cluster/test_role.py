from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from karptui.decode.kinds import OTHER_PROVIDERS, Kind, may_hold_nodeclasses
from karptui.karpenter.labels import AWS_GROUP
from karptui.sources.cluster.resources import KARPENTER_KINDS, LATER, NODES
from tests.sources.cluster.cluster_role import FOLLOWED, PROVIDER_GROUPS, role_lines

CLUSTER_ROLE, ROLE = yaml.safe_load_all("\n".join(role_lines()))
RULES: list[dict[str, Any]] = CLUSTER_ROLE["rules"]


def verbs_on(group: str, plural: str) -> set[str]:
    rules = [rule for rule in RULES if group in rule["apiGroups"] and plural in rule["resources"]]
    return {verb for rule in rules for verb in rule["verbs"]}


@pytest.mark.parametrize(("group", "plural"), [
    *((resource.group, resource.plural) for resource in FOLLOWED),
    *((provider.group, plural) for provider in PROVIDER_GROUPS for plural in provider.plurals),
])  # fmt: skip
def test_followed_resources_may_be_listed_and_watched(group: str, plural: str) -> None:
    assert verbs_on(group, plural) == {"get", "list", "watch"}


def test_every_provider_has_one_rule_for_nodeclasses() -> None:
    groups = [provider.group for provider in PROVIDER_GROUPS]
    assert {AWS_GROUP, *OTHER_PROVIDERS} <= set(groups)
    assert len(groups) == len(set(groups))
    assert all(map(may_hold_nodeclasses, groups))
    assert all(plural.endswith("nodeclasses") for provider in PROVIDER_GROUPS for plural in provider.plurals)


@pytest.mark.parametrize(("group", "plural", "verbs"), [
    ("", "services", {"list"}),
    ("", "pods/proxy", set()),
    ("", "services/proxy", set()),
    ("rbac.authorization.k8s.io", "clusterrolebindings", {"list"}),
    ("rbac.authorization.k8s.io", "clusterroles", {"get"}),
    ("apiextensions.k8s.io", "customresourcedefinitions", {"get"}),
])  # fmt: skip
def test_resources_read_on_demand_have_only_the_needed_verbs(group: str, plural: str, verbs: set[str]) -> None:
    assert verbs_on(group, plural) == verbs


def test_the_proxy_is_allowed_only_in_karpenters_namespace() -> None:
    assert (ROLE["kind"], ROLE["metadata"]["namespace"]) == ("Role", "kube-system")
    assert ROLE["rules"] == [{"apiGroups": [""], "resources": ["pods/proxy", "services/proxy"], "verbs": ["get"]}]


def test_only_karpenters_lease_may_be_read() -> None:
    (rule,) = (rule for rule in RULES if "leases" in rule["resources"])
    assert (rule["resourceNames"], rule["verbs"]) == (["karpenter-leader-election"], ["get", "list", "watch"])


def test_the_role_only_reads_and_excludes_secrets_and_configmaps() -> None:
    assert {verb for rule in RULES for verb in rule["verbs"]} == {"get", "list", "watch"}
    named = {plural for rule in RULES for plural in rule["resources"]}
    assert named.isdisjoint({"secrets", "configmaps"})
    assert not [rule for rule in RULES if "*" in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])]


def test_every_kind_is_followed_or_read_on_demand_or_only_in_snapshots() -> None:
    followed = {resource.kind for resource in (NODES, *KARPENTER_KINDS, *LATER)}
    on_demand = {Kind.NODECLASS, Kind.CRONJOB, Kind.REPLICATION_CONTROLLER, Kind.SERVICE, Kind.VPA}
    in_snapshots_only = {Kind.CAPACITY_BUFFER, Kind.POD_TEMPLATE}
    assert set(Kind) - followed - on_demand - in_snapshots_only == set()


def test_the_documentation_has_the_same_role() -> None:
    text = (Path(__file__).parents[3] / "docs" / "cluster-role.yaml").read_text(encoding="utf-8")
    assert text == "\n".join(role_lines()) + "\n"
