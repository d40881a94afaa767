"""Finds the NodePools that could launch a node for each kind of pod, and the one that would.

Every kind of pod is checked against every NodePool as for a new NodeClaim: taints, labels, volumes, room with
DaemonSets, offerings (``CanAdd`` in ``pkg/controllers/provisioning/scheduling/nodeclaim.go``), then limits
(``addToNewNodeClaim`` in ``scheduler.go``). Topology rules are left out, because they depend on the other pods in a
run.
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
"""Pods counted between two pauses."""
PENDING: Final = ""
UNMANAGED: Final = "-"
"""Key of pods on nodes without a NodePool."""
_NO_HOST: Final = "hostname-placeholder-0000"
"""Hostname that no node has."""


class PodKind(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that are equivalent for all NodePools."""

    example: str
    """``namespace/name`` of a pod of this kind."""
    examples: tuple[str, ...] = ()
    """A pod of each template, starting with ``example``."""
    pods: int
    running: Mapping[str, int]
    """Pods by the NodePool of their node; ``UNMANAGED`` for other nodes, ``PENDING`` for pods without a node."""
    pools: tuple[str, ...]
    """NodePools that could launch a node for them, in the order Karpenter tries them."""
    goes_to: str
    """NodePool that would launch a node now: the first that fits the pods and is within its limits."""


class PoolOverlap(msgspec.Struct, frozen=True, kw_only=True):
    """A NodePool compared with the others, in numbers of pods."""

    matching: int = 0
    """Pods that it could launch a node for."""
    shared: int = 0
    """Matching pods that another NodePool could also launch a node for."""
    goes_here: int = 0
    """Pods that it would launch a node for now."""
    shared_with: Mapping[str, int] = MappingProxyType({})
    """Shared pods by other NodePool."""
    lost_to: Mapping[str, int] = MappingProxyType({})
    """Matching pods that would use another NodePool, by NodePool."""


class Overlap(msgspec.Struct, frozen=True, kw_only=True):
    """The NodePools that could launch nodes for each kind of pod, without DaemonSet, static and terminating pods."""

    pods: int = 0
    kinds: tuple[PodKind, ...] = ()
    """Kinds by number of pods, largest first."""
    pools: Mapping[str, PoolOverlap] = MappingProxyType({})
    """By name, in the order Karpenter tries them, without skipped NodePools."""

    @property
    def several(self) -> int:
        """Number of pods that several NodePools could launch a node for."""
        return sum(kind.pods for kind in self.kinds if len(kind.pools) > 1)

    @property
    def none(self) -> int:
        """Number of pods that no NodePool could launch a node for, even without limits."""
        return sum(kind.pods for kind in self.kinds if not kind.pools)

    @property
    def stranded(self) -> int:
        """Number of pods that no NodePool can launch a node for only because of limits."""
        return sum(kind.pods for kind in self.kinds if kind.pools and not kind.goes_to)

    def partners_of(self, pool: str) -> tuple[str, ...]:
        """Return a NodePool and the one it shares most pods with, if any."""
        overlap = self.pools.get(pool)
        return (pool, *list(overlap.shared_with)[:1]) if overlap is not None else (pool,)

    def shared_by(self, pools: Iterable[str]) -> int:
        """Return the number of pods that every one of some NodePools could launch a node for."""
        all_of = frozenset(pools)
        return sum(kind.pods for kind in self.kinds if all_of <= frozenset(kind.pools))


def overlap_steps(prepared: Prepared) -> Iterator[Overlap | None]:
    """Compute the overlap step by step: yield None between steps, and finally the result."""
    census = _Census(prepared)
    for start in range(0, len(prepared.inventory.pods), PODS_A_STEP):
        yield None
        census.count(prepared.inventory.pods[start : start + PODS_A_STEP])
    check = _PoolCheck(prepared)
    kinds = []
    for first, running in census.running.items():
        yield None
        kinds.append(check.kind(first, census.examples[first].values(), running))
    kinds.sort(key=lambda kind: (-kind.pods, kind.example))
    yield Overlap(
        pods=sum(kind.pods for kind in kinds),
        kinds=tuple(kinds),
        pools={template.name: _pool(template.name, kinds) for template in prepared.templates},
    )


