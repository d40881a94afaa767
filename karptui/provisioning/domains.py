"""The domains that a topology key can have at all, from NodePools and their instance types.

Rules: ``buildDomainGroups`` in ``topology.go`` and ``topologydomaingroup.go`` of
``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from karptui.karpenter.requirements import IN, Requirements
from karptui.kube.taints import Taint, Toleration, untolerated
from karptui.provisioning.catalogue import Catalogue

PoolDomains = tuple[Requirements, tuple[Taint, ...], Catalogue]
"""A NodePool's requirements and labels, its taints, and every instance type it draws on, available or not; pools
without types have no part in it."""


class DomainUniverse:
    """Domains by topology key, with the taints under which each can be reached."""

    def __init__(self, pools: Sequence[PoolDomains]) -> None:
        self._pools = pools
        self._taints_by_domain: dict[str, dict[str, list[tuple[Taint, ...]]]] = {}
        self._domains: dict[tuple[str, tuple[Toleration, ...] | None], tuple[str, ...]] = {}

    def domains(self, key: str, tolerations: tuple[Toleration, ...] | None) -> tuple[str, ...]:
        """Return the domains of a key, sorted.

        Args:
            key: Topology key.
            tolerations: Leave out domains that only pools with other taints reach; None leaves out nothing.
        """
        known = self._domains.get((key, tolerations))
        if known is None:
            by_domain = self._taints_by_domain.get(key)
            if by_domain is None:
                by_domain = self._taints_by_domain[key] = self._collect(key)
            known = tuple(
                sorted(
                    domain
                    for domain, sets in by_domain.items()
                    if tolerations is None or any(not untolerated(taints, tolerations) for taints in sets)
                )
            )
            self._domains[key, tolerations] = known
        return known

    def _collect(self, key: str) -> dict[str, list[tuple[Taint, ...]]]:
        found: dict[str, list[tuple[Taint, ...]]] = {}
        for requirements, taints, catalogue in self._pools:
            for domain in _pool_domains(key, requirements, catalogue):
                found.setdefault(domain, []).append(taints)
        return found


def _pool_domains(key: str, requirements: Requirements, catalogue: Catalogue) -> Iterable[str]:
    """Return a pool's domains; of a NotIn that a type does not narrow these are the excluded values."""
    own = requirements.find(key)
    domains: set[str] = set()
    if own is not None and own.operator == IN:
        domains |= own.values
    index = catalogue.keys.get(key)
    if index is None:
        return domains if own is None else domains | own.values
    for requirement in index.distinct:
        domains |= requirement.values if own is None else requirement.intersect(own).values
    if own is not None and index.undefined:
        domains |= own.values
    return domains
