"""Right-sizing: nodes and dollars if requests were as recommended, from scratch and from now on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.disruption.codes import CODES, Code
from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.errors import RequestError
from karptui.forward.result import Played
from karptui.forward.run import HORIZON_NS
from karptui.karpenter.inventory import Inventory
from karptui.kube.group import group_by
from karptui.kube.pod import ContainerRequests, Pod, PodTemplate, effective_requests
from karptui.kube.quantity import Quantity, QuantityFormat, of_millis, of_units
from karptui.kube.resources import CPU, ResourceList, add, memory_bytes, nano
from karptui.kube.vpa import SIZED, Recommendation, Recommendations
from karptui.provisioning.reporter import Reporter, silent
from karptui.studies.forecasts import RUNS, ForecastCluster, leave_out_alike
from karptui.whatif.outcome import cost_of_node
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import EditedCluster, Situation, WhatIfBase, as_pending

PATCHED: Final = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "CronJob": "batch/v1",
}
"""Kinds whose pod template can be patched, with their apiVersion."""
MOST_ALONE: Final = 20
NO_USAGE: Final = (
    "there are no recommendations: they come from VerticalPodAutoscalers with a status, from the usage in this"
    " cluster's history, or from karptui rightsize --krr FILE or --prometheus URL"
)
_MI: Final = 2**20
Templates = Mapping[PodTemplate, PodTemplate]
"""From each template to the one with the recommended requests."""


class Caveat(StrEnum):
    """What limits a recommendation, or follows from it; the texts are in the view."""

    GUARANTEED = "guaranteed"
    LIMIT = "limit"
    USAGE = "usage"
    POD_LEVEL = "pod-level"
    VPA_ACTS = "vpa-acts"
    UNSURE = "unsure"
    HPA = "hpa"
    NO_PATCH = "no-patch"
    NO_CONTAINER = "no-container"


class ContainerSize(msgspec.Struct, frozen=True):
    """Requests of a container that change."""

    name: str
    is_init: bool
    before: ResourceList
    after: ResourceList


class Sizing(msgspec.Struct, frozen=True, kw_only=True):
    """A workload with recommendations."""

    workload: str
    """``Kind/namespace/name``."""
    pods: int
    containers: tuple[ContainerSize, ...]
    before: ResourceList
    """Effective requests of a pod."""
    after: ResourceList
    caveats: tuple[Caveat, ...] = ()
    update_mode: str = ""
    """Of the VPA; empty without one."""
    saves_alone: float | None = None
    """Dollars per hour from scratch if only this workload changes; None if unknown or not replayed."""


class Fleet(msgspec.Struct, frozen=True):
    """Karpenter's nodes after a replay from scratch."""

    nodes: int
    price_per_hour: float
    unpriced: int
    pending: int

    def saves(self, other: Fleet) -> float | None:
        """Return the dollars per hour that another fleet costs less; None if they cannot be compared."""
        is_known = self.unpriced == other.unpriced and self.pending >= other.pending
        return self.price_per_hour - other.price_per_hour if is_known else None


class BlockedNodes(msgspec.Struct, frozen=True):
    """Nodes at the end of the forecast that Karpenter wants to disrupt and cannot."""

    blocker: str
    nodes: int
    price_per_hour: float


