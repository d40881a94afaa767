"""Messages and events of kube-scheduler and Karpenter in the demo, computed by karptui's own engines."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from karptui.sources.demo.world import Manifest, a_uid, event, key_of, tolerates, unschedulable
from tools.demo.machines import MINUTE_NS, Machine
from tools.demo.workloads import asks

_MAX_BLOCKED: Final = 40
_WORDS: Final = {"cpu": "Insufficient cpu", "memory": "Insufficient memory", "pods": "Too many pods"}


def said_by_scheduler(pod: Manifest, machines: Sequence[Machine]) -> str:
    """Return kube-scheduler's message about an unschedulable pod."""
    reasons: Counter[str] = Counter(_reason(pod, machine) for machine in machines)
    parts = ", ".join(
        f"{count} {reason}" for reason, count in sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
    )
    total = len(machines)
    return (
        f"0/{total} nodes are available: {parts}. preemption: 0/{total} nodes are available: "
        f"{total} Preemption is not helpful for scheduling."
    )


def _reason(pod: Manifest, machine: Machine) -> str:
    spec, node = pod["spec"], machine.node
    if node["spec"].get("unschedulable"):
        return "node(s) were unschedulable"
    taints = node["spec"].get("taints", ())
    if not tolerates(spec, taints):
        key = next(taint for taint in taints if not tolerates(spec, (taint,)))
        return f"node(s) had untolerated taint {{{key['key']}: {key.get('value', '')}}}"
    labels = node["metadata"]["labels"]
    if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
        return "node(s) didn't match Pod's node affinity/selector"
    asked = asks(pod)
    short = next((word for name, word in _WORDS.items() if machine.free[name] < asked[name]), "")
    # In the demo all devices are in use, and no node is in both zones of a pod with volumes in two zones.
    devices = (name for one in spec["containers"] for name in one["resources"]["requests"] if "/" in name)
    device = next(devices, "")
    if short or device:
        return short or f"Insufficient {device}"
    return "node(s) had volume node affinity conflict" if spec.get("volumes") else "node(s) were unschedulable"


def with_verdict(pod: Manifest, machines: Sequence[Machine], since_ns: int) -> Manifest:
    """Return a pending pod with the condition that kube-scheduler sets."""
    return unschedulable(pod, said_by_scheduler(pod, machines), since_ns)


def karpenter_events(
    rng: random.Random, answer: Mapping[str, Any], objects: Iterable[Manifest], now_ns: int
) -> list[Manifest]:
    """Return the events that Karpenter would publish, from the answer of ``karptui simulate --disruption``."""
    by_key = {key_of(one): one for one in objects}
    events = []
    blocked = 0
    for about, sentences in answer["events"].items():
        kind, _, key = about.partition("/")
        found = by_key.get((kind, key))
        if found is None:
            continue
        for sentence in sentences:
            reason, _, message = sentence.partition(": ")
            is_repeated = reason in ("DisruptionBlocked", "Unconsolidatable")
            blocked += is_repeated
            if is_repeated and blocked > _MAX_BLOCKED:
                continue
            at = now_ns - rng.randint(20, 14 * 60) * 10**9
            count = rng.randint(3, 40) if is_repeated else rng.randint(1, 6)
            events.append(
                event(
                    found,
                    reason,
                    message,
                    at,
                    uid=a_uid(rng),
                    type_="Warning" if reason == "FailedScheduling" else "Normal",
                    count=count,
                    first_ns=at - count * 2 * MINUTE_NS,
                )
            )
    return events
