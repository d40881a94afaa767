"""The demo's nodes: launches for pending pods, and removals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from karptui.sources.demo.pods import arrive, current, daemon_pods, end_job, evict
from karptui.sources.demo.world import (
    DISRUPTED,
    LIFECYCLE,
    NOT_READY,
    UNREGISTERED,
    DemoPlay,
    DemoWorld,
    Manifest,
    a_suffix,
    a_uid,
    asked,
    asks,
    condition,
    is_owned_by,
    key_of,
    labelled,
    metadata,
    pod_of,
    pod_spec,
    stamp,
    tainted,
    terminating,
    untainted,
    with_condition,
    without_condition,
)

POOL: Final = "general"
FEWEST: Final = 3
"""Quiet nodes that the pool keeps."""


def pool_of(manifest: Manifest) -> str:
    """Return the NodePool of a node or claim."""
    return str(manifest["metadata"].get("labels", {}).get("karpenter.sh/nodepool", ""))


def is_quiet(node: Manifest) -> bool:
    """Whether nothing is going on with a node."""
    labels = node["metadata"]["labels"]
    ready = next(
        (condition for condition in node["status"]["conditions"] if condition["type"] == "Ready"), {"status": "Unknown"}
    )
    return (
        labels.get("karpenter.sh/initialized") == "true"
        and ready["status"] == "True"
        and "deletionTimestamp" not in node["metadata"]
        and not node["metadata"].get("annotations")
        and not node["spec"].get("unschedulable")
        and not node["spec"].get("taints")
    )


def join(play: DemoPlay, *, manifest: Manifest, node_model: Manifest) -> None:
    """Register the node of a launched claim, as its kubelet does; it is not ready yet."""
    claim = current(play, manifest)
    if claim is None or "deletionTimestamp" in claim["metadata"]:
        return
    name = f"ip-10-0-{play.rng.randint(128, 250)}-{play.rng.randint(4, 250)}.ec2.internal"
    labels = {
        **{key: value for key, value in node_model["metadata"]["labels"].items() if "karpenter.sh/init" not in key},
        **claim["metadata"]["labels"],
        "kubernetes.io/hostname": name,
        "karpenter.sh/registered": "true",
    }
    conditions = [entry for entry in node_model["status"]["conditions"] if entry["type"] != "Ready"]
    ready = condition("Ready", "False", play.now_ns, reason="KubeletNotReady", message="cni plugin not initialized")
    status: dict[str, Any] = {**node_model["status"], "conditions": [*conditions, ready]}
    address = name.partition(".")[0].removeprefix("ip-").replace("-", ".")
    status["addresses"] = [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]
    node: Manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(name, uid=a_uid(play.rng), created_ns=play.now_ns, labels=labels),
        "spec": {"providerID": claim["status"]["providerID"]},
        "status": status,
    }
    node = play.world.put(tainted(node, NOT_READY))
    claim = {**claim, "status": {**claim["status"], "nodeName": name}}
    claim = with_condition(claim, condition("Registered", "True", play.now_ns))
    unready = condition("Initialized", "Unknown", play.now_ns, reason="NodeNotReady", message="Node status is NotReady")
    play.world.put(with_condition(claim, unready))
    play.after(2.0, partial(_daemons, node=node))
    play.after(play.rng.uniform(12, 20), partial(become_ready, node=node))


def _daemons(play: DemoPlay, *, node: Manifest) -> None:
    if (manifest := current(play, node)) is not None:
        daemon_pods(play, manifest)


def become_ready(play: DemoPlay, *, node: Manifest) -> None:
    """Make a node that has joined ready for pods."""
    manifest = current(play, node)
    if manifest is None or "deletionTimestamp" in manifest["metadata"]:
        return
    ready = condition("Ready", "True", play.now_ns, reason="KubeletReady", message="kubelet is posting ready status")
    manifest = labelled(
        untainted(with_condition(manifest, ready), NOT_READY, UNREGISTERED), {"karpenter.sh/initialized": "true"}
    )
    play.world.put(manifest)
    if (claim := play.world.claim_of(manifest)) is not None:
        claim = with_condition(claim, condition("Initialized", "True", play.now_ns))
        play.world.put(with_condition(claim, condition("Ready", "True", play.now_ns)))


def consolidate(play: DemoPlay) -> bool:
    """Remove the least used node of the NodePool whose pods fit elsewhere, if there is one."""
    world = play.world
    candidates = [
        node
        for node in world.of("Node")
        if pool_of(node) == POOL
        and is_quiet(node)
        and not any(map(world.is_held, world.pods_on(node["metadata"]["name"])))
    ]
    for node in sorted(candidates, key=lambda c: (len(world.pods_on(c["metadata"]["name"])), key_of(c))):
        if len(candidates) >= FEWEST and _fits_elsewhere(world, node):
            disrupt(play, node)
            return True
    return False


def _fits_elsewhere(world: DemoWorld, node: Manifest) -> bool:
    """Whether each pod of a node has room on another; not all of them together, which seldom differs."""
    pods = (pod for pod in world.pods_on(node["metadata"]["name"]) if not is_owned_by(pod, "DaemonSet"))
    return all(any(key_of(other) != key_of(node) for other in world.nodes_for(pod)) for pod in pods)


def disrupt(play: DemoPlay, node: Manifest) -> None:
    """Taint a node and publish the reason; its drain begins shortly."""
    manifest = current(play, node)
    claim = play.world.claim_of(manifest) if manifest is not None else None
    if manifest is None or claim is None:
        return
    play.world.put(tainted(manifest, DISRUPTED))
    reason = condition("DisruptionReason", "True", play.now_ns, reason="Underutilized", message="Underutilized")
    play.world.put(with_condition(claim, reason))
    play.after(play.rng.uniform(5, 9), partial(terminate, node=node))


def terminate(play: DemoPlay, *, node: Manifest) -> None:
    """Delete a claim and its node, and drain it pod by pod."""
    manifest = current(play, node)
    claim = play.world.claim_of(manifest) if manifest is not None else None
    if manifest is None or claim is None:
        return
    for changed in (manifest, claim):
        play.world.say(changed, "DisruptionTerminating", "Disrupting Node: Underutilized", play.now_ns)
    play.world.put(terminating(manifest, play.now_ns, grace_seconds=0))
    draining = condition("Drained", "Unknown", play.now_ns, reason="Draining", message="Draining")
    play.world.put(with_condition(terminating(claim, play.now_ns, grace_seconds=0), draining))
    play.after(2.0, partial(drain, node=node))


def drain(play: DemoPlay, *, node: Manifest) -> None:
    """Evict the next pod of a node; when none is left, the machine goes. Pods that may not be evicted hold it."""
    manifest = current(play, node)
    if manifest is None:
        return
    pods = [pod for pod in play.world.pods_on(manifest["metadata"]["name"]) if not is_owned_by(pod, "DaemonSet")]
    movable = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"] and not play.world.is_held(pod)]
    if movable:
        play.world.say(movable[0], "Evicted", "Evicted pod: Underutilized", play.now_ns)
        evict(play, movable[0])
        play.after(play.rng.uniform(1.5, 3.5), partial(drain, node=node))
    elif pods:
        play.after(5.0, partial(drain, node=node))
    else:
        play.after(4.0, partial(_remove, node=node))


def _remove(play: DemoPlay, *, node: Manifest) -> None:
    manifest = current(play, node)
    if manifest is None:
        return
    claim = play.world.claim_of(manifest)
    for changed in (
        *play.world.pods_on(manifest["metadata"]["name"]),
        manifest,
        *([claim] if claim is not None else []),
    ):
        play.world.remove(changed)


def relax(play: DemoPlay) -> None:
    """Make a quiet node's claim consolidatable, and another's no longer, as a pod lands on it."""
    for claim in sorted(play.world.of("NodeClaim"), key=key_of):
        if pool_of(claim) != POOL or "deletionTimestamp" in claim["metadata"] or play.rng.random() > 0.02:
            continue
        is_set = any(entry["type"] == "Consolidatable" for entry in claim["status"]["conditions"])
        if is_set:
            touched = {**claim, "status": {**claim["status"], "lastPodEventTime": stamp(play.now_ns)}}
            play.world.put(without_condition(touched, "Consolidatable"))
        elif any(
            entry["type"] == "Initialized" and entry["status"] == "True" for entry in claim["status"]["conditions"]
        ):
            play.world.put(with_condition(claim, condition("Consolidatable", "True", play.now_ns)))


NAMESPACE: Final = "data"
APP: Final = "backfill"
PODS: Final = 2
_MILLIS: Final = 250
_GIBIBYTE: Final = 1 << 30
"""With the one above, what requests are rounded down to."""
_SHARE: Final = 0.9
"""Share of a node's room, without DaemonSets, that the pods use."""
_SELECTED: Final = ("karpenter.sh/nodepool", "karpenter.k8s.aws/instance-category")
_LAUNCHING_LABELS: Final = ("karpenter.sh/nodepool", "karpenter.k8s.aws/ec2nodeclass")
_KNOWN_ONCE_LAUNCHED: Final = ("providerID", "imageID", "capacity", "allocatable")


