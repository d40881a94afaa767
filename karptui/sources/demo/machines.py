"""What happens to machines: a launched one joins and becomes ready; a node is drained and removed."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from karptui.sources.demo.manifests import (
    DISRUPTED,
    NOT_READY,
    UNREGISTERED,
    Manifest,
    a_uid,
    condition,
    key_of,
    labelled,
    metadata,
    stamp,
    tainted,
    terminating,
    untainted,
    with_condition,
    without_condition,
)
from karptui.sources.demo.play import Play
from karptui.sources.demo.pods import current, daemon_pods, evict
from karptui.sources.demo.world import World, is_owned_by, is_protected

POOL: Final = "general"
FEWEST: Final = 3
"""Quiet nodes that the pool keeps."""


def pool_of(manifest: Manifest) -> str:
    """Return the NodePool of a node or claim."""
    return str(manifest["metadata"].get("labels", {}).get("karpenter.sh/nodepool", ""))


def is_quiet(node: Manifest) -> bool:
    """Whether nothing is going on with a node."""
    labels = node["metadata"]["labels"]
    ready = next((one for one in node["status"]["conditions"] if one["type"] == "Ready"), {"status": "Unknown"})
    return (
        labels.get("karpenter.sh/initialized") == "true"
        and ready["status"] == "True"
        and "deletionTimestamp" not in node["metadata"]
        and not node["metadata"].get("annotations")
        and not node["spec"].get("unschedulable")
        and not node["spec"].get("taints")
    )


def join(play: Play, *, made: Manifest, node_model: Manifest) -> None:
    """The kubelet of a launched claim registers its node, which is not ready yet."""
    claim = current(play, made)
    if claim is None or "deletionTimestamp" in claim["metadata"]:
        return
    name = f"ip-10-0-{play.rng.randint(128, 250)}-{play.rng.randint(4, 250)}.ec2.internal"
    labels = {
        **{key: value for key, value in node_model["metadata"]["labels"].items() if "karpenter.sh/init" not in key},
        **claim["metadata"]["labels"],
        "kubernetes.io/hostname": name,
        "karpenter.sh/registered": "true",
    }
    conditions = [one for one in node_model["status"]["conditions"] if one["type"] != "Ready"]
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


def _daemons(play: Play, *, node: Manifest) -> None:
    found = current(play, node)
    if found is not None:
        daemon_pods(play, found)


def become_ready(play: Play, *, node: Manifest) -> None:
    """A node that has joined is ready for pods."""
    found = current(play, node)
    if found is None or "deletionTimestamp" in found["metadata"]:
        return
    ready = condition("Ready", "True", play.now_ns, reason="KubeletReady", message="kubelet is posting ready status")
    found = labelled(
        untainted(with_condition(found, ready), NOT_READY, UNREGISTERED), {"karpenter.sh/initialized": "true"}
    )
    play.world.put(found)
    claim = play.world.claim_of(found)
    if claim is not None:
        claim = with_condition(claim, condition("Initialized", "True", play.now_ns))
        play.world.put(with_condition(claim, condition("Ready", "True", play.now_ns)))


def consolidate(play: Play) -> bool:
    """Karpenter removes the node of the pool that has least to do, if there is one whose pods fit elsewhere."""
    world = play.world
    candidates = [
        node
        for node in world.of("Node")
        if pool_of(node) == POOL
        and is_quiet(node)
        and not any(map(is_protected, world.pods_on(node["metadata"]["name"])))
    ]
    for node in sorted(candidates, key=lambda one: (len(world.pods_on(one["metadata"]["name"])), key_of(one))):
        if len(candidates) >= FEWEST and _fits_elsewhere(world, node):
            disrupt(play, node)
            return True
    return False


def _fits_elsewhere(world: World, node: Manifest) -> bool:
    """Whether each pod of a node has room on another; not all of them together, which seldom differs."""
    pods = (one for one in world.pods_on(node["metadata"]["name"]) if not is_owned_by(one, "DaemonSet"))
    return all(any(key_of(other) != key_of(node) for other in world.nodes_for(one)) for one in pods)


def disrupt(play: Play, node: Manifest) -> None:
    """Taint a node and say why; its drain begins shortly."""
    found = current(play, node)
    claim = play.world.claim_of(found) if found is not None else None
    if found is None or claim is None:
        return
    play.world.put(tainted(found, DISRUPTED))
    reason = condition("DisruptionReason", "True", play.now_ns, reason="Underutilized", message="Underutilized")
    play.world.put(with_condition(claim, reason))
    play.after(play.rng.uniform(5, 9), partial(terminate, node=node))


def terminate(play: Play, *, node: Manifest) -> None:
    """Delete a claim and its node, and drain it pod by pod."""
    found = current(play, node)
    claim = play.world.claim_of(found) if found is not None else None
    if found is None or claim is None:
        return
    for one in (found, claim):
        play.world.say(one, "DisruptionTerminating", "Disrupting Node: Underutilized", play.now_ns)
    play.world.put(terminating(found, play.now_ns, grace_seconds=0))
    draining = condition("Drained", "Unknown", play.now_ns, reason="Draining", message="Draining")
    play.world.put(with_condition(terminating(claim, play.now_ns, grace_seconds=0), draining))
    play.after(2.0, partial(drain, node=node))


def drain(play: Play, *, node: Manifest) -> None:
    """Evict the next pod of a node; when none is left, the machine goes. Protected pods hold it."""
    found = current(play, node)
    if found is None:
        return
    pods = [one for one in play.world.pods_on(found["metadata"]["name"]) if not is_owned_by(one, "DaemonSet")]
    movable = [one for one in pods if "deletionTimestamp" not in one["metadata"] and not is_protected(one)]
    if movable:
        play.world.say(movable[0], "Evicted", "Evicted pod: Underutilized", play.now_ns)
        evict(play, movable[0])
        play.after(play.rng.uniform(1.5, 3.5), partial(drain, node=node))
    elif pods:
        play.after(5.0, partial(drain, node=node))
    else:
        play.after(4.0, partial(_remove, node=node))


def _remove(play: Play, *, node: Manifest) -> None:
    found = current(play, node)
    if found is None:
        return
    claim = play.world.claim_of(found)
    for one in (*play.world.pods_on(found["metadata"]["name"]), found, *([claim] if claim is not None else [])):
        play.world.remove(one)


def relax(play: Play) -> None:
    """A quiet node's claim becomes consolidatable, and another's stops being so as a pod lands on it."""
    for claim in sorted(play.world.of("NodeClaim"), key=key_of):
        if pool_of(claim) != POOL or "deletionTimestamp" in claim["metadata"] or play.rng.random() > 0.02:
            continue
        is_set = any(one["type"] == "Consolidatable" for one in claim["status"]["conditions"])
        if is_set:
            touched = {**claim, "status": {**claim["status"], "lastPodEventTime": stamp(play.now_ns)}}
            play.world.put(without_condition(touched, "Consolidatable"))
        elif any(one["type"] == "Initialized" and one["status"] == "True" for one in claim["status"]["conditions"]):
            play.world.put(with_condition(claim, condition("Consolidatable", "True", play.now_ns)))
