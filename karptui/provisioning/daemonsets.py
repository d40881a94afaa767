"""DaemonSet pods on new nodes, by instance type.

Rules: ``getDaemonSetPods`` in ``pkg/controllers/provisioning/provisioner.go``; ``isDaemonPodCompatible`` and
``buildDaemonOverheadGroups`` in ``pkg/controllers/provisioning/scheduling/scheduler.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.kube import resources
from karptui.kube.pod import HostPort, Pod, PodTemplate
from karptui.kube.quantity import Quantity
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorTerm
from karptui.kube.taints import PREFER_NO_SCHEDULE, Taint, Toleration, untolerated
from karptui.provisioning.amounts import Columns, with_pod_slots
from karptui.provisioning.catalogue import Catalogue, allocatable_nano
from karptui.provisioning.pool_types import Filter, PoolDaemonSet, TypeVerdict, shortages
from karptui.provisioning.ports import OwnedPorts, clash
from karptui.provisioning.reporter import Pause, no_pause, with_pauses

TOLERATE_PREFERENCES: Final = Toleration(operator="Exists", effect=PREFER_NO_SCHEDULE)
"""Toleration of all PreferNoSchedule taints."""


class DaemonPod:
    """The pod that a DaemonSet would create on a node.

    The terms of its required node affinity are alternatives. Karpenter permanently drops the first term when a type
    does not match it, so the result depends on the types checked before.
    """

    def __init__(
        self, key: str, template: PodTemplate, terms: Sequence[NodeSelectorTerm], *, daemonset_key: str = ""
    ) -> None:
        self.key = key
        self.daemonset_key = daemonset_key or key
        """``namespace/name`` of its DaemonSet."""
        self.template = template
        self.given_terms = terms
        """Alternatives before any was dropped."""
        self.requests: ResourceList = template.requests
        self.host_ports: tuple[HostPort, ...] = template.host_ports
        self._selector = Requirements.from_labels(template.node_selector)
        self._terms = list(terms)
        self._tolerations: tuple[Toleration, ...] = template.tolerations
        self._strict: Requirements | None = None

    @property
    def strict(self) -> Requirements:
        """Node selector and the first remaining term."""
        if self._strict is None:
            term = Requirements.from_selectors(self._terms[0].match_expressions) if self._terms else ()
            self._strict = self._selector.merge(term)
        return self._strict

    def tolerates(self, taints: Iterable[Taint]) -> bool:
        """Return whether it tolerates all of these taints."""
        return not untolerated(taints, self._tolerations)

    def untolerated(self, taints: Iterable[Taint]) -> list[Taint]:
        """Return the taints that it does not tolerate."""
        return untolerated(taints, self._tolerations)

    def tolerate_preferences(self) -> None:
        """Add the toleration of PreferNoSchedule taints, if missing."""
        if not any(is_toleration_of_preferences(toleration) for toleration in self._tolerations):
            self._tolerations = (*self._tolerations, TOLERATE_PREFERENCES)

    def drop_term(self) -> bool:
        """Drop the first of several terms; return whether a term was dropped."""
        if len(self._terms) < 2:
            return False
        del self._terms[0]
        self._strict = None
        return True

    @property
    def likeness(self) -> tuple[object, ...]:
        """Key of pods with equal results; the pod's name is part of it only if it has host ports."""
        return self.daemonset_key, self.host_ports and self.key, self.template, self.given_terms

    def compatible_types(
        self, taints: tuple[Taint, ...], requirements: Requirements, catalogue: Catalogue, types: int
    ) -> int:
        """Return the types of a NodePool's template that it runs on; drops terms along the way."""
        self.tolerate_preferences()
        if not self.tolerates(taints):
            return 0
        accepted = 0
        while True:
            strict = self.strict
            fitting = catalogue.compatible(strict) if requirements.compatible(strict, requirements.well_known) else 0
            missing = types & ~fitting
            first = missing & -missing
            if not first:
                return accepted | types
            accepted |= types & (first - 1)
            types &= ~(first - 1)
            if not self.drop_term():
                return accepted | (types & fitting)


def is_toleration_of_preferences(toleration: Toleration) -> bool:
    """Return whether relaxation adds this toleration."""
    return (
        not toleration.key
        and not toleration.value
        and toleration.operator == "Exists"
        and toleration.effect == PREFER_NO_SCHEDULE
    )


def newest_daemons(inventory: Inventory, pause: Pause = no_pause) -> dict[str, Pod]:
    """Return the newest live pod of each DaemonSet, by the DaemonSet's uid."""
    newest: dict[str, Pod] = {}
    uids = {daemonset.uid for daemonset in inventory.daemonsets}
    for pod in with_pauses(inventory.pods, pause):
        for owner in pod.template.owners:
            if owner.uid in uids and owner.controller:
                newest_pod = newest.get(owner.uid)
                if newest_pod is None or (pod.created_ns, newest_pod.key) > (newest_pod.created_ns, pod.key):
                    newest[owner.uid] = pod
    return newest


