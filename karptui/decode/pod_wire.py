"""Wire types of pods and pod templates: fully decoded, and with shared fields left as text for comparison.

The fields of the text types are in the order in which API servers write them, which decodes fastest.
"""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.decode.wire import Int, Wire, WireCondition, WireObject, WireQuantities, WireSelector, WireTerm


class WireResources(Wire):
    """``resources`` of a container or a pod."""

    requests: WireQuantities | None = None
    limits: WireQuantities | None = None
    claims: list[object] | None = None


class WirePort(Wire):
    """A container port."""

    host_port: Int | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class WireContainer(Wire):
    """A container."""

    name: str | None = None
    image: str | None = None
    restart_policy: str | None = None
    resources: WireResources | None = None
    ports: list[WirePort] | None = None


class WireToleration(Wire):
    """A toleration."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: Int | None = None


class WireNodeSelector(Wire):
    """A node selector."""

    node_selector_terms: list[WireTerm] | None = None


class WirePreferredTerm(Wire):
    """A preferred node term."""

    weight: Int
    preference: WireTerm = msgspec.field(default_factory=WireTerm)


class WireNodeAffinity(Wire):
    """Node affinity."""

    required: WireNodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[WirePreferredTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class WirePodAffinityTerm(Wire):
    """A pod affinity term."""

    topology_key: str
    label_selector: WireSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: WireSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class WireWeightedTerm(Wire):
    """A preferred pod affinity term."""

    weight: Int
    pod_affinity_term: WirePodAffinityTerm


class WirePodAffinity(Wire):
    """Pod affinity or anti-affinity."""

    required: list[WirePodAffinityTerm] | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[WireWeightedTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class WireAffinity(Wire):
    """``spec.affinity``."""

    node_affinity: WireNodeAffinity | None = None
    pod_affinity: WirePodAffinity | None = None
    pod_anti_affinity: WirePodAffinity | None = None


class WireSpread(Wire):
    """A topology spread constraint."""

    max_skew: Int
    topology_key: str
    when_unsatisfiable: str
    label_selector: WireSelector | None = None
    min_domains: Int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class WireClaimSource(Wire):
    """``persistentVolumeClaim`` of a volume."""

    claim_name: str | None = None


class WireClaimTemplateSpec(Wire):
    """Spec of an ephemeral volume's claim."""

    storage_class_name: str | None = None


class WireClaimTemplate(Wire):
    """``volumeClaimTemplate`` of an ephemeral volume."""

    spec: WireClaimTemplateSpec | None = None


class WireEphemeral(Wire):
    """``ephemeral`` of a volume."""

    volume_claim_template: WireClaimTemplate | None = None


class WireVolume(Wire):
    """A volume; only those backed by claims are decoded."""

    name: str | None = None
    persistent_volume_claim: WireClaimSource | None = None
    ephemeral: WireEphemeral | None = None


class WirePodSpec(Wire):
    """``spec`` of a pod or a template."""

    node_name: str | None = None
    containers: list[WireContainer] | None = None
    init_containers: list[WireContainer] | None = None
    node_selector: dict[str, str] | None = None
    affinity: WireAffinity | None = None
    topology_spread_constraints: list[WireSpread] | None = None
    tolerations: list[WireToleration] | None = None
    volumes: list[WireVolume] | None = None
    overhead: WireQuantities | None = None
    resources: WireResources | None = None
    resource_claims: list[object] | None = None
    priority: Int | None = None
    priority_class_name: str | None = None
    scheduler_name: str | None = None
    scheduling_gates: list[object] | None = None
    runtime_class_name: str | None = None
    termination_grace_period_seconds: Int | None = None
    host_network: bool | None = None


class WireWaiting(Wire):
    """Waiting or terminated state of a container."""

    reason: str | None = None
    message: str | None = None
    exit_code: Int | None = None
    finished_at: str | None = None


class WireContainerState(Wire):
    """State of a container."""

    waiting: WireWaiting | None = None
    terminated: WireWaiting | None = None


