"""Nodes, NodeClaims and NodePools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from karptui.karpenter import labels as karpenter
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Condition, Node
from karptui.kube.taints import Taint
from tests.builders.instants import DAY_NS, HOUR_NS, NOW_NS
from tests.builders.parts import a_condition, a_requirement, amounts


def a_node(
    *,
    name: str = "node-1",
    pool: str = "general",
    instance_type: str = "m5.large",
    capacity_type: str = "on-demand",
    zone: str = "us-east-1a",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    cpu: str = "1930m",
    memory: str = "7Gi",
    pods: str = "29",
    allocatable: Mapping[str, str] | None = None,
    capacity: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
    provider_id: str | None = None,
    is_unschedulable: bool = False,
    is_ready: bool = True,
    is_initialized: bool = True,
    conditions: Sequence[Condition] | None = None,
    created_ns: int = NOW_NS - HOUR_NS,
    deletion_ns: int = 0,
    uid: str = "",
) -> Node:
    """Return a node; with an empty ``pool``, Karpenter does not manage it."""
    usual = {
        karpenter.HOSTNAME: name,
        karpenter.INSTANCE_TYPE: instance_type,
        karpenter.ZONE: zone,
        karpenter.ARCH: "amd64",
        karpenter.OS: "linux",
    }
    if pool:
        usual |= {karpenter.NODEPOOL: pool, karpenter.CAPACITY_TYPE: capacity_type, karpenter.REGISTERED: "true"}
        if is_initialized:
            usual[karpenter.INITIALIZED] = "true"
    room = {"cpu": cpu, "memory": memory, "pods": pods, **(allocatable or {})}
    ready = a_condition(
        "Ready", status="True" if is_ready else "False", reason="KubeletReady" if is_ready else "KubeletNotReady"
    )
    return Node(
        name=name,
        uid=uid or f"uid-node-{name}",
        labels={**usual, **(labels or {})},
        annotations=dict(annotations or {}),
        provider_id=f"aws:///{zone}/{name}" if provider_id is None else provider_id,
        taints=tuple(taints),
        is_unschedulable=is_unschedulable,
        capacity=amounts(capacity if capacity is not None else room),
        allocatable=amounts(room),
        conditions=tuple(conditions) if conditions is not None else (ready,),
        kubelet_version="v1.35.0",
        architecture="amd64",
        created_ns=created_ns,
        deletion_ns=deletion_ns,
    )


def a_nodepool(*, name: str = "general", weight: int = 0, is_ready: bool = True, **fields: Any) -> NodePool:
    """Return a NodePool that allows every on-demand instance type; ``fields`` are further fields of ``NodePool``."""
    defaults: dict[str, Any] = {
        "uid": f"uid-pool-{name}",
        "created_ns": NOW_NS - 30 * DAY_NS,
        "node_class_ref": NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
        "requirements": (a_requirement(karpenter.CAPACITY_TYPE, "In", "on-demand"),),
        "consolidate_after_ns": 0,
        "conditions": (a_condition("Ready", status="True" if is_ready else "False"),),
    }
    return NodePool(name=name, weight=weight, **{**defaults, **fields})


def a_nodeclaim(
    *,
    name: str = "general-abcde",
    pool: str = "general",
    node: str = "node-1",
    instance_type: str = "m5.large",
    capacity_type: str = "on-demand",
    zone: str = "us-east-1a",
    provider_id: str | None = None,
    stage: str = "Initialized",
    labels: Mapping[str, str] | None = None,
    conditions: Sequence[Condition] | None = None,
    created_ns: int = NOW_NS - HOUR_NS,
    **fields: Any,
) -> NodeClaim:
    """Return a NodeClaim.

    Args:
        name: its name.
        pool: its NodePool.
        node: name of its node; set in the status from the stage Registered on.
        instance_type: its type.
        capacity_type: spot, on-demand or reserved.
        zone: its zone.
        provider_id: set from the stage Launched on; by default that of ``a_node`` with the same name and zone.
        stage: its last true condition: ``""`` (none), ``Launched``, ``Registered`` or ``Initialized``.
        labels: further labels.
        conditions: replace the conditions of the stage.
        created_ns: when it was created.
        fields: further fields of ``NodeClaim``.
    """
    stages = ("Launched", "Registered", "Initialized")
    reached = stages.index(stage) + 1 if stage else 0
    usual = {karpenter.NODEPOOL: pool}
    if reached:
        usual |= {karpenter.INSTANCE_TYPE: instance_type, karpenter.CAPACITY_TYPE: capacity_type, karpenter.ZONE: zone}
    result = tuple(
        a_condition(text, status="True" if index < reached else "Unknown", since_ns=created_ns)
        for index, text in enumerate(stages)
    )
    defaults: dict[str, Any] = {
        "uid": f"uid-claim-{name}",
        "node_name": node if reached >= 2 else "",
        "provider_id": (f"aws:///{zone}/{node}" if provider_id is None else provider_id) if reached else "",
        "node_class_ref": NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
    }
    return NodeClaim(
        name=name,
        labels={**usual, **(labels or {})},
        conditions=tuple(conditions) if conditions is not None else result,
        created_ns=created_ns,
        **{**defaults, **fields},
    )
