"""``minValues`` of a requirement: which values count, and which requirements have too few."""

from __future__ import annotations

from karptui.karpenter.requirements import Requirement, Requirements
from karptui.karpenter.rules import Rules
from karptui.provisioning.catalogue import Catalogue


def is_counted(requirement: Requirement, value: str, rules: Rules) -> bool:
    """Return whether ``minValues`` counts a type's value: since 1.14.3 only values that are still allowed."""
    return not rules.counts_allowed_values or requirement.allows(value)


def unmet_min_values(catalogue: Catalogue, types: int, requirements: Requirements) -> dict[str, int]:
    """Return the keys with fewer values than ``minValues``, with the number of values.

    An empty set of types meets every ``minValues``. Rule: ``SatisfiesMinValues`` in ``pkg/cloudprovider/types.go``.
    """
    unmet: dict[str, int] = {}
    if not types:
        return unmet
    for requirement in requirements:
        if requirement.min_values is not None:
            index = catalogue.keys.get(requirement.key)
            masks = index.value_masks() if index is not None else ()
            offered = sum(
                1 for value, mask in masks if mask & types and is_counted(requirement, value, catalogue.rules)
            )
            if offered < requirement.min_values:
                unmet[requirement.key] = offered
    return unmet
