"""NodePools as templates of new claims.

Rules: ``nodeclaimtemplate.go`` and ``NewScheduler`` in ``pkg/controllers/provisioning/scheduling``.
"""

from __future__ import annotations

from collections.abc import Sequence

from karptui.karpenter.labels import INITIALIZED, NODEPOOL, REGISTERED
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import IN, Requirement, Requirements
from karptui.kube.taints import Taint
from karptui.provisioning.amounts import AmountIndex, Columns
from karptui.provisioning.catalogue import Catalogue
from karptui.provisioning.daemonsets import DaemonGroup, DaemonPod, group_by_daemons
from karptui.provisioning.requirement_set import Interner, RequirementSet, unmet_min_values


def pool_requirements(pool: NodePool) -> Requirements:
    """Return a NodePool's requirements and template labels, without the labels that Karpenter adds."""
    return Requirements.from_selectors(pool.requirements).merge(Requirements.from_labels(pool.template_labels))


def template_requirements(pool: NodePool) -> Requirements:
    """Return the requirements of a NodePool's new claims."""
    labels = {**pool.template_labels, NODEPOOL: pool.name}
    ref = pool.node_class_ref
    labels[f"{ref.group}/{ref.kind.lower()}"] = ref.name
    return (
        Requirements.from_selectors(pool.requirements)
        .merge(Requirements.from_labels(labels))
        .add(Requirement.of(REGISTERED, IN, ("true",)), Requirement.of(INITIALIZED, IN, ("true",)))
    )


class Template:
    """A NodePool with the instance types for its claims."""

    def __init__(
        self,
        pool: NodePool,
        *,
        index: int,
        catalogue: Catalogue,
        requirements: RequirementSet,
        types: int,
    ) -> None:
        self.pool = pool
        self.index = index
        """Position in the order Karpenter tries NodePools."""
        self.name = pool.name
        self.taints: tuple[Taint, ...] = pool.taints
        self.catalogue = catalogue
        self.requirements = requirements
        self.types = types
        """Types that are compatible, usable and available."""
        self.groups: list[DaemonGroup] = []
        self.amount_indexes: tuple[AmountIndex | None, ...] = ()
        """Allocatable by column."""
        self.has_min_values = requirements.value.has_min_values()

    def set_daemons(self, daemons: Sequence[DaemonPod], columns: Columns) -> None:
        """Determine which DaemonSet pods run on which types; drops affinity terms of DaemonSets along the way."""
        compatible = [
            (daemon, daemon.compatible_types(self.taints, self.requirements.value, self.catalogue, self.types))
            for daemon in daemons
        ]
        self.groups = group_by_daemons(self.types, compatible)
        for group in self.groups:
            group.weigh(columns)
        self.amount_indexes = tuple(self.catalogue.allocatable.get(name) for name in columns.names)

    def fitting_rows(self, need: Sequence[int]) -> int:
        """Return the rows of the catalogue with room for a row of amounts."""
        rows = self.catalogue.usable_rows
        for amount_index, amount in zip(self.amount_indexes, need, strict=True):
            if amount > 0:
                rows &= amount_index.at_least(amount) if amount_index is not None else 0
        return rows


def make_templates(
    pools: Sequence[NodePool],
    catalogues: dict[str, Catalogue],
    interner: Interner,
    *,
    is_strict: bool,
) -> tuple[list[Template], dict[str, bool]]:
    """Return the templates in the order Karpenter tries them, and the NodePools without any type.

    Args:
        is_strict: Whether unmet ``minValues`` exclude a NodePool.

    Returns:
        Templates, and for the name of each excluded NodePool whether ``minValues`` are the reason.
    """
    templates: list[Template] = []
    left_out: dict[str, bool] = {}
    for pool in pools:
        catalogue = catalogues[pool.name]
        requirements = interner.of(template_requirements(pool))
        left = requirements.filter_of(catalogue)
        types = left.types & catalogue.types_of_rows(left.offering_rows & catalogue.usable_rows)
        unmet = unmet_min_values(catalogue, types, requirements.value) if is_strict else {}
        if not types or unmet:
            left_out[pool.name] = bool(unmet)
        else:
            templates.append(
                Template(pool, index=len(templates), catalogue=catalogue, requirements=requirements, types=types)
            )
    return templates, left_out
