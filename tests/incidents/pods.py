"""Pods, and what makes and guards them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from tests.incidents.cluster import Cluster, NodePair, owned_by
from tests.incidents.objects import Object, condition, digest, duration, owner, suffix, uid


def add_namespace(c: Cluster, name: str) -> None:
    """Add a namespace, once."""
    if name not in c.namespaces:
        labels = {"kubernetes.io/metadata.name": name}
        c.add("Namespace", name, age="200d", labels=labels, status={"phase": "Active"})


def add_pod(
    c: Cluster,
    namespace: str,
    name: str,
    *,
    node: NodePair | None = None,
    parent: Object | None = None,
    age: str = "3d",
    cpu: str = "250m",
    memory: str = "256Mi",
    requests: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    image: str = "registry.example/orders/app:2026.11",
    container: str = "app",
    phase: str = "",
    waiting: str = "",
    deleting: str = "",
    message: str = "",
    scheduled: bool = True,
) -> Object:
    """Add a pod: running on a node, or pending without one.

    Args:
        namespace: its namespace.
        name: its name.
        node: where it is bound to.
        parent: its controller.
        age: its age.
        cpu: what it requests.
        memory: what it requests.
        requests: further resources that it requests.
        labels: its labels.
        annotations: its annotations.
        spec: further fields of its spec.
        image: its image.
        container: its container's name.
        phase: Succeeded or Failed; Running or Pending otherwise.
        waiting: why its container does not run, such as ContainerCreating or CrashLoopBackOff.
        deleting: age of its deletion.
        message: kube-scheduler's message, if it is pending.
        scheduled: whether kube-scheduler has tried to schedule it yet.
    """
    add_namespace(c, namespace)
    running = bool(node) and not waiting and not phase
    started = {"state": {"running": {"startedAt": c.at(age)}}, "ready": running, "restartCount": 0}
    if waiting:
        started["state"] = {"waiting": {"reason": waiting}}
    if phase:
        ended = {"exitCode": 0 if phase == "Succeeded" else 137, "finishedAt": c.at(age), "startedAt": c.at(age)}
        started["state"] = {"terminated": {**ended, "reason": "Completed" if phase == "Succeeded" else "Error"}}
    resources = {"cpu": cpu, "memory": memory, **(requests or {})}
    limits = {key: value for key, value in (requests or {}).items() if "/" in key}
    stated = {"requests": {key: value for key, value in resources.items() if value != "0"}}
    extra = dict(spec or {})
    ports = extra.pop("ports", None)
    content: Object = {
        "containers": [
            {
                "name": container,
                "image": image,
                "resources": stated | ({"limits": limits} if limits else {}),
                **({"ports": ports} if ports else {}),
            }
        ],
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        **extra,
    }
    for kind in ("not-ready", "unreachable"):
        base = {"key": f"node.kubernetes.io/{kind}", "operator": "Exists", "effect": "NoExecute"}
        content["tolerations"] = [*content.get("tolerations", []), {**base, "tolerationSeconds": 300}]
    conditions: list[Object] = []
    status: Object = {"phase": phase or ("Running" if running else "Pending")}
    if node:
        content["nodeName"] = node.name
        silent = any(item["type"] == "Ready" and item["status"] == "Unknown" for item in node.status["conditions"])
        why = "PodCompleted" if phase == "Succeeded" else "ContainersNotReady"
        good = running and not silent
        conditions = [condition("PodScheduled", "True", c.at(age))]
        conditions += [condition("Initialized", "True", c.at(age))]
        for kind in ("Ready", "ContainersReady"):
            conditions.append(condition(kind, *(("True", c.at(age)) if good else ("False", c.at(age), why))))
        status |= {"startTime": c.at(age), "containerStatuses": [{"name": container, "image": image, **started}]}
    elif scheduled:
        text = message or "0/4 nodes are available: 4 Insufficient cpu."
        conditions = [condition("PodScheduled", "False", c.at(age), "Unschedulable", text)]
    marks: Object = {"labels": dict(labels or {})}
    if annotations:
        marks["annotations"] = dict(annotations)
    if parent:
        marks["ownerReferences"] = [owner(parent)]
    if deleting:
        marks["deletionTimestamp"] = c.at(deleting)
    result = c.add("Pod", name, namespace, age=age, spec=content, status={**status, "conditions": conditions}, **marks)
    if not node and scheduled:
        every = max(1, int(duration(age).total_seconds()) // 300)
        text = conditions[0]["message"]
        c.event(
            result, "FailedScheduling", text, last="50s" if every > 1 else "2s", count=every, source="default-scheduler"
        )
    return result


CPU, MEMORY = "1150m", "3200Mi"
"""Three such pods fill an m6i.xlarge; not one more fits on it, nor on the nodes of the managed node group."""
PROTECTED: Final = {"karpenter.sh/do-not-disrupt": "true"}
SELECTOR: Final = "node(s) didn't match Pod's node affinity/selector"


def no_node(reasons: Mapping[str, int]) -> str:
    """Return kube-scheduler's message about a pod that no node takes, with the number of nodes by reason."""
    total = sum(reasons.values())
    preempted = sum(count for reason, count in reasons.items() if reason.startswith("Insufficient"))
    causes = ", ".join(
        f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda pair: f"{pair[1]} {pair[0]}")
    )
    helps = {
        "No preemption victims found for incoming pod": preempted,
        "Preemption is not helpful for scheduling": total - preempted,
    }
    preemption = ", ".join(f"{count} {text}" for text, count in helps.items() if count)
    return f"0/{total} nodes are available: {causes}. preemption: 0/{total} nodes are available: {preemption}."


