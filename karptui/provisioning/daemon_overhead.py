"""Pods that DaemonSets will put on a new node, by instance type.

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

TOLERATE_PREFERENCES: Final = Toleration(operator="Exists", effect=PREFER_NO_SCHEDULE)
"""The toleration that makes light of every PreferNoSchedule taint."""


class DaemonPod:
    """The pod that a DaemonSet would put on a node.

    Terms of its required node affinity are alternatives. Karpenter drops the first of them for good where it meets a
    type that the term excludes, so what it asks for depends on which types were looked at before.
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
        """Node selector and the first term that is left."""
        if self._strict is None:
            own = Requirements.from_selectors(self._terms[0].match_expressions) if self._terms else ()
            self._strict = self._selector.merge(own)
        return self._strict

    def tolerates(self, taints: Iterable[Taint]) -> bool:
        """Return whether it tolerates all of these."""
        return not untolerated(taints, self._tolerations)

    def untolerated(self, taints: Iterable[Taint]) -> list[Taint]:
        """Return those of these that it does not tolerate."""
        return untolerated(taints, self._tolerations)

    def tolerate_preferences(self) -> None:
        """Add the toleration of PreferNoSchedule taints, unless it is there."""
        if not any(is_toleration_of_preferences(one) for one in self._tolerations):
            self._tolerations = (*self._tolerations, TOLERATE_PREFERENCES)

    def drop_term(self) -> bool:
        """Drop the first of several terms; return whether there was one to drop."""
        if len(self._terms) < 2:
            return False
        del self._terms[0]
        self._strict = None
        return True

    def is_like(self, other: DaemonPod) -> bool:
        """Return whether another decides the same; the pod's name matters only where it has host ports."""
        mine, its = (
            (one.daemonset_key, one.host_ports and one.key, one.template, [id(term) for term in one.given_terms])
            for one in (self, other)
        )
        return mine == its

    def compatible_types(
        self, taints: tuple[Taint, ...], requirements: Requirements, catalogue: Catalogue, types: int
    ) -> int:
        """Return the types of a NodePool's template that it would run on, dropping terms on the way."""
        self.tolerate_preferences()
        if not self.tolerates(taints):
            return 0
        found = 0
        while True:
            strict = self.strict
            fitting = catalogue.compatible(strict) if requirements.compatible(strict, requirements.well_known) else 0
            missing = types & ~fitting
            first = missing & -missing
            if not first:
                return found | types
            found |= types & (first - 1)
            types &= ~(first - 1)
            if not self.drop_term():
                return found | (types & fitting)


def is_toleration_of_preferences(toleration: Toleration) -> bool:
    """Return whether a toleration has the very fields of the one that relaxation adds."""
    return (
        not toleration.key
        and not toleration.value
        and toleration.operator == "Exists"
        and toleration.effect == PREFER_NO_SCHEDULE
    )


def newest_daemons(inventory: Inventory) -> dict[str, Pod]:
    """Return the newest live pod of each DaemonSet that has any, by the DaemonSet's uid."""
    newest: dict[str, Pod] = {}
    wanted = {daemonset.uid for daemonset in inventory.daemonsets}
    for pod in inventory.pods:
        for owner in pod.template.owners:
            if owner.uid in wanted and owner.controller:
                known = newest.get(owner.uid)
                if known is None or (pod.created_ns, known.key) > (known.created_ns, pod.key):
                    newest[owner.uid] = pod
    return newest


def daemon_pods(inventory: Inventory, *, ignore_dra: bool) -> list[DaemonPod]:
    """Return one pod per DaemonSet: its newest live one with the template's affinity, or one made of the template.

    Args:
        inventory: The cluster.
        ignore_dra: Leave out pods that ask for Dynamic Resource Allocation.
    """
    newest = newest_daemons(inventory)
    pods = []
    for daemonset in sorted(inventory.daemonsets, key=lambda one: (one.namespace, one.name)):
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
    """Types of a template that the same daemons run on."""

    __slots__ = ("daemons", "overhead", "ports", "row", "types")

    def __init__(self, types: int, daemons: tuple[DaemonPod, ...]) -> None:
        self.types = types
        self.daemons = daemons
        self.overhead: Mapping[str, Quantity] = {}
        """Sum of their requests with their pod slots; empty without daemons."""
        self.row: tuple[int, ...] = ()
        """The same as a row of amounts."""
        self.ports: tuple[OwnedPorts, ...] = tuple((pod.key, pod.host_ports) for pod in daemons if pod.host_ports)

    def clashes(self, pod_key: str, ports: tuple[HostPort, ...]) -> bool:
        """Return whether a daemon takes a host port of a pod."""
        return bool(ports and self.ports) and clash(pod_key, ports, self.ports) is not None

    def weigh(self, columns: Columns) -> None:
        """Add up what the daemons ask."""
        if self.daemons:
            total = resources.add(*(daemon.requests for daemon in self.daemons))
            self.overhead = with_pod_slots(total, len(self.daemons))
            self.row = columns.row(total, pods=len(self.daemons))
        else:
            self.row = columns.zero


def group_by_daemons(types: int, compatible: Sequence[tuple[DaemonPod, int]]) -> list[DaemonGroup]:
    """Split types by which daemons run on them; groups are in the order of their first type.

    Args:
        types: The template's types.
        compatible: Each daemon with the types that it runs on.
    """
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
    """Return every DaemonSet with what it does to the types, in the order of their names.

    Args:
        pool: The NodePool.
        requirements: Of a new claim of it.
        daemons: One pod of each DaemonSet.
        groups: By index of the types that requirements and offerings leave, which daemons run on them.
        verdicts: On every type, by index.
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
    """Return the DaemonSet from which on a type has no room, in the order of their names."""
    have = allocatable_nano(verdict.instance_type)
    for count in range(1, len(daemons)):
        need = with_pod_slots(resources.add(*(one.requests for one in daemons[:count])), count)
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
    return "its node selector or affinity fits none of the types" if has_types else "no type is left to carry it"
