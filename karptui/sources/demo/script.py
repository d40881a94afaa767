"""The demo's actions from its first second on."""

from __future__ import annotations

from functools import partial
from typing import Final

from karptui.kube.timestamps import NS_PER_SECOND, parse_timestamp
from karptui.sources.demo.machines import (
    POOL,
    become_ready,
    consolidate,
    drain,
    is_quiet,
    join,
    launch,
    launched,
    pool_of,
    relax,
    try_in_vain,
)
from karptui.sources.demo.play import DemoPlay
from karptui.sources.demo.pods import roll_out, schedule, start_ci_job
from karptui.sources.demo.world import Manifest, key_of

THROTTLED: Final = "RequestLimitExceeded"
JOINING_NS: Final = 600 * NS_PER_SECOND
FOLLOWING: Final = "media"
"""Namespace of the pods whose node is launching."""


def begin(play: DemoPlay) -> None:
    """Continue the actions that the recording has begun, and schedule new ones for as long as it runs."""
    _go_on(play)
    play.after(2.0, start_ci_job)
    play.after(11.0, launch)
    play.after(25.0, _rotate)
    play.every(9, 20, start_ci_job)
    play.every(7, 15, roll_out)
    play.every(90, 150, _rotate)
    play.every(20, 40, relax)
    play.every(170, 200, try_in_vain)


def _rotate(play: DemoPlay) -> None:
    """Have a machine go, and another come later."""
    if consolidate(play):
        play.after(play.rng.uniform(20, 40), launch)


def _go_on(play: DemoPlay) -> None:
    """Continue the launches and removals in the recording."""
    world = play.world
    quiet = sorted((m for m in world.of("Node") if pool_of(m) == POOL and is_quiet(m)), key=key_of)
    models = iter(quiet)
    for claim in sorted(world.of("NodeClaim"), key=key_of):
        if claim["status"].get("nodeName"):
            continue
        node = _like(world.of("Node"), claim) or next(models)
        if claim["status"].get("providerID"):
            play.after(9.0, partial(join, manifest=claim, node_model=node))
        else:
            # What EC2 throttles comes through once it takes requests again.
            seconds = 70.0 if any(one["reason"] == THROTTLED for one in claim["status"]["conditions"]) else 2.0
            model = world.claim_of(node)
            assert model is not None
            play.after(seconds, partial(launched, manifest=claim, model=model, node_model=node))
    for pod in world.of("Pod"):
        if pod["metadata"]["namespace"] == FOLLOWING and "nodeName" not in pod["spec"]:
            play.after(1.0, partial(schedule, manifest=pod))
    for node in world.of("Node"):
        if "deletionTimestamp" in node["metadata"]:
            play.after(4.0, partial(drain, node=node))
        elif pool_of(node) and _is_joining(node, play.now_ns):
            play.after(14.0, partial(become_ready, node=node))


def _is_joining(node: Manifest, now_ns: int) -> bool:
    """Whether a node will be initialized soon; a node that has been waiting for minutes will not."""
    age_ns = now_ns - parse_timestamp(node["metadata"]["creationTimestamp"])
    return node["metadata"]["labels"].get("karpenter.sh/initialized") != "true" and age_ns < JOINING_NS


def _like(nodes: list[Manifest], claim: Manifest) -> Manifest | None:
    """Return a node of the claim's instance type."""
    wanted = claim["metadata"]["labels"].get("node.kubernetes.io/instance-type")
    return next((n for n in nodes if n["metadata"]["labels"]["node.kubernetes.io/instance-type"] == wanted), None)
