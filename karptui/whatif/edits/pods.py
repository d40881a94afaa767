"""Pods that come, go and change with edits, and the PodDisruptionBudgets that count them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from karptui.decode.errors import DecodeError, FieldError, field_error
from karptui.decode.kinds import Kind
from karptui.decode.pod import template_parts
from karptui.decode.pod_template import build_template, split_labels, volumes_of
from karptui.decode.pod_wire import WirePod
from karptui.karpenter.labels import POD_DELETION_COST
from karptui.kube.objects import OwnerReference
from karptui.kube.pod import Pod, PodTemplate, PodVolume
from karptui.kube.workload import PodDisruptionBudget
from karptui.whatif.edits import EditError, ObjectRef
from karptui.whatif.edits.draft import ClusterDraft
from karptui.whatif.situation import as_pending


def with_status(draft: ClusterDraft, pdb: PodDisruptionBudget) -> PodDisruptionBudget:
    """Return a PodDisruptionBudget with the status computed from the existing pods.

    The number of expected pods is the number of existing pods.
    """
    selector = pdb.selector
    pods = [
        pod
        for pod in draft.values(Kind.POD)
        if selector is not None
        and pod.namespace == pdb.namespace
        and not pod.is_terminal
        and selector.matches(pod.labels)
    ]
    expected = len(pods)
    healthy = sum(1 for pod in pods if pod.ready and not pod.is_terminating)
    if pdb.max_unavailable is not None:
        desired = max(expected - _amount(pdb, "maxUnavailable", pdb.max_unavailable, expected), 0)
    else:
        desired = _amount(pdb, "minAvailable", pdb.min_available or 0, expected)
    return replace(
        pdb,
        expected_pods=expected,
        current_healthy=healthy,
        desired_healthy=desired,
        disruptions_allowed=max(healthy - desired, 0) if expected else 0,
        observed_generation=pdb.generation,
    )


def _amount(pdb: PodDisruptionBudget, field: str, value: int | str, total: int) -> int:
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not digits.isdecimal():
        where = f"PodDisruptionBudget {pdb.key}: spec.{field}"
        raise EditError(f"{where}: {value!r:.60} is neither a number nor a percentage")
    return math.ceil(int(digits) * total / 100)


_HASH_LABEL = "pod-template-hash"


class TemplateRead(msgspec.Struct, frozen=True):
    """The pod template of a document."""

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
        document: A pod, or the ``template`` of a workload.
        is_typed: Whether a user wrote it: missing requests then default to limits, as in the API server.
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
    classes = {value.name: value.value for value in draft.values(Kind.PRIORITY_CLASS)}
    return replace(template, priority=classes.get(template.priority_class_name, 0))


def give_template(draft: ClusterDraft, pods: Iterable[Pod], make: Callable[[Pod], PodTemplate]) -> int:
    """Replace the templates of pods, one per shared template; return the number of changed pods."""
    templates: dict[PodTemplate, PodTemplate] = {}
    count = 0
    for pod in pods:
        template = templates.get(pod.template)
        if template is None:
            template = templates[pod.template] = make(pod)
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
    pod_template = replace(template, owners=pod.template.owners, labels=labels)
    return pod.template if is_same(pod.template, pod_template) else pod_template


def is_same(left: PodTemplate, right: PodTemplate) -> bool:
    """Return whether two templates have the same effect, however their containers divide the requests."""
    names = set(PodTemplate.__struct_fields__) - {"containers", "has_pod_level_requests"}
    return all(getattr(left, name) == getattr(right, name) for name in names)


_ORDINAL: Final = re.compile(r"(.+)-([0-9]+)")
_COPY: Final = re.compile(r"-whatif-[0-9]+$")
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_POD_INDEX: Final = "apps.kubernetes.io/pod-index"
MAX_PODS: Final = 200_000
"""Pods that an edit may add; more is a slip of the finger."""


def scale(draft: ClusterDraft, ref: ObjectRef, replicas: int) -> None:
    """Change the number of pods of a workload."""
    _check_count(replicas, "replicas")
    workload = draft.get(ref)
    if not hasattr(workload, "replicas"):
        raise EditError(f"{ref.kind} {ref.key} cannot be scaled: it has no replicas")
    pods = [pod for pod in draft.pods_of(ref) if pod.is_active]
    draft.put(draft.kind(ref), replace(workload, replicas=replicas))
    if replicas < len(pods):
        for pod in in_order_of_removal(pods)[: len(pods) - replicas]:
            draft.drop(Kind.POD, pod)
        return
    missing = replicas - len(pods)
    if pods:
        add_copies(draft, max(pods, key=lambda pod: (pod.created_ns, pod.name)), missing, siblings=pods)
    elif missing and workload.template is not None:
        owner = OwnerReference(workload.api_version, ref.kind, ref.name, workload.uid or f"whatif-{ref.key}", True)
        add_first(draft, replace(workload.template, owners=(owner,)), workload.volumes, ref.name, missing)
    elif missing:
        raise EditError(f"{ref.kind} {ref.key} has no pods, and its template is unknown: give the whole object")


def copy(draft: ClusterDraft, ref: ObjectRef, count: int) -> None:
    """Add copies of a pod."""
    _check_count(count, "count")
    add_copies(draft, draft.get(ref), count)


def add_copies(draft: ClusterDraft, sample: Pod, count: int, *, siblings: Sequence[Pod] = ()) -> None:
    """Add pending copies of a pod, with new claims for volumes that belong to that pod alone."""
    taken = {pod.name for pod in siblings}
    is_numbered = sample.template.is_statefulset_owned
    number = 0
    for _ in range(count):
        name = _next_name(draft, sample, number, is_numbered=is_numbered, taken=taken)
        number = int(name.rpartition("-")[2]) + 1
        taken.add(name)
        labels = {**sample.own_labels}
        if is_numbered:
            labels |= {_POD_NAME: name, _POD_INDEX: name.rpartition("-")[2]}
            labels = {key: value for key, value in labels.items() if key in sample.own_labels}
        volumes = tuple(_own_volume(draft, sample, volume, name) for volume in sample.volumes)
        uid = f"whatif-{sample.namespace}/{name}"
        pod = replace(as_pending(sample), name=name, uid=uid, created_ns=draft.now_ns, own_labels=labels)
        draft.put(Kind.POD, replace(pod, volumes=volumes))


def add_first(
    draft: ClusterDraft, template: PodTemplate, volumes: tuple[PodVolume, ...], name: str, count: int
) -> None:
    """Add the first pods of a workload, pending."""
    for number in range(count):
        pod_name = f"{name}-{number}" if template.is_statefulset_owned else f"{name}-whatif-{number}"
        uid = f"whatif-{template.namespace}/{pod_name}"
        pod = Pod(name=pod_name, template=template, uid=uid, created_ns=draft.now_ns, volumes=volumes)
        draft.put(Kind.POD, as_pending(pod))


def in_order_of_removal(pods: Sequence[Pod]) -> list[Pod]:
    """Return pods of one workload, those first that Kubernetes takes away first."""
    if pods and pods[0].template.is_statefulset_owned:
        return sorted(pods, key=lambda pod: -_ordinal(pod.name))
    on_node = Counter(pod.node_name for pod in pods)
    return sorted(
        pods,
        key=lambda pod: (
            bool(pod.node_name),
            _PHASES.get(pod.phase, 1),
            bool(pod.ready),
            _deletion_cost(pod),
            -on_node[pod.node_name],
            -pod.created_ns,
            pod.name,
        ),
    )


def _deletion_cost(pod: Pod) -> int:
    text = pod.annotations.get(POD_DELETION_COST, "0")
    return int(text) if re.fullmatch(r"0|-?[1-9][0-9]{0,9}", text) else 0


def _ordinal(name: str) -> int:
    match = _ORDINAL.fullmatch(name)
    return int(match[2]) if match else 0


def _next_name(draft: ClusterDraft, sample: Pod, number: int, *, is_numbered: bool, taken: set[str]) -> str:
    match = _ORDINAL.fullmatch(sample.name) if is_numbered else None
    stem = match[1] if match else f"{_COPY.sub('', sample.name)}-whatif"
    while True:
        name = f"{stem}-{number}"
        if name not in taken and draft.find(ObjectRef("Pod", name, sample.namespace)) is None:
            return name
        number += 1


def _own_volume(draft: ClusterDraft, sample: Pod, volume: PodVolume, name: str) -> PodVolume:
    """Return a copy's volume: a claim that carries the pod's name is its own, and a new one is made for the copy."""
    present = volume.claim_of(sample.name)
    if not volume.is_ephemeral and not present.endswith(f"-{sample.name}"):
        return volume
    pod_volume = replace(volume, claim_name="" if volume.is_ephemeral else f"{present.removesuffix(sample.name)}{name}")
    claim = draft.find(ObjectRef("PersistentVolumeClaim", present, sample.namespace))
    if claim is not None:
        claim_name = pod_volume.claim_of(name)
        uid = f"whatif-{sample.namespace}/{claim_name}"
        draft.put(Kind.PVC, replace(claim, name=claim_name, uid=uid, volume_name="", phase="Pending"))
    return pod_volume


def _check_count(count: int, field: str) -> None:
    if not 0 <= count <= MAX_PODS:
        raise EditError(f"{field} is {count}, must be from 0 to {MAX_PODS:,}")
