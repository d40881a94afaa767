"""Existing and launching nodes that pods can be scheduled to.

Rules: ``pkg/controllers/provisioning/scheduling/existingnode.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from operator import attrgetter
from typing import Final

from karptui.karpenter.labels import HOSTNAME, KEY_ALIASES
from karptui.karpenter.requirements import Requirements
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO
from karptui.kube.taints import Taint
from karptui.provisioning.amounts import AmountIndex, Columns
from karptui.provisioning.daemonsets import DaemonPod
from karptui.provisioning.pod_class import Stage
from karptui.provisioning.ports import OwnedPorts
from karptui.provisioning.reporter import Pause, no_pause, with_pauses
from karptui.provisioning.requirement_set import Interner, RequirementSet
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.topology_spec import host_allowed
from karptui.provisioning.volumes import VolumeIndex, VolumeLimits, VolumeLookupError

_PAUSE_EVERY: Final = 64
"""Nodes processed between two pauses."""


class DestinationKind:
    """Labels and taints shared by several nodes."""

    __slots__ = ("labels", "taints")

    def __init__(self, labels: RequirementSet, taints: tuple[Taint, ...]) -> None:
        self.labels = labels
        self.taints = taints


class Destination:
    """A node before the run schedules any pod to it."""

    __slots__ = (
        "attached",
        "hostname",
        "index",
        "is_full",
        "kind",
        "limits",
        "order",
        "ports",
        "room",
        "scores",
        "state",
    )

    def __init__(self, state: StateNode, kind: DestinationKind, room: list[int], *, is_full: bool) -> None:
        self.state = state
        self.kind = kind
        self.hostname = state.hostname
        self.room = room
        """Remaining amounts for pods by column, after DaemonSet pods still to be created."""
        self.is_full = is_full
        """Whether any resource is already exceeded, so that nothing fits."""
        self.order = (not state.is_initialized, state.name)
        self.index = -1
        """Position in the order Karpenter tries nodes."""
        self.ports: tuple[OwnedPorts, ...] = ()
        self.attached: Mapping[str, frozenset[str]] = {}
        """Volume claims by driver."""
        self.limits: Mapping[str, int] = {}
        """Maximum attachments by driver."""
        self.scores: dict[tuple[int, ...], int] = {}
        """Cache of kube-scheduler's resource scores by pod requests."""

    def at(self, index: int) -> Destination:
        """Return the destination with another position."""
        moved = Destination(self.state, self.kind, self.room, is_full=self.is_full)
        moved.index, moved.ports, moved.attached, moved.limits = index, self.ports, self.attached, self.limits
        moved.scores = self.scores
        return moved


class LabelReader:
    """Converts node labels into requirement sets with only the keys used in the run."""

    def __init__(self, interner: Interner, keys: frozenset[str]) -> None:
        self._interner = interner
        aliases = (alias for alias, key in KEY_ALIASES.items() if key in keys)
        self._keys = tuple(sorted({*keys, *aliases} - {HOSTNAME}))
        self._label_sets: dict[tuple[str | None, ...], RequirementSet] = {}

    def read(self, labels: Mapping[str, str]) -> RequirementSet:
        """Return the relevant labels, without the hostname."""
        values = tuple([labels.get(key) for key in self._keys])
        labels_set = self._label_sets.get(values)
        if labels_set is None:
            kept = {key: value for key, value in zip(self._keys, values, strict=True) if value is not None}
            labels_set = self._label_sets[values] = self._interner.of(Requirements.from_labels(kept))
        return labels_set


