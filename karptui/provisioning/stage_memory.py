"""Cached results of a run for a stage of a pod class: applicable rules, and candidates already tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from karptui.kube.taints import Taint, untolerated
from karptui.provisioning.pod_class import Stage
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.topology import Topology
from karptui.provisioning.topology_group import DomainChoice, Ruled, TopologyGroup
from karptui.provisioning.topology_spec import TopologyKind


class StageMemory:
    """Cached results of a stage. Those that depend on topology counts are dropped when the counts change."""

    __slots__ = (
        "claim_sets",
        "dead_claims",
        "dead_count",
        "host_rules",
        "inverse_count",
        "is_plain",
        "is_static",
        "new_claims",
        "node_sets",
        "open_nodes",
        "owned",
        "rules",
        "shut_nodes",
        "stage",
        "stamp",
        "ties",
        "tolerated",
    )

    def __init__(self, stage: Stage, owned: list[TopologyGroup], topology: Topology) -> None:
        self.stage = stage
        self.owned = owned
        self.rules: list[Ruled] = []
        """Rules on keys other than the hostname."""
        self.host_rules: list[Ruled] = []
        self.inverse_count = -1
        self.stamp = -1
        self.claim_sets: dict[RequirementSet, tuple[RequirementSet, ...] | Literal[False]] = {}
        """By requirements of a claim: those with the pod, per volume alternative; False if the pod never fits."""
        self.node_sets: dict[RequirementSet, RequirementSet | Literal[False] | None] = {}
        """By labels of a node: those with the pod, for the first suitable volume alternative."""
        self.ties: dict[RequirementSet, list[tuple[str, tuple[str, ...]]]] = {}
        """By requirements of a candidate: keys whose domain is a random choice, with the equally good domains."""
        self.dead_claims = bytearray()
        """By claim: whether the pod will never fit."""
        self.dead_count = 0
        self.open_nodes = -1
        """Nodes that may still fit the pod, as bits; negative before the first check."""
        self.shut_nodes = 0
        """Nodes whose labels exclude the pod for now, as bits; not valid for nodes with newly scheduled pods."""
        self.tolerated: dict[tuple[Taint, ...], bool] = {}
        self.new_claims: dict[int, tuple[object, object]] = {}
        """By template: input state and result."""
        self.is_static = True
        """Whether its requirements do not depend on the location of pods."""
        self.is_plain = True
        """Whether it also has no requirements on the hostname and no host ports."""
        self.refresh(topology)

    def refresh(self, topology: Topology) -> None:
        """Apply new rules, and drop results affected by changed counts."""
        if self.inverse_count != topology.inverse_count:
            self._bind(topology)
        stamp = 0
        for group, _ in self.rules:
            stamp += group.version
        if stamp != self.stamp:
            self.stamp = stamp
            self.claim_sets.clear()
            self.node_sets.clear()
            self.shut_nodes = 0
            self.ties.clear()

    def _bind(self, topology: Topology) -> None:
        self.inverse_count = topology.inverse_count
        owner = self.stage.owner
        self.rules.clear()
        self.host_rules.clear()
        for group in (*self.owned, *topology.keeping_away(owner)):
            rule = (group, group.spec.selects(owner.namespace, owner.labels))
            (self.host_rules if group.is_hostname else self.rules).append(rule)
        self.is_static = not self.rules and not owner.volume_alternatives
        self.is_plain = self.is_static and not (self.host_rules or owner.host_ports or self.stage.asked_host)
        self.stamp = -1

    def new_claim_stamp(self) -> int:
        """Return a number that increases whenever the result for a new claim may change."""
        return self.stamp + sum(group.version for group, _ in self.host_rules if group.kind is TopologyKind.AFFINITY)

    def note_ties(self, labels: RequirementSet, choices: Sequence[DomainChoice]) -> None:
        """Record which choices for a candidate with these labels are random."""
        equals = [
            (group.spec.key, choice.equals)
            for (group, _), choice in zip(self.rules, choices, strict=True)
            if choice.equals
        ]
        if equals:
            self.ties[labels] = equals

    def ties_of(self, labels: RequirementSet, final: RequirementSet) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each key whose domain was a random choice, with the equally good domains, the chosen one first.

        Args:
            labels: Requirements of the candidate without the pod.
            final: Requirements with the pod.
        """
        for key, equals in self.ties.get(labels, ()):
            chosen = final.value.get(key)
            yield key, tuple(sorted(equals, key=lambda domain: not chosen.allows(domain)))

    def tolerates(self, taints: tuple[Taint, ...]) -> bool:
        """Return whether the stage tolerates all of these taints."""
        if not taints:
            return True
        is_tolerated = self.tolerated.get(taints)
        if is_tolerated is None:
            is_tolerated = self.tolerated[taints] = not untolerated(taints, self.stage.preferences.tolerations)
        return is_tolerated

    def host_verdict(self, hostname: str) -> Literal[True, False] | None:
        """Return whether hostname rules allow a host: False for never, None for not now."""
        verdict: bool | None = True
        for kind in self.unmet_on(hostname):
            if kind is not TopologyKind.AFFINITY:
                return False
            verdict = None
        return verdict

    def unmet_on(self, hostname: str) -> Iterator[TopologyKind]:
        """Yield the kinds of the hostname rules that do not allow a host."""
        for group, is_selected in self.host_rules:
            if not group.allows_host(hostname, self.stage.strict_host, is_selected=is_selected):
                yield group.kind