def overlap(prepared: Prepared) -> Overlap:
    """Return the overlap without intermediate steps."""
    return next(result for result in overlap_steps(prepared) if result is not None)


class _Census:
    def __init__(self, prepared: Prepared) -> None:
        self._first_stage = prepared.first_stage
        self._pools = {node.name: node.labels.get(NODEPOOL) or UNMANAGED for node in prepared.inventory.nodes}
        self._simple: dict[PodTemplate, dict[str, int] | None] = {}
        self.running: dict[Stage, dict[str, int]] = {}
        """Pods by NodePool, by kind."""
        self.examples: dict[Stage, dict[PodTemplate, str]] = {}
        """A pod of each template, by kind."""

    def count(self, pods: Iterable[Pod]) -> None:
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
        """Return the counts of a pod's kind, None if it does not count."""
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
    """Checks kinds of pods against new claims of NodePools."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        variant = Variant()
        self._limits = [
            LimitState(template, prepared.remaining_limits(template, variant)) for template in prepared.templates
        ]

    def kind(self, first: Stage, examples: Iterable[str], running: Mapping[str, int]) -> PodKind:
        """Return the NodePools that could and would launch a node for a kind of pod."""
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
            goes_to=self._first(owner, stages),
        )

    def _stages(self, first: Stage) -> list[Stage]:
        """Return the pod's stages: as specified, and after each relaxation."""
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

    def _first(self, owner: PodClass, stages: list[Stage]) -> str:
        for stage in stages:
            for limit in self._limits:
                if not limit.is_out_of_nodes and self._types(owner, stage, limit.template, limit.types):
                    return limit.template.name
        return ""

    def _types(self, owner: PodClass, stage: Stage, template: Template, types: int) -> int:
        """Return the possible types of a new claim with the pod, as bits."""
        if not types or untolerated(template.taints, stage.tolerations):
            return 0
        interner = self._prepared.interner
        base = interner.join_claim(template.requirements, stage.asked)
        if not base or not host_allowed(stage.asked_host, _NO_HOST):
            return 0
        for volume_requirements, host in owner.volume_alternatives or ((interner.empty, None),):
            joined = interner.join_claim(base, volume_requirements)
            if joined and host_allowed(host, _NO_HOST):
                fitting = self._fitting(owner, template, types, joined)
                if fitting:
                    return fitting
        return 0

    @staticmethod
    def _fitting(owner: PodClass, template: Template, types: int, labels: RequirementSet) -> int:
        left = labels.filter_of(template.catalogue)
        types &= left.types
        fitting = 0
        for group in template.groups:
            if group.types & types and not group.clashes("", owner.host_ports):
                need = [a + b for a, b in zip(owner.row, group.row, strict=True)]
                rows = left.offering_rows & template.fitting_rows(need)
                fitting |= group.types & types & template.catalogue.types_of_rows(rows)
        return fitting


def _pool(name: str, kinds: list[PodKind]) -> PoolOverlap:
    matching = [kind for kind in kinds if name in kind.pools]
    shared_with: Counter[str] = Counter()
    lost_to: Counter[str] = Counter()
    for kind in matching:
        for other in kind.pools:
            if other != name:
                shared_with[other] += kind.pods
        if kind.goes_to not in ("", name):
            lost_to[kind.goes_to] += kind.pods
    return PoolOverlap(
        matching=sum(kind.pods for kind in matching),
        shared=sum(kind.pods for kind in matching if len(kind.pools) > 1),
        goes_here=sum(kind.pods for kind in matching if kind.goes_to == name),
        shared_with=dict(shared_with.most_common()),
        lost_to=dict(lost_to.most_common()),
    )
