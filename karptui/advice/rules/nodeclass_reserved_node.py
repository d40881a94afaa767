"""Reservations as large as the node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.aws.lint.overreserved import reserved_more_than_node
from karptui.aws.nodeclass import KIND
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from karptui.provisioning.catalogue import Catalogue, bits
from karptui.whatif.edits import ObjectRef


def _find(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodeclass = context.ec2_nodeclass_of(pool)
        if nodeclass is None:
            continue
        catalogue = context.catalogue_of(pool)
        allowed = catalogue.compatible(context.requirements_of(pool))
        if not _exhausted(catalogue, allowed):
            continue
        types = [catalogue.types[i] for i in bits(allowed)]
        for one in reserved_more_than_node(nodeclass.name, types):
            yield Finding(
                severity=Severity(str(one.severity)),
                objects=(ObjectRef(KIND, nodeclass.name), pool_ref(pool)),
                fact=f"In {pool.name} {one.fact}",
                remedy=one.remedy,
            )


def _exhausted(catalogue: Catalogue, allowed: int) -> int:
    """Return the types with nothing left of something that can be reserved, or without it: cheap to tell."""
    found = 0
    for resource in (CPU, MEMORY, EPHEMERAL_STORAGE):
        ladder = catalogue.allocatable.get(resource)
        if ladder is not None:
            found |= allowed & ~ladder.at_least(1)
    return found


RULE: Final = Rule(
    id="nodeclass-reserved-node",
    title="reservations eat the whole node",
    what="kubeReserved, systemReserved and eviction thresholds leave no cpu, memory or ephemeral storage on types that "
    "a NodePool allows.",
    why="Reservations are amounts, the same on small types and on large ones. A type with a negative remainder is "
    "unusable; one with nothing left is planned with and holds no pod.",
    source="pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Lower the reservations, or keep them in an EC2NodeClass that only large types use.",
    find=_find,
)
