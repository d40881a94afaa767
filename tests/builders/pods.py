"""Pods, pod templates, DaemonSets and PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karptui.kube.objects import OwnerReference
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.selectors import LabelSelector
from karptui.kube.taints import Toleration
from karptui.kube.workload import DaemonSet, PodDisruptionBudget
from tests.builders.instants import DAY_NS, HOUR_NS, NOW_NS, SECOND_NS
from tests.builders.parts import amounts, an_owner


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
    """Return a pod: running if a node is named, else pending.

    Args:
        name: its name.
        namespace: its namespace; ignored if a template is given.
        node: the node it is bound to; empty for a pending pod.
        phase: by default Running if it has a node, else Pending.
        template: a template that several pods share; by default one is made from ``of_template``.
        owner: its controller; by default a ReplicaSet named ``web``.
        daemonset: name of the DaemonSet that owns it, instead of ``owner``.
        created_ns: when it was created.
        deletion_ns: its deletionTimestamp; 0 if it is not being deleted.
        is_ready: the Ready condition; by default True if it is running.
        uid: by default made from its key.
        scheduled_reason: by default ``Unschedulable`` if it has no node.
        scheduled_message: kube-scheduler's message.
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
    """Return a PodDisruptionBudget for pods with these labels (``app=web``) that allows ``allowed`` evictions."""
    selector = LabelSelector(tuple(sorted((labels or {"app": "web"}).items())))
    defaults: dict[str, Any] = {"selector": selector, "disruptions_allowed": allowed, "observed_generation": 0}
    return PodDisruptionBudget(name=name, namespace=namespace, uid=f"uid-pdb-{name}", **{**defaults, **fields})
