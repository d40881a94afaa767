"""Pods from an API server's text.

What a pod shares with others of its workload is compared as text, and read only where that text is new: of a hundred
thousand pods a few thousand are read in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from karptui.decode import pod_text_wire as texts
from karptui.decode import pod_wire as wires
from karptui.decode.pod import pod_of, template_parts
from karptui.decode.pod_template import (
    TEMPLATES,
    TemplateInterner,
    deciding_annotations,
    is_resize_infeasible,
    split_labels,
)
from karptui.decode.pod_text_wire import NO_TEXT
from karptui.kube.objects import EMPTY_LABELS
from karptui.kube.pod import Pod

_ENCODER: Final = msgspec.json.Encoder()
_POD: Final = msgspec.json.Decoder(wires.WirePod)
_STRINGS: Final = msgspec.json.Decoder(dict[str, str] | None)
_ESCAPE: Final = b"\\"
"""May hide a key's letters."""
_NO_SPEC: Final = texts.TextPodSpec()
_NO_STATUS: Final = texts.TextPodStatus()


class BuiltPod(texts.TextPod):
    """A pod that is built as soon as its text is read, while the processor still has it at hand."""

    pod: Any = None
    """The pod; what a text says under this name is overwritten."""

    def __post_init__(self) -> None:
        self.pod = build_text_pod(self, TEMPLATES)
        # A page full of these would push one another out of the cache.
        self.spec, self.status = _NO_SPEC, None


def build_text_pod(text: texts.TextPod, interner: TemplateInterner) -> Pod:
    """Return a pod.

    Raises:
        FieldError: when a field cannot be read.
        msgspec.ValidationError: when a field has the wrong type.
    """
    meta, spec, status = text.metadata, text.spec, text.status or _NO_STATUS
    labels, own_labels = _labels(meta.labels)
    # What each pod has of its own is put aside while the rest is compared.
    node_name, volumes = spec.node_name, spec.volumes
    spec.node_name = spec.volumes = None
    key = sha256(_shared_text(text, status, labels)).digest()
    template = interner.of_text(key)
    if template is None:
        template = interner.template_of(template_parts(_POD.decode(_ENCODER.encode(text))))
        interner.keep_text(key, template)
    spec.node_name, spec.volumes = node_name, volumes
    return pod_of(meta, spec, status, template, own_labels)


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


def _shared_text(text: texts.TextPod, status: texts.TextPodStatus, labels: msgspec.Raw) -> bytes:
    """Return everything a template is made of: between commas JSON, or nothing."""
    meta, annotations = text.metadata, text.metadata.annotations
    if annotations is not NO_TEXT:
        annotations = _annotations(annotations)
    parts = (labels, annotations, meta.namespace, meta.owner_references, text.spec)
    if not _is_reported(status):
        return _ENCODER.encode(parts)
    reported = (status.container_statuses, status.init_container_statuses, is_resize_infeasible(status))
    return _ENCODER.encode((parts, reported))


def _is_reported(status: texts.TextPodStatus) -> bool:
    """Whether the kubelet tells of the containers' resources, as newer ones do of every container."""
    for statuses in (status.container_statuses, status.init_container_statuses):
        for container in statuses or ():
            if container.resources is not NO_TEXT:
                return True
    return False
