"""Launches that fail for want of capacity."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted, span
from karptui.kube.event import Event
from karptui.kube.timestamps import NS_PER_SECOND

_REASON: Final = "InsufficientCapacityError"
_HOUR_NS: Final = 3600 * NS_PER_SECOND
_MANY: Final = 3
_LONGEST: Final = 160
_SUFFIX: Final = re.compile(r"-[a-z0-9]{5}$")


def _find(context: AdviceContext) -> Iterator[Finding]:
    by_pool: dict[str, list[Event]] = {}
    for event in context.inventory.events:
        if event.reason == _REASON and event.involved_kind == "NodeClaim" and event.last_ns > context.now_ns - _HOUR_NS:
            by_pool.setdefault(_SUFFIX.sub("", event.involved_name), []).append(event)
    for pool in context.pools:
        events = by_pool.get(pool.name, [])
        times = sum(event.count for event in events)
        if times < _MANY:
            continue
        last = max(events, key=lambda event: event.last_ns)
        said = last.message if len(last.message) <= _LONGEST else f"{last.message[:_LONGEST]}…"
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool),),
            fact=f"Launches of {pool.name} failed {counted(times, 'time')} for want of capacity within the last hour, "
            f"last {span(context.now_ns - last.last_ns)} ago: {said}",
        )


RULE: Final = Rule(
    id="claim-no-capacity",
    title="launches fail for want of capacity",
    what="Events tell of three or more launches of a NodePool that failed with InsufficientCapacityError within the "
    "last hour.",
    why="The claim is deleted, the offering is left out for three minutes, and the pods are planned for anew; a pool "
    "with few types or zones goes round in circles. Pods only fall back to another NodePool when no type of this one "
    "is left.",
    source="pkg/controllers/nodeclaim/lifecycle/launch.go; pkg/cache/unavailableofferings.go of the AWS provider",
    remedy="Allow more types, zones or capacity types, or give the pods a NodePool to fall back to.",
    find=_find,
)
