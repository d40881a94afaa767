"""Pending pods, folded where their workload, their requests and what stands in their way are the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from karptui.disruption.origin import OriginIndex
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS
from karptui.pending.messages import SILENCE, Voices, with_condition
from karptui.pending.names import folded_name
from karptui.pending.remarks import Remark, Witness
from karptui.pending.turns import FAULTY, Place, Standing, Standings, Turn
from karptui.provisioning import PodExplanation

MOST_PLACES: Final = 3


class PendingGroup:
    """Pods that wait for the same reason; compared by identity.

    Args:
        key: Identity across refreshes.
        origin: ``Kind/namespace/name`` of what the pods come from.
        members: Each pod with how it stands and what was said about it, the oldest first.
        remarks: Where those who speak of them disagree.
        explanation: Why no NodePool and no node takes the first of them; None until it is worked out.
    """

    def __init__(
        self,
        key: str,
        origin: str,
        members: Sequence[tuple[Pod, Standing, Voices]],
        remarks: tuple[Remark, ...] = (),
        explanation: PodExplanation | None = None,
    ) -> None:
        self.key = key
        self.origin = origin
        self.members = tuple(members)
        self.remarks = remarks
        self.explanation = explanation

    def explained(self, explanation: PodExplanation) -> PendingGroup:
        """Return the same group with its explanation."""
        return PendingGroup(self.key, self.origin, self.members, self.remarks, explanation)

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """The pods, the oldest first."""
        return tuple(pod for pod, _, _ in self.members)

    @property
    def first(self) -> Pod:
        """The oldest pod, which stands for all."""
        return self.members[0][0]

    @property
    def standing(self) -> Standing:
        """How the first stands; the others alike, but for the node that they go to."""
        return self.members[0][1]

    @property
    def turn(self) -> Turn:
        """What they wait for."""
        return self.standing.turn

    @cached_property
    def voices(self) -> Voices:
        """The newest words of each speaker about any of the pods."""
        said = [voices for _, _, voices in self.members]
        return Voices(
            max((one.karpenter for one in said if one.karpenter is not None), key=lambda v: v.at_ns, default=None),
            max((one.scheduler for one in said if one.scheduler is not None), key=lambda v: v.at_ns, default=None),
        )

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The different places that the engine has for them."""
        found: dict[tuple[str, str, str], Place] = {}
        for _, standing, _ in self.members:
            if standing.place is not None:
                place = standing.place
                found.setdefault((place.node, place.nodepool, place.instance_type), place)
        return tuple(found.values())

    @cached_property
    def name(self) -> str:
        """All pods under one name."""
        return folded_name(self.first.namespace, [pod.name for pod in self.pods], self.origin.rpartition("/")[2])

    @property
    def since_ns(self) -> int:
        """Since when the oldest waits."""
        return waits_since(self.first)

    @property
    def is_faulty(self) -> bool:
        """Whether somebody has to do something."""
        return self.turn in FAULTY or bool(self.remarks)


def waits_since(pod: Pod) -> int:
    """Return since when a pod waits: nanoseconds since the epoch."""
    return pod.created_ns


def fold(
    pods: Iterable[Pod],
    standings: Standings,
    voices: dict[str, Voices],
    *,
    origins: OriginIndex,
    witness: Witness,
    now_ns: int,
) -> tuple[PendingGroup, ...]:
    """Return pods in groups, those that find no place first, then the largest.

    Args:
        pods: Pods without a node that runs them.
        standings: How each stands.
        voices: What events tell about them, by key.
        origins: Finds what they come from.
        witness: Compares what is said.
        now_ns: The instant: nanoseconds since the epoch.
    """
    found: dict[tuple[object, ...], list[tuple[Pod, Standing, Voices]]] = {}
    for pod in sorted(pods, key=lambda pod: (pod.created_ns or ABSENT_NS, pod.namespace, pod.name)):
        standing, said = standings.of(pod), with_condition(voices.get(pod.key, SILENCE), pod)
        found.setdefault(_cause(pod, standing, said, origins), []).append((pod, standing, said))
    groups: list[PendingGroup] = []
    taken: dict[str, int] = {}
    for members in found.values():
        pod, standing, said = members[0]
        origin = origins.of(pod)
        base = f"{origin}#{standing.turn.name}"
        taken[base] = taken.get(base, 0) + 1
        key = base if taken[base] == 1 else f"{base}{taken[base]}"
        remarks = witness.remarks(standing, said, waits_since(pod), now_ns)
        groups.append(PendingGroup(key, origin, members, remarks))
    groups.sort(key=lambda group: (group.turn not in FAULTY, not group.remarks, -len(group.pods), group.key))
    return tuple(groups)


def _cause(pod: Pod, standing: Standing, voices: Voices, origins: OriginIndex) -> tuple[object, ...]:
    said = voices.karpenter
    gates: object = standing.problems
    if standing.error is not None:
        gates = tuple((pool, rejection.gate) for pool, rejection in standing.error.rejections)
    return (
        origins.of(pod),
        tuple(sorted((name, amount.nano) for name, amount in pod.requests.items())),
        standing.turn,
        gates,
        said.reason if said is not None else "",
        pod.node_name,
    )
