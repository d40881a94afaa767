"""Counts of pods by domain for a topology rule, and the domains that rules allow for a pod.

Rules: ``pkg/controllers/provisioning/scheduling/topologygroup.go`` and ``AddRequirements`` in ``topology.go`` there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Final

from karptui.karpenter.labels import HOSTNAME
from karptui.karpenter.requirements import IN, Requirement, Requirements
from karptui.provisioning.topology_spec import TopologyKind, TopologySpec

_NONE: Final[frozenset[str]] = frozenset()
_MAX_COUNT: Final = 2**31 - 1


class DomainChoice:
    """Domains that a rule allows for a key, and others that Karpenter might have chosen instead."""

    __slots__ = ("domains", "equals")

    def __init__(self, domains: frozenset[str], equals: tuple[str, ...] = ()) -> None:
        self.domains = domains
        """Empty if the rule cannot be met."""
        self.equals = equals
        """Domains among which Karpenter chooses at random; here the first is chosen."""


_NOWHERE: Final = DomainChoice(_NONE)


class TopologyGroup:
    """Counts of a rule during a run."""

    __slots__ = ("_choices", "_least", "counts", "is_hostname", "kind", "met_tie", "occupied", "spec", "version")

    def __init__(self, spec: TopologySpec, counts: dict[str, int]) -> None:
        self.spec = spec
        self.kind = spec.kind
        self.is_hostname = spec.key == HOSTNAME
        self.counts = counts
        """Pods by known domain, including 0; for the hostname only hosts with pods."""
        self.occupied = sum(1 for count in counts.values() if count)
        """Number of domains with pods."""
        self.met_tie = False
        """Whether a domain was ever chosen among equally good ones."""
        self.version = 0
        """Increases whenever a choice may change."""
        self._choices: dict[tuple[Requirement | None, Requirement | None, bool], DomainChoice] = {}
        self._least: dict[Requirement | None, int] = {}

    def record(self, domains: Iterable[str]) -> None:
        """Count another pod in each of these domains."""
        for domain in domains:
            count = self.counts.get(domain, 0)
            self.counts[domain] = count + 1
            if not count:
                self.occupied += 1
            if not count or self.kind is TopologyKind.SPREAD:
                self.version += 1
                self._choices.clear()
                self._least.clear()

    def allows_host(self, hostname: str, pod_host: Requirement | None, *, is_selected: bool) -> bool:
        """Return whether a hostname rule allows a pod on a host."""
        count = self.counts.get(hostname, 0)
        if self.kind is TopologyKind.SPREAD:
            return count + is_selected <= self.spec.max_skew
        if self.kind is TopologyKind.ANTI_AFFINITY:
            return not count
        if pod_host is not None and not pod_host.allows(hostname):
            return False
        return bool(count) or (is_selected and self._may_begin(pod_host))

    def choose(
        self, pod_domains: Requirement | None, node_domains: Requirement | None, *, is_selected: bool
    ) -> DomainChoice:
        """Return the domains that the rule allows for a pod.

        Args:
            pod_domains: The pod's strict requirement on the key; None for any.
            node_domains: Domains that the node or claim allows; None for any.
            is_selected: Whether the rule selects the pod.
        """
        key = (pod_domains, node_domains, is_selected)
        choice = self._choices.get(key)
        if choice is None:
            if self.kind is TopologyKind.SPREAD:
                choice = self._spread(pod_domains, node_domains, is_selected=is_selected)
            elif self.kind is TopologyKind.AFFINITY:
                choice = self._affinity(pod_domains, node_domains, is_selected=is_selected)
            else:
                choice = DomainChoice(
                    frozenset(
                        domain
                        for domain in self._allowed(node_domains)
                        if not self.counts[domain] and (pod_domains is None or pod_domains.allows(domain))
                    )
                )
            self._choices[key] = choice
        return choice

    def _allowed(self, domains: Requirement | None) -> Iterable[str]:
        if domains is None:
            return self.counts
        if domains.operator == IN:
            return [domain for domain in domains.values if domain in self.counts]
        return [domain for domain in self.counts if domains.allows(domain)]

    def least(self, pod_domains: Requirement | None) -> int:
        """Return the lowest number of pods in the allowed domains; 0 while there are fewer than ``minDomains``."""
        least = self._least.get(pod_domains)
        if least is None:
            counts = [self.counts[domain] for domain in self._allowed(pod_domains)]
            least = min(counts, default=_MAX_COUNT)
            if self.spec.min_domains is not None and len(counts) < self.spec.min_domains:
                least = 0
            self._least[pod_domains] = least
        return least

    def _spread(
        self, pod_domains: Requirement | None, node_domains: Requirement | None, *, is_selected: bool
    ) -> DomainChoice:
        limit = self.spec.max_skew + self.least(pod_domains) - is_selected
        valid = [domain for domain in self._allowed(node_domains) if self.counts[domain] <= limit]
        if not valid:
            return _NOWHERE
        fewest = min(self.counts[domain] for domain in valid)
        # An empty label value cannot be chosen; if only it has the fewest pods, no domain is.
        equals = tuple(sorted(domain for domain in valid if self.counts[domain] == fewest and domain))
        return self._first(equals)

    def _first(self, equals: tuple[str, ...]) -> DomainChoice:
        """Choose the first of several domains that are equal to Karpenter."""
        if len(equals) > 1:
            self.met_tie = True
            return DomainChoice(frozenset(equals[:1]), equals)
        return DomainChoice(frozenset(equals))

    def _affinity(
        self, pod_domains: Requirement | None, node_domains: Requirement | None, *, is_selected: bool
    ) -> DomainChoice:
        domains = [domain for domain in self.counts if pod_domains is None or pod_domains.allows(domain)]
        both = [domain for domain in domains if node_domains is None or node_domains.allows(domain)]
        occupied = frozenset(domain for domain in both if self.counts[domain])
        if occupied or not is_selected or not self._may_begin(pod_domains):
            return DomainChoice(occupied)
        equals = tuple(sorted(both)) or tuple(sorted(domains))
        return self._first(equals)

    def _may_begin(self, pod_domains: Requirement | None) -> bool:
        """Return whether the first pod of a group with affinity to itself may use any domain."""
        if not self.occupied:
            return True
        return not any(
            count and (pod_domains is None or pod_domains.allows(domain)) for domain, count in self.counts.items()
        )


Ruled = tuple[TopologyGroup, bool]
"""An applicable rule, and whether it selects the pod."""
Left = dict[str, Requirement]
"""Requirements that rules allow, by key."""

_MAX_TRIED: Final = 32
"""Maximum number of tie breaks tried; a pod that fits with none of them counts as unschedulable."""


def narrowed(
    rules: Sequence[Ruled], labels: Requirements, strict: Requirements
) -> tuple[Sequence[Left], Sequence[DomainChoice], Ruled | None]:
    """Return the requirements that rules allow on a node or claim, for each way to break ties.

    All rules see the same labels; two rules with different choices for a key leave nothing of it. Karpenter breaks ties
    at random in every attempt, so it is likely to find a way in which the pod fits.

    Args:
        rules: Rules on keys other than the hostname.
        labels: Requirements of the node or claim, including the pod's.
        strict: The pod's requirements without preferences.

    Returns:
        The ways in order of names, the choices, and the first unmet rule, if any.
    """
    choices: list[DomainChoice] = []
    has_tie = False
    for rule in rules:
        group, is_selected = rule
        key = group.spec.key
        choice = group.choose(strict.find(key), labels.find(key), is_selected=is_selected)
        if not choice.domains:
            return (), choices, rule
        has_tie = has_tie or bool(choice.equals)
        choices.append(choice)
    if has_tie:
        return tuple(islice(_ways(rules, choices, labels), _MAX_TRIED)), choices, None
    return (_meet(rules, [choice.domains for choice in choices], labels),), choices, None


def _meet(rules: Sequence[Ruled], picks: Sequence[frozenset[str]], labels: Requirements) -> Left:
    """Return the requirements for a choice of domains for each rule."""
    left: Left = {}
    for (group, _), domains in zip(rules, picks, strict=True):
        key = group.spec.key
        picked = Requirement(key, False, domains)
        before = left.get(key, labels.find(key))
        left[key] = picked if before is None else before.intersect(picked)
    return left


def _ways(rules: Sequence[Ruled], choices: Sequence[DomainChoice], labels: Requirements) -> Iterator[Left]:
    """Yield the requirements for each way to break ties, starting with those in which rules on a key agree."""
    common: dict[str, frozenset[str]] = {}
    for (group, _), choice in zip(rules, choices, strict=True):
        key = group.spec.key
        may = frozenset(choice.equals) or choice.domains
        common[key] = common[key] & may if key in common else may
    tied = {group.spec.key for (group, _), choice in zip(rules, choices, strict=True) if choice.equals}
    options = [sorted(common[key]) if key in tied else () for key in common]
    for ways in product(*(option or (None,) for option in options)):
        agreed = {key: frozenset((way,)) for key, way in zip(common, ways, strict=True) if way is not None}
        picks = [agreed.get(group.spec.key, choice.domains) for (group, _), choice in zip(rules, choices, strict=True)]
        yield _meet(rules, picks, labels)
