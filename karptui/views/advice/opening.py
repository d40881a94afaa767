"""What a what-if about a finding begins with."""

from __future__ import annotations

from typing import Final

from karptui.advice.finding import Finding
from karptui.views.whatif.opening import NOTHING, Opening
from karptui.whatif.edits import AnyEdit, CordonNode, DeleteObject, ObjectRef, RemoveNode, SetField
from karptui.whatif.scenario import Replay

_DOCUMENTS: Final = frozenset(
    {"NodePool", "EC2NodeClass", "DaemonSet", "Deployment", "StatefulSet", "Job", "CronJob", "PodDisruptionBudget"}
)
_MOST_DOCUMENTS: Final = 3
_DISRUPTION: Final = "disruption"


PROPORTION_RULES: Final = frozenset({"pool-weight-order"})
"""Rules about NodePools whose weights look like shares: for them the proportion that is meant is asked for."""


def pools_to_share(finding: Finding) -> tuple[str, ...]:
    """Return the NodePools whose proportion is asked for before the what-if; nothing for other findings."""
    if finding.rule not in PROPORTION_RULES:
        return ()
    return tuple(ref.name for ref in finding.objects if ref.kind == "NodePool")


def opening_of(finding: Finding) -> Opening:
    """Return the objects of a finding as documents, and what the remedy would change."""
    documents = [ref for ref in finding.objects if ref.kind in _DOCUMENTS][:_MOST_DOCUMENTS]
    documents += [ref for ref in map(_object_of, finding.edits) if ref is not None and ref not in documents]
    if not documents and not finding.edits:
        return NOTHING
    return Opening(finding.rule, tuple(dict.fromkeys(documents)), finding.edits, _replay(finding))


def _object_of(edit: AnyEdit) -> ObjectRef | None:
    return edit.object if isinstance(edit, (SetField, DeleteObject)) else None


def _replay(finding: Finding) -> Replay:
    """Return what shows the effect: the next disruption for what holds nodes, else the pods that wait."""
    for edit in finding.edits:
        if isinstance(edit, (CordonNode, RemoveNode)):
            return Replay.NEXT
        if isinstance(edit, SetField) and (_DISRUPTION in edit.path or edit.object.kind == "PodDisruptionBudget"):
            return Replay.NEXT
    if finding.rule.startswith(("pool-weight", "setting-overhead", "pod-preferences", "pool-daemonset")):
        return Replay.SCRATCH
    return Replay.NEXT if finding.rule.startswith(("budget", "pdb", "node-", "pod-several")) else Replay.PENDING
