"""Pending pods, grouped by workload, requests and cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec

from karptui.disruption.owner import OriginIndex
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS, MINUTE_NS
from karptui.kube.units import count_text
from karptui.pending.causes import ENGINE, FAULTY, Cause, Diagnoses, Diagnosis, PodDestination
from karptui.pending.disagreements import PATIENCE_NS, Disagreement, DisagreementCode
from karptui.pending.messages import FAILED, NO_MESSAGES, PodMessages, with_condition
from karptui.pending.nominations import Nominations
from karptui.provisioning.explain import PodExplanation
from karptui.provisioning.kube_scheduler import is_kube_scheduled
from karptui.provisioning.rejection import PlacementGate

MOST_NUMBERS: Final = 6
"""Ordinals that are listed one by one; more are shown as a range or by their number."""
PASSING_NS: Final = MINUTE_NS
"""A pod that other pods keep off, or that is bound to a node that is gone, may only be pending for this long."""
_ORDINAL: Final = re.compile(r"(.+-)(\d+)")
MOST_DESTINATIONS: Final = 3


class PendingGroup(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Pods that wait for the same reason; compared by identity."""

    key: str
    """Identity across refreshes."""
    origin: str
    """``Kind/namespace/name`` of the pods' owner."""
    members: tuple[tuple[Pod, Diagnosis, PodMessages], ...]
    """Each pod with its diagnosis and messages, oldest first."""
    disagreements: tuple[Disagreement, ...] = ()
    """Contradictions between the engine, Karpenter and the scheduler."""
    explanation: PodExplanation | None = None
    """Why no NodePool and no node takes the first of them; None until it is worked out."""
    named: str = ""
    """``namespace/name`` of the pod that the user named; empty for all."""

    def explained(self, explanation: PodExplanation) -> PendingGroup:
        """Return the same group with its explanation."""
        return msgspec.structs.replace(self, explanation=explanation)

    def about(self, key: str) -> PendingGroup:
        """Return the same group as the answer about one of its pods."""
        return msgspec.structs.replace(self, named=key)

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """The pods, the oldest first."""
        return tuple(pod for pod, _, _ in self.members)

    @property
    def first(self) -> Pod:
        """The oldest pod, which represents the group."""
        return self.members[0][0]

    @property
    def diagnosis(self) -> Diagnosis:
        """Why the first waits; the others alike, but for the node that they go to."""
        return self.members[0][1]

    @property
    def cause(self) -> Cause:
        """Why the pods are pending."""
        return self.diagnosis.cause

    def is_stuck(self, now_ns: int) -> bool:
        """Whether the first pod needs help: it is unschedulable, or has been pending for long although it fits."""
        may_come = self.cause in ENGINE or self.cause in (Cause.UNTRIED, Cause.BINDING)
        is_late = now_ns - self.since_ns >= PATIENCE_NS
        scheduler = self.messages.scheduler
        is_refused = scheduler is None or scheduler.reason == FAILED
        may_come = may_come or (self.cause is Cause.OTHER_SCHEDULER and is_refused)
        error = self.diagnosis.error
        by_others = error is not None and any(r.gate is PlacementGate.TOPOLOGY for _, r in error.rejections)
        # Pods of a rollout, and those of a node that is gone, end within a minute.
        may_pass = by_others or self.cause is Cause.LOST_NODE
        is_lasting = not may_pass or now_ns - self.since_ns >= PASSING_NS
        return (self.cause in FAULTY and is_lasting) or (is_late and (may_come or bool(self.disagreements)))

    @cached_property
    def messages(self) -> PodMessages:
        """The newest words of each speaker: about the named pod, else about any of the pods."""
        every = [messages for _, _, messages in self.members]
        own = self.own_messages
        return PodMessages(
            own.karpenter or max(filter(None, (m.karpenter for m in every)), key=lambda v: v.at_ns, default=None),
            own.scheduler or max(filter(None, (m.scheduler for m in every)), key=lambda v: v.at_ns, default=None),
        )

    @property
    def own_messages(self) -> PodMessages:
        """The messages about the named pod; none without one."""
        return next((messages for pod, _, messages in self.members if pod.key == self.named), NO_MESSAGES)

    @cached_property
    def destinations(self) -> tuple[PodDestination, ...]:
        """The different places that the engine has for them."""
        destinations: dict[tuple[str, str, str], PodDestination] = {}
        for _, diagnosis, _ in self.members:
            if diagnosis.destination is not None:
                destination = diagnosis.destination
                destinations.setdefault(
                    (destination.node, destination.nodepool, destination.instance_type), destination
                )
        return tuple(destinations.values())

    @cached_property
    def name(self) -> str:
        """All pods under one name."""
        return folded_name(self.first.namespace, [pod.name for pod in self.pods], self.origin.rpartition("/")[2])

    @property
    def since_ns(self) -> int:
        """Since when the oldest waits: nanoseconds since the epoch."""
        return self.first.created_ns

    @property
    def is_disputed(self) -> bool:
        """Whether there is a disagreement; there is none about a selected node that does not exist."""
        return any(disagreement.code is not DisagreementCode.HOST_GONE for disagreement in self.disagreements)

    @property
    def is_faulty(self) -> bool:
        """Whether the user must act."""
        return self.cause in FAULTY or bool(self.disagreements)


