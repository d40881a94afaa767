"""Pods."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Final

import msgspec

from karptui.decode import pod_wire as wires
from karptui.decode.pod_template import TemplateInterner, TemplateParts, deciding_annotations, volumes_of
from karptui.decode.wire import WireCondition, required_name, timestamp
from karptui.kube.objects import EMPTY_LABELS
from karptui.kube.pod import Pod

_OWN_LABELS: Final = frozenset(
    {
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
    }
)
"""Labels that differ between pods of one workload, and would make a template of each."""
_NO_CONDITION: Final = WireCondition()
_READINESS: Final = {"True": True, "False": False}
"""Anything else, such as Unknown, is as good as not reported: only an explicit False marks a pod unhealthy."""


def build_pod(wire: wires.WirePod, interner: TemplateInterner) -> Pod:
    """Return a pod.

    Raises:
        FieldError: when a field cannot be read.
    """
    meta, spec, status = wire.metadata, wire.spec, wire.status or wires.WirePodStatus()
    conditions = {condition.type: condition for condition in status.conditions or ()}
    scheduled = conditions.get("PodScheduled", _NO_CONDITION)
    ready = conditions.get("Ready")
    labels, own_labels = _split_labels(meta.labels)
    node_name = intern(spec.node_name or "")
    template = interner.template_of(
        TemplateParts(
            namespace=meta.namespace or "default",
            labels=labels,
            annotations=deciding_annotations(meta.annotations),
            owners=meta.owner_references,
            spec=_without_own(spec),
            statuses=_reported_resources(status),
            is_resize_infeasible=conditions.get("PodResizePending", _NO_CONDITION).reason == "Infeasible",
        )
    )
    return Pod(
        name=required_name(meta),
        template=template,
        uid=meta.uid or "",
        node_name=node_name,
        nominated_node_name=status.nominated_node_name or "",
        phase=intern(status.phase or ""),
        created_ns=timestamp(meta.creation_timestamp, "metadata.creationTimestamp"),
        deletion_ns=timestamp(meta.deletion_timestamp, "metadata.deletionTimestamp"),
        start_ns=timestamp(status.start_time, "status.startTime"),
        ready=None if ready is None else _READINESS.get(ready.status or ""),
        scheduled_reason=intern(scheduled.reason or ""),
        scheduled_message="" if node_name else scheduled.message or "",
        scheduled_ns=timestamp(scheduled.last_transition_time, "status.conditions.lastTransitionTime"),
        own_labels=own_labels,
        volumes=volumes_of(spec.volumes),
        waiting_reason=_waiting_reason(status),
    )


def _split_labels(labels: dict[str, str] | None) -> tuple[Mapping[str, str] | None, Mapping[str, str]]:
    if not labels or _OWN_LABELS.isdisjoint(labels):
        return labels, EMPTY_LABELS
    shared = {key: value for key, value in labels.items() if key not in _OWN_LABELS}
    return shared, {key: value for key, value in labels.items() if key in _OWN_LABELS}


def _without_own(spec: wires.WirePodSpec) -> wires.WirePodSpec:
    return msgspec.structs.replace(spec, node_name=None, volumes=None)


def _reported_resources(status: wires.WirePodStatus) -> list[wires.WireContainerStatus] | None:
    reported = [
        wires.WireContainerStatus(
            name=wire.name,
            resources=wires.WireResources(requests=wire.resources.requests),
            allocated_resources=wire.allocated_resources,
        )
        for wire in (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
        if wire.resources is not None
    ]
    return reported or None


def _waiting_reason(status: wires.WirePodStatus) -> str:
    for wire in (*(status.init_container_statuses or ()), *(status.container_statuses or ())):
        state = wire.state
        if state is None:
            continue
        if state.waiting is not None and state.waiting.reason:
            return intern(state.waiting.reason)
        if state.terminated is not None and state.terminated.reason not in (None, "Completed"):
            return intern(state.terminated.reason or "")
    return intern(status.reason or "")
