"""Which criterion ruled out all instance types of a NodePool."""

from __future__ import annotations

from collections.abc import Mapping

from karptui.provisioning.pod_class import PodClass
from karptui.provisioning.rejection import TypesExhausted
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.template import Template


def types_exhausted(
    pod_key: str,
    owner: PodClass,
    template: Template,
    types: int,
    *,
    labels: RequirementSet,
    unmet_min_values: Mapping[str, int],
) -> TypesExhausted:
    """Count the types that meet each criterion alone, which is what the message is about.

    Args:
        pod_key: ``namespace/name``.
        owner: The pod's class.
        template: The NodePool.
        types: Its types within the limits.
        labels: What the claim would be bound to.
        unmet_min_values: Labels with fewer values than ``minValues`` among the types that would be left.
    """
    catalogue = template.catalogue
    left = labels.filter_of(catalogue)
    with_offering = catalogue.types_of_rows(left.offering_rows)
    labelled = offered = roomy = considered = both = 0
    groups = [group for group in template.groups if not group.clashes(pod_key, owner.host_ports)]
    for group in groups:
        its = group.types & types
        total = [a + b for a, b in zip(owner.row, group.row, strict=True)]
        considered |= its
        labelled |= its & left.types
        offered |= its & with_offering
        both |= its & left.types & with_offering
        roomy |= its & catalogue.types_of_rows(left.offering_rows & template.fitting_rows(total))
    return TypesExhausted(
        requirements=labels.value,
        pod_requests=owner.requests,
        overheads=tuple(group.overhead for group in groups),
        considered=considered.bit_count(),
        with_labels=labelled.bit_count(),
        with_offering=offered.bit_count(),
        with_labels_and_offering=both.bit_count(),
        with_room=roomy.bit_count(),
        clashing_ports=len(groups) < len(template.groups),
        unmet_min_values=tuple(sorted(unmet_min_values.items())),
    )
