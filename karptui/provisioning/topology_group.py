"""Pods counted by domain for one topology rule, and the domains that rules leave a pod, a node or a claim.

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
    """What a rule leaves of a key: the domains, and the others that Karpenter might have chosen as well."""

    __slots__ = ("domains", "equals")

    def __init__(self, domains: frozenset[str], equals: tuple[str, ...] = ()) -> None:
        self.domains = domains
        """Empty where the rule cannot be met."""
        self.equals = equals
        """Domains among which Karpenter chooses at random; the one chosen here is the first of them."""


_NOWHERE: Final = DomainChoice(_NONE)


class TopologyGroup:
    """Counts of one rule during a run."""

    __slots__ = ("_choices", "_least", "counts", "is_hostname", "kind", "met_tie", "occupied", "spec", "version")

    def __init__(self, spec: TopologySpec, counts: dict[str, int]) -> None:
        self.spec = spec
        self.kind = spec.kind
        self.is_hostname = spec.key == HOSTNAME
        self.counts = counts
        """Pods by known domain; 0 where there is none. Of host names only those that have pods."""
        self.occupied = sum(1 for count in counts.values() if count)
        """Domains that have pods."""
        self.met_tie = False
        """Whether a domain was ever chosen among equals."""
        self.version = 0
        """Grows whenever a choice may come out differently than before."""
        self._choices: dict[tuple[Requirement | None, Requirement | None, bool], DomainChoice] = {}
        self._least: dict[Requirement | None, int] = {}

    def record(self, domains: Iterable[str]) -> None:
        """Count one more pod in each of these domains."""
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
        """Return whether a host-name rule allows a pod on this very host.

        Args:
            hostname: Of the node or claim.
            pod_host: What the pod itself asks of the host name.
            is_selected: Whether the rule selects the pod.
        """
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
        """Return the domains in which the rule allows a pod.

        Args:
            pod_domains: What the pod strictly asks of the key; None is anything.
            node_domains: What the node or claim still allows; None is anything.
            is_selected: Whether the rule selects the pod.
        """
        key = (pod_domains, node_domains, is_selected)
        found = self._choices.get(key)
        if found is None:
            if self.kind is TopologyKind.SPREAD:
                found = self._spread(pod_domains, node_domains, is_selected=is_selected)
            elif self.kind is TopologyKind.AFFINITY:
                found = self._affinity(pod_domains, node_domains, is_selected=is_selected)
            else:
                found = DomainChoice(
                    frozenset(
                        domain
                        for domain in self._allowed(node_domains)
                        if not self.counts[domain] and (pod_domains is None or pod_domains.allows(domain))
                    )
                )
            self._choices[key] = found
        return found

    def _allowed(self, domains: Requirement | None) -> Iterable[str]:
        """Return the known domains that a requirement allows."""
        if domains is None:
            return self.counts
        if domains.operator == IN:
            return [domain for domain in domains.values if domain in self.counts]
        return [domain for domain in self.counts if domains.allows(domain)]

    def least(self, pod_domains: Requirement | None) -> int:
        """Return the fewest pods in any domain that the pod may use; 0 while there are fewer than ``minDomains``."""
        found = self._least.get(pod_domains)
        if found is None:
            counts = [self.counts[domain] for domain in self._allowed(pod_domains)]
            found = min(counts, default=_MAX_COUNT)
            if self.spec.min_domains is not None and len(counts) < self.spec.min_domains:
                found = 0
            self._least[pod_domains] = found
        return found

    def _spread(
        self, pod_domains: Requirement | None, node_domains: Requirement | None, *, is_selected: bool
    ) -> DomainChoice:
        limit = self.spec.max_skew + self.least(pod_domains) - is_selected
        valid = [domain for domain in self._allowed(node_domains) if self.counts[domain] <= limit]
        if not valid:
            return _NOWHERE
        fewest = min(self.counts[domain] for domain in valid)
        # An empty label value cannot be chosen, and if it alone has the fewest pods nothing is.
        equals = tuple(sorted(domain for domain in valid if self.counts[domain] == fewest and domain))
        return self._first(equals)

    def _first(self, equals: tuple[str, ...]) -> DomainChoice:
        """Choose the first of domains that are equal to Karpenter."""
        if len(equals) > 1:
            self.met_tie = True
            return DomainChoice(frozenset(equals[:1]), equals)
        return DomainChoice(frozenset(equals))

    def _affinity(
        self, pod_domains: Requirement | None, node_domains: Requirement | None, *, is_selected: bool
    ) -> DomainChoice:
        wanted = [domain for domain in self.counts if pod_domains is None or pod_domains.allows(domain)]
        both = [domain for domain in wanted if node_domains is None or node_domains.allows(domain)]
        occupied = frozenset(domain for domain in both if self.counts[domain])
        if occupied or not is_selected or not self._may_begin(pod_domains):
            return DomainChoice(occupied)
        equals = tuple(sorted(both)) or tuple(sorted(wanted))
        return self._first(equals)

    def _may_begin(self, pod_domains: Requirement | None) -> bool:
        """Return whether the first pod of a self-affine group may go anywhere."""
        if not self.occupied:
            return True
        return not any(
            count and (pod_domains is None or pod_domains.allows(domain)) for domain, count in self.counts.items()
        )


Ruled = tuple[TopologyGroup, bool]
"""A rule that binds a pod, and whether it selects that pod."""
Left = dict[str, Requirement]
"""What rules leave of their keys."""

_MAX_TRIED: Final = 32
"""So many ways to break ties are tried; a pod that fits in none of them is said not to fit."""


def narrowed(
    rules: Sequence[Ruled], labels: Requirements, strict: Requirements
) -> tuple[Sequence[Left], Sequence[DomainChoice], Ruled | None]:
    """Return what rules leave of their keys on a node or claim, a way for each way to break ties.

    Every rule sees the same labels; two rules on one key that choose differently leave nothing of it. Where Karpenter
    chooses among equals at random it draws anew in every attempt, so a way in which the pod fits is the likely one.

    Args:
        rules: Rules on keys other than the host name.
        labels: Of the node or claim, with what the pod asks.
        strict: What the pod asks without preferences.

    Returns:
        The ways, the first by name first, the choices that were made, and the first rule that cannot be met, if any.
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
    """Return what these picks leave together, one for each rule."""
    left: Left = {}
    for (group, _), domains in zip(rules, picks, strict=True):
        key = group.spec.key
        picked = Requirement(key, False, domains)
        before = left.get(key, labels.find(key))
        left[key] = picked if before is None else before.intersect(picked)
    return left


def _ways(rules: Sequence[Ruled], choices: Sequence[DomainChoice], labels: Requirements) -> Iterator[Left]:
    """Yield what is left for each way to break ties, those first in which rules on one key agree."""
    common: dict[str, frozenset[str]] = {}
    for (group, _), choice in zip(rules, choices, strict=True):
        key = group.spec.key
        may = frozenset(choice.equals) or choice.domains
        common[key] = common[key] & may if key in common else may
    tied = {group.spec.key for (group, _), choice in zip(rules, choices, strict=True) if choice.equals}
    options = [sorted(common[key]) if key in tied else () for key in common]
    for ways in product(*(one or (None,) for one in options)):
        agreed = {key: frozenset((way,)) for key, way in zip(common, ways, strict=True) if way is not None}
        picks = [agreed.get(group.spec.key, choice.domains) for (group, _), choice in zip(rules, choices, strict=True)]
        yield _meet(rules, picks, labels)