def fold(
    pods: Iterable[Pod],
    diagnoses: Diagnoses,
    messages: dict[str, PodMessages],
    *,
    origins: OriginIndex,
    nominations: Nominations,
    now_ns: int,
    held_by: Callable[[Pod, PodMessages], Disagreement | None],
    knows_volumes: bool = True,
) -> tuple[PendingGroup, ...]:
    """Return pods in groups, unschedulable ones first, then the largest.

    Args:
        pods: Pods without a node that runs them.
        messages: What events tell about them, by key.
        held_by: Finds what keeps a pod pending whatever Karpenter launches.
    """
    diagnosed: dict[tuple[object, ...], list[tuple[Pod, Diagnosis, PodMessages]]] = {}
    for pod in sorted(pods, key=lambda pod: (pod.created_ns or ABSENT_NS, pod.namespace, pod.name)):
        diagnosis, pod_messages = diagnoses.of(pod), with_condition(messages.get(pod.key, NO_MESSAGES), pod)
        diagnosed.setdefault(_cause(pod, diagnosis, pod_messages, origins), []).append((pod, diagnosis, pod_messages))
    groups: list[PendingGroup] = []
    taken: dict[str, int] = {}
    for members in diagnosed.values():
        pod, diagnosis, pod_messages = members[0]
        origin = origins.of(pod)
        base = f"{origin}#{diagnosis.cause.name}"
        taken[base] = taken.get(base, 0) + 1
        key = base if taken[base] == 1 else f"{base}{taken[base]}"
        nodes = [diagnosis.destination.node for _, diagnosis, _ in members if diagnosis.destination is not None]
        disagreements = nominations.disagreements(
            diagnosis,
            next((each for _, _, each in members if each.karpenter is not None), pod_messages),
            pod.created_ns,
            now_ns,
            nodes,
            scheduler="" if is_kube_scheduled(pod) else pod.template.scheduler_name,
            held=held_by(pod, pod_messages)
            or nominations.foreign_taint(pod, diagnosis, pod.created_ns, now_ns)
            or nominations.others_full(pod, diagnosis, pod_messages),
            knows_volumes=knows_volumes or not pod.volumes,
        )
        groups.append(PendingGroup(key, origin, tuple(members), disagreements))
    groups.sort(key=lambda group: (group.cause not in FAULTY, not group.is_disputed, -len(group.pods), group.key))
    return tuple(groups)


def _cause(pod: Pod, diagnosis: Diagnosis, messages: PodMessages, origins: OriginIndex) -> tuple[object, ...]:
    message = messages.karpenter
    # The names of claims of a StatefulSet's pods differ by their ordinals.
    claims = "|".join(re.escape(volume.claim_of(pod.name)) for volume in pod.volumes)
    gates: object = tuple(re.sub(claims, "", problem) for problem in diagnosis.problems)
    if diagnosis.error is not None:
        selected = tuple(sorted(pod.template.node_selector.items()))
        gates = selected, tuple((pool, rejection.gate) for pool, rejection in diagnosis.error.rejections)
    return (
        origins.of(pod),
        tuple(sorted((name, amount.nano) for name, amount in pod.requests.items())),
        diagnosis.cause,
        gates,
        # Karpenter says the same of a new pod with its next event.
        message.reason if message is not None else FAILED if diagnosis.cause in FAULTY else "",
        pod.node_name,
    )


def folded_name(namespace: str, names: Sequence[str], owner_name: str = "") -> str:
    """Return one name for pods of a namespace.

    Args:
        namespace: Of all of them.
        names: Their names, at least one.
        owner_name: Name of the workload that they belong to; empty for none.
    """
    if len(names) == 1:
        return f"{namespace}/{names[0]}"
    if numbered := _numbered(names):
        return f"{namespace}/{numbered}"
    shared = _beginning(names)
    stem = shared[: shared.rfind("-") + 1]
    if owner_name and all(name.startswith(f"{owner_name}-") for name in names):
        stem = f"{owner_name}-"
    return f"{namespace}/{stem}* ({count_text(len(names))})"


def _beginning(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]


def _numbered(names: Sequence[str]) -> str:
    """Return the name of pods that differ by their ordinals only, else nothing."""
    matches = [_ORDINAL.fullmatch(name) for name in names]
    stems = {match[1] for match in matches if match is not None}
    if len(stems) != 1 or not all(matches):
        return ""
    numbers = sorted(int(match[2]) for match in matches if match is not None)
    if len(numbers) <= MOST_NUMBERS:
        listed = ",".join(map(str, numbers))
    elif numbers[-1] - numbers[0] + 1 == len(numbers):
        listed = f"{numbers[0]}..{numbers[-1]}"
    else:
        return ""
    return f"{stems.pop()}{{{listed}}}"


class PendingReport(msgspec.Struct, frozen=True, eq=False, dict=True):
    """One generation; compared by identity."""

    generation: int
    now_ns: int
    """The instant that it holds for: nanoseconds since the epoch."""
    groups: tuple[PendingGroup, ...] = ()
    """The pods, folded."""
    notes: tuple[str, ...] = ()

    @cached_property
    def by_pod(self) -> Mapping[str, PendingGroup]:
        """The group of each pod, by ``namespace/name``."""
        return {pod.key: group for group in self.groups for pod in group.pods}

    @property
    def explained(self) -> int:
        """Groups whose explanation has been worked out, or that need none."""
        return sum(group.explanation is not None or group.diagnosis.error is None for group in self.groups)
