"""Objects for tests: boring defaults, everything by keyword, so that a test says only what it is about.

Amounts are texts as in manifests (``cpu="500m"``), instants nanoseconds since the epoch, and further resources go by
``requests={"nvidia.com/gpu": "1"}``. Manifests of the same objects, for what reads files and servers, are made by
``a_manifest``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from karptui.decode.kinds import Kind, KindReader
from karptui.karpenter import labels as karpenter
from karptui.karpenter.instance_type import InstanceType, Offering, Overhead
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass_ref import NodeClassRef
from karptui.karpenter.nodepool import NodePool
from karptui.kube.event import Event
from karptui.kube.node import Node
from karptui.kube.node_selector import NodeSelectorRequirement
from karptui.kube.objects import Condition
from karptui.kube.owners import OwnerReference
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.quantity import Quantity, parse_quantity
from karptui.kube.selectors import LabelSelector
from karptui.kube.taints import Taint, Toleration
from karptui.kube.timestamps import parse_timestamp
from karptui.kube.workload import DaemonSet

if TYPE_CHECKING:
    from karptui.state.cluster import ClusterState

NOW: Final = "2026-11-20T12:00:00Z"
NOW_NS: Final = parse_timestamp(NOW)
SECOND_NS: Final = 1_000_000_000
MINUTE_NS: Final = 60 * SECOND_NS
HOUR_NS: Final = 60 * MINUTE_NS
DAY_NS: Final = 24 * HOUR_NS


def amounts(texts: Mapping[str, str]) -> dict[str, Quantity]:
    """Return a resource list."""
    return {name: parse_quantity(text) for name, text in texts.items()}


def a_condition(
    type_: str, *, status: str = "True", reason: str = "", message: str = "", since_ns: int = NOW_NS - HOUR_NS
) -> Condition:
    """Return a condition."""
    return Condition(type=type_, status=status, reason=reason or type_, message=message, last_transition_ns=since_ns)


def an_owner(
    *, kind: str = "ReplicaSet", name: str = "web", api_version: str = "apps/v1", uid: str = ""
) -> OwnerReference:
    """Return the controller of an object."""
    return OwnerReference(
        api_version=api_version, kind=kind, name=name, uid=uid or f"uid-{kind}-{name}", controller=True
    )


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
    """Return a node; an empty pool is a node that Karpenter does not manage."""
    own = {
        karpenter.HOSTNAME: name,
        karpenter.INSTANCE_TYPE: instance_type,
        karpenter.ZONE: zone,
        karpenter.ARCH: "amd64",
        karpenter.OS: "linux",
    }
    if pool:
        own |= {karpenter.NODEPOOL: pool, karpenter.CAPACITY_TYPE: capacity_type, karpenter.REGISTERED: "true"}
        if is_initialized:
            own[karpenter.INITIALIZED] = "true"
    room = {"cpu": cpu, "memory": memory, "pods": pods, **(allocatable or {})}
    ready = a_condition(
        "Ready", status="True" if is_ready else "False", reason="KubeletReady" if is_ready else "KubeletNotReady"
    )
    return Node(
        name=name,
        uid=uid or f"uid-node-{name}",
        labels={**own, **(labels or {})},
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


def a_pod_template(
    *,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owners: Iterable[OwnerReference] = (),
    cpu: str = "100m",
    memory: str = "128Mi",
    requests: Mapping[str, str] | None = None,
    tolerations: Iterable[Toleration] = (),
    node_selector: Mapping[str, str] | None = None,
    priority: int = 0,
    **others: Any,
) -> PodTemplate:
    """Return a pod template; ``others`` are further fields of ``PodTemplate``."""
    asked = {name: text for name, text in {"cpu": cpu, "memory": memory, **(requests or {})}.items() if text}
    return PodTemplate(
        namespace=namespace,
        labels=dict(labels if labels is not None else {"app": "web"}),
        annotations=dict(annotations or {}),
        owners=tuple(owners),
        requests=amounts(asked),
        tolerations=tuple(tolerations),
        node_selector=dict(node_selector or {}),
        priority=priority,
        **others,
    )


def a_pod(
    *,
    name: str = "web-1",
    namespace: str = "default",
    node: str = "",
    phase: str = "",
    template: PodTemplate | None = None,
    owner: OwnerReference | None = None,
    daemonset: str = "",
    created_ns: int = NOW_NS - HOUR_NS,
    deletion_ns: int = 0,
    is_ready: bool | None = None,
    uid: str = "",
    scheduled_reason: str | None = None,
    scheduled_message: str = "",
    nominated_node: str = "",
    volumes: Iterable[Any] = (),
    **of_template: Any,
) -> Pod:
    """Return a pod: running on a node when one is named, else waiting for one.

    Args:
        name: its name.
        namespace: its namespace; a template given brings its own.
        node: the node it is bound to; empty is a pending pod.
        phase: Running on a node and Pending elsewhere, unless given.
        template: shared by several pods; without, one is made of ``of_template``.
        owner: its controller; a ReplicaSet called ``web`` unless given.
        daemonset: name of the DaemonSet that owns it, instead of ``owner``.
        created_ns: when it was created.
        deletion_ns: its deletionTimestamp; 0 is not being deleted.
        is_ready: the Ready condition; True for a running pod unless given.
        uid: made of its key unless given.
        scheduled_reason: ``Unschedulable`` while it has no node, unless given.
        scheduled_message: kube-scheduler's words.
        nominated_node: ``status.nominatedNodeName``.
        volumes: ``PodVolume`` values.
        of_template: arguments of ``a_pod_template``: cpu, memory, requests, labels, annotations, tolerations…
    """
    if daemonset:
        owner = an_owner(kind="DaemonSet", name=daemonset)
    shared = template or a_pod_template(namespace=namespace, owners=(owner or an_owner(),), **of_template)
    running = phase or ("Running" if node else "Pending")
    return Pod(
        name=name,
        template=shared,
        uid=uid or f"uid-pod-{shared.namespace}-{name}",
        node_name=node,
        nominated_node_name=nominated_node,
        phase=running,
        created_ns=created_ns,
        deletion_ns=deletion_ns,
        start_ns=created_ns + SECOND_NS if node else 0,
        ready=is_ready if is_ready is not None else (True if running == "Running" else None),
        scheduled_reason=scheduled_reason if scheduled_reason is not None else ("" if node else "Unschedulable"),
        scheduled_message=scheduled_message,
        scheduled_ns=created_ns,
        volumes=tuple(volumes),
    )


def a_requirement(
    key: str, operator: str = "In", *values: str, min_values: int | None = None
) -> NodeSelectorRequirement:
    """Return a requirement as objects state it."""
    return NodeSelectorRequirement(key, operator, values, min_values)


def a_nodepool(*, name: str = "general", weight: int = 0, is_ready: bool = True, **fields: Any) -> NodePool:
    """Return a NodePool that allows everything on demand; ``fields`` are further fields of ``NodePool``."""
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
        node: the node it stands for; it is known from the stage Registered on.
        instance_type: its type.
        capacity_type: spot, on-demand or reserved.
        zone: its zone.
        provider_id: that of ``a_node`` of the same name and zone unless given, from the stage Launched on.
        stage: how far it has come: ``""``, ``Launched``, ``Registered`` or ``Initialized``.
        labels: further labels.
        conditions: instead of those of the stage.
        created_ns: when it was created.
        fields: further fields of ``NodeClaim``.
    """
    stages = ("Launched", "Registered", "Initialized")
    reached = stages.index(stage) + 1 if stage else 0
    own = {karpenter.NODEPOOL: pool}
    if reached:
        own |= {karpenter.INSTANCE_TYPE: instance_type, karpenter.CAPACITY_TYPE: capacity_type, karpenter.ZONE: zone}
    made = tuple(
        a_condition(one, status="True" if index < reached else "Unknown", since_ns=created_ns)
        for index, one in enumerate(stages)
    )
    defaults: dict[str, Any] = {
        "uid": f"uid-claim-{name}",
        "node_name": node if reached >= 2 else "",
        "provider_id": (f"aws:///{zone}/{node}" if provider_id is None else provider_id) if reached else "",
        "node_class_ref": NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
    }
    return NodeClaim(
        name=name,
        labels={**own, **(labels or {})},
        conditions=tuple(conditions) if conditions is not None else made,
        created_ns=created_ns,
        **{**defaults, **fields},
    )