def waiting(c: Cluster, name: str, count: int, since: str, message: str = "", **pod: Any) -> list[Object]:
    """Add a workload whose pods are all pending."""
    return add_workload(c, name, pending=count, pending_since=since, message=message, **pod)


def add_workload(
    c: Cluster,
    name: str,
    *,
    kind: str = "Deployment",
    on: Sequence[NodePair] = (),
    count: int | None = None,
    pending: int = 0,
    pending_since: str = "10m",
    replicas: int | None = None,
    age: str = "6d",
    message: str = "",
    labels: Mapping[str, str] | None = None,
    pool: str = "",
    spec: Mapping[str, Any] | None = None,
    pending_spec: Mapping[str, Any] | None = None,
    **pod: Any,
) -> list[Object]:
    """Add a Deployment with its ReplicaSet, a StatefulSet or a Job, and its pods; return the pods.

    Args:
        name: its namespace and name.
        kind: Deployment, StatefulSet or Job.
        on: nodes that get its running pods in turn.
        count: number of running pods; one for each node in ``on`` unless given.
        pending: number of pending pods.
        pending_since: their age.
        replicas: what it wants, if it is not the number of its pods.
        age: age of the running pods.
        message: kube-scheduler's message about the pending pods; by default the nodes are full, or not selected.
        labels: its labels and those of its pods.
        pool: the NodePool that its pods select.
        spec: further fields of the spec of its pods.
        pending_spec: fields of the spec of pending pods only.
        pod: further arguments of ``add_pod``; three pods of the default size fill an m6i.xlarge.
    """
    namespace, name = name.split("/")
    add_namespace(c, namespace)
    content: Object = {**({"restartPolicy": "Never"} if kind == "Job" else {}), **(spec or {})}
    if pool:
        content["nodeSelector"] = {"karpenter.sh/nodepool": pool, **content.get("nodeSelector", {})}
    nodes = sum(pair.node is not None for pair in c.nodes)
    message = message or no_node({SELECTOR if "nodeSelector" in content else "Insufficient cpu": nodes})
    pod = {"cpu": CPU, "memory": MEMORY, "spec": content, **pod}
    running = len(on) if count is None else count
    wanted = running + pending if replicas is None else replicas
    labels = dict(labels or {"app.kubernetes.io/name": name})
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "app", "image": "registry.example/app"}]},
    }
    own_spec: Object = {"replicas": wanted, "selector": {"matchLabels": labels}, "template": template}
    up = 0 if "waiting" in pod else running
    status = {"replicas": running + pending, "readyReplicas": up, "availableReplicas": up}
    if kind == "Job":
        own_spec = {"parallelism": wanted, "completions": wanted, "backoffLimit": 2, "template": template}
        status = {"active": running + pending}
    parent = c.add(
        kind, name, namespace, age="90d" if kind != "Job" else age, labels=labels, spec=own_spec, status=status
    )
    prefix, hash_ = name, digest(namespace, name)[:10]
    if kind == "Deployment":
        parent["status"]["unavailableReplicas"] = max(0, wanted - up)
        parent["status"]["updatedReplicas"] = running + pending
        good = up > 0 or not wanted
        reason = "MinimumReplicasAvailable" if good else "MinimumReplicasUnavailable"
        since = c.at(age) if good else c.at(pending_since)
        text = f"Deployment {'has' if good else 'does not have'} minimum availability."
        parent["status"]["conditions"] = [condition("Available", str(good), since, reason, text)]
        marks: Object = {"labels": {**labels, "pod-template-hash": hash_}, "ownerReferences": [owner(parent)]}
        own_spec |= {"selector": {"matchLabels": {**labels, "pod-template-hash": hash_}}}
        parent = c.add("ReplicaSet", f"{name}-{hash_}", namespace, age="30d", spec=own_spec, status=status, **marks)
        prefix, labels = f"{name}-{hash_}", marks["labels"]
    pods = []
    for number in range(running + pending):
        ending = str(number) if kind == "StatefulSet" else suffix(namespace, name, number)
        place = on[number % len(on)] if number < running else None
        manifest = dict(pod)
        if place is None and pending_spec:
            manifest["spec"] = {**manifest.get("spec", {}), **pending_spec}
        pods.append(
            add_pod(
                c,
                namespace,
                f"{prefix}-{ending}",
                node=place,
                parent=parent,
                age=age if place and duration(age) < age_of(c, place) else age_after(c, place) or pending_since,
                labels=labels,
                message=message,
                **manifest,
            )
        )
    return pods


