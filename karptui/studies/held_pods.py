"""Pending pods that have room, but that something else keeps from starting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator
from typing import Final

from karptui.forward.durations import observed
from karptui.forward.launching import is_stuck
from karptui.kube.recent import LastAnswer
from karptui.kube.units import first_of, verb
from karptui.pending.holds import Holds
from karptui.pending.messages import NO_MESSAGES, messages_about, with_condition
from karptui.state.cluster import EMPTY, objects_of
from karptui.state.reducer import Batch, KindDelta, reduce
from karptui.whatif.situation import Situation

_MOST_NAMES: Final = 3
_HELD: Final[LastAnswer[dict[str, list[str]]]] = LastAnswer()


def held_premises(situation: Situation, never_bound: Container[str] = ()) -> Iterator[str]:
    """Yield the assumption that such pods start once they have a node, by what keeps them pending now.

    Args:
        never_bound: Pods, ``namespace/name``, that get no node: nothing is assumed of them.
    """
    held = _HELD.get((situation.inventory,), lambda: _held(situation), equals=(situation.now_ns,))
    for code, keys in held.items():
        if bound := sorted(key for key in keys if key not in never_bound):
            names, start = first_of(bound, _MOST_NAMES), verb(len(bound), "starts", "start")
            it_has, it = verb(len(bound), "it has", "they have"), verb(len(bound), "it", "they")
            yield f"{names} {start} once {it_has} a node, although {it} cannot now ({code})"


def placement_premises(situation: Situation) -> tuple[str, ...]:
    """Return the assumptions that pods, new nodes and joined nodes start, although they do not now."""
    claims = situation.inventory.nodeclaims
    durations = observed(claims)
    stuck = [claim.node_name or claim.name for claim in claims if is_stuck(claim, durations, situation.now_ns)]
    names, have = first_of(sorted(stuck), _MOST_NAMES), verb(len(stuck), "it has", "they have")
    becomes = f"{names} {verb(len(stuck), 'becomes', 'become')} ready, although {have} been uninitialized for long"
    return (*situation.premises, *([becomes] if stuck else ()), *held_premises(situation))


def _held(situation: Situation) -> dict[str, list[str]]:
    """Return the keys of such pods by what keeps them pending."""
    inventory = situation.inventory
    pods = [pod for pod in inventory.pods if not pod.node_name and not pod.is_terminal]
    if not pods:
        return {}
    deltas = {kind: KindDelta(objects) for kind, objects in objects_of(inventory).items()}
    holds = Holds(reduce(EMPTY, Batch(deltas, inventory.unread)), situation.prepared)
    messages = messages_about(inventory.events, pods)
    held: defaultdict[str, list[str]] = defaultdict(list)
    for pod in pods:
        if (hold := holds.of(pod, with_condition(messages.get(pod.key, NO_MESSAGES), pod))) is not None:
            held[hold.code].append(pod.key)
    return held
