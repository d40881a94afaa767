"""All topology rules of a run.

Rules: ``pkg/controllers/provisioning/scheduling/topology.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from karptui.kube.pod import Pod
from karptui.kube.taints import Taint
from karptui.provisioning.pod_class import PodClass, Stage
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.topology_counts import BaseCount, RunningPods, is_counted
from karptui.provisioning.topology_group import TopologyGroup
from karptui.provisioning.topology_spec import TopologyKind, TopologySpec

Holder = tuple[str, str | None, TopologySpec]
"""Pod uid, its domain (None if its node has none) and the rule with the pod's tolerations."""

_Selecting = dict[object, tuple[int, list[TopologyGroup]]]
"""By face of a class: how many rules were asked, and those that select its pods."""


class InverseBase:
    """Running pods that keep others away by the same rule."""

    __slots__ = ("holders", "spec")

    def __init__(self, spec: TopologySpec) -> None:
        self.spec = spec
        self.holders: list[Holder] = []


class Topology:
    """Topology rules of a run's pods and anti-affinity of running pods, with their counts."""

    def __init__(
        self,
        running: RunningPods,
        inverse_bases: Sequence[InverseBase],
        *,
        moving: Mapping[str, Pod],
        gone_nodes: frozenset[str],
        is_scheduler: bool = False,
    ) -> None:
        """Start a run.

        Args:
            inverse_bases: Their required anti-affinity.
            moving: Pods by uid that are rescheduled: their current nodes do not count.
            is_scheduler: Whether only domains with a node count.
        """
        self._is_scheduler = is_scheduler
        self._running = running
        self._moving = moving
        self._moving_pods = [pod for pod in moving.values() if is_counted(pod)]
        self._gone_nodes = gone_nodes
        self.groups: dict[tuple[object, ...], TopologyGroup] = {}
        self._group_list: list[TopologyGroup] = []
        self._inverse: dict[tuple[object, ...], TopologyGroup] = {}
        self._inverse_list: list[TopologyGroup] = []
        for base in inverse_bases:
            self._begin_inverse(base)
        self._counting: _Selecting = {}
        self._keeping_away: _Selecting = {}

    def _begin_inverse(self, base: InverseBase) -> None:
        holders = [holder for holder in base.holders if holder[0] not in self._moving]
        if holders:
            group = self._inverse_group(holders[0][2])
            group.record(domain for _, domain, _ in holders if domain is not None)

    def _inverse_group(self, spec: TopologySpec) -> TopologyGroup:
        group = self._inverse.get(spec.identity)
        if group is None:
            known: Iterable[str] = ()
            if not _is_host(spec):
                known = self._registered(self._running.count(spec)) if self._is_scheduler else self._universe_of(spec)
            group = TopologyGroup(spec, dict.fromkeys(known, 0))
            self._inverse[spec.identity] = group
            self._inverse_list.append(group)
        return group

    def groups_of(self, stage: Stage) -> list[TopologyGroup]:
        """Return the rules of a stage; new rules are counted in the cluster."""
        for spec in stage.owner.inverse_specs:
            self._inverse_group(spec)
        return [self.groups.get(spec.identity) or self._begin(spec) for spec in stage.specs]

    def _begin(self, spec: TopologySpec) -> TopologyGroup:
        base = self._running.count(spec)
        counts: dict[str, int] = {}
        if not _is_host(spec):
            counts = dict.fromkeys(self._universe_of(spec), 0)
            for domain in self._registered(base):
                counts.setdefault(domain, 0)
        for domain, pods in base.pods.items():
            counts[domain] = pods
        for pod in self._moving_pods:
            left = self._running.domain_of(spec, pod)
            if left is not None:
                counts[left] -= 1
                if not counts[left] and left not in self._domains_without_pods(spec):
                    del counts[left]
        group = TopologyGroup(spec, counts)
        self.groups[spec.identity] = group
        self._group_list.append(group)
        return group

    def _domains_without_pods(self, spec: TopologySpec) -> set[str]:
        if _is_host(spec):
            return set()
        return {*self._registered(self._running.count(spec)), *self._universe_of(spec)}

    def _universe_of(self, spec: TopologySpec) -> tuple[str, ...]:
        return () if self._is_scheduler else self._running.universe_of(spec)

    def _registered(self, base: BaseCount) -> Iterator[str]:
        """Yield the domains that still have a node."""
        gone = [base.nodes.domain_by_node.get(node) for node in self._gone_nodes]
        for domain, nodes in base.nodes.by_domain.items():
            if nodes > gone.count(domain):
                yield domain

    def counting(self, owner: PodClass) -> list[TopologyGroup]:
        """Return the rules that select pods of a class and therefore count them."""
        return _selecting(owner, self._group_list, self._counting)

    def keeping_away(self, owner: PodClass) -> list[TopologyGroup]:
        """Return the rules of other pods that keep pods of a class away."""
        return _selecting(owner, self._inverse_list, self._keeping_away)

    @property
    def met_tie(self) -> bool:
        """Whether any rule has chosen between equally good domains, even without effect."""
        return any(group.met_tie for group in self._group_list)

    @property
    def inverse_count(self) -> int:
        """Number of rules that keep pods away; increases as new ones appear."""
        return len(self._inverse_list)

    def record(
        self,
        owner: PodClass,
        labels: RequirementSet,
        hostname: str,
        taints: tuple[Taint, ...],
    ) -> None:
        """Count a scheduled pod in every rule that selects it, and in its own anti-affinity rules.

        Args:
            labels: Final requirements of the node or claim, without the hostname.
        """
        for group in self.counting(owner):
            rule = group.spec.node_filter
            if rule is not None and not rule.counts_all and not rule.counts(taints, labels, hostname):
                continue
            if group.is_hostname:
                group.record((hostname,))
                continue
            landed = labels.value.find(group.spec.key)
            if landed is None:
                continue
            if group.kind is TopologyKind.ANTI_AFFINITY or (not landed.complement and len(landed.values) == 1):
                group.record(landed.values)
        for spec in owner.inverse_specs:
            group = self._inverse[spec.identity]
            if group.is_hostname:
                group.record((hostname,))
            else:
                landed = labels.value.find(spec.key)
                if landed is not None:
                    group.record(landed.values)


def _is_host(spec: TopologySpec) -> bool:
    return spec.key == "kubernetes.io/hostname"


def _selecting(owner: PodClass, rules: list[TopologyGroup], memory: _Selecting) -> list[TopologyGroup]:
    """Return the rules that select pods of a class; rules are only ever added."""
    seen, groups = memory.get(owner.face, (0, []))
    if seen < len(rules):
        groups += [group for group in rules[seen:] if group.spec.selects(owner.namespace, owner.labels)]
        memory[owner.face] = (len(rules), groups)
    return groups
