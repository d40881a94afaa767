"""Pending pods that have room, but that something else keeps from starting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from karptui.kube.recent import LastAnswer
from karptui.kube.units import first_of, verb
from karptui.pending.holds import Holds
from karptui.pending.messages import NO_MESSAGES, messages_about, with_condition
from karptui.state.cluster import EMPTY, objects_of
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.whatif.situation import Situation

_MOST_NAMES: Final = 3
_PREMISES: Final[LastAnswer[tuple[str, ...]]] = LastAnswer()


def held_premises(situation: Situation) -> tuple[str, ...]:
    """Return the assumption that such pods start once they have a node, by what keeps them pending now."""
    return _PREMISES.get((situation.inventory,), lambda: tuple(_premises(situation)), equals=(situation.now_ns,))


def _premises(situation: Situation) -> Iterator[str]:
    inventory = situation.inventory
    pods = [pod for pod in inventory.pods if not pod.node_name and not pod.is_terminal]
    if not pods:
        return
    deltas = {kind: KindDelta(objects) for kind, objects in objects_of(inventory).items()}
    holds = Holds(reduce(EMPTY, Batch(deltas, inventory.unread)), situation.prepared)
    messages = messages_about(inventory.events, pods)
    held: defaultdict[str, list[str]] = defaultdict(list)
    for pod in pods:
        if (hold := holds.of(pod, with_condition(messages.get(pod.key, NO_MESSAGES), pod))) is not None:
            held[hold.code].append(pod.key)
    for code, keys in held.items():
        names, start = first_of(sorted(keys), _MOST_NAMES), verb(len(keys), "starts", "start")
        it_has, it = verb(len(keys), "it has", "they have"), verb(len(keys), "it", "they")
        yield f"{names} {start} once {it_has} a node, although {it} cannot now ({code})"
