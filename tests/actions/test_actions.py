"""Requests of actions, their preconditions, permissions and undo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from karptui.actions.action import (
    KINDS_OF,
    Action,
    ActionError,
    Operation,
    Target,
    action_on,
    applied,
    is_in_effect,
    removes,
    undo_of,
)
from karptui.actions.request import access_of, managers_of, merge_patched, request_of

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "a", "uid": "u1", "resourceVersion": "7"},
    "spec": {"providerID": "x"},
}
POOL: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "general", "uid": "u2", "resourceVersion": "9", "generation": 3},
    "spec": {"limits": {"cpu": "10", "memory": "1Gi"}, "weight": 5},
    "status": {"nodes": 2},
}
WORKLOAD = {**NODE, "kind": "Deployment", "spec": {"replicas": 3}}
CLAIM = {**NODE, "kind": "NodeClaim"}


def on(operation: Operation, **more: Any) -> Action:
    kind = KINDS_OF[operation][0]
    key = "web/a" if kind in ("Pod", "Deployment") else "a"
    return action_on(operation, kind, key, **more)


def test_a_cordon_is_one_field_of_one_version() -> None:
    request = request_of(on(Operation.CORDON), NODE, is_dry_run=True)
    assert (request.method, request.path) == ("PATCH", "/api/v1/nodes/a")
    assert request.query == (("fieldManager", "karptui"), ("dryRun", "All"))
    assert request.content_type == "application/merge-patch+json"
    assert request.body == {"metadata": {"uid": "u1", "resourceVersion": "7"}, "spec": {"unschedulable": True}}
    assert not removes(on(Operation.CORDON), NODE)


def test_a_dry_run_of_a_deletion_is_one_in_its_body_too() -> None:
    action = on(Operation.DELETE)
    request = request_of(action, CLAIM, is_dry_run=True)
    assert (request.method, request.url) == ("DELETE", "/apis/karpenter.sh/v1/nodeclaims/a?dryRun=All")
    assert request.body["dryRun"] == ["All"]
    assert request.body["preconditions"] == {"uid": "u1", "resourceVersion": "7"}
    assert "dryRun" not in request_of(action, CLAIM, is_dry_run=False).body
    assert removes(action, CLAIM)
    assert undo_of(action, CLAIM) is None


def test_an_eviction_asks_the_eviction_api() -> None:
    action = action_on(Operation.EVICT, "Pod", "web/a")
    request = request_of(action, NODE, is_dry_run=True)
    assert (request.method, request.path) == ("POST", "/api/v1/namespaces/web/pods/a/eviction")
    assert request.body["apiVersion"] == "policy/v1"
    assert request.body["deleteOptions"] == {
        "preconditions": {"uid": "u1", "resourceVersion": "7"},
        "dryRun": ["All"],
    }
    assert access_of(action).title == "create pods/eviction in web"


def test_a_workload_is_scaled_by_its_subresource() -> None:
    action = action_on(Operation.SCALE, "Deployment", "web/a", replicas=1)
    request = request_of(action, WORKLOAD, is_dry_run=False)
    assert request.path == "/apis/apps/v1/namespaces/web/deployments/a/scale"
    assert access_of(action).title == "patch deployments.apps/scale in web"
    assert removes(action, WORKLOAD)
    assert not removes(action_on(Operation.SCALE, "Deployment", "web/a", replicas=4), WORKLOAD)
    undo = undo_of(action, WORKLOAD)
    assert undo is not None
    assert undo.replicas == 3


def test_a_manifest_is_applied_without_force_and_only_over_the_version_that_was_seen() -> None:
    hashed = {"karpenter.sh/nodepool-hash": "1", "karpenter.sh/nodepool-hash-version": "v3"}
    action = applied(
        {**POOL, "metadata": {**POOL["metadata"], "annotations": hashed}, "spec": {"limits": {"cpu": "20"}}}
    )
    request = request_of(action, POOL, is_dry_run=False)
    assert request.content_type == "application/apply-patch+yaml"
    assert dict(request.query) == {"fieldManager": "karptui", "fieldValidation": "Strict"}
    assert request.body == {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general", "uid": "u2", "resourceVersion": "9"},
        "spec": {"limits": {"cpu": "20"}},
    }


def test_undoing_a_manifest_gives_back_what_it_changed_and_took_away() -> None:
    action = applied({**POOL, "spec": {"limits": {"cpu": "20"}, "template": {"x": 1}}})
    after = {**POOL, "spec": {"limits": {"cpu": "20", "memory": "1Gi"}, "template": {"x": 1}}}
    undo = undo_of(action, POOL, after)
    assert undo is not None
    assert undo.manifest == {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"limits": {"cpu": "10"}, "weight": 5},
    }


@pytest.mark.parametrize(
    ("operation", "kind", "key", "more", "why"),
    [
        (Operation.CORDON, "Pod", "web/a", {}, "cordon is for Node objects"),
        (Operation.CORDON, "Node", "a/b", {}, "must be written as NAME"),
        (Operation.EVICT, "Pod", "a", {}, "must be written as NAMESPACE/NAME"),
        (Operation.EVICT, "Pod", "a/b/c", {}, "must be written as NAMESPACE/NAME"),
        (Operation.SCALE, "Deployment", "web/a", {}, "from 0 to 100,000"),
        (Operation.SCALE, "Deployment", "web/a", {"replicas": -1}, "from 0 to 100,000"),
        (Operation.DO_NOT_DISRUPT, "Node", "a", {"value": "30m"}, 'only "true" protects a node'),
        (Operation.DO_NOT_DISRUPT, "Pod", "web/a", {"value": "-3m"}, "or a duration such as 30m"),
        (Operation.DELETE, "Node", "a", {}, "delete is for NodeClaim objects"),
    ],
)
def test_what_does_not_suit_an_object(operation: Operation, kind: str, key: str, more: Any, why: str) -> None:
    with pytest.raises(ActionError, match=why.replace('"', ".")):
        action_on(operation, kind, key, **more)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({**POOL, "kind": "Secret"}, "only NodePool, EC2NodeClass, NodeOverlay are applied"),
        ({**POOL, "apiVersion": "example.com/v1"}, "not of the group karpenter.sh"),
        ({**POOL, "metadata": {}}, "metadata.name: is missing"),
    ],
)
def test_manifests_that_are_not_applied(document: dict[str, Any], why: str) -> None:
    with pytest.raises(ActionError, match=why):
        applied(document)


def test_names_cannot_leave_their_place_in_a_path() -> None:
    action = action_on(Operation.CORDON, "Node", "a%2f..?x#")
    assert request_of(action, NODE, is_dry_run=False).path == "/api/v1/nodes/a%252f..%3Fx%23"


def test_other_writers_of_the_changed_field_are_named() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:replicas": {}}}
    entries = [
        {"manager": "helm", "fieldsV1": {"f:spec": {"f:template": {}}}},
        {"manager": "kube-controller-manager", "subresource": "scale", "fieldsV1": fields},
        {"manager": "karptui", "fieldsV1": fields},
    ]
    live = {**WORKLOAD, "metadata": {**WORKLOAD["metadata"], "managedFields": entries}}
    assert managers_of(action_on(Operation.SCALE, "Deployment", "web/a", replicas=1), live) == (
        "kube-controller-manager",
    )


def test_another_object_of_the_name_is_not_the_one_that_was_removed() -> None:
    action = on(Operation.DELETE)
    assert not is_in_effect(action, CLAIM, "u1")
    assert is_in_effect(action, None, "u1")
    assert is_in_effect(action, {**CLAIM, "metadata": {"name": "a", "uid": "other"}}, "u1")
    assert is_in_effect(action, {**CLAIM, "metadata": {**CLAIM["metadata"], "deletionTimestamp": "2026"}}, "u1")


PATCHES = (
    Operation.CORDON,
    Operation.UNCORDON,
    Operation.DO_NOT_DISRUPT,
    Operation.REMOVE_DO_NOT_DISRUPT,
    Operation.DO_NOT_REPAIR,
    Operation.REMOVE_DO_NOT_REPAIR,
    Operation.SCALE,
)


@given(
    operation=st.sampled_from(PATCHES),
    annotations=st.dictionaries(
        st.sampled_from(["karpenter.sh/do-not-disrupt", "karpenter.sh/do-not-repair", "x"]),
        st.sampled_from(["true", "false", "5m"]),
    ),
    spec=st.fixed_dictionaries({}, optional={"unschedulable": st.just(True), "replicas": st.integers(0, 9)}),
    replicas=st.integers(0, 9),
)
def test_a_patch_takes_effect_and_its_undo_brings_back_the_object(
    operation: Operation, annotations: dict[str, str], spec: dict[str, Any], replicas: int
) -> None:
    if operation is Operation.SCALE:
        spec.setdefault("replicas", 1)
    live = {**NODE, "metadata": {**NODE["metadata"], "annotations": annotations}, "spec": spec}
    action = on(operation, replicas=replicas)
    after = merge_patched(live, request_of(action, live, is_dry_run=False).body)
    assert is_in_effect(action, after)
    if is_in_effect(action, live):
        assert after == live or operation is Operation.UNCORDON
        return
    undo = undo_of(action, live)
    assert undo is not None
    assert merge_patched(after, request_of(undo, after, is_dry_run=False).body) == live


def test_the_documented_role_is_what_actions_need() -> None:
    text = (Path(__file__).parents[2] / "docs" / "actions-role.yaml").read_text()
    allowed = {
        (group, resource, verb)
        for rule in yaml.safe_load(text)["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    needed = set()
    for operation, kinds in KINDS_OF.items():
        for kind in kinds:
            action = Action(operation=operation, target=Target(kind, "a", "web"))
            access = access_of(action)
            part = f"/{access.subresource}" if access.subresource else ""
            needed |= {(access.group, f"{access.resource}{part}", access.verb), (access.group, access.resource, "get")}
    assert allowed == needed | {("autoscaling", "horizontalpodautoscalers", "list")}
