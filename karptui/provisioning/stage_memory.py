"""What a run knows about one stage of one pod class: rules that bind it, and candidates that it need not ask again."""

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
    """Memory of a stage during a run. What depends on topology counts is forgotten when those change."""

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
        """Rules on keys other than the host name."""
        self.host_rules: list[Ruled] = []
        self.inverse_count = -1
        self.stamp = -1
        self.claim_sets: dict[RequirementSet, tuple[RequirementSet, ...] | Literal[False]] = {}
        """By what a claim has: what it may have with the pod, an entry per volume alternative; False for never."""
        self.node_sets: dict[RequirementSet, RequirementSet | Literal[False] | None] = {}
        """The same for nodes, where the first alternative decides."""
        self.ties: dict[RequirementSet, list[tuple[str, tuple[str, ...]]]] = {}
        """By what a candidate has: keys whose domain is chosen among equals, and these."""
        self.dead_claims = bytearray()
        """By claim: whether it will never take the pod."""
        self.dead_count = 0
        self.open_nodes = -1
        """Nodes that may still take the pod, as bits; negative before the first look."""
        self.shut_nodes = 0
        """Nodes whose labels keep the pod away for now, as bits; it says nothing of those on which pods were placed."""
        self.tolerated: dict[tuple[Taint, ...], bool] = {}
        self.new_claims: dict[int, tuple[object, object]] = {}
        """By template: the state that an outcome was computed for, and the outcome."""
        self.is_static = True
        """Whether nothing that it asks depends on where pods are."""
        self.is_plain = True
        """Whether it asks nothing of the host either: neither name nor ports."""
        self.refresh(topology)

    def refresh(self, topology: Topology) -> None:
        """Take up rules that have appeared, and forget what changed counts make doubtful."""
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
        """Return a number that grows whenever a new claim may be judged differently."""
        return self.stamp + sum(group.version for group, _ in self.host_rules if group.kind is TopologyKind.AFFINITY)

    def note_ties(self, labels: RequirementSet, choices: Sequence[DomainChoice]) -> None:
        """Remember which choices for a candidate with these labels are made among equals."""
        equals = [
            (group.spec.key, choice.equals)
            for (group, _), choice in zip(self.rules, choices, strict=True)
            if choice.equals
        ]
        if equals:
            self.ties[labels] = equals

    def ties_of(self, labels: RequirementSet, final: RequirementSet) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each key whose domain was chosen among equals, and these, the chosen one first.

        Args:
            labels: What the candidate had without the pod.
            final: What it has with it.
        """
        for key, equals in self.ties.get(labels, ()):
            chosen = final.value.get(key)
            yield key, tuple(sorted(equals, key=lambda domain: not chosen.allows(domain)))

    def tolerates(self, taints: tuple[Taint, ...]) -> bool:
        """Return whether the stage tolerates all of these taints."""
        if not taints:
            return True
        known = self.tolerated.get(taints)
        if known is None:
            known = self.tolerated[taints] = not untolerated(taints, self.stage.preferences.tolerations)
        return known

    def host_verdict(self, hostname: str) -> Literal[True, False] | None:
        """Return whether host-name rules allow a host: False for never, None for not now."""
        verdict: bool | None = True
        for group, is_selected in self.host_rules:
            if not group.allows_host(hostname, self.stage.strict_host, is_selected=is_selected):
                if group.kind is not TopologyKind.AFFINITY:
                    return False
                verdict = None
        return verdict
