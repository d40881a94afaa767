"""Pods from an API server's text.

What a pod shares with others of its workload is compared as text, and read only where that text is new: of a hundred
thousand pods a few thousand are read in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karptui.decode import pod_wire as wires
from karptui.decode.pod import TEMPLATES, TemplateInterner, pod_of, template_parts, text_without_pin
from karptui.decode.pod_template import (
    deciding_annotations,
    is_resize_infeasible,
    split_labels,
    volumes_of,
)
from karptui.decode.pod_wire import NO_TEXT
from karptui.kube.objects import EMPTY_LABELS
from karptui.kube.pod import Pod, PodTemplate, PodVolume

_ENCODER: Final = msgspec.json.Encoder()
_VOLUMES: Final = msgspec.json.Decoder(list[wires.WireVolume] | None)
_POD: Final = msgspec.json.Decoder(wires.WirePod)
_STRINGS: Final = msgspec.json.Decoder(dict[str, str] | None)
_ESCAPE: Final = b"\\"
"""May hide a key's letters."""
_NO_GATES: Final = (b"", b"null", b"[]")
_NO_SPEC: Final = wires.TextPodSpec()
_NO_STATUS: Final = wires.TextPodStatus()


class BuiltPod(wires.TextPod):
    """A pod that is built as soon as its text is read, while the processor still has it at hand."""

    pod: Any = None
    """The pod; what a text says under this name is overwritten."""

    def __post_init__(self) -> None:
        self.pod = build_text_pod(self, TEMPLATES)
        # A page full of these would push one another out of the cache.
        self.spec, self.status = _NO_SPEC, None


def build_text_pod(text: wires.TextPod, interner: TemplateInterner) -> Pod:
    """Return a pod.

    Raises:
        FieldError: when a field cannot be read.
        msgspec.ValidationError: when a field has the wrong type.
    """
    meta, spec, status = text.metadata, text.spec, text.status or _NO_STATUS
    labels, own_labels = _labels(meta.labels)
    # What each pod has of its own is put aside while the rest is compared.
    node_name, volumes, gates = spec.node_name, spec.volumes, spec.scheduling_gates
    spec.node_name, spec.volumes, spec.scheduling_gates = None, NO_TEXT, NO_TEXT
    if node_name and spec.affinity is not NO_TEXT:
        spec.affinity = text_without_pin(text, node_name)
    shared = (labels, _annotations(meta.annotations), meta.namespace, meta.owner_references, spec)
    reported = _reported(status)
    key = _digest((shared, reported) if reported else shared)
    template = interner.of_text(key)
    if template is None:
        template = _read_template(text, key, _digest(shared) if reported else key, interner)
    return pod_of(
        meta,
        node_name,
        _volumes(volumes),
        status,
        template=template,
        own_labels=own_labels,
        is_gated=bytes(gates) not in _NO_GATES,
    )


def _read_template(text: wires.TextPod, key: int, plain_key: int, interner: TemplateInterner) -> PodTemplate:
    """Return the template of a text that is new; ``plain_key`` is that of the text without what the kubelet reports."""
    template = None
    is_plain = key == plain_key or _is_as_asked(text)
    if is_plain:
        template = interner.of_text(plain_key)
    if template is None:
        template = interner.template_of(template_parts(_POD.decode(_ENCODER.encode(text))))
        if is_plain:
            interner.keep_text(plain_key, template)
    if key != plain_key:
        interner.keep_text(key, template)
    return template


def _digest(parts: tuple[object, ...]) -> int:
    """Return the digest of parts of a text; between commas there is JSON, or nothing.

    Of 64 bits and keyed anew by each process: any two of a hundred thousand texts are taken for one another once in
    four billion times.
    """
    return hash(_ENCODER.encode(parts))


def _labels(raw: msgspec.Raw) -> tuple[msgspec.Raw, Mapping[str, str]]:
    """Return the text of the labels that pods share, and the labels of this pod alone."""
    text = bytes(raw)
    if text.find(b"-index") < 0 and text.find(b"/pod-name") < 0 and text.find(_ESCAPE) < 0:
        return raw, EMPTY_LABELS
    shared, own = split_labels(_STRINGS.decode(text))
    return msgspec.Raw(_ENCODER.encode(shared)), own


def _annotations(raw: msgspec.Raw) -> msgspec.Raw:
    """Return the text of the annotations that decide something."""
    text = bytes(raw)
    # Each key that decides something has one of these in it; ``in`` takes thrice the time, a loop as much again.
    if (
        text.find(b"karpenter.sh/") < 0
        and text.find(b"pod-deletion-cost") < 0
        and text.find(b"config.mirror") < 0
        and text.find(b"safe-to-evict") < 0
        and text.find(_ESCAPE) < 0
    ):
        return NO_TEXT
    return msgspec.Raw(_ENCODER.encode(deciding_annotations(_STRINGS.decode(text))))


def _volumes(raw: msgspec.Raw) -> tuple[PodVolume, ...]:
    """Return the volumes that are backed by claims."""
    text = bytes(raw)
    if text.find(b"persistentVolumeClaim") < 0 and text.find(b"ephemeral") < 0 and text.find(_ESCAPE) < 0:
        return ()
    return volumes_of(_VOLUMES.decode(text))


def _reported(status: wires.TextPodStatus) -> tuple[object, ...]:
    """Return what the kubelet tells of the containers' resources, as newer ones do of every container."""
    for statuses in (status.container_statuses, status.init_container_statuses):
        for container in statuses or ():
            if container.resources is not NO_TEXT:
                return status.container_statuses, status.init_container_statuses, is_resize_infeasible(status)
    return ()


def _is_as_asked(text: wires.TextPod) -> bool:
    """Whether every container has what it asks for, so that a template says the same with and without the report."""
    spec, status = text.spec, text.status or _NO_STATUS
    asked = {bytes(one.name): bytes(one.resources) for one in (*(spec.containers or ()), *(spec.init_containers or ()))}
    for one in (*(status.container_statuses or ()), *(status.init_container_statuses or ())):
        if one.resources is not NO_TEXT:
            resources = asked.get(bytes(one.name))
            allocated = b'"requests":%b}' % bytes(one.allocated_resources)
            if resources != bytes(one.resources) or not (
                one.allocated_resources is NO_TEXT or resources.endswith(allocated)
            ):
                return False
    return True