def launch(play: DemoPlay) -> None:
    """Start a backfill that fits on no node, and launch a node like an existing one for it."""
    world = play.world
    models = [node for node in world.of("Node") if pool_of(node) == POOL and is_quiet(node)]
    for node in play.rng.sample(sorted(models, key=key_of), len(models)):
        claim = world.claim_of(node)
        job, pods = _backfill(play, node)
        if claim is None or any(_has_room(world, pods)):
            continue
        world.put(job)
        for pod in pods:
            arrive(play, pod)
        play.after(play.rng.uniform(2, 3), partial(_create, pods=pods, model=claim, node_model=node))
        play.after(play.rng.uniform(180, 300), partial(end_job, job=job))
        return


def _has_room(world: DemoWorld, pods: Sequence[Manifest]) -> Iterator[bool]:
    """Yield for each node whether a pod fits there, now or once it is ready."""
    for node in world.of("Node"):
        ready = untainted(node, NOT_READY, UNREGISTERED)
        yield from (world.fits(pod, ready) for pod in pods)


def _room(world: DemoWorld, node: Manifest) -> tuple[int, int]:
    """Return the millicores and bytes that a node like this has for pods."""
    taken = [asks(daemon) for daemon in world.daemons_on(node["metadata"]["name"])]
    millis, memory_bytes, _ = asked(node["status"]["allocatable"])
    return millis - sum(amounts[0] for amounts in taken), memory_bytes - sum(amounts[1] for amounts in taken)


