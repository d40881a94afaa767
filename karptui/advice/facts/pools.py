"""NodePools: which take part, what they offer, and where pods of a template may go."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from karptui.advice.facts.cluster import ClusterFacts
from karptui.karpenter.labels import CAPACITY_TYPE, WELL_KNOWN, ZONE
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.provisioning.catalogue import Catalogue, bits, catalogue_of
from karptui.provisioning.pool_types import pool_types
from karptui.provisioning.template import template_requirements, usable_pools
from karptui.provisioning.type_index import single_value
from karptui.provisioning.type_verdict import PoolTypes


class PoolFacts(ClusterFacts):
    """What is known of NodePools."""

    @cached_property
    def pools(self) -> tuple[NodePool, ...]:
        """NodePools that this Karpenter serves and that are not being deleted, by name."""
        return tuple(pool for _, pool in sorted(self.fleet.pools.items()) if not pool.is_deleting)

    @cached_property
    def ready_pools(self) -> tuple[NodePool, ...]:
        """NodePools that take part in provisioning, whether or not they have types, in the order of their weights."""
        return tuple(usable_pools(self.inventory.nodepools))

    @cached_property
    def tried_pools(self) -> tuple[NodePool, ...]:
        """Those of them with at least one usable instance type, in the order in which they are tried."""
        return tuple(template.pool for template in self.prepared.templates)

    @cached_property
    def pool_types(self) -> Mapping[str, PoolTypes]:
        """The instance types of every NodePool after each filter, by name."""
        found = pool_types(self.inventory, self.prepared.given_types, self.settings)
        return {one.pool.name: one for one in found}

    @cached_property
    def _requirements(self) -> dict[str, Requirements]:
        return {pool.name: template_requirements(pool) for pool in self.inventory.nodepools}

    def requirements_of(self, pool: NodePool) -> Requirements:
        """Return what new nodes of a NodePool are bound to."""
        return self._requirements[pool.name]

    def catalogue_of(self, pool: NodePool) -> Catalogue:
        """Return the indexed instance types that a NodePool draws on."""
        known = self.prepared.catalogues.get(pool.name)
        return known if known is not None else catalogue_of(tuple(self.prepared.types_by_pool[pool.name]))

    @cached_property
    def _offered(self) -> dict[str, tuple[int, frozenset[tuple[str, str]]]]:
        return {pool.name: self._offerings(pool) for pool in self.inventory.nodepools}

    def _offerings(self, pool: NodePool) -> tuple[int, frozenset[tuple[str, str]]]:
        catalogue, requirements = self.catalogue_of(pool), self.requirements_of(pool)
        compatible = catalogue.compatible(requirements)
        types, places = 0, set()
        for kind in catalogue.offering_kinds:
            if requirements.compatible(kind.requirements, WELL_KNOWN):
                sold = catalogue.types_of_rows(kind.rows) & compatible
                if sold:
                    types |= sold
                    places.add((single_value(kind.requirements, ZONE), single_value(kind.requirements, CAPACITY_TYPE)))
        return types, frozenset(places)

    def offered_types(self, pool: NodePool) -> tuple[str, ...]:
        """Return the names of the types that a NodePool allows and that are to be had, whatever its limits."""
        catalogue = self.catalogue_of(pool)
        return tuple(catalogue.types[i].name for i in bits(self._offered[pool.name][0]))

    def zones_of(self, pool: NodePool) -> frozenset[str]:
        """Return the zones in which a NodePool has an available offering."""
        return frozenset(zone for zone, _ in self._offered[pool.name][1] if zone)

    def capacity_types_of(self, pool: NodePool) -> frozenset[str]:
        """Return the capacity types of which a NodePool has an available offering."""
        return frozenset(kind for _, kind in self._offered[pool.name][1] if kind)
