"""Blockers in the form of ``karptui blockers -o json``."""

from __future__ import annotations

from typing import Any, Final

from karptui.disruption.blocker import Blocker
from karptui.disruption.command import Method
from karptui.disruption.outlook import Outcome
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp

_METHODS: Final = tuple(Method)


def blocker_json(blocker: Blocker, without: Outcome, recent_pods: int) -> dict[str, Any]:
    """Return one blocker.

    Args:
        blocker: The blocker.
        without: What would become of the node without it.
        recent_pods: Pods that came to the node in the last hour, those of DaemonSets left out.
    """
    return {
        "node": blocker.node_name,
        "nodeClaim": blocker.claim_name,
        "nodePool": blocker.pool_name,
        "pricePerHour": blocker.price_per_hour,
        "methods": {
            **{str(method): method in blocker.blocks for method in _METHODS},
            "Drain": blocker.blocks_drain,
        },
        "code": str(blocker.code),
        "scope": str(blocker.scope),
        "object": blocker.object_ref,
        "owner": blocker.owner,
        "origin": blocker.origin,
        "value": blocker.value,
        "since": _instant(blocker.since_ns),
        "until": _instant(blocker.until_ns),
        "message": blocker.message,
        "wanted": blocker.is_wanted,
        "reportedByKarpenter": blocker.is_reported,
        "quotedAt": _instant(blocker.quoted_ns),
        "wouldGoWithout": str(without),
        "podsInLastHour": recent_pods,
    }


def _instant(instant_ns: int | None) -> str | None:
    return None if instant_ns is None else format_timestamp(instant_ns // NS_PER_SECOND * NS_PER_SECOND)
