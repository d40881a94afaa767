"""Situations at the start of the demo: starting and draining nodes, do-not-disrupt pods, budgets, pending pods."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from karptui.sources.demo.pods import ci_job
from karptui.sources.demo.world import (
    DISRUPTED,
    LIFECYCLE,
    NOT_READY,
    Manifest,
    a_uid,
    condition,
    metadata,
    stamp,
    tainted,
    terminating,
    with_condition,
    without_condition,
)
from tools.demo.machines import HOUR_NS, MINUTE_NS, Machine
from tools.demo.pools import DAY_NS
from tools.demo.workloads import ON_TRINO, TRINO_RUNNING, Planter, Workload, pod_template

DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
DEADLINE: Final = "karpenter.sh/nodeclaim-termination-timestamp"
CI_JOBS: Final = (
    (358, 0),
    (341, 0),
    (52, 0),
    (41, 0),
    (23, 0),
    (8, 0),
    (214, 1),
    (96, 1),
    (33, 1),
    (61, 2),
    (17, 2),
    (144, 3),
    (118, 3),
)
"""Age in minutes and index of the runner node of each CI job."""


def protect(machine: Machine) -> None:
    """Set do-not-disrupt on the node."""
    machine.node["metadata"]["annotations"] = {DO_NOT_DISRUPT: "true"}


def cordon(machine: Machine) -> None:
    """Cordon the node."""
    machine.node["spec"]["unschedulable"] = True
    machine.node = tainted(machine.node, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    machine.is_spared = True


def lose(machine: Machine, now_ns: int) -> None:
    """Make the node unreachable: its kubelet no longer posts a status."""
    since = now_ns - 6 * MINUTE_NS
    message = "Kubelet stopped posting node status."
    lost = condition("Ready", "Unknown", since, reason="NodeStatusUnknown", message=message)
    machine.node = tainted(
        with_condition(machine.node, lost), {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    )
    machine.is_spared = True


def drift(machine: Machine, reason: str, now_ns: int) -> None:
    """Set the condition Drifted on the NodeClaim."""
    assert machine.claim is not None
    machine.claim = with_condition(machine.claim, condition("Drifted", "True", now_ns - 19 * HOUR_NS, reason=reason))


def settle(machine: Machine, now_ns: int, minutes: int) -> None:
    """Set the condition Consolidatable: consolidateAfter has passed."""
    assert machine.claim is not None
    since = now_ns - minutes * MINUTE_NS
    machine.claim = with_condition(machine.claim, condition("Consolidatable", "True", since))


def drain(machine: Machine, now_ns: int, minutes: int, *, grace_ns: int | None = None) -> None:
    """Make Karpenter drain the node."""
    assert machine.claim is not None
    began = now_ns - minutes * MINUTE_NS
    machine.node = terminating(tainted(machine.node, DISRUPTED), began, grace_seconds=0)
    claim = terminating(machine.claim, began, grace_seconds=0)
    claim = with_condition(claim, condition("DisruptionReason", "True", began - MINUTE_NS, reason="Drifted"))
    if grace_ns is not None:
        annotations = {**claim["metadata"].get("annotations", {}), DEADLINE: stamp(began + grace_ns)}
        claim["metadata"] = {**claim["metadata"], "annotations": annotations}
    waiting = condition("Drained", "Unknown", began, reason="Draining", message="Draining")
    machine.claim = with_condition(claim, waiting)
    machine.is_spared = True


def disrupt(machine: Machine, now_ns: int) -> None:
    """Make Karpenter disrupt the node and wait for its replacement."""
    assert machine.claim is not None
    began = now_ns - 40 * 10**9
    machine.node = tainted(machine.node, DISRUPTED)
    reason = condition("DisruptionReason", "True", began, reason="Underutilized", message="Underutilized")
    machine.claim = with_condition(machine.claim, reason)
    machine.is_spared = True


def initializing(machine: Machine) -> None:
    """Make the node registered but not initialized."""
    assert machine.claim is not None
    labels = {
        key: value for key, value in machine.node["metadata"]["labels"].items() if not key.endswith("/initialized")
    }
    machine.node["metadata"]["labels"] = labels
    since = machine.node["metadata"]["creationTimestamp"]
    ready = condition("Ready", "False", 0, reason="KubeletNotReady", message="container runtime network not ready")
    machine.node = tainted(with_condition(machine.node, {**ready, "lastTransitionTime": since}), NOT_READY)
    unready = condition("Initialized", "Unknown", 0, reason="NodeNotReady", message="Node status is NotReady")
    claim = with_condition(machine.claim, {**unready, "lastTransitionTime": since})
    machine.claim = without_condition(claim, "Ready")
    machine.is_spared = True


def without_node(
    machine: Machine, now_ns: int, *, stage: str, seconds: int, refused: tuple[str, str] = ("", "")
) -> Manifest:
    """Return the NodeClaim of a machine in an early stage, before its node exists.

    Args:
        machine: the machine; only its NodeClaim is used.
        now_ns: the current time.
        stage: ``""`` if it is launching, ``Launched`` if its node has not registered.
        seconds: age of the NodeClaim.
        refused: reason and message of a failed launch, as in the AWS provider.
    """
    assert machine.claim is not None
    created = now_ns - seconds * 10**9
    claim = machine.claim
    reached = LIFECYCLE.index(stage) + 1 if stage else 0
    reasons = (refused[0] or "AwaitingReconciliation", "NodeNotFound", "NodeNotFound")
    conditions = [
        condition(kind, "True", created + 3 * 10**9)
        if index < reached
        else condition(kind, "Unknown", created, reason=reasons[index], message=refused[1] if index == 0 else "")
        for index, kind in enumerate(LIFECYCLE)
    ]
    status = {"conditions": conditions}
    labels = claim["metadata"]["labels"]
    if reached:
        status |= {key: claim["status"][key] for key in ("providerID", "imageID", "capacity", "allocatable")}
    else:
        labels = {key: labels[key] for key in ("karpenter.sh/nodepool", "karpenter.k8s.aws/ec2nodeclass")}
    meta = {**claim["metadata"], "creationTimestamp": stamp(created), "labels": labels}
    # Most recordings lack the pods of such NodeClaims, so there are no requests either.
    spec = {key: value for key, value in claim["spec"].items() if key != "resources"}
    return {**claim, "metadata": meta, "spec": spec, "status": status}


def ci_pods(planter: Planter, rng: random.Random, machines: Sequence[Machine], now_ns: int) -> None:
    """Add CI jobs with do-not-disrupt on the runner nodes; four of the last hour are on the same node."""
    for index, (minutes, machine_index) in enumerate(CI_JOBS):
        created = now_ns - minutes * MINUTE_NS
        job, made = ci_job(rng, 4700 + index, created, "2h" if index % 5 == 4 else "true")
        planter.objects.append(job)
        planter.put(made, machines[machine_index], created_ns=created)


def waiting_pods(planter: Planter, now_ns: int) -> list[Manifest]:
    """Return unschedulable pods, without messages of kube-scheduler and Karpenter yet."""
    trino = Workload("trino", "trino-worker", 3, 28_000, 245_760, "StatefulSet", ON_TRINO)
    gold = Workload("payments", "settle", 2, 500, 1024, options={"node_selector": {"company.io/tier": "gold"}})
    large = Workload("ml", "finetune", 1, 46_000, 131_072, "Job")
    workers = next(
        one for one in planter.objects if one["kind"] == "StatefulSet" and one["metadata"]["name"] == trino.name
    )
    # Pending workers have a newer revision than running ones: with OnDelete, the StatefulSet replaces no pod.
    workers["spec"] |= {
        "replicas": TRINO_RUNNING.replicas + trino.replicas,
        "template": pod_template(trino, workers["spec"]["selector"]["matchLabels"]),
        "updateStrategy": {"type": "OnDelete"},
    }
    settle, finetune = planter.controller(gold), planter.controller(large)
    return [
        *(planter.new_pod(trino, workers, index, now_ns - 14 * MINUTE_NS) for index in (8, 9, 10)),
        *(planter.new_pod(gold, settle, index, now_ns - 47 * MINUTE_NS) for index in range(2)),
        planter.new_pod(large, finetune, 0, now_ns - 3 * MINUTE_NS),
    ]


def pdbs(rng: random.Random, now_ns: int) -> list[Manifest]:
    """Return the PodDisruptionBudgets."""
    table: tuple[tuple[str, str, str, dict[str, str | int], int, int, int], ...] = (
        ("db", "postgres", "postgres", {"minAvailable": "100%"}, 0, 3, 3),
        ("queue", "kafka", "kafka", {"maxUnavailable": 1}, 1, 5, 4),
        ("ingress", "nginx", "nginx", {"minAvailable": "50%"}, 4, 8, 4),
        ("payments", "ledger", "ledger", {"minAvailable": 6}, 2, 8, 6),
        ("payments", "ledger-old", "ledger", {"minAvailable": 4}, 4, 8, 4),
        ("web", "front", "front", {"maxUnavailable": "25%"}, 11, 44, 33),
        ("web", "api", "api", {"maxUnavailable": "25%"}, 12, 48, 36),
        ("vault", "vault", "vault", {"maxUnavailable": 1}, 1, 3, 2),
        ("monitoring", "prometheus", "prometheus", {"maxUnavailable": 0}, 0, 3, 3),
    )
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {
                **metadata(name, uid=a_uid(rng), created_ns=now_ns - 90 * DAY_NS, namespace=namespace),
                "generation": 1,
            },
            "spec": {"selector": {"matchLabels": {"app": app}}, **rule},
            "status": {
                "observedGeneration": 1,
                "disruptionsAllowed": allowed,
                "expectedPods": expected,
                "currentHealthy": expected,
                "desiredHealthy": desired,
                "conditions": [
                    condition(
                        "DisruptionAllowed",
                        "True" if allowed else "False",
                        now_ns - 9 * HOUR_NS,
                        reason="SufficientPods" if allowed else "InsufficientPods",
                    )
                ],
            },
        }
        for namespace, name, app, rule, allowed, expected, desired in table
    ]