def _backfill(play: DemoPlay, node: Manifest) -> tuple[Manifest, Sequence[Manifest]]:
    """Return a Job, and pods of it that together fill a machine like a node."""
    millis, memory_bytes = (int(amount * _SHARE / PODS) for amount in _room(play.world, node))
    rng = play.rng
    labels = {"app": APP}
    job: Manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(
            f"{APP}-{a_suffix(rng)}", uid=a_uid(rng), created_ns=play.now_ns, namespace=NAMESPACE, labels=labels
        ),
        "spec": {"parallelism": PODS, "completions": PODS},
    }
    spec = pod_spec(
        cpu=f"{millis // _MILLIS * _MILLIS}m",
        memory=f"{memory_bytes // _GIBIBYTE}Gi",
        image="registry.example/data/backfill:v9",
        node_selector={key: node["metadata"]["labels"][key] for key in _SELECTED},
        restartPolicy="Never",
    )
    job["spec"]["template"] = {"metadata": {"labels": labels}, "spec": spec}
    return job, [pod_of(job, play.rng, play.now_ns) for _ in range(PODS)]


def _create(play: DemoPlay, *, pods: Sequence[Manifest], model: Manifest, node_model: Manifest) -> None:
    """Karpenter creates a NodeClaim for pods that wait."""
    inherited = {key: model["metadata"][key] for key in ("annotations", "ownerReferences") if key in model["metadata"]}
    daemons = play.world.daemons_on(node_model["metadata"]["name"])
    millis, memory_bytes, slots = (sum(amounts) for amounts in zip(*map(asks, (*pods, *daemons)), strict=True))
    requests = {"cpu": f"{millis}m", "memory": str(memory_bytes), "pods": str(slots)}
    manifest = _new_claim(play, model, inherited, {**model["spec"], "resources": {"requests": requests}})
    for pod in pods:
        if (waiting := current(play, pod)) is not None:
            message = f"Pod should schedule on: nodeclaim/{manifest['metadata']['name']}"
            play.world.say(waiting, "Nominated", message, play.now_ns)
    play.after(play.rng.uniform(3, 6), partial(launched, manifest=manifest, model=model, node_model=node_model))


