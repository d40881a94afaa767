"""Events and conditions of a cluster, folded by object and reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import NodeClaim, is_untried
from karptui.kube.group import group_by
from karptui.kube.objects import Condition, Event, Node
from karptui.kube.recent import LastAnswer
from karptui.kube.timestamps import ABSENT_NS
from karptui.session.cluster_view import ClusterView
from karptui.session.status import is_file

CONDITION: Final = "condition"
"""The source of what conditions tell."""
DELETED: Final = "Deleted"
"""Reason recorded when deletion begins."""


class EventEntry(msgspec.Struct, frozen=True):
    """Everything one source said about an object for one reason."""

    kind: str
    """Of the object: ``Node``, ``NodeClaim``, ``Pod``…"""
    object_key: str
    """``namespace/name``, or the name of a cluster-scoped object."""
    reason: str
    message: str
    """The newest."""
    first_ns: int
    last_ns: int
    """``ABSENT_NS`` if unknown."""
    source: str
    """Who said it; ``condition`` for a transition that the object itself records."""
    count: int = 1
    messages: tuple[str, ...] = ()
    """Every different message, the newest first."""
    is_warning: bool = False
    """Whether one of them is of the type ``Warning``."""
    condition: Condition | None = None
    """The object's own condition, if it is one."""

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return f"{self.kind}/{self.object_key}/{self.reason}/{self.source}"

    @property
    def is_transition(self) -> bool:
        """Whether the object itself records it."""
        return self.source == CONDITION


def folded(events: Iterable[Event]) -> tuple[EventEntry, ...]:
    """Return events folded by object, reason and source."""
    groups = group_by(events, lambda event: (event.involved_kind, _key(event), event.reason, event.source))
    return tuple(_fold(key, group) for key, group in groups.items())


def _key(event: Event) -> str:
    # Events about cluster-scoped objects have a namespace that is not the object's.
    if event.involved_namespace and event.involved_kind not in ("Node", "NodeClaim", "NodePool", "EC2NodeClass"):
        return f"{event.involved_namespace}/{event.involved_name}"
    return event.involved_name


def _fold(key: tuple[str, str, str, str], group: list[Event]) -> EventEntry:
    kind, object_key, reason, source = key
    group = sorted(group, key=lambda event: (event.last_ns, event.name), reverse=True)
    return EventEntry(
        kind=kind,
        object_key=object_key,
        reason=reason,
        message=group[0].message,
        first_ns=min((event.first_ns for event in group if event.first_ns), default=ABSENT_NS),
        last_ns=group[0].last_ns,
        source=source,
        count=sum(event.count for event in group),
        messages=tuple(dict.fromkeys(event.message for event in group)),
        is_warning=any(event.type == "Warning" for event in group),
    )


def transitions(item: Node | NodeClaim) -> Iterator[EventEntry]:
    """Yield an object's own history: creation, deletion, and conditions with a message."""
    if item.created_ns:
        pool = item.labels.get(NODEPOOL, "")
        yield _moment(item, "Created", f"for NodePool {pool}" if pool else "", item.created_ns)
    if item.is_deleting:
        yield _moment(item, DELETED, "its deletion began", item.deletion_ns)
    for condition in item.conditions:
        if _says_something(condition):
            text = condition.message or condition.reason
            message = "" if text == condition.type else text
            yield _moment(item, _word(condition), message, condition.last_transition_ns, condition)


def _moment(
    item: Node | NodeClaim, reason: str, message: str, at_ns: int, condition: Condition | None = None
) -> EventEntry:
    kind = "Node" if isinstance(item, Node) else "NodeClaim"
    messages = (message,) if message else ()
    return EventEntry(kind, item.key, reason, message, at_ns, at_ns, CONDITION, messages=messages, condition=condition)


def _says_something(condition: Condition) -> bool:
    if condition.status == "True":
        return True
    if condition.status == "Unknown" and condition.type != "Ready":
        return not is_untried(condition) and condition.reason != "NodeNotFound"  # not registered yet
    return not condition.is_good_when_false


def _word(condition: Condition) -> str:
    if condition.type == "Ready":
        return "Ready" if condition.status == "True" else "NotReady"
    return condition.type if condition.status == "True" else f"{condition.type}={condition.status}"


class Timeline:
    """Builds the rows of the Events screen, only if they have changed."""

    def __init__(self) -> None:
        self._entries: LastAnswer[tuple[EventEntry, ...]] = LastAnswer()
        self._folded: LastAnswer[tuple[EventEntry, ...]] = LastAnswer()
        self._entries_of_object: dict[str, tuple[Node | NodeClaim, tuple[EventEntry, ...]]] = {}

    def entries(self, view: ClusterView) -> tuple[EventEntry, ...]:
        """Return a row for every object and reason; the same object for the same events, nodes and claims."""
        state = view.state
        return self._entries.get((state.events, state.nodes, state.nodeclaims), lambda: self._built(view))

    def _built(self, view: ClusterView) -> tuple[EventEntry, ...]:
        state = view.state
        entries_of_object: dict[str, tuple[Node | NodeClaim, tuple[EventEntry, ...]]] = {}
        for kind, items in (("Node", state.nodes), ("NodeClaim", state.nodeclaims)):
            for name, item in items.items():
                before = self._entries_of_object.get(f"{kind}/{name}")
                entries_of_object[f"{kind}/{name}"] = (
                    before if before is not None and before[0] is item else (item, tuple(transitions(item)))
                )
        moments = (entry for _, entries in entries_of_object.values() for entry in entries)
        self._entries_of_object = entries_of_object
        of_statuses = folded(_events_of_statuses(view)) if is_file(view.statuses) else ()
        return (*self._folded.get((state.events,), lambda: folded(state.events.values())), *moments, *of_statuses)


def _events_of_statuses(view: ClusterView) -> Iterator[Event]:
    """Yield the reasons of failed and refused pods that only statuses show."""
    from karptui.session.status_events import events_of_pods, events_of_workloads  # noqa: PLC0415 - of files only

    failed = [pod for pod in view.state.pods.values() if pod.trouble.failure]
    for event in (*events_of_pods(view, failed), *events_of_workloads(view, 0)):
        yield replace(event, source=CONDITION, last_ns=event.first_ns)
