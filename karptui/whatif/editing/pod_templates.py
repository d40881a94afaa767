"""Pod templates read from documents, and pods given another template."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from karptui.decode.errors import DecodeError, FieldError, field_error
from karptui.decode.kinds import Kind
from karptui.decode.pod import template_parts
from karptui.decode.pod_template import build_template, split_labels, volumes_of
from karptui.decode.pod_wire import WirePod
from karptui.kube.objects import OwnerReference
from karptui.kube.pod import Pod, PodTemplate, PodVolume
from karptui.whatif.editing.cluster_draft import ClusterDraft

_HASH_LABEL = "pod-template-hash"


class TemplateRead(msgspec.Struct, frozen=True):
    """What a document says about pods."""

    template: PodTemplate
    own_labels: Mapping[str, str]
    volumes: tuple[PodVolume, ...]


def read_template(
    document: Mapping[str, Any],
    *,
    kind: str,
    key: str,
    namespace: str,
    owners: Iterable[OwnerReference] = (),
    is_typed: bool = True,
) -> TemplateRead:
    """Return the template of a document with ``metadata`` and ``spec``.

    Args:
        document: As it stands in a pod, or under ``template`` of a workload.
        kind: Whose it is, for the error.
        key: Its name, for the error.
        namespace: Of the pods.
        owners: Of the pods.
        is_typed: Whether somebody wrote it: limits then fill in for missing requests, as the API server does it.

    Raises:
        DecodeError: naming object and field.
    """
    metadata = document.get("metadata")
    meta = {**(metadata if isinstance(metadata, Mapping) else {}), "name": "pod", "namespace": namespace}
    try:
        wire = msgspec.convert({**document, "metadata": meta}, WirePod)
        parts = msgspec.structs.replace(template_parts(wire), owners=None, copies_limits=is_typed)
        template = replace(build_template(parts), owners=tuple(owners))
    except msgspec.ValidationError as error:
        raise DecodeError(kind, key, field_error(error, document)) from None
    except FieldError as error:
        raise DecodeError(kind, key, error) from None
    _, own_labels = split_labels(wire.metadata.labels)
    return TemplateRead(template, own_labels, volumes_of(wire.spec.volumes))


def with_priority(draft: ClusterDraft, template: PodTemplate) -> PodTemplate:
    """Return a template with the priority of its class, as admission fills it in."""
    if template.priority or not template.priority_class_name:
        return template
    classes = {one.name: one.value for one in draft.values(Kind.PRIORITY_CLASS)}
    return replace(template, priority=classes.get(template.priority_class_name, 0))


def give_template(draft: ClusterDraft, pods: Iterable[Pod], make: Callable[[Pod], PodTemplate]) -> int:
    """Give pods other templates, one for all pods that shared theirs; return how many pods changed.

    Args:
        draft: The cluster.
        pods: Some of its pods.
        make: Returns the new template of a pod.
    """
    made: dict[PodTemplate, PodTemplate] = {}
    count = 0
    for pod in pods:
        template = made.get(pod.template)
        if template is None:
            template = made[pod.template] = make(pod)
        if template is not pod.template:
            draft.put(Kind.POD, replace(pod, template=template))
            count += 1
    return count


def like_its_pods(template: PodTemplate, pod: Pod) -> PodTemplate:
    """Return a workload's template with what controllers add to its pods: owners and the ReplicaSet's hash.

    A pod that has it already keeps its own.
    """
    labels = dict(template.labels)
    if _HASH_LABEL in pod.template.labels:
        labels[_HASH_LABEL] = pod.template.labels[_HASH_LABEL]
    made = replace(template, owners=pod.template.owners, labels=labels)
    return pod.template if is_same(pod.template, made) else made


def is_same(left: PodTemplate, right: PodTemplate) -> bool:
    """Whether two templates say the same."""
    return all(getattr(left, name) == getattr(right, name) for name in PodTemplate.__struct_fields__)
