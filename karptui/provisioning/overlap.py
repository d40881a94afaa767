"""Which NodePools could make a new node for each kind of pod, and which of them would.

Every kind of pod is held against every NodePool as Karpenter does for a new NodeClaim: taints, labels, volumes, room
beside the DaemonSets, offerings (``CanAdd`` in ``pkg/controllers/provisioning/scheduling/nodeclaim.go``), then limits
(``addToNewNodeClaim`` in ``scheduler.go``). Topology rules are left out: they depend on what else is placed in a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.karpenter.labels import NODEPOOL
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.taints import untolerated
from karptui.provisioning.limits import LimitState
from karptui.provisioning.pod_class import PodClass, Stage
from karptui.provisioning.prepared import Prepared, Variant
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.template import Template
from karptui.provisioning.topology_spec import host_allowed

PODS_A_STEP: Final = 500
"""Pods that are counted between two breaks."""
PENDING: Final = ""
UNMANAGED: Final = "-"
"""Where pods run whose node belongs to no NodePool."""
_NO_HOST: Final = "hostname-placeholder-0000"
"""Host name that no node has."""


class PodKind(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that no rule of NodePools tells apart."""

    example: str
    """``namespace/name`` of one of them."""
    examples: tuple[str, ...] = ()
    """The same of one pod of each template, that of ``example`` first."""
    pods: int
    running: Mapping[str, int]
    """Pods by the NodePool of their node; ``UNMANAGED`` for nodes of none, ``PENDING`` for pods without a node."""
    pools: tuple[str, ...]
    """NodePools that could make a node for them, in the order in which they are tried."""
    goes_to: str
    """The NodePool that would make it now: the first that takes the pods as they are and has room in its limits."""
    first: str
    """The same, were there no limits."""


class PoolOverlap(msgspec.Struct, frozen=True, kw_only=True):
    """One NodePool beside the others, in pods."""

    matching: int = 0
    """Pods that it could make a node for."""
    shared: int = 0
    """Of these, pods that another NodePool could make a node for too."""
    goes_here: int = 0
    """Pods that it would make the node for now."""
    shared_with: Mapping[str, int] = MappingProxyType({})
    """By other NodePool, how many of its pods that one could take too."""
    lost_to: Mapping[str, int] = MappingProxyType({})
    """By NodePool, how many of its pods would go there."""
    running: int = 0
    """Pods that run on its nodes now."""


class Overlap(msgspec.Struct, frozen=True, kw_only=True):
    """Which NodePools could take which pods. Pods of DaemonSets and static pods, and those that end, do not count."""

    pods: int = 0
    kinds: tuple[PodKind, ...] = ()
    """The most pods first."""
    pools: Mapping[str, PoolOverlap] = MappingProxyType({})
    """By name, in the order in which they are tried; only those that take part."""
    generation: int = 0
    """Number of the cluster's generation that it was worked out on."""

    @property
    def several(self) -> int:
        """Pods that several NodePools could make a node for."""
        return sum(kind.pods for kind in self.kinds if len(kind.pools) > 1)

    @property
    def none(self) -> int:
        """Pods that no NodePool could make a node for, whatever its limits."""
        return sum(kind.pods for kind in self.kinds if not kind.pools)

    @property
    def stranded(self) -> int:
        """Pods that some NodePool could make a node for, were its limits not used up."""
        return sum(kind.pods for kind in self.kinds if kind.pools and not kind.goes_to)

    def partners_of(self, pool: str) -> tuple[str, ...]:
        """Return a NodePool and the one it shares most pods with; it alone where it shares none."""
        found = self.pools.get(pool)
        return (pool, *list(found.shared_with)[:1]) if found is not None else (pool,)

    def shared_by(self, pools: Iterable[str]) -> int:
        """Return how many pods could go to every one of some NodePools."""
        all_of = frozenset(pools)
        return sum(kind.pods for kind in self.kinds if all_of <= frozenset(kind.pools))


def overlap_steps(prepared: Prepared, generation: int = 0) -> Iterator[Overlap | None]:
    """Work out the overlap step by step: yields None between two steps, and the answer at last.

    Args:
        prepared: The cluster.
        generation: What the answer says about when it was made.
    """
    census = _Census(prepared)
    for start in range(0, len(prepared.inventory.pods), PODS_A_STEP):
        yield None
        census.count(prepared.inventory.pods[start : start + PODS_A_STEP])
    check = _PoolCheck(prepared)
    kinds = []
    for first, running in census.running.items():
        yield None
        kinds.append(check.kind(first, census.examples[first].values(), running))
    kinds.sort(key=lambda one: (-one.pods, one.example))
    yield Overlap(
        pods=sum(one.pods for one in kinds),
        kinds=tuple(kinds),
        pools={template.name: _pool(template.name, kinds) for template in prepared.templates},
        generation=generation,
    )


def overlap(prepared: Prepared) -> Overlap:
    """Return the overlap at once, for those who can wait."""
    return next(one for one in overlap_steps(prepared) if one is not None)


