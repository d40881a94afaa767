"""Pods: what each has of its own, beside the template it shares."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Final

from msgspec.structs import replace

from karptui.decode import pod_text_wire as texts
from karptui.decode import pod_wire as wires
from karptui.decode.errors import FieldError
from karptui.decode.node_pin import without_pin
from karptui.decode.pod_template import (
    TemplateParts,
    deciding_annotations,
    split_labels,
    volumes_of,
)
from karptui.decode.template_interner import TemplateInterner
from karptui.decode.wire import WireMeta, required_name, timestamp
from karptui.kube.pod import Pod, PodTemplate, PodVolume
from karptui.kube.timestamps import ABSENT_NS, parse_timestamp

_NO_STATUS: Final = wires.WirePodStatus()
_READINESS: Final[Mapping[str | None, bool]] = {"True": True, "False": False}
"""Anything else, such as Unknown, is as good as not reported: only an explicit False marks a pod unhealthy."""


def build_pod(wire: wires.WirePod, interner: TemplateInterner) -> Pod:
    """Return a pod.

    Raises:
        FieldError: when a field cannot be read.
    """
    _, own_labels = split_labels(wire.metadata.labels)
    template = interner.template_of(template_parts(wire))
    spec = wire.spec
    return pod_of(
        wire.metadata,
        spec.node_name,
        volumes_of(spec.volumes),
        wire.status or _NO_STATUS,
        template=template,
        own_labels=own_labels,
    )


def template_parts(wire: wires.WirePod) -> TemplateParts:
    """Return what the pod shares with others of its workload."""
    meta, spec = wire.metadata, wire.spec
    shared_labels, _ = split_labels(meta.labels)
    if spec.node_name and spec.affinity is not None:
        spec = replace(spec, affinity=without_pin(spec.affinity, meta.owner_references, spec.node_name))
    return TemplateParts(
        namespace=meta.namespace or "default",
        labels=shared_labels,
        annotations=deciding_annotations(meta.annotations),
        owners=meta.owner_references,
        spec=spec,
        status=wire.status or _NO_STATUS,
    )


def pod_of(
    meta: WireMeta | texts.TextMeta,
    node_name: str | None,
    volumes: tuple[PodVolume, ...],
    status: texts.AnyPodStatus,
    *,
    template: PodTemplate,
    own_labels: Mapping[str, str],
) -> Pod:
    """Return a pod of a template.

    Raises:
        FieldError: when a field cannot be read.
    """
    scheduled = ready = None
    for condition in status.conditions or ():
        type_ = condition.type
        if type_ == "PodScheduled":
            scheduled = condition
        elif type_ == "Ready":
            ready = condition
    name = meta.name or required_name(meta)
    scheduled_reason = scheduled_message = ""
    created_text = meta.creation_timestamp
    created_ns = scheduled_ns = ABSENT_NS
    try:
        if created_text:
            created_ns = parse_timestamp(created_text)
        if scheduled is not None:
            scheduled_reason = intern(scheduled.reason) if scheduled.reason else ""
            scheduled_message = "" if node_name else scheduled.message or ""
            scheduled_text = scheduled.last_transition_time
            if scheduled_text:
                # Most pods are bound within the second.
                scheduled_ns = created_ns if scheduled_text == created_text else parse_timestamp(scheduled_text)
        return Pod(
            name=name,
            template=template,
            # A manifest that no API server has seen has no uid, and pods are told apart by it.
            uid=meta.uid or f"{template.namespace}/{name}",
            node_name=intern(node_name) if node_name else "",
            nominated_node_name=status.nominated_node_name or "",
            phase=intern(status.phase) if status.phase else "",
            created_ns=created_ns,
            deletion_ns=parse_timestamp(meta.deletion_timestamp) if meta.deletion_timestamp else ABSENT_NS,
            start_ns=parse_timestamp(status.start_time) if status.start_time else ABSENT_NS,
            ready=_READINESS.get(ready.status) if ready is not None else None,
            scheduled_reason=scheduled_reason,
            scheduled_message=scheduled_message,
            scheduled_ns=scheduled_ns,
            own_labels=own_labels,
            volumes=volumes,
            waiting_reason=_waiting_reason(status),
        )
    except ValueError:
        raise _timestamp_error(meta, status) from None


def _timestamp_error(meta: WireMeta | texts.TextMeta, status: texts.AnyPodStatus) -> FieldError:
    """Return what is wrong, looked for only now because most pods have nothing wrong."""
    instants = {
        "metadata.creationTimestamp": meta.creation_timestamp,
        "metadata.deletionTimestamp": meta.deletion_timestamp,
        "status.startTime": status.start_time,
    }
    for index, condition in enumerate(status.conditions or ()):
        instants[f"status.conditions[{index}].lastTransitionTime"] = condition.last_transition_time
    return next(error for path, text in instants.items() if (error := _error_of(text, path)) is not None)


def _error_of(text: str | None, path: str) -> FieldError | None:
    try:
        timestamp(text, path)
    except FieldError as error:
        return error
    return None


def _waiting_reason(status: texts.AnyPodStatus) -> str:
    for statuses in (status.init_container_statuses, status.container_statuses):
        for wire in statuses or ():
            state = wire.state
            if state is None:
                continue
            if state.waiting is not None and state.waiting.reason:
                return intern(state.waiting.reason)
            if state.terminated is not None and state.terminated.reason not in (None, "Completed"):
                return intern(state.terminated.reason or "")
    return intern(status.reason) if status.reason else ""
