"""Expirations spread over time: which nodes to replace early, and when, so that few nodes expire in any hour.

A NodeClaim keeps the expireAfter that it was created with, and no budget delays its expiration
(``pkg/controllers/nodeclaim/expiration/controller.go``). Nodes that were created together expire together; a node that
is replaced early expires expireAfter later than that, so that its whole future moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.timestamps import HOUR_NS
from karptui.kube.units import counted, instant_text, verb
from karptui.solve.answer import Effort, Solved, Tried
from karptui.solve.question import GoalQuestion
from karptui.whatif.edits import RemoveNode
from karptui.whatif.scenario import Replay

_APPROXIMATED: Final = (
    "hours count from now: 60 minutes that span two of them may have twice as many expirations",
    "replacing early is deleting: Karpenter drains the node under PodDisruptionBudgets, and awaits no replacement",
    "the what-if of the answer removes all of these nodes at once",
)
_PERMANENT: Final = (
    "another expireAfter in the NodePool: it drifts all nodes, and existing nodes keep their own",
    "NodePools with different expireAfter for the same pods",
)


def find(question: GoalQuestion) -> Solved:
    """Return the answer to the goal."""
    most, now_ns = question.count("most"), question.base.now_ns
    pool_name = question.text("nodepool")
    pool = question.pool("nodepool").name if pool_name else ""
    expiring = [
        claim
        for claim in question.base.inventory.nodeclaims
        if not claim.is_deleting and claim.expires_ns is not None and pool in ("", claim.labels.get(NODEPOOL))
    ]
    whose = f"NodePool {pool}" if pool else "all NodePools"
    question.asked = f"at most {counted(most, 'expiration')} an hour in {whose}"
    by_hour = hours_of(expiring, now_ns)
    worst = max(map(len, by_hour.values()), default=0)
    now = question.now(Replay.PENDING)
    early, left = spread(by_hour, most)
    parts = [
        f"{instant_text(now_ns + hour * HOUR_NS)}: replace {', '.join(late.node_name or late.name for late in claims)}"
        for hour, claims in sorted(early.items())
    ]
    moved = [claim for claims in early.values() for claim in claims]
    best = Tried(
        parts=tuple(parts),
        outcome=f"{counted(len(moved), 'node')} replaced early, at most {most} an hour",
        edits=tuple(RemoveNode(claim.node_name or claim.name) for claim in moved),
        figures=now,
        is_enough=not left,
    )
    because = f"at most {worst} of {counted(len(expiring), 'node')} expire in an hour" if worst <= most else ""
    if left:
        because = f"{left} {verb(left, 'node expires', 'nodes expire')} before any hour has room to replace them"
    return Solved(
        replay=Replay.PENDING,
        now=now,
        best=best if moved else None,
        runner_up=None,
        is_reached=not left,
        because=because,
        effort=Effort(
            tried=1,
            all=1,
            how=f"{counted(len(expiring), 'node')} by the hour of expiration, each moved to the last hour with room",
            not_tried=_PERMANENT,
        ),
        approximated=_APPROXIMATED,
        not_modelled=("nodes that are launched or removed meanwhile for other reasons",),
    )


def hours_of(claims: Sequence[NodeClaim], now_ns: int) -> dict[int, list[NodeClaim]]:
    """Return NodeClaims by the hour from now in which they expire; the first hour has those that are due."""
    by_hour: dict[int, list[NodeClaim]] = defaultdict(list)
    for claim in sorted(claims, key=lambda late: (late.expires_ns or 0, late.name)):
        by_hour[max(((claim.expires_ns or 0) - now_ns) // HOUR_NS, 0)].append(claim)
    return dict(by_hour)


def spread(by_hour: Mapping[int, Sequence[NodeClaim]], most: int) -> tuple[dict[int, list[NodeClaim]], int]:
    """Return the NodeClaims to replace early by hour, and the number of those without an hour to do so.

    From the last hour on, what exceeds an hour moves to the last earlier hour with room: as few move as possible.
    """
    early: dict[int, list[NodeClaim]] = {}
    waiting: list[NodeClaim] = []
    for hour in range(max(by_hour, default=-1), -1, -1):
        claims_of_hour = by_hour.get(hour, ())
        room = max(most - len(claims_of_hour), 0)
        if room and waiting:
            early[hour], waiting = waiting[:room], waiting[room:]
        waiting += claims_of_hour[most:]
    return early, len(waiting)