class _Census:
    """Counts pods by kind, and by the NodePool of their node."""

    def __init__(self, prepared: Prepared) -> None:
        self._first_stage = prepared.first_stage
        self._pools = {node.name: node.labels.get(NODEPOOL) or UNMANAGED for node in prepared.inventory.nodes}
        self._simple: dict[PodTemplate, dict[str, int] | None] = {}
        self.running: dict[Stage, dict[str, int]] = {}
        """By kind: pods by NodePool."""
        self.examples: dict[Stage, dict[PodTemplate, str]] = {}
        """By kind: one pod of each template."""

    def count(self, pods: Iterable[Pod]) -> None:
        """Count some more."""
        simple = self._simple
        for pod in pods:
            if pod.deletion_ns or pod.is_terminal:
                continue
            template = pod.template
            running = simple.get(template)
            if running is None:
                if template in simple:
                    continue
                running = self._begin(pod)
                if running is None:
                    continue
            node = pod.node_name
            place = self._pools.get(node, UNMANAGED) if node else PENDING
            running[place] = running.get(place, 0) + 1

    def _begin(self, pod: Pod) -> dict[str, int] | None:
        """Return where a pod's kind is counted, None where it is not."""
        template = pod.template
        if template.is_daemonset_owned or template.is_node_owned:
            self._simple[template] = None
            return None
        first = self._first_stage(pod)
        self.examples.setdefault(first, {}).setdefault(template, pod.key)
        running = self.running.setdefault(first, {})
        if not (pod.volumes or pod.own_labels or template.host_ports):
            self._simple[template] = running
        return running


class _PoolCheck:
    """Holds kinds of pods against new claims of NodePools."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        variant = Variant()
        self._limits = [
            LimitState(template, prepared.remaining_limits(template, variant)) for template in prepared.templates
        ]

    def kind(self, first: Stage, examples: Iterable[str], running: Mapping[str, int]) -> PodKind:
        """Return which NodePools could take a kind of pod, and which would."""
        owner, stages = first.owner, self._stages(first)
        pools = tuple(
            limit.template.name
            for limit in self._limits
            if any(self._types(owner, stage, limit.template, limit.template.types) for stage in stages)
        )
        keys = tuple(examples)
        return PodKind(
            example=keys[0],
            examples=keys,
            pods=sum(running.values()),
            running=dict(running),
            pools=pools,
            goes_to=self._first(owner, stages, has_limits=True),
            first=self._first(owner, stages, has_limits=False),
        )

    def _stages(self, first: Stage) -> list[Stage]:
        """Return the pod as it is, and as it gives up one wish after the other."""
        settings = self._prepared.settings
        has_dra = first.owner.has_dra
        if has_dra and settings.ignore_dra_requests:
            return []
        stages: list[Stage] = []
        stage: Stage | None = first
        while stage is not None:
            stages.append(stage)
            stage = None if has_dra else self._prepared.classes.relaxed(stage)
        return stages

    def _first(self, owner: PodClass, stages: list[Stage], *, has_limits: bool) -> str:
        for stage in stages:
            for limit in self._limits:
                if has_limits and limit.is_out_of_nodes:
                    continue
                types = limit.types if has_limits else limit.template.types
                if self._types(owner, stage, limit.template, types):
                    return limit.template.name
        return ""

    def _types(self, owner: PodClass, stage: Stage, template: Template, types: int) -> int:
        """Return the types that a new claim of a NodePool with the pod could have, as bits."""
        if not types or untolerated(template.taints, stage.tolerations):
            return 0
        interner = self._prepared.interner
        base = interner.join_claim(template.requirements, stage.asked)
        if not base or not host_allowed(stage.asked_host, _NO_HOST):
            return 0
        for wanted, host in owner.volume_alternatives or ((interner.empty, None),):
            joined = interner.join_claim(base, wanted)
            if joined and host_allowed(host, _NO_HOST):
                found = self._fitting(owner, template, types, joined)
                if found:
                    return found
        return 0

    @staticmethod
    def _fitting(owner: PodClass, template: Template, types: int, labels: RequirementSet) -> int:
        left = labels.filter_of(template.catalogue)
        types &= left.types
        found = 0
        for group in template.groups:
            if group.types & types and not group.clashes("", owner.host_ports):
                need = [a + b for a, b in zip(owner.row, group.row, strict=True)]
                rows = left.offering_rows & template.fitting_rows(need)
                found |= group.types & types & template.catalogue.types_of_rows(rows)
        return found


def _pool(name: str, kinds: list[PodKind]) -> PoolOverlap:
    own = [kind for kind in kinds if name in kind.pools]
    shared_with: Counter[str] = Counter()
    lost_to: Counter[str] = Counter()
    for kind in own:
        for other in kind.pools:
            if other != name:
                shared_with[other] += kind.pods
        if kind.goes_to not in ("", name):
            lost_to[kind.goes_to] += kind.pods
    return PoolOverlap(
        matching=sum(kind.pods for kind in own),
        shared=sum(kind.pods for kind in own if len(kind.pools) > 1),
        goes_here=sum(kind.pods for kind in own if kind.goes_to == name),
        shared_with=dict(shared_with.most_common()),
        lost_to=dict(lost_to.most_common()),
        running=sum(kind.running.get(name, 0) for kind in kinds),
    )
