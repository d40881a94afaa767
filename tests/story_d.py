"""Story D as it looks when the pods stay pending: the trino pool may launch r5a.8xlarge only; story B beside it.

Objects are those of stories C and D with one requirement more, Karpenter's and the scheduler's events, a pool for the
flex families that are sold out, and pods that wait for other reasons: gated, silently ignored, nominated long ago.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from karptui.aws.evidence import Evidence
from karptui.session.cluster_view import ClusterView
from karptui.sources.snapshot.reader import Snapshot, SnapshotReader
from tests.builders.clusters import state_of
from tests.stories import AT_NS, STORIES

NOW_NS: Final = AT_NS
TRINO_POOL: Final = "trino"


def story_objects() -> list[dict[str, Any]]:
    """Return the objects as the API server gives them."""
    objects: list[dict[str, Any]] = json.loads(STORIES.read_text())["objects"]
    for document in objects:
        if document["kind"] == "NodePool" and document["metadata"]["name"] == TRINO_POOL:
            template = document["spec"]["template"]
            only = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["r5a.8xlarge"]}
            template["spec"]["requirements"].append(only)
            template["metadata"] = {"labels": {"workload": "trino"}}
        if document["kind"] == "Node" and document["metadata"]["labels"].get("karpenter.sh/nodepool") == TRINO_POOL:
            document["spec"]["taints"] = [{"key": "dedicated", "value": "trino", "effect": "NoSchedule"}]
        if document["kind"] == "Pod" and document["metadata"]["namespace"] == "trino":
            owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "worker", "uid": "sts", "controller": True}
            document["metadata"]["ownerReferences"] = [owner]
            document["spec"]["nodeSelector"] = {"workload": "trino"}
            message = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
            document["status"]["conditions"][0] |= {"message": message, "lastTransitionTime": "2026-11-20T11:46:00Z"}
    return [*objects, *_events(), *_others()]


def an_event(pod: str, source: str, reason: str, message: str, *, at: str, count: int = 1) -> dict[str, Any]:
    """Return an event about a pod; its instant is a time of the story's day."""
    namespace, _, name = pod.partition("/")
    stamp = f"2026-11-20T{at}Z"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{source}.{reason}", "namespace": namespace, "uid": f"e-{name}-{source}"},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": name},
        "reason": reason,
        "message": message,
        "type": "Warning" if reason.startswith("Failed") else "Normal",
        "source": {"component": source},
        "count": count,
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
    }


def a_waiting_pod(key: str, **spec: Any) -> dict[str, Any]:
    """Return a pod that the scheduler has refused; ``created``, ``reason`` and ``requests`` may be given."""
    namespace, _, name = key.partition("/")
    created, reason = spec.pop("created", "11:50:00"), spec.pop("reason", "Unschedulable")
    requests = spec.pop("requests", {"cpu": "1", "memory": "2Gi"})
    stamp = f"2026-11-20T{created}Z"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"pod-{name}", "creationTimestamp": stamp},
        "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": requests}}], **spec},
        "status": {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": reason,
                    "message": "0/3 nodes are available: 3 Insufficient cpu." if reason == "Unschedulable" else "",
                    "lastTransitionTime": stamp,
                }
            ],
        },
    }


def _events() -> Iterable[dict[str, Any]]:
    refused = "Failed to schedule pod, no instance type has enough resources, requirements=…, resources=…"
    for i in (0, 1):
        yield an_event(f"trino/worker-{i}", "karpenter", "FailedScheduling", refused, at="11:58:00", count=9)
        message = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
        yield an_event(f"trino/worker-{i}", "default-scheduler", "FailedScheduling", message, at="11:59:48", count=12)
    where = "Pod should schedule on: nodeclaim/general-x1"
    yield an_event("web/front-7d4-x2kq9", "karpenter", "Nominated", where, at="11:30:00")


def _others() -> Iterable[dict[str, Any]]:
    """Pods that wait for other reasons."""
    flex = {"karpenter.sh/nodepool": "flex"}
    for i in range(3):
        yield a_waiting_pod(f"batch/flex-{i}", nodeSelector=flex, created="11:56:00")
    yield a_waiting_pod("web/front-7d4-x2kq9", created="11:29:00")
    yield a_waiting_pod("web/gated-0", reason="SchedulingGated", schedulingGates=[{"name": "example.com/quota"}])
    term = {"matchExpressions": [{"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    yield a_waiting_pod("infra/pinned-0", affinity=affinity)
    yield a_waiting_pod("infra/host-0", nodeSelector={"kubernetes.io/hostname": "node-7"})


def story_document() -> dict[str, Any]:
    """Return the snapshot after the edits recorded."""
    return {"karptui": 1, "name": "story-d", "capturedAt": "2026-11-20T12:00:00Z", "objects": story_objects()}


def hostile_document(text: str) -> dict[str, Any]:
    """Return the snapshot with a text in everything that people can name or say."""
    document = story_document()
    for manifest in document["objects"]:
        if manifest["kind"] == "Pod" and manifest["metadata"]["namespace"] == "trino":
            manifest["metadata"]["name"] += text
            manifest["spec"]["nodeSelector"][text] = text
            manifest["status"]["conditions"][0]["message"] = text
        elif manifest["kind"] == "Event":
            manifest["message"] = text
            manifest["involvedObject"]["name"] += text
        elif manifest["kind"] in ("NodePool", "Node"):
            manifest["metadata"]["name"] += text
    return document


def story_snapshot(folder: Any, document: dict[str, Any] | None = None) -> Snapshot:
    """Return the snapshot, or another document, read from a file in a folder."""
    path = folder / "story-d.json"
    path.write_text(json.dumps(story_document() if document is None else document))
    return SnapshotReader().read([path], keeps_manifests=True)


def story_view(folder: Any, **evidence: Any) -> ClusterView:
    """Return the view of the snapshot, with further evidence by name."""
    snapshot = story_snapshot(folder)
    return ClusterView(
        state_of(snapshot.inventory), {}, evidence=Evidence(settings=snapshot.evidence.settings, **evidence)
    )
