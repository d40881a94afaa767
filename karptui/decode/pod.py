"""Decodes pods into their own fields and a template that equal pods share.

Every DaemonSet pod has a node affinity term for its own node, so no two pods would share a template. The term is
dropped once the pod is bound: the pod is never scheduled again, and Karpenter ignores ``matchFields`` if it uses the
pod as a sample of its DaemonSet.

Source: ReplaceDaemonSetPodNodeNameNodeAffinity in Kubernetes' pkg/controller/daemon/util/daemonset_util.go, and
NewStrictPodRequirements in Karpenter's pkg/scheduling/requirements.go.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from sys import intern
from typing import Final
from weakref import WeakValueDictionary, ref

import msgspec
from msgspec.structs import replace

from karptui.decode import pod_wire as wires
from karptui.decode.errors import FieldError
from karptui.decode.pod_template import (
    TemplateParts,
    build_template,
    deciding_annotations,
    is_resize_infeasible,
    resize_pending,
    split_labels,
    volumes_of,
)
from karptui.decode.pod_wire import NO_TEXT, TextPod
from karptui.decode.wire import WireCondition, WireMeta, WireOwner, WireTerm, required_name, timestamp
from karptui.kube.pod import (
    ENDED,
    INITIALIZING,
    NO_TROUBLE,
    OOM_KILLED,
    SCHEDULING_GATED,
    UNSTARTABLE,
    Pod,
    PodTemplate,
    PodTrouble,
    PodVolume,
)
from karptui.kube.resources import ResourceList
from karptui.kube.timestamps import ABSENT_NS, parse_timestamp

_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic", enc_hook=dict)
"""``enc_hook`` converts the read-only view used for empty mappings."""
_KEY_ENCODER: Final = msgspec.msgpack.Encoder()
_AMOUNTS: Final = tuple(PodTemplate.__struct_fields__.index(name) for name in ("requests", "overhead", "limits"))
GATES_NOT_READY: Final = "ReadinessGatesNotReady"
"""Reason of the Ready condition if all containers are ready, and a readiness gate is not true."""
_USUAL_CONDITIONS: Final = 5
"""Conditions of a pod since Kubernetes 1.29; others, such as PodResizePending (1.33), come on top."""
_GATE: Final = re.compile(r'readiness gate "([^"]+)"')
_UNREADY: Final = re.compile(r"containers with unready status: \[([^\]]+)\]")
_CONTAINERS: Final = PodTemplate.__struct_fields__.index("containers")


class TemplateInterner:
    """Returns the same template object for equal templates while a pod uses it; thread-safe."""

    def __init__(self) -> None:
        self.by_text: dict[int, ref[PodTemplate]] = {}
        """Templates by the digest of their JSON text; several texts can have the same template."""
        self._by_value: WeakValueDictionary[bytes, PodTemplate] = WeakValueDictionary()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._by_value)

    def of_text(self, digest: int) -> PodTemplate | None:
        """Return the template decoded from the text with this digest, or None."""
        # Three times as fast as WeakValueDictionary.get, and called for every pod.
        reference = self.by_text.get(digest)
        return None if reference is None else reference()

    def keep_text(self, digest: int, template: PodTemplate) -> None:
        """Store the template decoded from a text, while the template is in use."""
        by_text = self.by_text
        forget = _forget  # at exit a template may be collected after this module's globals
        by_text[digest] = ref(template, lambda gone: forget(by_text, digest, gone))

    def template_of(self, parts: TemplateParts) -> PodTemplate:
        """Return a template for these parts, an existing one if it is equal."""
        template = build_template(parts)
        key = _digest(template)
        with self._lock:
            present = self._by_value.get(key)
            if present is None:
                self._by_value[key] = template
                return template
            return present


def _forget(by_text: dict[int, ref[PodTemplate]], digest: int, gone: ref[PodTemplate]) -> None:
    if by_text.get(digest) is gone:
        del by_text[digest]


TEMPLATES: Final = TemplateInterner()


def _amounts(amounts: ResourceList) -> list[tuple[str, str, str]]:
    return [(name, str(amount.nano), amount.format) for name, amount in sorted(amounts.items())]


def _digest(template: PodTemplate) -> bytes:
    values = list(msgspec.structs.astuple(template))
    for position in _AMOUNTS:
        # Nano-units of a few gibibytes exceed msgpack's integers.
        values[position] = _amounts(values[position])
    values[_CONTAINERS] = [
        (
            container.name,
            _amounts(container.requests),
            container.is_sidecar,
            container.is_init,
            _amounts(container.limits),
        )
        for container in template.containers
    ]
    return sha256(_ENCODER.encode(values)).digest()


_PIN_ENCODER: Final = msgspec.json.Encoder()
_AFFINITY: Final = msgspec.json.Decoder(wires.WireAffinity | None)
_OWNERS: Final = msgspec.json.Decoder(list[WireOwner] | None)
_ESCAPE: Final = b"\\"
"""Escapes may hide a key."""
_OWNED: Final = b'"apiVersion":"apps/v1","kind":"DaemonSet"'
_TERM: Final = b'"matchFields":[{"key":"metadata.name","operator":"In","values":["%b"]}]'
_ALONE: Final = b'{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{%b}]}}}'


def without_pin(
    affinity: wires.WireAffinity | None, owners: Iterable[WireOwner] | None, node_name: str
) -> wires.WireAffinity | None:
    """Return the affinity of a bound pod without its DaemonSet's term for the node."""
    if affinity is None or affinity.node_affinity is None or affinity.node_affinity.required is None:
        return affinity
    if not any(owner.kind == "DaemonSet" and owner.api_version == "apps/v1" for owner in owners or ()):
        return affinity
    terms = affinity.node_affinity.required.node_selector_terms or []
    if not any(_is_pin(term, node_name) for term in terms):
        return affinity
    freed = [replace(term, match_fields=None) if _is_pin(term, node_name) else term for term in terms]
    left = [term for term in freed if term.match_expressions or term.match_fields]
    required = wires.WireNodeSelector(node_selector_terms=left) if left else None
    return replace(affinity, node_affinity=replace(affinity.node_affinity, required=required))