def daemon_pods(inventory: Inventory, *, ignore_dra: bool, newest: Mapping[str, Pod] | None = None) -> list[DaemonPod]:
    """Return a pod per DaemonSet: its newest live pod with the DaemonSet's affinity, or one from the template.

    Args:
        ignore_dra: Leave out pods that use Dynamic Resource Allocation.
        newest: What ``newest_daemons`` returns, if it is known.
    """
    newest = newest_daemons(inventory) if newest is None else newest
    pods = []
    for daemonset in sorted(inventory.daemonsets, key=lambda daemonset: (daemonset.namespace, daemonset.name)):
        live = newest.get(daemonset.uid)
        if live is not None and live.namespace != daemonset.namespace:
            live = None
        template = daemonset.template if live is None else live.template
        if template.has_resource_claims and ignore_dra:
            continue
        terms = daemonset.template.required_node_terms
        if terms is None:
            terms = template.required_node_terms
        key = daemonset.key if live is None else live.key
        pods.append(DaemonPod(key, template, terms or (), daemonset_key=daemonset.key))
    return pods


class DaemonGroup:
    """Types of a template that run the same DaemonSet pods."""

    __slots__ = ("daemons", "overhead", "ports", "row", "types")

    def __init__(self, types: int, daemons: tuple[DaemonPod, ...]) -> None:
        self.types = types
        self.daemons = daemons
        self.overhead: Mapping[str, Quantity] = {}
        """Sum of their requests including pod slots; empty without DaemonSet pods."""
        self.row: tuple[int, ...] = ()
        """The overhead as a row of amounts."""
        self.ports: tuple[OwnedPorts, ...] = tuple((pod.key, pod.host_ports) for pod in daemons if pod.host_ports)

    def clashes(self, pod_key: str, ports: tuple[HostPort, ...]) -> bool:
        """Return whether a DaemonSet pod uses one of a pod's host ports."""
        return bool(ports and self.ports) and clash(pod_key, ports, self.ports) is not None

    def weigh(self, columns: Columns) -> None:
        """Sum the requests of the DaemonSet pods."""
        if self.daemons:
            total = resources.add(*(daemon.requests for daemon in self.daemons))
            self.overhead = with_pod_slots(total, len(self.daemons))
            self.row = columns.row(total, pods=len(self.daemons))
        else:
            self.row = columns.zero


def group_by_daemons(types: int, compatible: Sequence[tuple[DaemonPod, int]]) -> list[DaemonGroup]:
    """Split types by the DaemonSet pods that run on them; groups are ordered by their first type."""
    groups: list[tuple[int, tuple[DaemonPod, ...]]] = [(types, ())] if types else []
    for daemon, its_types in compatible:
        split = []
        for mask, daemons in groups:
            if mask & its_types:
                split.append((mask & its_types, (*daemons, daemon)))
            if mask & ~its_types:
                split.append((mask & ~its_types, daemons))
        groups = split
    groups.sort(key=lambda group: group[0] & -group[0])
    return [DaemonGroup(mask, daemons) for mask, daemons in groups]


def pool_daemonsets(
    pool: NodePool,
    requirements: Requirements,
    daemons: Sequence[DaemonPod],
    groups: Mapping[int, DaemonGroup],
    verdicts: Sequence[TypeVerdict],
) -> tuple[PoolDaemonSet, ...]:
    """Return every DaemonSet with its effect on the NodePool's types, sorted by name.

    Args:
        requirements: Requirements of a new claim.
        groups: DaemonSet pods that run on each type, by index of the types left by requirements and offerings.
        verdicts: Verdicts on all types, by index.
    """
    types: Counter[str] = Counter()
    excluded: dict[str, list[str]] = {}
    too_many: dict[str, list[str]] = {}
    for index, group in groups.items():
        verdict = verdicts[index]
        types.update(daemon.daemonset_key for daemon in group.daemons)
        if verdict.removed_by is not Filter.DAEMONSETS:
            continue
        have = allocatable_nano(verdict.instance_type)
        too_many.setdefault(_one_too_many(verdict, group.daemons), []).append(verdict.instance_type.name)
        for daemon in group.daemons:
            others = resources.subtract(verdict.daemons, with_pod_slots(daemon.requests))
            if not shortages(verdict.instance_type, have, others):
                excluded.setdefault(daemon.daemonset_key, []).append(verdict.instance_type.name)
    return tuple(
        PoolDaemonSet(
            key=daemon.daemonset_key,
            requests=daemon.requests,
            types=types[daemon.daemonset_key],
            excluded=tuple(excluded.get(daemon.daemonset_key, ())),
            one_too_many=tuple(too_many.get(daemon.daemonset_key, ())),
            why_not="" if types[daemon.daemonset_key] else _why_not(pool, requirements, daemon, has_types=bool(groups)),
        )
        for daemon in daemons
    )


def _one_too_many(verdict: TypeVerdict, daemons: Sequence[DaemonPod]) -> str:
    """Return the first DaemonSet, by name, whose pods no longer fit on a type."""
    have = allocatable_nano(verdict.instance_type)
    for count in range(1, len(daemons)):
        need = with_pod_slots(resources.add(*(daemon.requests for daemon in daemons[:count])), count)
        if shortages(verdict.instance_type, have, need):
            return daemons[count - 1].daemonset_key
    return daemons[-1].daemonset_key


def _why_not(pool: NodePool, requirements: Requirements, daemon: DaemonPod, *, has_types: bool) -> str:
    taints = daemon.untolerated(pool.taints)
    if taints:
        return f"does not tolerate {', '.join(map(str, taints))}"
    well_known = requirements.well_known
    if not requirements.compatible(daemon.strict, well_known):
        return "; ".join(map(str, requirements.incompatibilities(daemon.strict, well_known)))
    return "its node selector or affinity fits none of the types" if has_types else "no type is left to run it"
