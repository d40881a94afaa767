"""When a pile of objects was taken, as well as it can be told from them."""

from __future__ import annotations

from typing import Any, Final

from karptui.kube.timestamps import ABSENT_NS, parse_timestamp

_FIELDS: Final = frozenset(
    {
        "creationTimestamp",
        "lastTransitionTime",
        "lastHeartbeatTime",
        "lastProbeTime",
        "lastUpdateTime",
        "lastTimestamp",
        "firstTimestamp",
        "lastObservedTime",
        "eventTime",
        "startTime",
        "startedAt",
        "finishedAt",
        "lastScheduleTime",
        "lastPodEventTime",
        "completionTime",
        "time",
    }
)
"""Fields that say when something has happened. Deadlines, such as a pod's deletionTimestamp, lie in the future."""
_PASSED_OVER: Final = frozenset({"annotations", "labels", "spec", "data"})


def newest_timestamp_ns(value: Any) -> int:
    """Return the latest instant at which something had happened; nanoseconds since the epoch, 0 where none is found."""
    newest = ABSENT_NS
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, list):
            pending.extend(current)
        elif isinstance(current, dict):
            for key, part in current.items():
                if isinstance(part, dict | list):
                    if key not in _PASSED_OVER:
                        pending.append(part)
                elif key in _FIELDS and isinstance(part, str):
                    newest = max(newest, _instant_ns(part))
    return newest


def _instant_ns(text: str) -> int:
    try:
        return parse_timestamp(text)
    except ValueError:
        return ABSENT_NS