def a_daemonset(
    *, name: str = "agent", namespace: str = "kube-system", template: PodTemplate | None = None, **of_template: Any
) -> DaemonSet:
    """Return a DaemonSet that tolerates everything; ``of_template`` are arguments of ``a_pod_template``."""
    arguments = {"labels": {"app": name}, "tolerations": (Toleration(operator="Exists"),), **of_template}
    return DaemonSet(
        name=name,
        namespace=namespace,
        uid=f"uid-DaemonSet-{name}",
        created_ns=NOW_NS - 30 * DAY_NS,
        template=template or a_pod_template(namespace=namespace, **arguments),
    )


def a_pdb(
    *,
    name: str = "web",
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    allowed: int = 0,
    **fields: Any,
) -> PodDisruptionBudget:
    """Return a PodDisruptionBudget over pods with these labels (``app=web``); ``allowed`` disruptions are left."""
    selector = LabelSelector(tuple(sorted((labels or {"app": "web"}).items())))
    defaults: dict[str, Any] = {"selector": selector, "disruptions_allowed": allowed, "observed_generation": 0}
    return PodDisruptionBudget(name=name, namespace=namespace, uid=f"uid-pdb-{name}", **{**defaults, **fields})


def an_event(
    *,
    name: str = "web-1.1",
    about: str = "Pod/default/web-1",
    reason: str = "FailedScheduling",
    message: str = "Failed to schedule pod",
    type_: str = "Warning",
    source: str = "karpenter",
    count: int = 1,
    last_ns: int = NOW_NS - MINUTE_NS,
) -> Event:
    """Return an event about ``Kind/namespace/name`` or ``Kind/name``."""
    kind, _, rest = about.partition("/")
    namespace, _, involved = rest.rpartition("/")
    return Event(
        name=name,
        namespace=namespace or "default",
        reason=reason,
        message=message,
        type=type_,
        source=source,
        involved_kind=kind,
        involved_namespace=namespace,
        involved_name=involved,
        count=count,
        first_ns=last_ns,
        last_ns=last_ns,
        created_ns=last_ns,
    )