def _new_claim(play: DemoPlay, model: Manifest, inherited: Mapping[str, Any], spec: Manifest) -> Manifest:
    """Create a NodeClaim of the NodePool of another one, before anything is known of its instance."""
    labels = {key: model["metadata"]["labels"][key] for key in _LAUNCHING_LABELS}
    name = f"{pool_of(model)}-{a_suffix(play.rng)}"
    meta = metadata(name, uid=a_uid(play.rng), created_ns=play.now_ns, labels=labels)
    unknown = [condition(kind, "Unknown", play.now_ns, reason="AwaitingReconciliation") for kind in LIFECYCLE]
    return play.world.put(
        {
            **{key: model[key] for key in ("apiVersion", "kind")},
            "metadata": {**meta, **inherited, "generation": 1},
            "spec": spec,
            "status": {"conditions": unknown},
        }
    )


def launched(play: DemoPlay, *, manifest: Manifest, model: Manifest, node_model: Manifest) -> None:
    """EC2 has given an instance like another; its node joins some seconds later."""
    claim = current(play, manifest)
    if claim is None:
        return
    status = {**claim["status"], **{key: model["status"][key] for key in _KNOWN_ONCE_LAUNCHED}}
    zone = model["metadata"]["labels"]["topology.kubernetes.io/zone"]
    status["providerID"] = f"aws:///{zone}/i-0{play.rng.getrandbits(64):016x}"
    claim = labelled({**claim, "status": status}, model["metadata"]["labels"])
    play.world.put(with_condition(claim, condition("Launched", "True", play.now_ns)))
    play.after(play.rng.uniform(14, 24), partial(join, manifest=manifest, node_model=node_model))


SOLD_OUT_POOL: Final = "gpu"
NO_CAPACITY: Final = (
    "creating instance, insufficient capacity, with fleet error(s), InsufficientInstanceCapacity: We currently do not "
    "have sufficient {type} capacity in the Availability Zone you requested ({zone})."
)


def try_in_vain(play: DemoPlay) -> None:
    """Create a NodeClaim without available capacity, and delete it at once."""
    world = play.world
    model = next((manifest for manifest in world.of("NodeClaim") if pool_of(manifest) == SOLD_OUT_POOL), None)
    waiting = [manifest for manifest in world.of("Pod") if _is_for_sold_out(manifest)]
    if model is None or not waiting:
        return
    manifest = _new_claim(play, model, {}, model["spec"])
    name = manifest["metadata"]["name"]
    world.say(waiting[-1], "Nominated", f"Pod should schedule on: nodeclaim/{name}", play.now_ns)
    play.after(2.5, partial(_refused, manifest=manifest, waiting=waiting[-1]))


def _is_for_sold_out(pod: Manifest) -> bool:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    return "nvidia.com/gpu" in requests and "nodeName" not in pod["spec"]


def _refused(play: DemoPlay, *, manifest: Manifest, waiting: Manifest) -> None:
    error = NO_CAPACITY.format(type="g5.2xlarge", zone="us-east-1a")
    name = manifest["metadata"]["name"]
    messages = (
        (manifest, f"NodeClaim {name} event: {error}"),
        (waiting, f"NodeClaim {name} nominated for this pod failed to launch: {error}"),
    )
    for about, message in messages:
        play.world.say(about, "InsufficientCapacityError", message, play.now_ns, type_="Warning")
    play.world.remove(manifest)
