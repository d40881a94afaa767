"""How pods fill nodes: every node as a bin, with its pods as blocks, and both sides of a what-if."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from karptui.disruption.simulation import NewNode
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import ResourceList
from karptui.provisioning.catalogue import allocatable_nano
from karptui.provisioning.solution import NewClaim
from karptui.provisioning.state_node import StateNode
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.whatif.edits import EditError
from karptui.whatif.edits.apply import apply
from karptui.whatif.outcome import ReplayOutcome
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Scenario
from karptui.whatif.situation import WhatIfBase


class Block(msgspec.Struct, frozen=True, gc=False):
    """A pod's requests."""

    cpu: int
    """Millicores."""
    memory: int
    """Bytes."""


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """A node."""

    name: str
    pool: str
    cpu: int
    """Allocatable millicores."""
    memory: int
    """Allocatable bytes."""
    daemons: Block
    """All pods of DaemonSets together."""
    pods: tuple[Block, ...]
    """Every other pod."""


def bins_of(view: ClusterView) -> tuple[Bin, ...]:
    """Return the nodes with known allocatable resources, grouped by NodePool, fullest first."""
    nodes = [
        _bin(view, entry)
        for entry in view.node_entries
        if entry.node is not None and entry.cpu.capacity and entry.access is PodAccess.KNOWN
    ]
    return tuple(sorted(nodes, key=lambda node: (node.pool == "", node.pool, -node.cpu, -_filled(node), node.name)))


def _filled(node: Bin) -> float:
    return (node.daemons.cpu + sum(pod.cpu for pod in node.pods)) / node.cpu


def _bin(view: ClusterView, entry: NodeEntry) -> Bin:
    pods = view.state.pods_on(entry.name).values()
    return Bin(
        name=entry.name,
        pool=entry.pool,
        cpu=entry.cpu.capacity,
        memory=entry.memory.capacity,
        daemons=Block(entry.cpu.daemons, entry.memory.daemons),
        pods=tuple(_block_of(pod.requests) for pod in pods if not pod.template.is_daemonset_owned),
    )


