"""Checks whether a pod fits on a claim of this run or on a new one.

Rules: ``CanAdd`` and ``filterInstanceTypesByRequirements`` in
``pkg/controllers/provisioning/scheduling/nodeclaim.go``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from karptui.karpenter.labels import HOSTNAME, RESERVED, WELL_KNOWN
from karptui.karpenter.requirements import IN, Requirement
from karptui.kube.taints import untolerated
from karptui.provisioning.catalogue import Catalogue
from karptui.provisioning.claim import Claim, Hostnames, Reservations
from karptui.provisioning.pod_class import PodClass
from karptui.provisioning.ports import clash
from karptui.provisioning.prepared import Prepared, Variant
from karptui.provisioning.rejection import (
    DomainUnreachable,
    NotReservable,
    Rejection,
    RequirementsUnmet,
    ReservationPassedUp,
    ReservationsFull,
    TaintsNotTolerated,
    TopologyUnmet,
    TypesExhausted,
    VolumesExceeded,
    VolumeUnreachable,
)
from karptui.provisioning.requirement_set import RequirementSet, TypeFilter, unmet_min_values
from karptui.provisioning.stage_memory import StageMemory
from karptui.provisioning.template import Template
from karptui.provisioning.topology_group import Ruled, narrowed
from karptui.provisioning.topology_spec import host_allowed
from karptui.provisioning.waiting_pods import QueuedPod


def types_exhausted(
    pod_key: str,
    owner: PodClass,
    template: Template,
    types: int,
    *,
    labels: RequirementSet,
    unmet_min_values: Mapping[str, int],
) -> TypesExhausted:
    """Count the types that meet each criterion, for Karpenter's message.

    Args:
        types: Its types within the limits.
        unmet_min_values: Labels with fewer values than ``minValues`` among the remaining types.
    """
    catalogue = template.catalogue
    left = labels.filter_of(catalogue)
    with_offering = catalogue.types_of_rows(left.offering_rows)
    labelled = offered = roomy = considered = both = 0
    groups = [group for group in template.groups if not group.clashes(pod_key, owner.host_ports)]
    for group in groups:
        group_types = group.types & types
        total = [a + b for a, b in zip(owner.row, group.row, strict=True)]
        considered |= group_types
        labelled |= group_types & left.types
        offered |= group_types & with_offering
        both |= group_types & left.types & with_offering
        roomy |= group_types & catalogue.types_of_rows(left.offering_rows & template.fitting_rows(total))
    return TypesExhausted(
        requirements=labels.value,
        pod_requests=owner.requests,
        overheads=tuple(group.overhead for group in groups),
        considered=considered.bit_count(),
        with_labels=labelled.bit_count(),
        with_offering=offered.bit_count(),
        with_labels_and_offering=both.bit_count(),
        with_room=roomy.bit_count(),
        clashing_ports=len(groups) < len(template.groups),
        unmet_min_values=tuple(sorted(unmet_min_values.items())),
    )


def types_attaching(catalogue: Catalogue, attached: Mapping[str, Collection[str]], owner: PodClass) -> int:
    """Return the types that can attach a pod's volumes in addition to others; all types without volumes."""
    if not catalogue.volume_limits or not owner.attachments:
        return catalogue.everything
    counts = _volume_counts(attached, owner)
    mask = catalogue.everything
    for bit, limits in catalogue.volume_limits:
        if any(counts.get(driver, 0) > limit for driver, limit in limits.items()):
            mask &= ~bit
    return mask


def _volume_counts(attached: Mapping[str, Collection[str]], owner: PodClass) -> dict[str, int]:
    claims = {driver: set(held) for driver, held in attached.items()}
    for driver, claim in owner.attachments or ():
        claims.setdefault(driver, set()).add(claim)
    return {driver: len(held) for driver, held in claims.items()}


def _volumes_exceeded(catalogue: Catalogue, types: int, owner: PodClass) -> VolumesExceeded:
    """Return a driver whose limit is exceeded on every type, with the largest of these limits, if there is one."""
    of_types = [limits for bit, limits in catalogue.volume_limits if bit & types]
    for driver, count in sorted(_volume_counts({}, owner).items()):
        if len(of_types) == types.bit_count() and all(count > limits.get(driver, count) for limits in of_types):
            return VolumesExceeded(driver, count, max(limits[driver] for limits in of_types))
    return VolumesExceeded()


