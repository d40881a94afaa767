"""Each command of a recorded cluster is checked separately against Karpenter's rules."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from .decisions import Line, cluster_at, is_permitted, read_lines
from .fleets import fleet_types
from .karpenter import CAPACITY_TYPE, ZONE

BEGAN = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIKE = {"karpenterVersion": "1.15.0", "settings": {}, "instanceTypes": fleet_types()}
CORE, KARPENTER = "v1", "karpenter.sh/v1"


def a_line(seconds: float, value: dict[str, Any], *, is_gone: bool = False) -> str:
    at = (BEGAN + timedelta(seconds=seconds)).isoformat()
    return json.dumps({"at": at, "type": "DELETED" if is_gone else "ADDED", "object": value})


def an_object(kind: str, version: str, name: str, **fields: Any) -> dict[str, Any]:
    times = {"creationTimestamp": "2026-01-01T10:00:00Z", "uid": f"{kind}-{name}"}
    metadata = {"name": name, **times, **fields.pop("metadata", {})}
    return {"kind": kind, "apiVersion": version, "metadata": metadata, **fields}


def an_empty_node(name: str) -> list[dict[str, Any]]:
    """Return a node without pods and its NodeClaim."""
    keys = {"node.kubernetes.io/instance-type": "c-4x-amd64-linux", CAPACITY_TYPE: "on-demand", ZONE: "test-zone-a"}
    labels = {**keys, "karpenter.sh/nodepool": "general", "kubernetes.io/hostname": name}
    stages = {"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
    given = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    told = ("Launched", "Registered", "Initialized", "Ready", "Consolidatable")
    conditions = [{"type": text, "status": "True", "lastTransitionTime": "2026-01-01T10:00:00Z"} for text in told]
    ready = {"capacity": given, "allocatable": given, "conditions": conditions[3:4]}
    status = {"providerID": name, "nodeName": name, "capacity": given, "allocatable": given, "conditions": conditions}
    reference = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    return [
        an_object("Node", CORE, name, metadata={"labels": labels | stages}, spec={"providerID": name}, status=ready),
        an_object(
            "NodeClaim",
            KARPENTER,
            f"claim-{name}",
            metadata={"labels": labels},
            spec={"nodeClassRef": reference},
            status=status,
        ),
    ]


def a_recording() -> list[Line]:
    """Return a recording of two empty nodes with a budget of one; the first is deleted after 20 s."""
    disruption = {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "30s",
        "budgets": [{"nodes": "1"}],
    }
    template = {"spec": {"nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}}}
    ready = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T10:00:00Z"}]}
    spec = {"template": template, "disruption": disruption}
    pool = an_object("NodePool", KARPENTER, "general", spec=spec, status=ready)
    first, second = an_empty_node("node-1"), an_empty_node("node-2")
    gone = [a_line(20, manifest, is_gone=True) for manifest in first]
    return read_lines([*gone, *(a_line(0, manifest) for manifest in (pool, *first, *second))])


def names_at(lines: list[Line], seconds: float) -> set[str]:
    cluster = cluster_at(lines, BEGAN + timedelta(seconds=seconds))
    return {manifest["metadata"]["name"] for manifest in cluster if manifest["kind"] in ("Node", "Event")}


def test_the_cluster_at_a_moment_has_its_objects_and_the_events_just_after() -> None:
    lines = a_recording()
    assert names_at(lines, -1) == set()
    assert names_at(lines, 10) == {"node-1", "node-2"}
    assert names_at(lines, 21) == {"node-2"}
    events = read_lines([a_line(seconds, an_object("Event", CORE, f"e{seconds}")) for seconds in (1, 5)])
    assert names_at(events, 0) == {"e1"}, "events are recorded later than the change that they report"


def test_only_commands_that_the_rules_permit_are_accepted() -> None:
    lines = a_recording()

    def accepted(*told: str, after: float = 10) -> bool:
        reason, decision, *nodes = told
        begun = BEGAN + timedelta(seconds=after)
        return is_permitted((reason, decision, tuple(nodes)), begun, lines, LIKE, may_follow=True)

    assert accepted("Empty", "delete", "node-1")
    assert accepted("Empty", "delete", "node-2"), "equal nodes are deleted in any order"
    assert not accepted("Empty", "delete", "node-1", "node-2"), "the budget allows one node"
    assert not accepted("Underutilized", "delete", "node-1")
    assert not accepted("Empty", "delete", "node-1", after=30), "the node no longer exists then"