def text_without_pin(pod: TextPod, node_name: str) -> msgspec.Raw:
    """Return the affinity text of a bound pod without its DaemonSet's term for the node."""
    raw = pod.spec.affinity
    affinity = bytes(raw)
    if affinity.find(b"matchFields") < 0 and affinity.find(_ESCAPE) < 0:
        return raw
    owners = bytes(pod.metadata.owner_references)
    pin = _TERM % node_name.encode()
    if owners.find(_OWNED) >= 0:
        if affinity == _ALONE % pin:
            return NO_TEXT
        # A DaemonSet's expressions precede the term for the node.
        freed = affinity.replace(b"," + pin, b"")
        if freed.find(b"matchFields") < 0 and freed.find(_ESCAPE) < 0:
            return msgspec.Raw(freed)
    try:
        decoded = _AFFINITY.decode(raw)
        unpinned = without_pin(decoded, _OWNERS.decode(owners) if owners else None, node_name)
    except msgspec.ValidationError:
        # Full decoding reports the error with its path.
        return raw
    return raw if unpinned is decoded else msgspec.Raw(_PIN_ENCODER.encode(unpinned))


def _is_pin(term: WireTerm, node_name: str) -> bool:
    fields = term.match_fields or ()
    return (
        len(fields) == 1
        and fields[0].key == "metadata.name"
        and fields[0].operator == "In"
        and fields[0].values == [node_name]
    )


_LONGEST_MESSAGE: Final = 500
"""Characters that are kept of a kubelet's message."""
_NO_STATUS: Final = wires.WirePodStatus()
_READINESS: Final[Mapping[str | None, bool]] = {"True": True, "False": False}
"""Other values count as not reported: only an explicit False marks a pod as unhealthy."""


def build_pod(wire: wires.WirePod, interner: TemplateInterner) -> Pod:
    """Return a pod."""
    _, own_labels = split_labels(wire.metadata.labels)
    spec = wire.spec
    parts = template_parts(wire)
    key = _key_of(parts)
    template = interner.of_text(key) if key is not None else None
    if template is None:
        template = interner.template_of(parts)
        if key is not None:
            interner.keep_text(key, template)
    return pod_of(
        wire.metadata,
        spec.node_name,
        volumes_of(spec.volumes),
        wire.status or _NO_STATUS,
        template=template,
        own_labels=own_labels,
        gates=spec.scheduling_gates or (),
    )