def refuse_pods(c: Cluster, workload: str, text: str, *, first: str, last: str, count: int) -> None:
    """Let the controller of a workload report that its pods cannot be created."""
    kinds = {"ReplicaSet": "replicaset", "Job": "job", "DaemonSet": "daemonset"}
    manifest = next(
        manifest
        for manifest in c.objects
        if manifest["kind"] in kinds and (manifest["metadata"]["name"] == workload or owned_by(manifest, workload))
    )
    if manifest["kind"] == "ReplicaSet":
        failure = condition(
            "ReplicaFailure", "True", c.at(first), "FailedCreate", text.removeprefix("Error creating: ")
        )
        manifest["status"]["conditions"] = [failure]
    source = f"{kinds[manifest['kind']]}-controller"
    c.event(manifest, "FailedCreate", text, last=last, first=first, count=count, source=source)


def age_of(c: Cluster, pair: NodePair) -> Any:
    """Return how long a node has existed."""
    return datetime.fromisoformat(c.now) - datetime.fromisoformat(pair.created)


def age_after(c: Cluster, pair: NodePair | None) -> str:
    """Return the age of a pod that started half a minute after its node; empty for a pod without a node."""
    return f"{max(1, int(age_of(c, pair).total_seconds()) - 30)}s" if pair else ""


def add_daemonset(
    c: Cluster,
    namespace: str,
    name: str,
    *,
    cpu: str,
    memory: str,
    critical: bool = False,
    spec: Mapping[str, Any] | None = None,
) -> Object:
    """Add a DaemonSet that tolerates every taint; its pods are added to all nodes with the snapshot."""
    labels = {"app.kubernetes.io/name": name}
    content: Object = {"tolerations": [{"operator": "Exists"}], **(spec or {})}
    if critical:
        content["priorityClassName"] = "system-node-critical"
    pod_spec = {key: value for key, value in content.items() if key != "ports"}
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value != "0"}
    container = {"name": "app", "image": f"registry.example/{name}", "resources": {"requests": requests}}
    if "ports" in content:
        container["ports"] = content["ports"]
    add_namespace(c, namespace)
    manifest = c.add(
        "DaemonSet",
        name,
        namespace,
        age="180d",
        labels=labels,
        generation=2,
        spec={
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {**pod_spec, "containers": [container]}},
        },
    )
    c.daemonsets.append((manifest, {"cpu": cpu, "memory": memory, "labels": labels, "spec": content}))
    return manifest