class RightSize(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The answer, about all recommendations together."""

    recommendations: Recommendations
    sizings: tuple[Sizing, ...]
    unmatched: tuple[str, ...]
    """Workloads that have recommendations, and no pods."""
    without: int
    """Pods without a recommendation; pods of DaemonSets and static pods are left out."""
    is_usage_known: bool
    scratch: tuple[Fleet, Fleet]
    """All pods on new nodes, with today's requests and with the recommended ones."""
    played: tuple[Played, Played]
    """From now on, with today's requests and with the recommended ones."""
    blocked: tuple[BlockedNodes, ...]
    recreated: int
    """Pods that no longer fit on their node."""
    alone: int
    """Workloads that were replayed alone."""
    has_prices: bool
    horizon_ns: int

    @property
    def assumed(self) -> tuple[str, ...]:
        """Assumptions of the forecasts."""
        return RUNS, *self.played[1].assumptions

    @property
    def saves_from_scratch(self) -> float | None:
        """Dollars per hour; None if unknown."""
        return self.scratch[0].saves(self.scratch[1]) if self.has_prices else None

    @property
    def saves_from_now(self) -> float | None:
        """Dollars per hour at the end of the forecast; None if unknown."""
        before, after = self.played
        is_known = self.has_prices and leave_out_alike(before, after) and before.end.pending >= after.end.pending
        return before.end.price_per_hour - after.end.price_per_hour if is_known else None


def rightsize(
    base: WhatIfBase,
    recommendations: Recommendations,
    used_memory: Mapping[str, int] | None = None,
    *,
    horizon_ns: int = HORIZON_NS,
    seed: int = 0,
    seeds: int = 1,
    reporter: Reporter = silent,
) -> RightSize:
    """Replay the cluster with recommended requests.

    Args:
        used_memory: Bytes in use by ``namespace/name`` of the pod; None if unknown.
        seed: First seed of what kube-scheduler and Karpenter leave to chance.

    Raises:
        RequestError: There are no recommendations, or none is for a workload with pods.
    """
    pods = workloads_of(base.inventory)
    by_workload: dict[str, dict[str, Recommendation]] = {}
    for item in recommendations.items:
        by_workload.setdefault(item.workload, {})[item.container] = item
    if not by_workload:
        raise RequestError(NO_USAGE)
    sizings_by_workload = {
        key: size(key, pods[key], items, used_memory or {}) for key, items in by_workload.items() if key in pods
    }
    if not sizings_by_workload:
        raise RequestError(f"none of the {len(by_workload)} workloads with recommendations has pods in this cluster")
    then, recreated = sized(
        base, {old: new for _, resized in sizings_by_workload.values() for old, new in resized.items()}
    )
    today, after = (
        ForecastCluster(side, side.inventory).play(horizon_ns=horizon_ns, seed=seed, seeds=seeds, reporter=reporter)
        for side in (base, then)
    )
    scratch = fleet_of(base), fleet_of(then)
    ranked = sorted(
        (key for key in sizings_by_workload if sizings_by_workload[key][1]),
        key=lambda key: (-_change(sizings_by_workload[key][0]), key),
    )
    alone = {
        key: scratch[0].saves(fleet_of(sized(base, sizings_by_workload[key][1])[0])) for key in ranked[:MOST_ALONE]
    }
    sizings = [
        replace(sizing, saves_alone=alone.get(key) if base.has_prices else None)
        for key, (sizing, _) in sizings_by_workload.items()
    ]
    others = [pod.template for key in pods.keys() - sizings_by_workload.keys() for pod in pods[key]]
    return RightSize(
        recommendations=recommendations,
        sizings=tuple(sorted(sizings, key=lambda sizing: (-(sizing.saves_alone or 0.0), sizing.workload))),
        unmatched=tuple(sorted(by_workload.keys() - pods.keys())),
        without=sum(not template.is_daemonset_owned and not template.is_node_owned for template in others),
        is_usage_known=bool(used_memory),
        scratch=scratch,
        played=(today, after),
        blocked=_blocked(then, after),
        recreated=recreated,
        alone=len(alone),
        has_prices=base.has_prices,
        horizon_ns=horizon_ns,
    )


def workloads_of(inventory: Inventory) -> dict[str, list[Pod]]:
    """Return the active pods by ``Kind/namespace/name`` of their workload."""
    origins = OriginIndex(OwnerIndex(inventory.workloads))
    return group_by((pod for pod in inventory.pods if pod.is_active), origins.of)


def size(
    workload: str, pods: Sequence[Pod], recommended: Mapping[str, Recommendation], used_memory: Mapping[str, int]
) -> tuple[Sizing, Templates]:
    """Return a workload's new requests, and its changed templates."""
    used = max(used_memory.get(pod.key, 0) for pod in pods)
    caveats: set[Caveat] = set()
    resized: dict[PodTemplate, PodTemplate] = {}
    ((shown, _),) = Counter(pod.template for pod in pods).most_common(1)
    containers: dict[PodTemplate, tuple[ContainerRequests, ...]] = {}
    for template in dict.fromkeys(pod.template for pod in pods):
        changed = containers[template] = _changed(template, recommended, used, caveats)
        requests = _effective(template, changed)
        if requests != template.requests:
            resized[template] = replace(template, requests=requests, containers=changed)
    sizes = tuple(
        ContainerSize(old.name, old.is_init, _differing(old, new), _differing(new, old))
        for old, new in zip(shown.containers, containers[shown], strict=True)
        if old is not new
    )
    mode = next(iter(recommended.values())).update_mode
    names = {container.name for pod in pods for container in pod.template.containers}
    conditions = {
        Caveat.NO_CONTAINER: not names.issuperset(recommended),
        Caveat.UNSURE: any(recommendation.is_unsure for recommendation in recommended.values()),
        Caveat.HPA: any(recommendation.has_hpa for recommendation in recommended.values()),
        Caveat.VPA_ACTS: bool(sizes) and mode not in ("", "Off"),
        Caveat.NO_PATCH: bool(sizes) and workload.partition("/")[0] not in PATCHED,
    }
    sizing = Sizing(
        workload=workload,
        pods=len(pods),
        containers=sizes,
        before=shown.requests,
        after=resized.get(shown, shown).requests,
        caveats=tuple(sorted(caveats | {caveat for caveat, holds in conditions.items() if holds})),
        update_mode=mode,
    )
    return sizing, resized


def _differing(of: ContainerRequests, other: ContainerRequests) -> ResourceList:
    return {name: amount for name, amount in of.requests.items() if other.requests.get(name) != amount}


def _changed(
    template: PodTemplate, recommended: Mapping[str, Recommendation], used: int, caveats: set[Caveat]
) -> tuple[ContainerRequests, ...]:
    """Return the containers with recommended requests; what limits them is added to the caveats."""
    before = template.containers
    if template.has_pod_level_requests:
        caveats.add(Caveat.POD_LEVEL)
        return before
    changed = tuple(_sized(container, recommended.get(container.name), SIZED, caveats) for container in before)
    running = add(*(container.requests for container in changed if container.is_sidecar or not container.is_init))
    if memory_bytes(running) < used:
        caveats.add(Caveat.USAGE)
        changed = tuple(_sized(container, recommended.get(container.name), (CPU,), caveats) for container in before)
    if _is_guaranteed(before) and not _is_guaranteed(changed):
        caveats.add(Caveat.GUARANTEED)
    return changed


def _sized(
    container: ContainerRequests, item: Recommendation | None, names: Iterable[str], caveats: set[Caveat]
) -> ContainerRequests:
    if item is None or (container.is_init and not container.is_sidecar):
        return container
    requests = dict(container.requests)
    for name in set(names) & item.requests.keys():
        amount, limit = _rounded(name, item.requests[name]), container.limits.get(name)
        if limit is not None and amount.nano > limit.nano:
            caveats.add(Caveat.LIMIT)  # the API server refuses requests above the limit
            amount = limit
        if amount.nano != nano(requests, name):
            requests[name] = amount
    return replace(container, requests=requests) if requests != container.requests else container


def _rounded(name: str, amount: Quantity) -> Quantity:
    """Return an amount rounded up to millicores or MiB."""
    if name == CPU:
        return of_millis(max(amount.millis, 1))
    return of_units(-(-max(amount.units, 1) // _MI) * _MI, QuantityFormat.BINARY_SI)


def _is_guaranteed(containers: Iterable[ContainerRequests]) -> bool:
    return all(
        0 < nano(container.limits, name) == nano(container.requests, name) for container in containers for name in SIZED
    )


def _effective(template: PodTemplate, changed: tuple[ContainerRequests, ...]) -> ResourceList:
    """Return the pod's requests with other containers; a RuntimeClass's overhead stays."""
    before, after = _sum(template.containers), _sum(changed)
    requests = dict(template.requests)
    for name in SIZED:
        if change := nano(after, name) - nano(before, name):
            requests[name] = Quantity(nano(template.requests, name) + change, after[name].format)
    return requests


def _sum(containers: Iterable[ContainerRequests]) -> ResourceList:
    apps, inits = ([container for container in containers if container.is_init is is_init] for is_init in (False, True))
    return effective_requests(containers=apps, init_containers=inits)


def sized(base: WhatIfBase, templates: Templates) -> tuple[EditedCluster, int]:
    """Return the cluster with other templates, and the number of pods that no longer fit on their node: they pend."""
    inventory = base.inventory
    pods = [
        replace(pod, template=templates[pod.template]) if pod.template in templates else pod for pod in inventory.pods
    ]
    too_large = _too_large(inventory, pods, set(templates.values()))
    daemons = {
        (template.namespace, owner.name): template.requests
        for template in templates.values()
        for owner in template.owners
        if owner.kind == "DaemonSet"
    }
    daemonsets = [
        replace(daemonset, template=replace(daemonset.template, requests=requests))
        if (requests := daemons.get((daemonset.namespace, daemonset.name))) is not None
        else daemonset
        for daemonset in inventory.daemonsets
    ]
    pods = [as_pending(pod) if pod.uid in too_large else pod for pod in pods]
    changed = replace(inventory, pods=tuple(pods), daemonsets=tuple(daemonsets))
    return EditedCluster(base, (), changed, base.settings, base.types), len(too_large)


def _too_large(inventory: Inventory, pods: Iterable[Pod], changed: set[PodTemplate]) -> set[str]:
    """Return uids of changed pods, the largest first, until the others fit on each node."""
    bound = group_by((pod for pod in pods if pod.node_name and not pod.is_terminal), lambda pod: pod.node_name)
    gone: set[str] = set()
    for node in inventory.nodes:
        there = bound.get(node.name, [])
        movable = [pod for pod in there if pod.template in changed and not pod.template.is_daemonset_owned]
        for name in SIZED if movable else ():
            left = sum(nano(pod.requests, name) for pod in there if pod.uid not in gone)
            amounts = {pod.uid: nano(pod.requests, name) for pod in movable if pod.uid not in gone}
            for uid in sorted(amounts, key=lambda uid: (-amounts[uid], uid)):
                if left > nano(node.allocatable, name):
                    gone.add(uid)
                    left -= amounts[uid]
    return gone


def fleet_of(situation: Situation) -> Fleet:
    """Return Karpenter's nodes if all workload pods were placed on new ones."""
    outcome = replay(situation, Replay.SCRATCH)
    figures = outcome.pools.values()
    return Fleet(
        nodes=sum(figure.nodes for figure in figures),
        price_per_hour=sum(figure.price_per_hour for figure in figures),
        unpriced=sum(figure.unpriced for figure in figures),
        pending=len(outcome.unplaced),
    )


def _blocked(then: Situation, played: Played) -> tuple[BlockedNodes, ...]:
    states = {state.node_name: state for state in then.prepared.states}
    kept_by_word = group_by(played.kept, lambda kept: CODES[Code(kept.code)].word)

    def price(name: str) -> float:
        return cost_of_node(then.prices, then.books, states[name]).per_hour or 0.0 if name in states else 0.0

    blocked = [
        BlockedNodes(word, len(kept), sum(price(node.node) for node in kept)) for word, kept in kept_by_word.items()
    ]
    return tuple(sorted(blocked, key=lambda group: (-group.price_per_hour, group.blocker)))


def _change(sizing: Sizing) -> float:
    """Return the share of all pods' requests that changes, to rank workloads."""
    changes = (abs(nano(sizing.before, name) - nano(sizing.after, name)) for name in SIZED)
    return sum(change / unit for change, unit in zip(changes, (1, 2**33), strict=True)) * sizing.pods
