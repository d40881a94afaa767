"""Pods that Karpenter keeps nominating and kube-scheduler keeps refusing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import ref_text
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, span, verb
from karptui.disruption.nominations import NOMINATED
from karptui.kube.timestamps import NS_PER_SECOND

_LONG_NS: Final = 10 * 60 * NS_PER_SECOND
_FEWEST: Final = 3


def _find(context: AdviceContext) -> Iterator[Finding]:
    waiting = {pod.key: pod for pod in context.prepared.pending}
    events = [
        event
        for event in context.inventory.events
        if event.reason == NOMINATED
        and event.involved_kind == "Pod"
        and f"{event.involved_namespace}/{event.involved_name}" in waiting
        and event.count >= _FEWEST
        and 0 < event.first_ns < context.now_ns - _LONG_NS
        and event.last_ns > context.now_ns - _LONG_NS
    ]
    if not events:
        return
    pods = [waiting[f"{event.involved_namespace}/{event.involved_name}"] for event in events]
    owners = tuple(dict.fromkeys(map(context.owner_of, pods)))
    said = next((pod.scheduled_message for pod in pods if pod.scheduled_message), "")
    quoted = f' kube-scheduler: "{said}"' if said else ""
    yield Finding(
        severity=Severity.WARNING,
        objects=owners,
        fact=f"{counted(len(pods), 'pod')} ({listed(map(ref_text, owners))}) {verb(len(pods), 'has', 'have')} been "
        f"nominated up to {max(event.count for event in events):,} times over "
        f"{span(context.now_ns - min(event.first_ns for event in events))} ({events[0].message}) and still "
        f"{verb(len(pods), 'waits', 'wait')}: Karpenter thinks they fit, and a nominated node is not "
        f"disrupted.{quoted}",
    )


RULE: Final = Rule(
    id="pod-nominated-limbo",
    title="nominated again and again",
    what="A pending pod has been nominated three times or more, for more than ten minutes and within the last ten.",
    why="Karpenter found room on an existing node or on one in flight, and kube-scheduler does not agree: a scheduler "
    "plugin, a volume limit, ports, or a node that offers less than was promised. No further node is made for the pod, "
    "and each nomination keeps its node from being disrupted for some twenty seconds more.",
    source="pkg/controllers/provisioning/scheduling/events.go and Nominate in pkg/controllers/state/statenode.go",
    remedy="Compare both verdicts on the Pending screen; what kube-scheduler names is what Karpenter does not see.",
    find=_find,
)
