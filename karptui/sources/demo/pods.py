"""The demo's pods: Deployments that roll out and grow, Jobs, and CI jobs that keep the nodes they land on."""

from __future__ import annotations

import random
from functools import partial
from typing import Final

from karptui.sources.demo.world import (
    DemoPlay,
    DemoWorld,
    Manifest,
    a_suffix,
    a_uid,
    bound,
    is_owned_by,
    is_protected,
    key_of,
    metadata,
    pod,
    pod_of,
    pod_spec,
    running,
    terminating,
    unschedulable,
)

NAMESPACE: Final = "gitlab"
NODE_POOL: Final = "runners"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"


def ci_job(rng: random.Random, number: int, created_ns: int) -> tuple[Manifest, Manifest]:
    """Return a Job and its protected pod, of a pipeline by number."""
    labels = {"app": "ci", "pipeline": str(number)}
    name = f"ci-{number}"
    job: Manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(name, uid=a_uid(rng), created_ns=created_ns, namespace=NAMESPACE, labels=labels),
        "spec": {"backoffLimit": 0},
    }
    spec = pod_spec(
        cpu=rng.choice(("500m", "1", "2")),
        memory=rng.choice(("2Gi", "4Gi", "6Gi")),
        image="registry.example/ci/runner:v17.5",
        tolerations=({"key": "ci", "operator": "Exists", "effect": "NoSchedule"},),
        node_selector={"karpenter.sh/nodepool": NODE_POOL},
        restartPolicy="Never",
    )
    annotations = {DO_NOT_DISRUPT: "true"}
    job["spec"]["template"] = {"metadata": {"labels": dict(labels), "annotations": dict(annotations)}, "spec": spec}
    return job, pod_of(job, rng, created_ns)


FIRST_PIPELINE: Final = 4800
MAX_CI_PODS: Final = 18
RETRY_SECONDS: Final = 5.0
NOT_READY_TAINT: Final = "karpenter.sh/unregistered"


def current(play: DemoPlay, manifest: Manifest) -> Manifest | None:
    """Return the current version of an object, None if it was deleted or replaced by one of the same name."""
    now = play.world.get(*key_of(manifest))
    return now if now is not None and now["metadata"]["uid"] == manifest["metadata"]["uid"] else None


def arrive(play: DemoPlay, manifest: Manifest) -> None:
    """Create a pod, and let the scheduler look for a node."""
    play.world.put(manifest)
    play.after(1.0, partial(schedule, manifest=manifest))


def schedule(play: DemoPlay, *, manifest: Manifest) -> None:
    """Bind a pod to a node that has room for it, now or as soon as there is one."""
    waiting = current(play, manifest)
    if waiting is None or "nodeName" in waiting["spec"]:
        return
    node = _choose(play.world, waiting)
    if node is None:
        if not waiting["status"].get("conditions"):
            total = len(play.world.of("Node"))
            message = f"0/{total} nodes are available: {total} nodes without room or not allowed."
            play.world.put(unschedulable(waiting, message, play.now_ns))
        play.after(RETRY_SECONDS, partial(schedule, manifest=manifest))
        return
    play.world.put(bound(waiting, node["metadata"]["name"], play.now_ns))
    play.after(play.rng.uniform(3, 7), partial(_run, manifest=manifest))


def _choose(world: DemoWorld, waiting: Manifest) -> Manifest | None:
    fitting = list(world.nodes_for(waiting))
    if not fitting:
        return None
    if is_protected(waiting):
        # CI jobs go where their images are: to the node that already has the most of them.
        return max(fitting, key=lambda node: (_protected_count(world, node), node["metadata"]["name"]))
    return world.rng.choice(sorted(fitting, key=key_of))


def _protected_count(world: DemoWorld, node: Manifest) -> int:
    return sum(map(is_protected, world.pods_on(node["metadata"]["name"])))


def _run(play: DemoPlay, *, manifest: Manifest) -> None:
    starting = current(play, manifest)
    if starting is not None and "deletionTimestamp" not in starting["metadata"]:
        play.world.put(running(starting, play.now_ns))