def add_pdb(
    c: Cluster, namespace: str, name: str, app: str, *, healthy: int, desired: int, expected: int, **spec: Any
) -> Object:
    """Add a PodDisruptionBudget over the pods of a workload."""
    return c.add(
        "PodDisruptionBudget",
        name,
        namespace,
        age="90d",
        generation=1,
        spec={"selector": {"matchLabels": {"app.kubernetes.io/name": app}}, **spec},
        status={
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": max(0, healthy - desired),
            "observedGeneration": 1,
        },
    )


def add_volume(c: Cluster, namespace: str, claim: str, zone: str, *, age: str = "70d") -> Object:
    """Add a bound EBS volume in a zone, and return it as a volume of a pod."""
    add_namespace(c, namespace)
    name = f"pvc-{uid(namespace, claim)}"
    terms = [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]}]
    c.add(
        "PersistentVolume",
        name,
        age=age,
        spec={
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "200Gi"},
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim},
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": f"vol-0{digest(namespace, claim)[:16]}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": "gp3",
        },
        status={"phase": "Bound"},
    )
    add_claim(c, namespace, claim, "gp3", age=age, volume=name)
    return {"name": claim, "persistentVolumeClaim": {"claimName": claim}}


def add_claim(c: Cluster, namespace: str, name: str, storage_class: str, *, age: str, volume: str = "") -> Object:
    """Add a PersistentVolumeClaim, bound if it has a volume."""
    bound = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    add_namespace(c, namespace)
    return c.add(
        "PersistentVolumeClaim",
        name,
        namespace,
        age=age,
        annotations=bound if volume else {},
        spec={
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "200Gi"}},
            "storageClassName": storage_class,
            **({"volumeName": volume} if volume else {}),
        },
        status={"phase": "Bound" if volume else "Pending"},
    )


def add_local_volume(c: Cluster, namespace: str, name: str, zone: str, host: str) -> Object:
    """Add a PersistentVolume on a node's own disk and its claim, and return the pod's volume."""
    volume = add_volume(c, namespace, name, zone)
    spec = c.find("PersistentVolume", f"pvc-{uid(namespace, name)}")["spec"]
    del spec["csi"]
    spec |= {"local": {"path": "/mnt/disks/nvme1"}, "storageClassName": "local-nvme"}
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}]
    spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    c.find("PersistentVolumeClaim", name)["spec"]["storageClassName"] = "local-nvme"
    if not any(item["kind"] == "StorageClass" and item["metadata"]["name"] == "local-nvme" for item in c.objects):
        binding = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
        c.add("StorageClass", "local-nvme", **binding)
    return volume


def matching(app: str, **more: str | int) -> Object:
    """Return a pod affinity term or a topology spread constraint over the pods of an application."""
    return {"labelSelector": {"matchLabels": {"app.kubernetes.io/name": app}}, **more}


def required(kind: str, app: str, key: str) -> Object:
    """Return a pod spec with a required podAffinity or podAntiAffinity."""
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [matching(app, topologyKey=key)]}}}


def add_queued(c: Cluster, count: int, age: str, gpus: str, message: str) -> None:
    """Add a StatefulSet whose pods are gated by Kueue, which says why in an event of their Workload."""
    add_workload(c, "kueue-system/kueue-controller-manager", on=c.system[:1], age="30d", cpu="200m", memory="256Mi", image="registry.k8s.io/kueue/kueue:v0.14.2")  # fmt: skip
    labels = {
        "app.kubernetes.io/name": "llm",
        "kueue.x-k8s.io/queue-name": "ml",
        "kueue.x-k8s.io/pod-group-name": "statefulset-llm-5c1d9",
    }
    spec = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    pods = waiting(c, "ml/llm", count, age, kind="StatefulSet", age=age, cpu="3", memory="12Gi", requests={"nvidia.com/gpu": gpus}, labels=labels, scheduled=False, spec=spec)  # fmt: skip
    text = "Scheduling is blocked due to non-empty scheduling gates"
    for pod in pods:
        pod["status"]["conditions"] = [condition("PodScheduled", "False", c.at(age), "SchedulingGated", text)]
    meta = {"name": "statefulset-llm-5c1d9", "namespace": "ml", "uid": uid("ml", "statefulset-llm")}
    workload = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata": meta}
    c.event(workload, "Pending", message, last="3m", first=age, count=61, source="kueue-admission")