_PLACEHOLDER: Final = "hostname-placeholder-0000"
"""Hostname that no node has; all claims' hostnames have this form."""


class Fit:
    """A claim including the pod."""

    __slots__ = ("is_relaxed", "labels", "reserved", "types")

    def __init__(self, labels: RequirementSet, types: int, reserved: frozenset[str], *, is_relaxed: bool) -> None:
        self.labels = labels
        self.types = types
        self.reserved = reserved
        self.is_relaxed = is_relaxed


class ClaimCheck:
    """Checks claims during a run."""

    def __init__(self, prepared: Prepared, variant: Variant, reservations: Reservations, hostnames: Hostnames) -> None:
        self._interner = prepared.interner
        self._reservations = reservations
        self._hostnames = hostnames
        settings = prepared.settings
        self._uses_reservations = bool(prepared.reservation_capacity) and settings.gate("ReservedCapacity")
        self._has_room_apart = settings.rules.has_room_apart
        self._waits_for_reservations = not variant.reserved_fallback
        self._may_relax = settings.min_values_policy == "BestEffort"

    def check(self, queued: QueuedPod, stage_memory: StageMemory, claim: Claim) -> Fit | Literal[False] | None:
        """Return the claim with the pod; None if the pod does not fit now, False if it never will."""
        owner = queued.owner
        for amount, room in zip(owner.row, claim.room, strict=True):
            if amount > room and amount:
                return False
        template = claim.template
        if not stage_memory.tolerates(template.taints):
            return False
        host_verdict = stage_memory.host_verdict(claim.hostname)
        if not host_verdict:
            return host_verdict
        if not host_allowed(stage_memory.stage.asked_host, claim.hostname):
            return False
        if owner.host_ports and clash(queued.pod.key, owner.host_ports, claim.ports):
            return False
        sets = stage_memory.claim_sets.get(claim.labels)
        if sets is None:
            sets = stage_memory.claim_sets[claim.labels] = self._narrow(stage_memory, claim.labels)
        if not sets:
            return False if sets is False else None
        need = [a + b for a, b in zip(claim.requests, owner.row, strict=True)]
        catalogue = template.catalogue
        open_types = claim.types & types_attaching(catalogue, claim.attached, owner)
        never = stage_memory.is_static and not catalogue.has_custom_offering_keys
        for labels in sets:
            left = labels.filter_of(catalogue)
            types = self.fitting(template, open_types & left.types, left, need, queued)
            if not types or (template.has_min_values and unmet_min_values(catalogue, types, labels.value)):
                never = never and not left.may_widen
                continue
            reserved = self._reserve(catalogue, labels, types, claim.reserved)
            if isinstance(reserved, Rejection):
                never = False
                continue
            return Fit(labels, types, reserved, is_relaxed=False)
        return False if never else None

    def fitting(self, template: Template, types: int, left: TypeFilter, need: Sequence[int], queued: QueuedPod) -> int:
        """Return the types that fit the pods and DaemonSet pods and have an offering."""
        catalogue = template.catalogue
        if not types:
            return 0
        if len(template.groups) == 1 and not catalogue.row_types and not queued.owner.host_ports:
            types &= left.offering_rows & catalogue.usable_rows
            for amount_index, amount, overhead in zip(
                template.amount_indexes, need, template.groups[0].row, strict=True
            ):
                if amount + overhead > 0:
                    types &= amount_index.at_least(amount + overhead) if amount_index is not None else 0
                if not types:
                    return 0
            return types
        fitting_types = 0
        for group in template.groups:
            if group.types & types and not group.clashes(queued.pod.key, queued.owner.host_ports):
                total = [a + b for a, b in zip(need, group.row, strict=True)]
                rows = left.offering_rows & template.fitting_rows(total)
                fitting_types |= group.types & types & catalogue.types_of_rows(rows)
        return fitting_types

    def _narrow(self, stage_memory: StageMemory, labels: RequirementSet) -> tuple[RequirementSet, ...] | Literal[False]:
        """Return the claim's possible requirements with the pod, for each volume alternative and topology choice."""
        stage = stage_memory.stage
        base = self._interner.join_claim(labels, stage.asked)
        if base is False:
            return False
        if base is None:
            return ()
        narrowed_sets = []
        for volume_requirements, host in stage.owner.volume_alternatives or ((self._interner.empty, None),):
            joined = self._interner.join_claim(base, volume_requirements)
            if not joined or not host_allowed(host, _PLACEHOLDER):
                continue
            if not stage_memory.rules:
                narrowed_sets.append(joined)
                continue
            ways, choices, unmet = narrowed(stage_memory.rules, joined.value, stage.strict.value)
            if unmet is None:
                stage_memory.note_ties(labels, choices)
                narrowed_sets += [
                    final for left in ways if (final := self._interner.join_claim(joined, self._interner.left(left)))
                ]
        return tuple(narrowed_sets)

    def _reserve(
        self, catalogue: Catalogue, labels: RequirementSet, types: int, held: frozenset[str]
    ) -> frozenset[str] | Rejection:
        """Return the reservations that a claim would hold, or the rejection if it must wait for one."""
        if not self._uses_reservations:
            return frozenset()
        compatible_ids: set[str] = set()
        is_full = False
        for kind in catalogue.reserved_kinds:
            offered = catalogue.types_of_rows(kind.rows) & types
            if offered and labels.value.compatible(kind.requirements, WELL_KNOWN):
                if (
                    not self._has_room_apart
                    or offered & kind.roomy
                    or kind.reservation_id == self._reservations.credited
                ):
                    compatible_ids.add(kind.reservation_id)
                else:
                    is_full = True
        if is_full and not compatible_ids and not self._has_fallback(catalogue, labels, types):
            return ReservationsFull() if self._waits_for_reservations else ReservationPassedUp()
        reserved = self._reservations.reservable(compatible_ids, held)
        if self._waits_for_reservations and not reserved and (compatible_ids or held):
            return NotReservable()
        return reserved

    @staticmethod
    def _has_fallback(catalogue: Catalogue, labels: RequirementSet, types: int) -> bool:
        """Return whether any type is available without a reservation."""
        return any(
            kind.capacity_type != RESERVED
            and catalogue.types_of_rows(kind.rows) & types
            and labels.value.compatible(kind.requirements, WELL_KNOWN)
            for kind in catalogue.offering_kinds
        )

    def judge_new(
        self, queued: QueuedPod, stage_memory: StageMemory, template: Template, types: int
    ) -> Fit | Rejection:
        """Return a new claim with the pod, or the first reason against it."""
        stage = stage_memory.stage
        owner = queued.owner
        if not stage_memory.tolerates(template.taints):
            return TaintsNotTolerated(tuple(untolerated(template.taints, stage.tolerations)))
        hostname = self._hostnames.next()
        catalogue = template.catalogue
        if catalogue.volume_limits and owner.attachments:
            attaching = types & types_attaching(catalogue, {}, owner)
            if not attaching:
                return _volumes_exceeded(catalogue, types, owner)
            types = attaching
        labels = template.requirements
        base = self._interner.join_claim(labels, stage.asked)
        if not base or not host_allowed(stage.asked_host, hostname):
            return self._requirements_unmet(labels, stage.asked, stage.asked_host, hostname, RequirementsUnmet)
        outcome: Fit | Rejection | None = None
        for volume_requirements, host in owner.volume_alternatives or ((self._interner.empty, None),):
            joined = self._interner.join_claim(base, volume_requirements)
            if not joined or not host_allowed(host, hostname):
                outcome = self._requirements_unmet(base, volume_requirements, host, hostname, VolumeUnreachable)
                continue
            ruled = self._ruled(stage_memory, labels, joined, hostname)
            outcome = ruled if isinstance(ruled, Rejection) else self._judge_ways(queued, template, types, ruled)
            if isinstance(outcome, Fit):
                return outcome
        assert outcome is not None
        return outcome

    @staticmethod
    def _requirements_unmet(
        labels: RequirementSet,
        incoming_set: RequirementSet,
        host: Requirement | None,
        hostname: str,
        kind: type[RequirementsUnmet],
    ) -> RequirementsUnmet:
        whole = labels.value.add(Requirement.of(HOSTNAME, IN, (hostname,)))
        incoming = incoming_set.value if host is None else incoming_set.value.add(host)
        return kind(tuple(whole.incompatibilities(incoming, whole.well_known)))

    def _ruled(
        self, stage_memory: StageMemory, before: RequirementSet, joined: RequirementSet, hostname: str
    ) -> Sequence[RequirementSet] | Rejection:
        """Return a new claim's requirements for each topology choice, or the first topology rule that is unmet."""
        ways, choices, unmet = narrowed(stage_memory.rules, joined.value, stage_memory.stage.strict.value)
        unmet = self._first_unmet(stage_memory, unmet, hostname)
        if unmet is not None:
            return self._topology_unmet(unmet, stage_memory, joined, hostname)
        stage_memory.note_ties(before, choices)
        ruled = [self._interner.left(left) for left in ways]
        possible = [final for way in ruled if (final := self._interner.join_claim(joined, way))]
        if not possible:
            return DomainUnreachable(tuple(joined.value.incompatibilities(ruled[0].value, joined.value.well_known)))
        return possible

    @staticmethod
    def _first_unmet(stage_memory: StageMemory, unmet: Ruled | None, hostname: str) -> Ruled | None:
        """Return the unmet rule to report, given one on another key than the hostname: the pod's rules come first."""
        if unmet is not None and unmet[0] in stage_memory.owned:
            return unmet
        strict_host = stage_memory.stage.strict_host
        for rule in stage_memory.host_rules:
            group, is_selected = rule
            if not group.allows_host(hostname, strict_host, is_selected=is_selected):
                return rule if unmet is None or group in stage_memory.owned else unmet
        return unmet

    def _topology_unmet(
        self, rule: Ruled, stage_memory: StageMemory, joined: RequirementSet, hostname: str
    ) -> TopologyUnmet:
        group = rule[0]
        key = group.spec.key
        stage = stage_memory.stage
        if group.is_hostname:
            pod_domains = stage.strict_host or Requirement.exists(key)
            node_domains = Requirement.of(key, IN, (hostname,))
        else:
            pod_domains, node_domains = stage.strict.value.get(key), joined.value.get(key)
        spec = group.spec
        return TopologyUnmet(
            group.kind.value,
            key,
            self._hostnames.shown_counts(group),
            pod_domains,
            node_domains,
            spec.selector,
            spec.namespaces,
            spec.max_skew,
            spec.min_domains,
        )

    def _judge_ways(
        self, queued: QueuedPod, template: Template, types: int, ways: Sequence[RequirementSet]
    ) -> Fit | Rejection:
        """Return the first choice that fits the pod, otherwise the rejection of the first choice."""
        outcomes = (self._judge_types(queued, template, types, labels) for labels in ways)
        first = next(outcomes)
        return first if isinstance(first, Fit) else next((fit for fit in outcomes if isinstance(fit, Fit)), first)

    def _judge_types(
        self, queued: QueuedPod, template: Template, types: int, labels: RequirementSet
    ) -> Fit | Rejection:
        catalogue = template.catalogue
        left = labels.filter_of(catalogue)
        fitting = self.fitting(template, types & left.types, left, queued.owner.row, queued)
        unmet: dict[str, int] = {}
        is_relaxed = False
        if template.has_min_values and fitting:
            unmet = unmet_min_values(catalogue, fitting, labels.value)
            if unmet and self._may_relax:
                value = labels.value
                for key, offered in unmet.items():
                    value = value.replace(value.get(key).with_min_values(offered))
                labels, unmet, is_relaxed = self._interner.of(value), {}, True
        if not fitting or unmet:
            return types_exhausted(queued.pod.key, queued.owner, template, types, labels=labels, unmet_min_values=unmet)
        reserved = self._reserve(catalogue, labels, fitting, frozenset())
        if isinstance(reserved, Rejection):
            return reserved
        return Fit(labels, fitting, reserved, is_relaxed=is_relaxed)