def _key_of(parts: TemplateParts) -> int | None:
    """Return the digest of a template's parts, or None if they cannot be encoded and must be decoded in full."""
    status, spec = parts.status, replace(parts.spec, node_name=None, volumes=None, scheduling_gates=None)
    reported = [
        [(wire.name, wire.resources, wire.allocated_resources) for wire in statuses or () if wire.resources is not None]
        for statuses in (status.container_statuses, status.init_container_statuses)
    ]
    shared = (parts.namespace, parts.labels, parts.annotations, parts.owners, spec)
    try:
        return hash(_KEY_ENCODER.encode((*shared, reported, is_resize_infeasible(status))))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def template_parts(wire: wires.WirePod) -> TemplateParts:
    """Return the parts that the pod shares with others of its workload."""
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
    meta: WireMeta | wires.TextMeta,
    node_name: str | None,
    volumes: tuple[PodVolume, ...],
    status: wires.AnyPodStatus,
    *,
    template: PodTemplate,
    own_labels: Mapping[str, str],
    gates: Sequence[object],
) -> Pod:
    """Return a pod with the given template.

    The API server sets PodScheduled on a gated pod; in a manifest there may only be the gates.
    """
    scheduled = ready = None
    for condition in status.conditions or ():
        type_ = condition.type
        if type_ == "PodScheduled":
            scheduled = condition
        elif type_ == "Ready":
            ready = condition
    name, is_gated = meta.name or required_name(meta.name), bool(gates) and not node_name
    created_text, ready_since = meta.creation_timestamp, ready.last_transition_time if ready is not None else None
    created_ns = scheduled_ns = ABSENT_NS
    scheduled_message = ""
    scheduled_reason = SCHEDULING_GATED if is_gated else ""
    try:
        if created_text:
            created_ns = parse_timestamp(created_text)
        if scheduled is not None:
            scheduled_reason = intern(scheduled.reason) if scheduled.reason else ""
            scheduled_message = "" if node_name else scheduled.message or ""
            if scheduled_text := scheduled.last_transition_time:
                # Most pods are bound within a second of their creation.
                scheduled_ns = created_ns if scheduled_text == created_text else parse_timestamp(scheduled_text)
        waiting_reason, exit_reason, restarts, exited_text = _waiting(status, template)
        is_ready = ready is not None and ready.status == "True" and not meta.deletion_timestamp
        # Most pods are: looking at each container again takes longer.
        is_well = is_ready and not (waiting_reason or exit_reason) and len(status.conditions or ()) <= _USUAL_CONDITIONS
        # By position, in the order of the fields: by name, decoding a pod needs 8 % more instructions.
        return Pod(
            name,
            template,
            meta.uid or f"{template.namespace}/{name}",  # a manifest has no uid, but pods are identified by it
            intern(node_name) if node_name else "",
            status.nominated_node_name or "",
            intern(status.phase) if status.phase else "",
            created_ns,
            parse_timestamp(meta.deletion_timestamp) if meta.deletion_timestamp else ABSENT_NS,
            parse_timestamp(status.start_time) if status.start_time else ABSENT_NS,
            _READINESS.get(ready.status) if ready is not None else None,
            parse_timestamp(ready_since) if ready_since and status.phase in ENDED else ABSENT_NS,
            scheduled_reason,
            scheduled_message,
            scheduled_ns,
            own_labels,
            volumes,
            waiting_reason,
            exit_reason,
            restarts,
            parse_timestamp(exited_text) if exited_text else ABSENT_NS,
            _unready_ns(ready) if waiting_reason or status.phase == "Running" else ABSENT_NS,
            PodTrouble(gates=_gate_names(gates))
            if is_gated
            else NO_TROUBLE
            if is_well
            else _trouble(meta, status, waiting_reason, ready, template, exit_reason=exit_reason),
        )
    except ValueError:
        raise _timestamp_error(meta, status) from None


def _timestamp_error(meta: WireMeta | wires.TextMeta, status: wires.AnyPodStatus) -> FieldError:
    """Return the error of the invalid timestamp; it is located only now to keep valid pods fast."""
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


def _unready_ns(ready: WireCondition | None) -> int:
    """Return when the Ready condition became False, ``ABSENT_NS`` if it is True or unknown."""
    if ready is None or ready.status == "True" or not ready.last_transition_time:
        return ABSENT_NS
    return parse_timestamp(ready.last_transition_time)