class WireContainerStatus(Wire):
    """Status of a container."""

    name: str | None = None
    resources: WireResources | None = None
    allocated_resources: WireQuantities | None = None
    state: WireContainerState | None = None
    last_state: WireContainerState | None = None
    restart_count: Int | None = None
    started: bool | None = None


class WirePodStatus(Wire):
    """``status`` of a pod."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    start_time: str | None = None
    nominated_node_name: str | None = None
    conditions: list[WireCondition] | None = None
    container_statuses: list[WireContainerStatus] | None = None
    init_container_statuses: list[WireContainerStatus] | None = None


class WirePod(WireObject):
    """A pod."""

    spec: WirePodSpec = msgspec.field(default_factory=WirePodSpec)
    status: WirePodStatus | None = None


class WireTemplateMeta(Wire):
    """``metadata`` of a pod template."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class WirePodTemplate(Wire):
    """A pod template inside a workload."""

    metadata: WireTemplateMeta | None = None
    spec: WirePodSpec = msgspec.field(default_factory=WirePodSpec)


NO_TEXT: Final = msgspec.Raw()
"""Placeholder for a missing field."""


class TextMeta(Wire):
    """``metadata`` of a pod with shared fields left as text."""

    name: str | None = None
    namespace: msgspec.Raw = NO_TEXT
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: msgspec.Raw = NO_TEXT
    annotations: msgspec.Raw = NO_TEXT
    owner_references: msgspec.Raw = NO_TEXT
    finalizers: list[str] | None = None


class TextContainer(Wire):
    """A container with template fields left as text; environment, mounts and probes are ignored."""

    name: msgspec.Raw = NO_TEXT
    image: msgspec.Raw = NO_TEXT
    ports: msgspec.Raw = NO_TEXT
    resources: msgspec.Raw = NO_TEXT
    restart_policy: msgspec.Raw = NO_TEXT


class TextPodSpec(Wire):
    """``spec`` of a pod with shared fields left as text."""

    volumes: list[WireVolume] | None = None
    init_containers: list[TextContainer] | None = None
    containers: list[TextContainer] | None = None
    termination_grace_period_seconds: msgspec.Raw = NO_TEXT
    node_selector: msgspec.Raw = NO_TEXT
    node_name: str | None = None
    host_network: msgspec.Raw = NO_TEXT
    affinity: msgspec.Raw = NO_TEXT
    scheduler_name: msgspec.Raw = NO_TEXT
    scheduling_gates: msgspec.Raw = NO_TEXT
    tolerations: msgspec.Raw = NO_TEXT
    priority_class_name: msgspec.Raw = NO_TEXT
    priority: msgspec.Raw = NO_TEXT
    runtime_class_name: msgspec.Raw = NO_TEXT
    overhead: msgspec.Raw = NO_TEXT
    topology_spread_constraints: msgspec.Raw = NO_TEXT
    resource_claims: msgspec.Raw = NO_TEXT
    resources: msgspec.Raw = NO_TEXT


class TextContainerStatus(Wire):
    """Status of a container with resources left as text."""

    name: msgspec.Raw = NO_TEXT
    state: WireContainerState | None = None
    last_state: WireContainerState | None = None
    restart_count: Int | None = None
    started: bool | None = None
    allocated_resources: msgspec.Raw = NO_TEXT
    resources: msgspec.Raw = NO_TEXT


class TextPodStatus(Wire):
    """``status`` of a pod with container resources left as text."""

    phase: str | None = None
    conditions: list[WireCondition] | None = None
    reason: str | None = None
    message: str | None = None
    nominated_node_name: str | None = None
    start_time: str | None = None
    init_container_statuses: list[TextContainerStatus] | None = None
    container_statuses: list[TextContainerStatus] | None = None


class TextPod(Wire):
    """A pod with shared fields left as text; encodes to the JSON it was decoded from."""

    metadata: TextMeta = msgspec.field(default_factory=TextMeta)
    spec: TextPodSpec = msgspec.field(default_factory=TextPodSpec)
    status: TextPodStatus | None = None


AnyPodStatus = WirePodStatus | TextPodStatus
