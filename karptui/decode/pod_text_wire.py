"""The API shape of pods whose shared fields stay text, to be compared without being read.

Fields stand in the order in which API servers write them, which is the order in which they are found fastest.
"""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.decode.pod_wire import WireContainerState, WirePodStatus
from karptui.decode.wire import Wire, WireCondition

NO_TEXT: Final = msgspec.Raw()
"""Stands for a field that an object does not carry."""


class TextMeta(Wire):
    """``metadata`` of a pod, what it shares left as text."""

    name: str | None = None
    namespace: msgspec.Raw = NO_TEXT
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: msgspec.Raw = NO_TEXT
    annotations: msgspec.Raw = NO_TEXT
    owner_references: msgspec.Raw = NO_TEXT


class TextContainer(Wire):
    """A container, what templates read of it left as text; environment, mounts and probes are passed over."""

    name: msgspec.Raw = NO_TEXT
    image: msgspec.Raw = NO_TEXT
    ports: msgspec.Raw = NO_TEXT
    resources: msgspec.Raw = NO_TEXT
    restart_policy: msgspec.Raw = NO_TEXT


class TextPodSpec(Wire):
    """``spec`` of a pod, what it shares left as text."""

    volumes: msgspec.Raw = NO_TEXT
    init_containers: list[TextContainer] | None = None
    containers: list[TextContainer] | None = None
    termination_grace_period_seconds: msgspec.Raw = NO_TEXT
    node_selector: msgspec.Raw = NO_TEXT
    node_name: str | None = None
    host_network: msgspec.Raw = NO_TEXT
    affinity: msgspec.Raw = NO_TEXT
    scheduler_name: msgspec.Raw = NO_TEXT
    tolerations: msgspec.Raw = NO_TEXT
    priority_class_name: msgspec.Raw = NO_TEXT
    priority: msgspec.Raw = NO_TEXT
    runtime_class_name: msgspec.Raw = NO_TEXT
    overhead: msgspec.Raw = NO_TEXT
    topology_spread_constraints: msgspec.Raw = NO_TEXT
    resource_claims: msgspec.Raw = NO_TEXT
    resources: msgspec.Raw = NO_TEXT


class TextContainerStatus(Wire):
    """Status of a container, its resources left as text."""

    name: msgspec.Raw = NO_TEXT
    state: WireContainerState | None = None
    allocated_resources: msgspec.Raw = NO_TEXT
    resources: msgspec.Raw = NO_TEXT


class TextPodStatus(Wire):
    """``status`` of a pod, the containers' resources left as text."""

    phase: str | None = None
    conditions: list[WireCondition] | None = None
    reason: str | None = None
    nominated_node_name: str | None = None
    start_time: str | None = None
    init_container_statuses: list[TextContainerStatus] | None = None
    container_statuses: list[TextContainerStatus] | None = None


class TextPod(Wire):
    """A pod, what it shares with others of its workload left as text; encodes to what it was decoded from."""

    metadata: TextMeta = msgspec.field(default_factory=TextMeta)
    spec: TextPodSpec = msgspec.field(default_factory=TextPodSpec)
    status: TextPodStatus | None = None


AnyPodStatus = WirePodStatus | TextPodStatus
