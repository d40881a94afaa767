"""Commands that wait for their replacements when a play begins: Karpenter keeps them in memory, objects tell of them.

A node is tainted and its NodeClaim marked, then the replacements are made, and once all are initialised the NodeClaim
is deleted. Where a replacement has gone, or a Karpenter that was started anew has forgotten the command, both marks are
taken away within seconds. Rules: ``pkg/controllers/disruption/queue.go`` and ``controller.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.disruption.termination import command_condition, is_commanded
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.node import Node
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import DISRUPTION_REASON, StateNode, tracked

_MADE_WITHIN_NS: Final = 10 * NS_PER_SECOND
"""How long after the mark a NodeClaim is taken for a replacement: they are made right after it."""
_SKEW_NS: Final = NS_PER_SECOND
"""By how much the clocks of Karpenter, that marks, and of the API server, that stamps, may differ."""


class Waiting(msgspec.Struct, frozen=True):
    """A node that a command holds."""

    node_name: str
    claim_name: str
    replacements: tuple[NodeClaim, ...]
    """Those that are still there."""

    @property
    def awaited(self) -> tuple[str, ...]:
        """Names of the NodeClaims that are to be initialised before the node goes."""
        return tuple(claim.name for claim in self.replacements if not claim.is_true("Initialized"))


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
    return [Waiting(node.name, claim.name, tuple(made.get(mark_ns, ()))) for mark_ns, node, claim in held]
