"""The accuracy of a result: exact, approximated and unmodelled rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from karptui.karpenter.controller import MODELLED_VERSION, is_other_minor
from karptui.provisioning.not_modelled import KUBE_SCHEDULER_APPROXIMATED, not_modelled
from karptui.whatif.edits import AnyEdit, PutObject, ScaleWorkload, SetField
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import EditedCluster, WhatIfBase

_EXACT: Final = (
    "order of NodePools, limits, requirements, taints, DaemonSets, resources, volumes, spread and affinity: compared"
    " with Karpenter's own code"
)
_EXACT_NEXT: Final = "gates, blockers, budgets and consolidation: compared with Karpenter's own code"
_SELECTORS: Final = (
    "amiSelectorTerms",
    "subnetSelectorTerms",
    "securityGroupSelectorTerms",
    "capacityReservationSelectorTerms",
)


class Accuracy(msgspec.Struct, frozen=True):
    """The accuracy of a result, as text."""

    exact: tuple[str, ...]
    approximated: tuple[str, ...]
    not_modelled: tuple[str, ...]
    found_version: str = ""
    """Karpenter's version in the cluster; empty if unknown."""
    modelled_version: str = MODELLED_VERSION
    edited_version: str = ""
    """The version that the edits set; empty if unchanged."""

    @property
    def is_other_version(self) -> bool:
        """Whether the cluster is known to run another version, releases of a minor version that is modelled aside."""
        return is_other_minor(self.found_version)


def accuracy_of(base: WhatIfBase, edited: EditedCluster, mode: Replay) -> Accuracy:
    """Return the accuracy of a result."""
    return Accuracy(
        exact=(_EXACT, _EXACT_NEXT) if mode is Replay.NEXT else (_EXACT,),
        approximated=tuple(dict.fromkeys(_approximated(edited, mode))),
        not_modelled=tuple(dict.fromkeys(_not_modelled(edited, mode))),
        found_version=base.karpenter_version,
        modelled_version=base.settings.rules.version,
        edited_version="" if edited.settings.rules is base.settings.rules else edited.settings.rules.version,
    )


def _approximated(edited: EditedCluster, mode: Replay) -> Iterator[str]:
    yield "a new node counts with its cheapest offering; AWS may launch a more expensive one"
    match mode:
        case Replay.SCRATCH:
            yield "all workload pods are created at once; in a cluster, nodes fill up over time and differently"
            yield "nodes that Karpenter does not manage, and nodes of static NodePools, stay with their pods"
        case Replay.REMOVE:
            yield "the pods of removed nodes move even if they are protected"
        case Replay.NEXT:
            yield "of equal candidates the first by name is removed; Karpenter may remove any"
    if mode is not Replay.NEXT and not edited.prepared.pools:
        yield f"no NodePool is usable, so kube-scheduler alone places pods: {KUBE_SCHEDULER_APPROXIMATED}"
    if edited.removed and mode is not Replay.REMOVE:
        yield "the pods of removed nodes are scheduled as new pods, regardless of protections and budgets"
    if edited.prices is not None:
        yield "$/h counts managed nodes, excluding those being removed; the top bar counts all nodes"
        if edited.inventory.overlays:
            yield "NodeOverlays change the prices that Karpenter compares, not $/h"
    if any(_is_text_of_workload(edit) for edit in edited.edits):
        yield "the pods of a workload change at once and in place, without a rollout"
    yield from edited.premises


def _not_modelled(edited: EditedCluster, mode: Replay) -> Iterator[str]:
    yield from not_modelled(edited.inventory, edited.settings)
    if mode is Replay.NEXT:
        yield "the 15 seconds before Karpenter validates a command"
    elif edited.prepared.pools:
        yield "kube-scheduler, which may bind pods to other existing nodes than Karpenter expects"
    touched = sorted({name for edit in edited.edits for name in _SELECTORS if _mentions(edit, name)})
    if touched:
        yield f"what {', '.join(touched)} of an EC2NodeClass select: the objects selected before the edit are used"
    if any(isinstance(edit, PutObject) for edit in edited.edits):
        yield "admission: LimitRanges, quotas and webhooks may change or refuse an object"
    if any(isinstance(edit, PutObject | SetField) for edit in edited.edits):
        yield "drift by image, subnet, security group or reservation, which only AWS knows"


def _is_text_of_workload(edit: AnyEdit) -> bool:
    if isinstance(edit, SetField):
        return edit.path[:2] == ("spec", "template") and edit.object.kind != "NodePool"
    return isinstance(edit, ScaleWorkload)


def _mentions(edit: AnyEdit, name: str) -> bool:
    if isinstance(edit, SetField):
        return name in edit.path and edit.object.kind == "EC2NodeClass"
    return isinstance(edit, PutObject) and name in edit.text and "EC2NodeClass" in edit.text