def start_ci_job(play: DemoPlay) -> None:
    """Start a job of a pipeline; its pod protects the node it lands on until it ends."""
    world = play.world
    open_jobs = [manifest for manifest in world.of("Pod") if manifest["metadata"].get("labels", {}).get("app") == "ci"]
    if len(open_jobs) >= MAX_CI_PODS:
        return
    number = FIRST_PIPELINE + play.rng.randrange(10**5)
    job, manifest = ci_job(play.rng, number, play.now_ns)
    world.put(job)
    arrive(play, manifest)
    play.after(play.rng.uniform(60, 240), partial(end_job, job=job))


def end_job(play: DemoPlay, *, job: Manifest) -> None:
    """Clear a Job away with its pods, when it has done its work."""
    uid = job["metadata"]["uid"]
    owned = (m for m in play.world.of("Pod") if uid in (it["uid"] for it in m["metadata"].get("ownerReferences", ())))
    for manifest in (*owned, job):
        if (present := current(play, manifest)) is not None:
            play.world.remove(present)


def roll_out(play: DemoPlay) -> None:
    """Replace one of the pods of a Deployment."""
    candidates = [
        manifest
        for manifest in play.world.of("Pod")
        if manifest["status"]["phase"] == "Running" and manifest["metadata"]["namespace"] in ("web", "shop", "teams")
    ]
    evict(play, play.rng.choice(sorted(candidates, key=key_of)))


def evict(play: DemoPlay, running_pod: Manifest) -> None:
    """End a pod with its grace; its controller makes another."""
    manifest = current(play, running_pod)
    if manifest is None or "deletionTimestamp" in manifest["metadata"]:
        return
    play.world.put(terminating(manifest, play.now_ns))
    is_stateful = is_owned_by(manifest, "StatefulSet")
    if not is_stateful:
        arrive(play, successor(play, manifest))
    play.after(play.rng.uniform(4, 9), partial(_end_pod, ended=manifest, is_stateful=is_stateful))


def _end_pod(play: DemoPlay, *, ended: Manifest, is_stateful: bool) -> None:
    manifest = current(play, ended)
    if manifest is None:
        return
    play.world.remove(manifest)
    if is_stateful:
        # A StatefulSet waits for the name to be free.
        arrive(play, successor(play, ended))


def successor(play: DemoPlay, before: Manifest) -> Manifest:
    """Return the pod that a controller makes in place of another."""
    meta = before["metadata"]
    is_stateful = is_owned_by(before, "StatefulSet")
    name = meta["name"] if is_stateful else f"{meta['name'].rpartition('-')[0]}-{a_suffix(play.rng)}"
    spec = {key: value for key, value in before["spec"].items() if key != "nodeName"}
    fresh = metadata(
        name,
        uid=a_uid(play.rng),
        created_ns=play.now_ns,
        namespace=meta["namespace"],
        labels=meta["labels"],
        annotations=meta.get("annotations"),
    )
    return pod({**fresh, "ownerReferences": meta["ownerReferences"]}, spec)


def daemon_pods(play: DemoPlay, node: Manifest) -> None:
    """Create and bind the DaemonSet pods of a node that has joined."""
    labels = node["metadata"]["labels"]
    for daemonset in play.world.of("DaemonSet"):
        selector = daemonset["spec"]["template"]["spec"].get("nodeSelector", {})
        probe = {**node, "spec": {**node["spec"], "taints": _lasting(node)}}
        manifest = pod_of(daemonset, play.rng, play.now_ns)
        if any(labels.get(key) != value for key, value in selector.items()) or not play.world.fits(manifest, probe):
            continue
        play.world.put(bound(manifest, node["metadata"]["name"], play.now_ns))
        play.after(play.rng.uniform(3, 8), partial(_run, manifest=manifest))


def _lasting(node: Manifest) -> list[dict[str, str]]:
    """Return the taints that a node keeps once it is ready."""
    passing = ("node.kubernetes.io/not-ready", NOT_READY_TAINT)
    return [taint for taint in node["spec"].get("taints", ()) if taint["key"] not in passing]
