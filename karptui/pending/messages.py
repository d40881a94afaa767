"""What Karpenter and the scheduler have said about a pod: its events, and its PodScheduled condition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.kube.objects import Event
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS

NOMINATED: Final = "Nominated"
FAILED: Final = "FailedScheduling"
_TARGETS: Final = "Pod should schedule on: "


class PodMessage(msgspec.Struct, frozen=True, gc=False):
    """The newest message about a pod."""

    reason: str
    message: str
    at_ns: int
    """When it was last sent; ``ABSENT_NS`` if unknown."""
    count: int = 1
    """Number of times it was sent."""
    is_condition: bool = False
    """Whether it is the pod's PodScheduled condition instead of an event."""

    @property
    def targets(self) -> tuple[tuple[str, str], ...]:
        """Kind in lower case and name of what Karpenter nominated the pod to: ``nodeclaim`` and ``node``."""
        if self.reason != NOMINATED or not self.message.startswith(_TARGETS):
            return ()
        parts = (part.partition("/") for part in self.message.removeprefix(_TARGETS).split(", "))
        return tuple((kind, name) for kind, _, name in parts if name)


class PodMessages(msgspec.Struct, frozen=True):
    """Who said what about one pod."""

    karpenter: PodMessage | None = None
    scheduler: PodMessage | None = None


NO_MESSAGES: Final = PodMessages()


def messages_about(events: Iterable[Event], pods: Iterable[Pod]) -> dict[str, PodMessages]:
    """Return messages from events about pods, by ``namespace/name``."""
    schedulers = {pod.key: pod.template.scheduler_name for pod in pods}
    newest: dict[tuple[str, bool], Event] = {}
    for event in events:
        if event.involved_kind != "Pod":
            continue
        key = f"{event.involved_namespace}/{event.involved_name}"
        is_karpenter = "karpenter" in event.source
        if key not in schedulers:
            continue
        is_scheduler = event.reason == FAILED or "scheduler" in event.source or event.source == schedulers[key]
        if not (is_karpenter or is_scheduler):
            continue
        newest_before = newest.get((key, is_karpenter))
        if newest_before is None or (event.last_ns, event.name) > (newest_before.last_ns, newest_before.name):
            newest[key, is_karpenter] = event
    messages: dict[str, PodMessages] = {}
    for (key, is_karpenter), event in newest.items():
        message = PodMessage(event.reason, event.message, event.last_ns, event.count)
        before = messages.get(key, NO_MESSAGES)
        messages[key] = (
            PodMessages(message, before.scheduler) if is_karpenter else PodMessages(before.karpenter, message)
        )
    return messages


def with_condition(messages: PodMessages, pod: Pod) -> PodMessages:
    """Return the same with the pod's condition, if the scheduler has no newer event."""
    message = messages.scheduler
    if not pod.scheduled_reason or (message is not None and message.at_ns >= pod.scheduled_ns):
        return messages
    condition = PodMessage(
        pod.scheduled_reason, pod.scheduled_message, pod.scheduled_ns or ABSENT_NS, is_condition=True
    )
    return PodMessages(messages.karpenter, condition)
