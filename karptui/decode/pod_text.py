"""Decodes pods from an API server's JSON text.

The fields that pods of a workload share are compared as text and decoded only if the text is new: of 100,000 pods a few
thousand are decoded in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karptui.decode import pod_wire as wires
from karptui.decode.pod import TEMPLATES, TemplateInterner, pod_of, template_parts, text_without_pin
from karptui.decode.pod_template import deciding_annotations, is_resize_infeasible, split_labels, volumes_of
from karptui.decode.pod_wire import NO_TEXT
from karptui.kube.objects import EMPTY_LABELS
from karptui.kube.pod import Pod, PodTemplate

_ENCODER: Final = msgspec.json.Encoder()
_POD: Final = msgspec.json.Decoder(wires.WirePod)
_STRINGS: Final = msgspec.json.Decoder(dict[str, str] | None)
_ESCAPE: Final = b"\\"
"""Escapes may hide a key."""
_GATES: Final = msgspec.json.Decoder(list[object])
_NO_GATES: Final = (b"null", b"[]")
_NO_SPEC: Final = wires.TextPodSpec()
_NO_STATUS: Final = wires.TextPodStatus()


class BuiltPod(wires.TextPod):
    """A pod that is built while it is decoded, when its text is still in the processor's cache."""

    pod: Any = None
    """The built pod; overwrites any JSON field of this name."""

    def __post_init__(self) -> None:
        self.pod = build_text_pod(self, TEMPLATES)
        # Release the text: a whole page of it would not fit into the cache.
        self.spec, self.status = _NO_SPEC, None


def build_text_pod(text: wires.TextPod, interner: TemplateInterner) -> Pod:
    """Return a pod."""
    meta, spec, status = text.metadata, text.spec, text.status or _NO_STATUS
    labels, own_labels = _labels(meta.labels)
    # Remove the pod's own fields before the rest is compared.
    node_name, volumes, gates = spec.node_name, spec.volumes, spec.scheduling_gates
    spec.node_name = spec.volumes = None
    spec.scheduling_gates = NO_TEXT
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
        volumes_of(volumes),
        status,
        template=template,
        own_labels=own_labels,
        gates=() if gates is NO_TEXT or bytes(gates) in _NO_GATES else _GATES.decode(gates),
    )


def _read_template(text: wires.TextPod, key: int, plain_key: int, interner: TemplateInterner) -> PodTemplate:
    """Return the template of a new text; ``plain_key`` is the digest without the kubelet's report."""
    template = None
    is_plain = key == plain_key or _is_report_equal(text)
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
    """Return a digest of parts of a text, which are JSON or empty.

    It has 64 bits and differs between processes. Among 100,000 texts a collision has a chance of one in four billion.
    """
    return hash(_ENCODER.encode(parts))


def _labels(raw: msgspec.Raw) -> tuple[msgspec.Raw, Mapping[str, str]]:
    """Return the text of the labels that pods share, and the labels of the single pod."""
    text = bytes(raw)
    if text.find(b"-index") < 0 and text.find(b"/pod-name") < 0 and text.find(_ESCAPE) < 0:
        return raw, EMPTY_LABELS
    shared, own_labels = split_labels(_STRINGS.decode(text))
    return msgspec.Raw(_ENCODER.encode(shared)), own_labels


def _annotations(raw: msgspec.Raw) -> msgspec.Raw:
    """Return the text of the annotations that affect decisions."""
    text = bytes(raw)
    # Every such key contains one of these. ``in`` would take three times as long, a loop six times.
    if (
        text.find(b"karpenter.sh/") < 0
        and text.find(b"pod-deletion-cost") < 0
        and text.find(b"config.mirror") < 0
        and text.find(b"safe-to-evict") < 0
        and text.find(_ESCAPE) < 0
    ):
        return NO_TEXT
    return msgspec.Raw(_ENCODER.encode(deciding_annotations(_STRINGS.decode(text))))


def _reported(status: wires.TextPodStatus) -> tuple[object, ...]:
    """Return the container resources reported by the kubelet, if any; newer kubelets always report them."""
    reported = [
        (report.name, report.resources, report.allocated_resources)
        for statuses in (status.container_statuses, status.init_container_statuses)
        for report in statuses or ()
        if report.resources is not NO_TEXT
    ]
    return (reported, is_resize_infeasible(status)) if reported else ()


def _is_report_equal(text: wires.TextPod) -> bool:
    """Return whether the reported resources equal the requests, so that both give the same template."""
    spec, status = text.spec, text.status or _NO_STATUS
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    requested = {bytes(container.name): bytes(container.resources) for container in containers}
    for report in (*(status.container_statuses or ()), *(status.init_container_statuses or ())):
        if report.resources is not NO_TEXT:
            resources = requested.get(bytes(report.name))
            allocated = b'"requests":%b}' % bytes(report.allocated_resources)
            if resources != bytes(report.resources) or not (
                report.allocated_resources is NO_TEXT or resources.endswith(allocated)
            ):
                return False
    return True
