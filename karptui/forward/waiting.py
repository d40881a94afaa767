"""Commands that wait for their replacements when a play begins: Karpenter keeps them in memory, objects tell of them.

A node is tainted and its NodeClaim marked, then the replacements are made, and once all are initialised the NodeClaim
is deleted. Where a replacement has gone, or a Karpenter that was started anew has forgotten the command, both marks are
taken away within seconds. A command has ten minutes, more where thousands of nodes are held, and ends when one of its
replacements is gone; a NodeClaim that does not register is deleted. Rules: ``queue.go`` and ``controller.go`` of
``pkg/controllers/disruption``, ``pkg/controllers/nodeclaim/lifecycle/liveness.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.disruption.termination import command_condition, is_commanded
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.node import Node
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND
from karptui.provisioning.state_node import DISRUPTION_REASON, StateNode, tracked

_LEAST_NS: Final = 600 * NS_PER_SECOND
_MOST_NS: Final = 3600 * NS_PER_SECOND
_BY_CANDIDATE_NS: Final = NS_PER_SECOND * 80 // 1000
"""How long a command may take, and how much of it each node of all commands counts: ``GetMaxRetryDuration``."""
_LAUNCH_NS: Final = 300 * NS_PER_SECOND
_REGISTER_NS: Final = 900 * NS_PER_SECOND
"""How long a NodeClaim may take until it is launched, and from then on until its node has joined."""
_MADE_WITHIN_NS: Final = 10 * NS_PER_SECOND
"""How long after the mark a NodeClaim is taken for a replacement: they are made right after it."""
_SKEW_NS: Final = NS_PER_SECOND
"""By how much the clocks of Karpenter, that marks, and of the API server, that stamps, may differ."""


class Running:
    """A command whose replacements are on their way."""

    def __init__(self, claims: Iterable[str], awaited: Iterable[str], began_ns: int, method: str = "") -> None:
        """Wait for replacements.

        Args:
            claims: Names of the NodeClaims that go in the end.
            awaited: Names of the NodeClaims that are not initialised yet.
            began_ns: When it began.
            method: What gave it; empty where that was before the play.
        """
        self.claims = tuple(claims)
        self.awaited = set(awaited)
        self.began_ns = began_ns
        self.method = method


def ends_ns(one: Running, running: Iterable[Running]) -> int:
    """Return when Karpenter gives a command up, as many nodes as commands hold now."""
    held = sum(len(other.claims) for other in running)
    return one.began_ns + min(max(held * _BY_CANDIDATE_NS, _LEAST_NS), _MOST_NS)


class Waiting(msgspec.Struct, frozen=True):
    """A node that a command holds."""

    node_name: str
    claim_name: str
    began_ns: int
    replacements: tuple[NodeClaim, ...]
    """Those that are still there."""

    @property
    def awaited(self) -> tuple[str, ...]:
        """Names of the NodeClaims that are to be initialised before the node goes."""
        return tuple(claim.name for claim in self.replacements if not claim.is_true("Initialized"))


def given_up_ns(claim: NodeClaim) -> int | None:
    """Return when Karpenter deletes a NodeClaim that does not launch or register; None of one that has."""
    registered, launched = claim.condition("Registered"), claim.condition("Launched")
    if launched is None or registered is None or registered.status == "True":
        return None
    since = (launched, _LAUNCH_NS) if launched.status != "True" else (registered, _REGISTER_NS)
    return None if since[0].last_transition_ns == ABSENT_NS else since[0].last_transition_ns + since[1]


def waiting(nodes: Iterable[Node], claims: Iterable[NodeClaim]) -> list[Waiting]:
    """Return the nodes that commands hold which have begun already.

    Whose replacement a NodeClaim is, it does not say: it is taken for one of the last command that began before it.
    """
    claims = tuple(claims)
    if not any(claim.is_true(DISRUPTION_REASON) for claim in claims):
        return []
    held: list[tuple[int, Node, NodeClaim]] = []
    for key, node, claim in tracked(nodes, claims):
        state = StateNode(key, node, claim)
        mark = command_condition(state) if is_commanded(state) else None
        if mark is not None and node is not None and claim is not None:
            held.append((mark.last_transition_ns, node, claim))
    names = {claim.name for _, _, claim in held}
    made: dict[int, list[NodeClaim]] = {}
    for claim in claims:
        begun = [mark_ns for mark_ns, _, _ in held if mark_ns <= claim.created_ns + _SKEW_NS]
        if begun and claim.name not in names and claim.created_ns - max(begun) <= _MADE_WITHIN_NS:
            made.setdefault(max(begun), []).append(claim)
    return [Waiting(node.name, claim.name, mark_ns, tuple(made.get(mark_ns, ()))) for mark_ns, node, claim in held]
