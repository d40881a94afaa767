"""A Job whose pods find no room, and the NodeClaim that Karpenter creates for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from karptui.sources.demo.machines import POOL, is_quiet, join, pool_of
from karptui.sources.demo.manifests import (
    LIFECYCLE,
    NOT_READY,
    UNREGISTERED,
    Manifest,
    a_suffix,
    a_uid,
    condition,
    key_of,
    labelled,
    metadata,
    pod_of,
    pod_spec,
    untainted,
    with_condition,
)
from karptui.sources.demo.play import Play
from karptui.sources.demo.pods import arrive, current, end_job
from karptui.sources.demo.world import World, asked, asks

NAMESPACE: Final = "data"
APP: Final = "backfill"
PODS: Final = 2
_MILLIS: Final = 250
_GIBIBYTE: Final = 1 << 30
"""With the one above, what requests are rounded down to."""
_SHARE: Final = 0.9
"""Of the room beside the DaemonSets that the pods take."""
_SELECTED: Final = ("karpenter.sh/nodepool", "karpenter.k8s.aws/instance-category")
_LAUNCHING_LABELS: Final = ("karpenter.sh/nodepool", "karpenter.k8s.aws/ec2nodeclass")
_KNOWN_ONCE_LAUNCHED: Final = ("providerID", "imageID", "capacity", "allocatable")


def launch(play: Play) -> None:
    """A backfill begins that no node has room for, and gets a machine like one that there is."""
    world = play.world
    models = [node for node in world.of("Node") if pool_of(node) == POOL and is_quiet(node)]
    for node in play.rng.sample(sorted(models, key=key_of), len(models)):
        claim = world.claim_of(node)
        job, pods = _backfill(play, node)
        if claim is None or any(_has_room(world, pods)):
            continue
        world.put(job)
        for one in pods:
            arrive(play, one)
        play.after(play.rng.uniform(2, 3), partial(_create, pods=pods, model=claim, node_model=node))
        play.after(play.rng.uniform(180, 300), partial(end_job, job=job))
        return


def _has_room(world: World, pods: Sequence[Manifest]) -> Iterator[bool]:
    """Yield for each node whether a pod may run there, at once or as soon as it is ready."""
    for node in world.of("Node"):
        ready = untainted(node, NOT_READY, UNREGISTERED)
        yield from (world.fits(one, ready) for one in pods)


def _room(world: World, node: Manifest) -> tuple[int, int]:
    """Return the millicores and bytes that a node like this has for pods."""
    taken = [asks(one) for one in world.daemons_on(node["metadata"]["name"])]
    millis, memory_bytes, _ = asked(node["status"]["allocatable"])
    return millis - sum(one[0] for one in taken), memory_bytes - sum(one[1] for one in taken)


def _backfill(play: Play, node: Manifest) -> tuple[Manifest, Sequence[Manifest]]:
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


def _create(play: Play, *, pods: Sequence[Manifest], model: Manifest, node_model: Manifest) -> None:
    """Karpenter creates a NodeClaim for pods that wait."""
    labels = {key: model["metadata"]["labels"][key] for key in _LAUNCHING_LABELS}
    meta = metadata(f"{POOL}-{a_suffix(play.rng)}", uid=a_uid(play.rng), created_ns=play.now_ns, labels=labels)
    inherited = {key: model["metadata"][key] for key in ("annotations", "ownerReferences") if key in model["metadata"]}
    daemons = play.world.daemons_on(node_model["metadata"]["name"])
    millis, memory_bytes, slots = (sum(amounts) for amounts in zip(*map(asks, (*pods, *daemons)), strict=True))
    requests = {"cpu": f"{millis}m", "memory": str(memory_bytes), "pods": str(slots)}
    made: Manifest = {
        **{key: model[key] for key in ("apiVersion", "kind")},
        "metadata": {**meta, **inherited, "generation": 1},
        "spec": {**model["spec"], "resources": {"requests": requests}},
        "status": {
            "conditions": [
                condition(kind, "Unknown", play.now_ns, reason="AwaitingReconciliation") for kind in LIFECYCLE
            ]
        },
    }
    play.world.put(made)
    for one in pods:
        waiting = current(play, one)
        if waiting is not None:
            message = f"Pod should schedule on: nodeclaim/{meta['name']}"
            play.world.say(waiting, "Nominated", message, play.now_ns)
    play.after(play.rng.uniform(3, 6), partial(_launched, made=made, model=model, node_model=node_model))


def _launched(play: Play, *, made: Manifest, model: Manifest, node_model: Manifest) -> None:
    claim = current(play, made)
    if claim is None:
        return
    status = {**claim["status"], **{key: model["status"][key] for key in _KNOWN_ONCE_LAUNCHED}}
    zone = model["metadata"]["labels"]["topology.kubernetes.io/zone"]
    status["providerID"] = f"aws:///{zone}/i-0{play.rng.getrandbits(64):016x}"
    claim = labelled({**claim, "status": status}, model["metadata"]["labels"])
    play.world.put(with_condition(claim, condition("Launched", "True", play.now_ns)))
    play.after(play.rng.uniform(14, 24), partial(join, made=made, node_model=node_model))
