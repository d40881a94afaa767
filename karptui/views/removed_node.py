"""Why a node was removed: lines, and values for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from karptui.aws.money import per_hour_text, saved_text
from karptui.kube.objects import Event
from karptui.kube.units import clock_text, counted, first_of, instant_text
from karptui.session.removed_node import EvictedPods, RemovedNode
from karptui.views.churn.replacements import TABLE
from karptui.views.churn.sentences import replacement_sentences
from karptui.views.instants import instant_value
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

_MOST_NAMES = 5


def removed_lines(removed: RemovedNode, now_ns: int) -> Iterator[Pieces]:
    """Yield the history of a removed node: its life, the command, cost, its pods, and Karpenter's messages."""
    yield (("The node is gone.", Tone.STRONG),)
    if removed.namesakes > 1:
        yield ((f"{removed.namesakes} removed nodes had this name; this is the last of them.", Tone.NORMAL),)
    yield from replacement_sentences(removed.replaced, now_ns)
    if not removed.was_recorded:
        text = "It was removed while nothing was recorded: the time is the last at which it was seen."
        yield ((text, Tone.WARNING),)
    yield from (((text, Tone.NORMAL),) for text in _facts(removed))
    if removed.evicted:
        yield ()
        yield (("Pods moved off it, and the nodes of their owners' new pods", Tone.STRONG),)
        yield from (((_evicted_text(pods), Tone.NORMAL),) for pods in removed.evicted)
    if removed.conditions or removed.events:
        yield ()
        yield (("What Karpenter reported", Tone.STRONG),)
        yield from (((_condition_text(*condition), Tone.NORMAL),) for condition in removed.conditions)
        # Karpenter reports the same events on a node and its NodeClaim.
        newest = {(event.reason, event.message): event for event in reversed(removed.events)}
        yield from (((event_line(event), Tone.NORMAL),) for event in reversed(newest.values()))


def _facts(removed: RemovedNode) -> Iterator[str]:
    if removed.method:
        begun = removed.replaced.life.commanded_ns
        yield f"method: {removed.method}" + (f", decided {instant_text(begun)}" if begun else "")
    if removed.together:
        names = first_of([clean(life.node or life.claim) for life in removed.together], _MOST_NAMES)
        yield f"the same command removed {counted(len(removed.together), 'more node')}: {names}"
    if removed.price_per_hour is not None:
        yield f"it cost {per_hour_text(removed.price_per_hour)}" + _saved(removed)
    if removed.deadline_ns:
        drained = "the deadline ended its drain" if removed.was_forced else "the drain ended before its deadline"
        yield f"{drained}, {instant_text(removed.deadline_ns)}"


def _saved(removed: RemovedNode) -> str:
    saved = removed.saved_per_hour
    if saved is None:
        return ""
    of = "the command" if removed.together else "its removal"
    return f"; {of} {saved_text(saved)}" if saved >= 0 else f"; {of} added {per_hour_text(-saved)}"


def _evicted_text(pods: EvictedPods) -> str:
    places = [f"{clean(node)} ({count})" for node, count in pods.nodes]
    places += [f"{pods.pending} pending"] if pods.pending else []
    kind, _, name = pods.owner.partition("/")
    where = first_of(places, _MOST_NAMES) if places else "no new pod within 10m"
    return f"  {counted(len(pods.pods), 'pod')} of {clean(kind)} {clean(name)}: {where}"


def _condition_text(type_: str, reason: str, message: str) -> str:
    return f"  condition {clean(type_)}" + (f" ({clean(reason)})" if reason != type_ else "") + f": {clean(message)}"


def event_line(event: Event) -> str:
    """Return an event about a node or NodeClaim as one line."""
    return f"  {clock_text(event.last_ns)}  {clean(event.involved_kind)}  {clean(event.reason)}: {clean(event.message)}"


def removed_values(removed: RemovedNode, now_ns: int) -> dict[str, Any]:
    """Return the removal as plain values."""
    return {
        "gone": True,
        **TABLE.values(removed.replaced, now_ns),
        "events": [event_values(event) for event in removed.events],
        "method": removed.method or None,
        "commanded": instant_value(removed.replaced.life.commanded_ns),
        "candidates": [life.claim for life in removed.together],
        "conditions": [
            {"type": type_, "reason": reason, "message": message} for type_, reason, message in removed.conditions
        ],
        "evicted": [
            {
                "owner": pods.owner,
                "pods": list(pods.pods),
                "new_pods_on": dict(pods.nodes),
                "new_pods_pending": pods.pending,
            }
            for pods in removed.evicted
        ],
        "price_per_hour": removed.price_per_hour,
        "command_saves_per_hour": removed.saved_per_hour,
        "deadline": instant_value(removed.deadline_ns),
        "ended_by_deadline": removed.was_forced,
        "removed_nodes_of_this_name": removed.namesakes,
        "removal_was_recorded": removed.was_recorded,
    }


def event_values(event: Event) -> dict[str, Any]:
    """Return an event as plain values."""
    return {
        "at": instant_value(event.last_ns),
        "kind": event.involved_kind,
        "reason": event.reason,
        "message": event.message,
    }
