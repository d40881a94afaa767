"""Edits that preceded a fault, and that can matter to it. They are named, and never called its cause."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from karptui.changes.changes import Edit
from karptui.decode.kinds import Kind
from karptui.kube.timestamps import MINUTE_NS
from karptui.verdict.finding import ClusterFinding, FindingCode

WITHIN_NS: Final = 30 * MINUTE_NS
"""How long before a fault an edit may have been made."""
_TEMPLATE: Final = "spec.template.spec."
_LAUNCHES: Final = (
    "spec.limits",
    "spec.weight",
    *(f"{_TEMPLATE}{name}" for name in ("requirements", "taints", "startupTaints", "nodeClassRef")),
)
_CLASS: Final = {Kind.NODECLASS: ("spec.",)}
_WORKLOADS: Final = dict.fromkeys((Kind.DEPLOYMENT, Kind.STATEFULSET, Kind.DAEMONSET), (_TEMPLATE, "spec.replicas"))
_MATTERS: Final[Mapping[FindingCode, Mapping[Kind, tuple[str, ...]]]] = MappingProxyType(
    {
        FindingCode.PENDING: {Kind.NODEPOOL: _LAUNCHES, **_CLASS, **_WORKLOADS},
        FindingCode.LAUNCH_REFUSED: {Kind.NODEPOOL: _LAUNCHES, **_CLASS},
        FindingCode.CLAIM_STUCK: {Kind.NODEPOOL: _LAUNCHES, **_CLASS},
        FindingCode.NOT_INITIALIZED: {Kind.NODEPOOL: _LAUNCHES, **_CLASS, Kind.DAEMONSET: (_TEMPLATE,)},
        FindingCode.DAEMONSET_PENDING: {Kind.DAEMONSET: (_TEMPLATE,)},
        FindingCode.PODS_NOT_STARTING: _WORKLOADS,
        FindingCode.NODECLASS_NOT_READY: _CLASS,
        FindingCode.POOL_NOT_READY: {Kind.NODEPOOL: (f"{_TEMPLATE}nodeClassRef",), **_CLASS},
        FindingCode.POOL_AT_LIMIT: {Kind.NODEPOOL: ("spec.limits",)},
        FindingCode.LAUNCHES_MOVED: {Kind.NODEPOOL: _LAUNCHES},
        FindingCode.BUDGET: {Kind.NODEPOOL: ("spec.disruption.budgets",)},
        FindingCode.DRIFT: {
            Kind.NODEPOOL: (_TEMPLATE, "spec.disruption.budgets"),
            Kind.NODECLASS: ("spec.", "status.amis"),
        },
        FindingCode.CHURN: {Kind.NODEPOOL: ("spec.disruption.consolid", f"{_TEMPLATE}expireAfter", *_LAUNCHES)},
        FindingCode.EXPIRY: {
            Kind.NODEPOOL: tuple(f"{_TEMPLATE}{name}" for name in ("expireAfter", "terminationGracePeriod"))
        },
    }
)
"""By cause and kind, the fields that can matter, as beginnings of their paths."""


def edit_before(finding: ClusterFinding, refs: Collection[tuple[str, str]], edits: Iterable[Edit]) -> Edit | None:
    """Return the newest edit within 30 minutes before a fault, with its fields that can matter; None if there is none.

    Args:
        refs: Kind and key of the objects that the fault concerns.
    """
    matters, since_ns = _MATTERS.get(finding.code), finding.started_ns or finding.since_ns
    if matters is None or not since_ns:
        return None
    newest: Edit | None = None
    for edit in edits:
        if (edit.kind, edit.key) not in refs or not 0 <= since_ns - edit.at_ns <= WITHIN_NS:
            continue
        prefixes = matters.get(Kind(edit.kind), ())
        fields = tuple(change for change in edit.fields if change.path.startswith(prefixes))
        if fields and (newest is None or edit.at_ns >= newest.at_ns):
            newest = replace(edit, fields=fields)
    return newest