class DestinationBuilder:
    """Creates destinations from tracked nodes."""

    def __init__(
        self,
        *,
        columns: Columns,
        labels: LabelReader,
        interner: Interner,
        volumes: VolumeIndex,
        daemons: Sequence[DaemonPod],
        volume_limits: VolumeLimits,
    ) -> None:
        self._columns = columns
        self._labels = labels
        self._volumes = volumes
        self._volume_limits = volume_limits
        self._kinds: dict[tuple[RequirementSet, tuple[Taint, ...]], DestinationKind] = {}
        self._daemons = [
            (daemon, *interner.split(daemon.strict), columns.row(daemon.requests, pods=1)) for daemon in daemons
        ]
        self._expected: dict[tuple[DestinationKind, str | None], list[int]] = {}

    def build(
        self, states: Sequence[StateNode], destinations: Mapping[StateNode, Destination], pause: Pause = no_pause
    ) -> list[Destination]:
        """Return destinations in the order Karpenter tries them: initialized ones first, then by name.

        Args:
            destinations: Earlier destinations, reused for unchanged nodes.
        """
        built = [destinations.get(state) or self._make(state) for state in with_pauses(states, pause, _PAUSE_EVERY)]
        built.sort(key=_tried)
        for index, destination in enumerate(built):
            if destination.index != index:
                # The original may still be needed at its old position.
                built[index] = destination.at(index)
        return built

    def _kind(self, state: StateNode) -> DestinationKind:
        key = (self._labels.read(state.labels), state.taints)
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = DestinationKind(*key)
        return kind

    def _make(self, state: StateNode) -> Destination:
        kind = self._kind(state)
        allocatable = state.allocatable_nano
        used = self._sum(state.pods)
        coming = self._expected_daemons(state, kind)
        if any(coming):
            started = self._sum([pod for pod in state.pods if pod.template.is_daemonset_owned])
            coming = [max(0, expected - amount) for expected, amount in zip(coming, started, strict=True)]
        room = [
            allocatable[name] - used[i] - coming[i] if name in allocatable else 0
            for i, name in enumerate(self._columns.names)
        ]
        is_full = any(amount < 0 for amount in room) or any(amount < 0 for amount in allocatable.values())
        destination = Destination(state, kind, room, is_full=is_full)
        destination.ports = tuple([(pod.key, ports) for pod in state.pods if (ports := pod.template.host_ports)])
        attached: dict[str, set[str]] = {}
        for pod in state.pods:
            if pod.volumes:
                self._attach(pod, attached)
        destination.attached = {driver: frozenset(claims) for driver, claims in attached.items()}
        destination.limits = self._volume_limits.of(state)
        return destination

    def _sum(self, pods: Sequence[Pod]) -> list[int]:
        """Return the total requests of pods, including their slots."""
        columns = self._columns
        per_pod = [pod.template.requests for pod in pods]
        total = [sum([requests[name].nano for requests in per_pod if name in requests]) for name in columns.names]
        total[columns.pods] = len(pods) * NANO
        return total

    def _attach(self, pod: Pod, attached: dict[str, set[str]]) -> None:
        try:
            attachments = self._volumes.attachments(pod)
        except VolumeLookupError:
            return
        for driver, claim in attachments:
            attached.setdefault(driver, set()).add(claim)

    def _expected_daemons(self, state: StateNode, kind: DestinationKind) -> list[int]:
        """Return the total requests of the DaemonSet pods that belong on a node."""
        hostname = state.labels.get(HOSTNAME)
        needs_host = any(host is not None for _, _, host, _ in self._daemons)
        key = (kind, hostname if needs_host else None)
        total = self._expected.get(key)
        if total is None:
            total = list(self._columns.zero)
            for daemon, requirements, host, row in self._daemons:
                is_suited = daemon.tolerates(kind.taints) and kind.labels.value.compatible(requirements.value)
                if is_suited and host_allowed(host, hostname):
                    total = [a + b for a, b in zip(total, row, strict=True)]
            self._expected[key] = total
        return total


_tried = attrgetter("order")


def _amount(destination: Destination, column: int) -> int | None:
    return None if destination.is_full else destination.room[column]


def _move(by_amount: dict[int, int], bit: int, before: int | None, after: int | None) -> None:
    if before is not None:
        by_amount[before] ^= bit
        if not by_amount[before]:
            del by_amount[before]
    if after is not None:
        by_amount[after] = by_amount.get(after, 0) | bit