def an_instance_type(
    *,
    name: str = "m5.large",
    cpu: str = "2",
    memory: str = "8Gi",
    pods: str = "29",
    zones: Iterable[str] = ("us-east-1a", "us-east-1b"),
    prices: Mapping[str, float] | None = None,
    requirements: Iterable[NodeSelectorRequirement] = (),
    reserved: Mapping[str, str] | None = None,
) -> InstanceType:
    """Return an instance type, offered in every zone at each capacity type's price (``on-demand`` at $0.096)."""
    sold, where = dict(prices or {"on-demand": 0.096}), tuple(zones)
    return InstanceType(
        name=name,
        requirements=(
            a_requirement(karpenter.INSTANCE_TYPE, "In", name),
            a_requirement(karpenter.ARCH, "In", "amd64"),
            a_requirement(karpenter.OS, "In", "linux"),
            a_requirement(karpenter.ZONE, "In", *where),
            a_requirement(karpenter.CAPACITY_TYPE, "In", *sold),
            *requirements,
        ),
        capacity=amounts({"cpu": cpu, "memory": memory, "pods": pods}),
        overhead=Overhead(kube_reserved=amounts(reserved or {})),
        offerings=tuple(
            Offering(
                requirements=(
                    a_requirement(karpenter.CAPACITY_TYPE, "In", kind),
                    a_requirement(karpenter.ZONE, "In", zone),
                ),
                price_per_hour=price,
            )
            for kind, price in sold.items()
            for zone in where
        ),
    )


def an_inventory(*, nodes: int = 3, pods_per_node: int = 2, **others: Any) -> Inventory:
    """Return a pool's nodes with their claims and evenly spread pods; ``others`` replace fields of ``Inventory``."""
    names = [f"node-{number}" for number in range(1, nodes + 1)]
    template = a_pod_template(owners=(an_owner(),))
    made: dict[str, Any] = {
        "nodepools": (a_nodepool(),),
        "nodes": tuple(a_node(name=name) for name in names),
        "nodeclaims": tuple(a_nodeclaim(name=f"general-{name}", node=name) for name in names),
        "pods": tuple(
            a_pod(name=f"web-{name}-{number}", node=name, template=template)
            for name in names
            for number in range(1, pods_per_node + 1)
        ),
    }
    return Inventory(**{**made, **others})


def a_cluster(*, nodes: int = 3, pods_per_node: int = 2, **others: Any) -> ClusterState:
    """Return the state of a cluster; the arguments are those of ``an_inventory``."""
    from karptui.state.inventory import state_of

    return state_of(an_inventory(nodes=nodes, pods_per_node=pods_per_node, **others))


def a_manifest(kind: str, name: str, *, namespace: str = "", api_version: str = "v1", **fields: Any) -> dict[str, Any]:
    """Return an object as files and servers have it; ``metadata`` among the fields adds to the metadata."""
    metadata: dict[str, Any] = {
        "name": name,
        "uid": f"uid-{kind.lower()}-{name}",
        "creationTimestamp": "2026-11-20T11:00:00Z",
    }
    if namespace:
        metadata["namespace"] = namespace
    metadata |= fields.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def decoded(manifest: Mapping[str, Any], kind: Kind | None = None) -> Any:
    """Return the domain value of a manifest."""
    return KindReader(kind or Kind(str(manifest["kind"]))).convert(manifest)
