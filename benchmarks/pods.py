"""Made-up pods in the JSON of an API server: about 5.5 kB each; one in twenty-five has its own workload."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

JSON = dict[str, Any]
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SECONDS = 20 * 24 * 3600


def pages(count: int, *, limit: int = 500, workloads: int = 4000, seed: int = 1) -> Iterator[bytes]:
    """Yield pages of a list of ``count`` pods in random order, as JSON without whitespace."""
    rnd = random.Random(seed)
    for start in range(0, count, limit):
        items = [pod(number, rnd, workloads) for number in range(start, min(start + limit, count))]
        body = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
        yield json.dumps(body, separators=(",", ":")).encode()


def pod(number: int, rnd: random.Random, workloads: int) -> JSON:
    """Return a pod of a random workload: running with its resources reported, or (one in fifty) pending."""
    workload = rnd.randrange(workloads)
    shared = random.Random(workload)
    kind = shared.choices(("ReplicaSet", "StatefulSet", "DaemonSet", "Job"), (70, 10, 10, 10))[0]
    app, team = f"service-{workload:04d}", f"team-{workload % 120:03d}"
    revision = f"{shared.getrandbits(38):010x}"
    suffix = str(number) if kind == "StatefulSet" else "".join(rnd.choices(_LETTERS, k=5))
    name = f"{app}-{suffix}" if kind == "StatefulSet" else f"{app}-{revision}-{suffix}"
    created = rnd.randrange(_SECONDS)
    is_pending = rnd.random() < 0.02
    token = "".join(rnd.choices(_LETTERS, k=5))
    spec = _spec(shared, app, team, name, token)
    labels = {
        "app.kubernetes.io/instance": app,
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/version": f"1.{workload % 40}.{workload % 7}",
        "pod-template-hash": revision,
        "team": team,
    }
    if kind == "StatefulSet":
        labels |= {"apps.kubernetes.io/pod-index": suffix, "statefulset.kubernetes.io/pod-name": name}
    if not is_pending:
        spec["nodeName"] = f"ip-10-{rnd.randrange(20)}-{rnd.randrange(250)}-7.eu-west-1.compute.internal"
        if kind == "DaemonSet":
            spec["affinity"] = {"nodeAffinity": _pinned(spec["nodeName"])}
    address = f"10.{rnd.randrange(64)}.{rnd.randrange(256)}.{rnd.randrange(256)}"
    return {
        "metadata": {
            "name": name,
            "generateName": f"{app}-{revision}-",
            "namespace": team,
            "uid": f"{rnd.getrandbits(32):08x}-7d1f-4c6e-9a0b-{rnd.getrandbits(48):012x}",
            "resourceVersion": str(10_000_000 + number),
            "generation": 1,
            "creationTimestamp": _instant(created),
            "labels": labels,
            "annotations": {"prometheus.io/port": "8080", "kubectl.kubernetes.io/restartedAt": _instant(workload)},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
                    "kind": kind,
                    "name": f"{app}-{revision}",
                    "uid": f"{workload:08x}-7d1f-4c6e-9a0b-000000000000",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": _managed_fields(app, _instant(created)),
        },
        "spec": spec,
        "status": _pending(created) if is_pending else _running(number, spec, created, address),
    }


def _pinned(node_name: str) -> JSON:
    """Return the node affinity by which the DaemonSet controller pins a pod to its node."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def _spec(shared: random.Random, app: str, team: str, name: str, token: str) -> JSON:
    token_volume = f"kube-api-access-{token}"
    containers = [_container(shared, app, team, token_volume)]
    if shared.random() < 0.3:
        containers.append(_container(shared, "proxy", team, token_volume))
    spec: JSON = {
        "volumes": [
            {"name": "config", "configMap": {"name": app, "defaultMode": 420}},
            {
                "name": token_volume,
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    ],
                    "defaultMode": 420,
                },
            },
        ],
        "containers": containers,
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": app,
        "serviceAccount": app,
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    if shared.random() < 0.1:
        spec["volumes"].append({"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}})
    if shared.random() < 0.3:
        spec["nodeSelector"] = {"kubernetes.io/arch": shared.choice(["amd64", "arm64"])}
    if shared.random() < 0.3:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app.kubernetes.io/name": app}},
            }
        ]
    if shared.random() < 0.15:
        spec["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
                            ]
                        }
                    ]
                }
            }
        }
    return spec


def _container(shared: random.Random, name: str, team: str, token_volume: str) -> JSON:
    memory = shared.choice(["128Mi", "512Mi", "1Gi", "4Gi"])
    probe = {
        "httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    return {
        "name": name,
        "image": f"images.example.com/{team}/{name}:1.{shared.randrange(40)}.0",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "DB_HOST", "value": f"{name}.{team}.svc.cluster.local:5432"},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
            {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": name, "key": "db-password"}}},
        ],
        "resources": {
            "limits": {"memory": memory},
            "requests": {"cpu": shared.choice(["50m", "250m", "1", "2"]), "memory": memory},
        },
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/app"},
            {
                "name": token_volume,
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            },
        ],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True},
    }


def _running(number: int, spec: JSON, created: int, address: str) -> JSON:
    return {
        "phase": "Running",
        "conditions": [
            _condition("PodReadyToStartContainers", created + 3),
            _condition("Initialized", created),
            _condition("Ready", created + 7),
            _condition("ContainersReady", created + 7),
            _condition("PodScheduled", created),
        ],
        "hostIP": address,
        "hostIPs": [{"ip": address}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": _instant(created + 1),
        "containerStatuses": [
            {
                "name": container["name"],
                "state": {"running": {"startedAt": _instant(created + 3)}},
                "lastState": {},
                "ready": True,
                "restartCount": 0,
                "image": container["image"],
                "imageID": f"{container['image']}@sha256:{number % 4000:064x}",
                "containerID": f"containerd://{number:064x}",
                "started": True,
                "allocatedResources": container["resources"]["requests"],
                "resources": container["resources"],
            }
            for container in spec["containers"]
        ],
        "qosClass": "Burstable",
    }


def _pending(created: int) -> JSON:
    message = "0/5000 nodes are available: 5000 Insufficient cpu. preemption: 0/5000 nodes are available."
    scheduled = _condition("PodScheduled", created) | {"status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [scheduled], "qosClass": "Burstable"}


def _condition(type_: str, second: int) -> JSON:
    return {"type": type_, "status": "True", "lastProbeTime": None, "lastTransitionTime": _instant(second)}


def _instant(second: int) -> str:
    minutes, seconds = divmod(second, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"2026-11-{days % 28 + 1:02d}T{hours:02d}:{minutes:02d}:{seconds:02d}Z"


def _managed_fields(app: str, time: str) -> list[JSON]:
    container: JSON = {
        f"f:{field}": {} for field in ("env", "image", "imagePullPolicy", "livenessProbe", "name", "resources")
    }
    owned = ("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName", "securityContext", "volumes")
    spec: JSON = {f"f:{field}": {} for field in owned} | {"f:containers": {f'k:{{"name":"{app}"}}': container}}
    status: JSON = {
        f"f:{field}": {} for field in ("conditions", "containerStatuses", "hostIP", "phase", "podIP", "startTime")
    }
    return [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        for manager, fields in (("kube-controller-manager", {"f:spec": spec}), ("kubelet", {"f:status": status}))
    ]