def _block_of(total: ResourceList) -> Block:
    return Block(
        -(-resources.nano(total, resources.CPU) // NANO_PER_MILLI),
        -(-resources.nano(total, resources.MEMORY) // NANO),
    )


class PackedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node on both sides."""

    before: Bin | None = None
    """None if only the edited side has it."""
    after: Bin | None = None
    """None if only the base has it."""
    is_launched: bool = False
    """Whether it does not exist: it would be launched, and is drawn as the cheapest type that it may come as."""


class Packed(NamedTuple):
    """How pods fill nodes now and with a scenario."""

    nodes: tuple[PackedNode, ...] = ()
    left_out: int = 0
    """Nodes of the edited side without a picture: terminating, or of unknown size."""
    waiting_before: int = 0
    """Unschedulable pods."""
    waiting_after: int = 0
    problem: str = ""
    """Error message if an edit cannot be made."""


def packed(before: ReplayOutcome, after: ReplayOutcome) -> Packed:
    """Return the nodes of two replays, each with the pods that the replay leaves on it or puts there."""
    old, new = _Side(before), _Side(after)
    nodes = [
        PackedNode(before=old.nodes.get(key), after=new.nodes.get(key))
        for key in dict.fromkeys((*old.nodes, *new.nodes))
    ]
    nodes += [
        PackedNode(before=old.launched.get(key), after=new.launched.get(key), is_launched=True)
        for key in dict.fromkeys((*old.launched, *new.launched))
    ]
    return Packed(tuple(nodes), new.left_out, len(before.unplaced), len(after.unplaced))


def packed_sides(base: WhatIfBase, scenario: Scenario) -> Packed:
    """Return the nodes of a cluster now and with a scenario."""
    try:
        edited = apply(base, scenario.edits)
    except EditError as error:
        return Packed(problem=str(error))
    return packed(replay(base, scenario.replay), replay(edited, scenario.replay))


class _Side:
    def __init__(self, outcome: ReplayOutcome) -> None:
        self.nodes: dict[str, Bin] = {}
        self.launched: dict[tuple[str, ...], Bin] = {}
        self.left_out = 0
        commands = () if outcome.next_pass is None else outcome.next_pass.commands
        going = {candidate.node.provider_id: candidate.node for command in commands for candidate in command.candidates}
        coming: dict[str, list[Pod]] = {}
        moved = {pod.key: pod for state in going.values() for pod in state.pods}
        for filled in outcome.nodes:
            coming.setdefault(filled.state.name, []).extend(filled.pods)
        for command in commands:
            placements = command.simulation.placements if command.simulation is not None else {}
            for name, pods in placements.items():
                coming.setdefault(name, []).extend(pod for pod in pods if pod.key in moved)
        for state in outcome.prepared.states:
            if state.provider_id not in outcome.gone and state.provider_id not in going:
                self._add(state, coming.get(state.name, ()))
        numbers: Counter[tuple[str, ...]] = Counter()
        for placement in (*_of_claims(outcome), *_of_commands(outcome, moved)):
            if placement is None:
                self.left_out += 1
                continue
            node, keys = placement
            alike = (node.pool, node.name, *keys)
            numbers[alike] += 1
            self.launched[*alike, str(numbers[alike])] = node

    def _add(self, state: StateNode, coming: Iterable[Pod]) -> None:
        have = state.allocatable_nano
        if state.is_marked_for_deletion or not have.get(resources.CPU):
            self.left_out += 1
            return
        pods = [pod for pod in state.pods if pod.template.is_daemonset_owned]
        rest = [pod for pod in state.pods if not pod.template.is_daemonset_owned]
        name = state.node_name
        self.nodes[state.provider_id] = _bin_of(name, state.nodepool_name, have, _sum(pods), (*rest, *coming))


_Bin = tuple[Bin, tuple[str, ...]]
"""A node that would be launched, and the keys of its pods."""


def _of_claims(outcome: ReplayOutcome) -> Iterator[_Bin | None]:
    for claim in outcome.claims:
        option = outcome.claim_types.first(claim)
        have = _allocatable(claim, option.name) if option is not None else None
        if option is None or have is None:
            yield None
            continue
        yield _packed_node(option.name, claim.nodepool_name, have, claim.requests, claim.pods)


def _allocatable(claim: NewClaim, name: str) -> Mapping[str, int] | None:
    return next((allocatable_nano(type_) for type_ in claim.catalogue.types if type_.name == name), None)


def _of_commands(outcome: ReplayOutcome, moved: Mapping[str, Pod]) -> Iterator[_Bin | None]:
    for command in () if outcome.next_pass is None else outcome.next_pass.commands:
        yield from (_replacement(node, moved) for node in command.replacements)
        yield from (None for _ in range(command.from_template))


def _replacement(node: NewNode, moved: Mapping[str, Pod]) -> _Bin | None:
    kind = node.book.types.get(node.type_names[0]) if node.type_names else None
    if kind is None:
        return None
    pods = [moved[key] for key in node.pods if key in moved]
    return _packed_node(kind.name, node.pool_name, allocatable_nano(kind), node.requests, pods)


def _packed_node(name: str, pool: str, have: Mapping[str, int], requests: ResourceList, pods: Iterable[Pod]) -> _Bin:
    """Return a launched node; requests that its pods do not explain are those of DaemonSets."""
    placed = tuple(pods)
    whole, block = _block_of(requests), _sum(placed)
    daemons = Block(max(whole.cpu - block.cpu, 0), max(whole.memory - block.memory, 0))
    return _bin_of(name, pool, have, daemons, placed), tuple(sorted(pod.key for pod in placed))


def _bin_of(name: str, pool: str, have: Mapping[str, int], daemons: Block, pods: Iterable[Pod]) -> Bin:
    return Bin(
        name=name,
        pool=pool,
        cpu=have.get(resources.CPU, 0) // NANO_PER_MILLI,
        memory=have.get(resources.MEMORY, 0) // NANO,
        daemons=daemons,
        pods=tuple(sorted((_block_of(pod.requests) for pod in pods), key=lambda block: (-block.cpu, -block.memory))),
    )


def _sum(pods: Iterable[Pod]) -> Block:
    blocks = [_block_of(pod.requests) for pod in pods]
    return Block(sum(block.cpu for block in blocks), sum(block.memory for block in blocks))