class DestinationIndex:
    """Index of the destinations before the run schedules any pod."""

    def __init__(self, destinations: Sequence[Destination], columns: Columns) -> None:
        self._destinations = destinations
        self.kinds: dict[DestinationKind, int] = {}
        """Destinations of each kind, as bits."""
        self.suited: dict[Stage, int] = {}
        """Nodes that suit a stage according to `NodeCheck`, as bits."""
        self._place: dict[str, int] = {}
        self._not_full = 0
        for destination in destinations:
            bit = 1 << destination.index
            self._place[destination.state.provider_id] = bit
            self.kinds[destination.kind] = self.kinds.get(destination.kind, 0) | bit
            if not destination.is_full:
                self._not_full |= bit
        self._roomy: dict[tuple[int, ...], int] = {}
        self._by_amount: list[dict[int, int] | None] = [None] * len(columns.names)
        """Destinations by amount, for the columns queried before."""
        self._amount_indexes: list[AmountIndex | None] = [None] * len(columns.names)

    def later(self, destinations: Sequence[Destination]) -> DestinationIndex | None:
        """Return the index of a later state of the same nodes; None if nodes were added, removed or reordered."""
        before = self._destinations
        if len(before) != len(destinations):
            return None
        changes = [(was, now) for was, now in zip(before, destinations, strict=True) if was is not now]
        if any(was.state.provider_id != now.state.provider_id for was, now in changes):
            return None
        index = copy(self)
        index._take_changes(destinations, changes)  # noqa: SLF001 - same class
        return index

    def _take_changes(
        self, destinations: Sequence[Destination], changes: Sequence[tuple[Destination, Destination]]
    ) -> None:
        self._destinations = destinations
        self._roomy = {}
        if any(was.kind is not now.kind for was, now in changes):
            self.kinds, self.suited = dict(self.kinds), {}
        for was, now in changes:
            bit = 1 << now.index
            self._not_full = self._not_full & ~bit if now.is_full else self._not_full | bit
            if was.kind is not now.kind:
                self.kinds[now.kind] = self.kinds.get(now.kind, 0) | bit
                self.kinds[was.kind] ^= bit
                if not self.kinds[was.kind]:
                    del self.kinds[was.kind]
        self._by_amount = list(self._by_amount)
        self._amount_indexes = list(self._amount_indexes)
        for column, old_amounts in enumerate(self._by_amount):
            moved = [(was, now) for was, now in changes if _amount(was, column) != _amount(now, column)]
            if old_amounts is not None and moved:
                self._by_amount[column] = by_amount = dict(old_amounts)
                self._amount_indexes[column] = None
                for was, now in moved:
                    _move(by_amount, 1 << now.index, _amount(was, column), _amount(now, column))

    def suiting(self, stage: Stage) -> int:
        """Return the destinations with room for a stage that also suit it, if that is known."""
        return self.roomy(stage.owner.row) & self.suited.get(stage, -1)

    def roomy(self, need: tuple[int, ...]) -> int:
        """Return the destinations with room for a row of amounts."""
        nodes = self._roomy.get(need)
        if nodes is None:
            nodes = self._not_full
            for column, amount in enumerate(need):
                if amount:
                    nodes &= self._amounts(column).at_least(amount)
            self._roomy[need] = nodes
        return nodes

    def _amounts(self, column: int) -> AmountIndex:
        index = self._amount_indexes[column]
        if index is None:
            by_amount = self._by_amount[column]
            if by_amount is None:
                by_amount = self._by_amount[column] = {}
                for destination in self._destinations:
                    _move(by_amount, 1 << destination.index, None, _amount(destination, column))
            index = self._amount_indexes[column] = AmountIndex(by_amount)
        return index

    def of(self, provider_ids: Iterable[str]) -> int:
        """Return the destinations with these provider ids."""
        nodes = 0
        for provider_id in provider_ids:
            nodes |= self._place.get(provider_id, 0)
        return nodes
