"""Pods from an API server's text.

What a pod shares with others of its workload is compared as text, and read only where that text is new: of a hundred
thousand pods a few thousand are read in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
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
    status = text.status or _NO_STATUS
    labels, own_labels = _labels(text.metadata)
    key = sha256(_shared_text(text, status, labels)).digest()
    template = interner.of_text(key)
    if template is None:
        template = interner.template_of(template_parts(_POD.decode(_ENCODER.encode(text))))
        interner.keep_text(key, template)
    return pod_of(text.metadata, text.spec, status, template, own_labels)


def _labels(meta: texts.TextMeta) -> tuple[bytes, Mapping[str, str]]:
    """Return the text of the labels that pods share, and the labels of this pod alone."""
    return _split(bytes(meta.labels))


@lru_cache(maxsize=4_096)
def _split(text: bytes) -> tuple[bytes, Mapping[str, str]]:
    # A backslash may hide a key's letters.
    if b"-index" not in text and b"/pod-name" not in text and b"\\" not in text:
        return text, EMPTY_LABELS
    shared, own = split_labels(_STRINGS.decode(text))
    return _ENCODER.encode(shared), own


def _annotations(meta: texts.TextMeta) -> bytes:
    """Return the text of the annotations that decide something."""
    if meta.annotations is NO_TEXT:
        return b""
    text = bytes(meta.annotations)
    # Each key that decides something has one of these in it; a loop over them would cost as much as the search.
    if (
        b"karpenter.sh/" not in text
        and b"pod-deletion-cost" not in text
        and b"config.mirror" not in text
        and b"safe-to-evict" not in text
        and b"\\" not in text
    ):
        return b""
    return _ENCODER.encode(deciding_annotations(_STRINGS.decode(text)))


def _shared_text(text: texts.TextPod, status: texts.TextPodStatus, labels: bytes) -> bytes:
    """Return everything a template is made of; each part is JSON, nothing or a mark that is neither."""
    meta, spec = text.metadata, text.spec
    parts = [
        labels,
        _annotations(meta),
        meta.namespace,
        meta.owner_references,
        spec.node_selector,
        spec.affinity,
        spec.topology_spread_constraints,
        spec.tolerations,
        spec.overhead,
        spec.resources,
        spec.resource_claims,
        spec.priority,
        spec.priority_class_name,
        spec.scheduler_name,
        spec.runtime_class_name,
        spec.termination_grace_period_seconds,
        spec.host_network,
    ]
    for container in spec.containers or ():
        parts += (container.name, container.image, container.restart_policy, container.resources, container.ports)
    if spec.init_containers:
        parts.append(b"init")
        for container in spec.init_containers:
            parts += (container.name, container.image, container.restart_policy, container.resources, container.ports)
    _add_reported(parts, status)
    return b"\n".join(parts)


def _add_reported(parts: list[bytes | msgspec.Raw], status: texts.TextPodStatus) -> None:
    """Add what the kubelet says of the containers' resources, which newer ones do of every container."""
    before = len(parts)
    for statuses in (status.container_statuses, status.init_container_statuses):
        for container in statuses or ():
            if container.resources is not NO_TEXT:
                parts += (b"status", container.name, container.resources, container.allocated_resources)
    if len(parts) > before and is_resize_infeasible(status):
        parts.append(b"infeasible")
