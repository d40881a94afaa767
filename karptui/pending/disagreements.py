"""Where Karpenter, the scheduler and the engine disagree about a pending pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from karptui.aws.launch_refusals import LaunchRefusal
from karptui.karpenter.instance_type import error_words
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.node import Node
from karptui.kube.objects import condition_of
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND
from karptui.kube.units import age_text, first_of
from karptui.kube.volumes import ONE_POD
from karptui.pending.causes import ENGINE, SILENT, Cause, Diagnosis, PodDestination, gone_node
from karptui.pending.messages import FAILED, NOMINATED, PodMessage, PodMessages
from karptui.provisioning.volumes import VolumeIndex
from karptui.state.cluster import ClusterState

PATIENCE_NS: Final = 300 * NS_PER_SECOND
"""Maximum start time of a nominated node."""
SHORT_PATIENCE_NS: Final = 120 * NS_PER_SECOND
"""How long Karpenter and the scheduler may know of different states."""
LAUNCH_REFUSED: Final = "launch refused"
NODE_OF_VOLUME_GONE: Final = "volume's node gone"
VOLUME_IN_USE: Final = "volume in use"
HELD_VOLUME: Final = frozenset({NODE_OF_VOLUME_GONE, VOLUME_IN_USE})
"""Disagreements about a volume that kube-scheduler considers and Karpenter does not."""
_STAGES: Final = (("Initialized", "Initializing"), ("Registered", "Registering"), ("Launched", "Launching"))


class Disagreement(msgspec.Struct, frozen=True):
    """One disagreement."""

    short: str
    """A few words for a column."""
    text: str


def held_volume(pod: Pod, state: ClusterState, volumes: VolumeIndex) -> Disagreement | None:
    """Return the volume of a pod that keeps kube-scheduler, but not Karpenter, from placing it; None without one.

    Args:
        pod: A pending pod.
        state: Has the local volumes, and the nodes that they are on.
        volumes: Has the claims that other pods use.
    """
    gone = gone_node(pod, state)
    if gone is not None:
        claim, node = gone
        return Disagreement(NODE_OF_VOLUME_GONE, f"its local volume {claim} is on node {node}, which does not exist")
    used = volumes.exclusive_user(pod)
    if used is not None:
        claim, user = used
        return Disagreement(VOLUME_IN_USE, f"pod {user.key} uses its volume {claim}, which is {ONE_POD}")
    return None


class Nominations:
    """Finds the node of a nomination.

    Args:
        nodes: By name.
        claims: By name.
        refusals: Launches that EC2 refused and Karpenter still remembers, the oldest first.
        has_karpenter_events: Whether Karpenter's events are visible at all.
    """

    def __init__(
        self,
        nodes: Mapping[str, Node],
        claims: Mapping[str, NodeClaim],
        refusals: Iterable[LaunchRefusal] = (),
        *,
        has_karpenter_events: bool,
    ) -> None:
        self._nodes = nodes
        self._claims = claims
        self._refusal_by_pool = {one.nodepool: one for one in refusals}
        self._has_karpenter_events = has_karpenter_events

    def disagreements(
        self,
        diagnosis: Diagnosis,
        messages: PodMessages,
        since_ns: int,
        now_ns: int,
        nodes: Sequence[str] = (),
        *,
        held: Disagreement | None = None,
        knows_volumes: bool = True,
    ) -> tuple[Disagreement, ...]:
        """Return contradictions between the engine, Karpenter and the scheduler.

        Args:
            diagnosis: The engine's result for the pod.
            messages: Messages of Karpenter and the scheduler.
            since_ns: Since when the pod waits.
            now_ns: The instant: nanoseconds since the epoch.
            nodes: A node name for each pod of the same cause that fits on a node.
            held: Which of its volumes keeps only kube-scheduler from placing it.
            knows_volumes: Whether the requirements of its volumes are known.
        """
        if held is not None:
            return (held,)
        without = "" if knows_volumes else "volumes, which were not read,"
        return tuple(self._found(diagnosis, messages, since_ns, now_ns, nodes, without=without))

    def _found(
        self,
        diagnosis: Diagnosis,
        messages: PodMessages,
        since_ns: int,
        now_ns: int,
        nodes: Sequence[str],
        *,
        without: str,
    ) -> Iterator[Disagreement]:
        said = messages.karpenter
        waited_ns = now_ns - since_ns
        pool = diagnosis.destination.nodepool if diagnosis.cause is Cause.CLAIM and diagnosis.destination else ""
        refusal = self._refusal_by_pool.get(pool) if pool else None
        if refusal is not None:
            why = error_words(refusal.error_code) if refusal.error_code else refusal.message
            age = age_text(refusal.last_ns, now_ns)
            yield Disagreement(
                LAUNCH_REFUSED, f"the last launch of {pool} failed {age} ago: {why}; the next may fail too"
            )
        if said is not None and said.reason == NOMINATED:
            yield from self._nominated(said, now_ns)
            if diagnosis.cause is Cause.UNPLACED:
                age = age_text(said.at_ns, now_ns)
                yield Disagreement(
                    "unschedulable now", f"Karpenter had a place for it {age} ago; computed now it is unschedulable"
                )
        elif said is not None and said.reason == FAILED and diagnosis.destination is not None and refusal is None:
            age = age_text(said.at_ns, now_ns)
            how = f"without its {without}" if without else "now"
            text = (
                f"Karpenter found it unschedulable {age} ago; computed {how} it fits: {_where(diagnosis.destination)}"
            )
            yield Disagreement("fits now", text)
        elif said is None and self._has_karpenter_events and _is_due(diagnosis) and waited_ns > SHORT_PATIENCE_NS:
            text = f"it has waited for {age_text(since_ns, now_ns)}, and Karpenter, which speaks of others, is silent"
            yield Disagreement("Karpenter is silent", text)
        if diagnosis.cause is Cause.NODE and diagnosis.destination is not None and waited_ns > SHORT_PATIENCE_NS:
            it, has = ("them", "they have") if len(nodes) > 1 else ("it", "it has")
            where = first_of(tuple(dict.fromkeys((diagnosis.destination.node, *nodes))), 1)
            if without:
                its = "their" if len(nodes) > 1 else "its"
                text = f"the scheduler refuses {it}; without {its} {without} {has} room on {where}"
                yield Disagreement("volumes not read", text)
                return
            text = (
                f"the scheduler refuses {it}, but by Karpenter's rules {has} room on {where}:"
                f" as long as that is so, Karpenter launches nothing for {it}"
            )
            yield Disagreement("room by Karpenter's rules", text)

    def _nominated(self, said: PodMessage, now_ns: int) -> Iterator[Disagreement]:
        age_ns, age = now_ns - said.at_ns, age_text(said.at_ns, now_ns)
        short = f"nominated {age} ago"
        if said.at_ns == ABSENT_NS or not said.targets:
            if age_ns > PATIENCE_NS:
                yield Disagreement(short, f"nominated {age} ago, still pending")
            return
        _, name = said.targets[0]
        stage = self.stage(said)
        if not stage:
            if age_ns > SHORT_PATIENCE_NS // 2:
                yield Disagreement(short, f"nominated {age} ago to {name}, which is gone, still pending")
        elif stage == "Ready":
            if age_ns > SHORT_PATIENCE_NS // 2:
                yield Disagreement(short, f"nominated {age} ago, still pending, although {name} is ready")
        elif age_ns > PATIENCE_NS:
            yield Disagreement(short, f"nominated {age} ago, still pending: {name} is {stage.lower()}")

    def stage(self, said: PodMessage) -> str:
        """Return the phase of the nominated node: ``Launching``, ..., ``Ready``; empty if it is gone."""
        for kind, name in said.targets:
            claim = self._claims.get(name) if kind == "nodeclaim" else None
            if claim is not None:
                return next(
                    (
                        word
                        for type_, word in reversed(_STAGES)
                        if (found := condition_of(claim.conditions, type_)) is None or found.status != "True"
                    ),
                    "Ready",
                )
            if kind == "node" and name in self._nodes:
                return "Ready"
        return ""


def _is_due(diagnosis: Diagnosis) -> bool:
    """Whether Karpenter publishes an event about such a pod."""
    return diagnosis.cause in ENGINE and diagnosis.cause not in SILENT


def _where(destination: PodDestination) -> str:
    if destination.node:
        return f"room on {destination.node}"
    return f"a new node of {destination.nodepool}"