def _trouble(
    meta: WireMeta | wires.TextMeta,
    status: wires.AnyPodStatus,
    waiting_reason: str,
    ready: WireCondition | None,
    template: PodTemplate,
    *,
    exit_reason: str,
) -> PodTrouble:
    """Return a deleted pod's finalizers, why it failed, or details of a gate or a container that waits or outlives."""
    if meta.deletion_timestamp and meta.finalizers:
        return PodTrouble(finalizers=tuple(meta.finalizers))
    if status.reason and status.phase == "Failed":
        return PodTrouble((status.message or status.reason)[:_LONGEST_MESSAGE], failure=status.reason)
    statuses, of_init = status.container_statuses or (), status.init_container_statuses or ()
    if waiting_reason:
        for wire in (*of_init, *statuses):
            state, previous = wire.state, wire.last_state
            if state is None or state.waiting is None or state.waiting.reason != waiting_reason:
                continue
            ended = previous.terminated if previous is not None else None
            is_unstarted = ended is not None and ended.reason in UNSTARTABLE
            reported = ended.message if ended is not None and is_unstarted else state.waiting.message
            message = (reported or "")[:_LONGEST_MESSAGE]
            init = next((_name_of(other.name) for other in of_init if other is wire), "")
            if waiting_reason == INITIALIZING and (own := _running_init(status, template)) is not None:
                init, ended = _name_of(own.name), own.last_state.terminated if own.last_state is not None else None
            oom = (init or _name_of(wire.name)) if exit_reason == OOM_KILLED else ""
            return PodTrouble(
                message, (ended.exit_code or 0) if ended is not None else 0, init_container=init, oom_container=oom
            )
        return NO_TROUBLE
    if len(statuses) > 1 and status.phase == "Running":
        finished = [wire.state.terminated for wire in statuses if wire.state is not None and wire.state.terminated]
        if 0 < len(finished) < len(statuses) and all(ended.exit_code == 0 for ended in finished):
            names = (_name_of(wire.name) for wire in statuses if wire.state is not None and not wire.state.terminated)
            instants = [parse_timestamp(ended.finished_at) for ended in finished if ended.finished_at]
            return PodTrouble("", 0, tuple(filter(None, names)), max(instants, default=ABSENT_NS))
    if len(status.conditions or ()) > _USUAL_CONDITIONS:
        condition = resize_pending(status)
        if condition is not None and condition.last_transition_time:
            message = (condition.message or condition.reason or "")[:_LONGEST_MESSAGE]
            return PodTrouble(message, resize_pending_ns=parse_timestamp(condition.last_transition_time))
    message = (ready.message or "") if ready is not None else ""
    gate = _GATE.search(message) if ready is not None and ready.reason == GATES_NOT_READY else None
    unready = _UNREADY.search(message) if exit_reason or len(statuses) > 1 else None
    starting = "" if ready is None or ready.status == "True" else _first_start(statuses)
    if unready is not None or exit_reason == OOM_KILLED or gate is not None or starting:
        ended = [wire for wire in (*of_init, *statuses) if wire.last_state is not None and wire.last_state.terminated]
        most = max(ended, key=lambda wire: wire.restart_count or 0, default=None)
        calm = {_name_of(wire.name) for wire in statuses if wire not in ended}
        others = unready[1].split() if unready is not None else []
        is_one_of_several = bool(exit_reason) or len(others) < len(statuses)
        return PodTrouble(
            starting_container=starting,
            readiness_gate=gate[1] if gate is not None else "",
            oom_container=_name_of(most.name) if most is not None and exit_reason == OOM_KILLED else "",
            unready_container=others[0] if others and is_one_of_several and calm.issuperset(others) else "",
        )
    return NO_TROUBLE


def _first_start(statuses: Sequence[wires.WireContainerStatus | wires.TextContainerStatus]) -> str:
    """Return a container that runs for the first time and has not started up, empty without one."""
    for wire in statuses:
        is_running = wire.state is not None and not wire.state.waiting and not wire.state.terminated
        if is_running and wire.started is False and not wire.restart_count:
            return _name_of(wire.name)
    return ""


def _gate_names(gates: Sequence[object]) -> tuple[str, ...]:
    return tuple(str(gate.get("name", "")) for gate in gates if isinstance(gate, dict))


def _name_of(name: msgspec.Raw | str | None) -> str:
    return msgspec.json.decode(name, type=str) if isinstance(name, msgspec.Raw) and name else str(name or "")


def _running_init(
    status: wires.AnyPodStatus, template: PodTemplate
) -> wires.WireContainerStatus | wires.TextContainerStatus | None:
    """Return the last init container that runs and is no started sidecar: initializing containers wait for it."""
    running = None
    for wire in status.init_container_statuses or ():
        if wire.state is not None and not wire.state.waiting and not wire.state.terminated:
            name = _name_of(wire.name) if wire.started else ""
            is_sidecar = any(container.is_sidecar and container.name == name for container in template.containers)
            running = running if is_sidecar else wire
    return running


def _waiting(status: wires.AnyPodStatus, template: PodTemplate) -> tuple[str, str, int, str]:
    """Return a container's waiting or termination reason, the reason and time of its previous end, and its restarts.

    If it waits for an init container, the previous end and the restarts are that one's. If all containers run, they are
    those of the one that restarted most.
    """
    restarted: tuple[str, str, int, str] | None = None
    for statuses in (status.init_container_statuses, status.container_statuses):
        for wire in statuses or ():
            state = wire.state
            if state is None:
                continue
            reason = state.waiting.reason if state.waiting is not None else ""
            if not reason and state.terminated is not None and state.terminated.reason != "Completed":
                reason = state.terminated.reason
            ended = wire if reason != INITIALIZING else _running_init(status, template) or wire
            previous = ended.last_state.terminated if ended.last_state is not None else None
            if reason or previous is not None:
                exit_reason = (previous.reason if previous is not None else "") or ""
                exited = (previous.finished_at if previous is not None else "") or ""
                result = intern(reason or ""), intern(exit_reason), ended.restart_count or 0, exited
                if reason:
                    return result
                restarted = result if restarted is None or result[2] > restarted[2] else restarted
    return restarted or (intern(status.reason) if status.reason else "", "", 0, "")
