"""How many more of one pod fit: on the nodes there are, on new ones, and until the limits of NodePools stop it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from karptui.disruption.no_place import NO_POOLS
from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.errors import RequestError, no_such
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import SCHEDULE_ANYWAY, Pod, PodTemplate
from karptui.provisioning.kube_scheduler import Scheduler, awaits_node, bound_pods
from karptui.provisioning.limits import remaining_limits
from karptui.provisioning.pod_class import RESPECT
from karptui.provisioning.pool_order import served_pools, skip_reason
from karptui.provisioning.reporter import Each, Reporter, one_by_one, silent
from karptui.studies.held_pods import placement_premises
from karptui.studies.pod_trial import PodTrial, SamplePod, sample_of, samples
from karptui.whatif.edits import ObjectRef
from karptui.whatif.edits.apply import apply
from karptui.whatif.placement_difference import passed_over_text
from karptui.whatif.situation import Situation, WhatIfBase

MOST: Final = 1000
"""Default limit of the pods that are tried."""
ASSUMED: Final = (
    "all pods are created at once, as if their workload was scaled up",
    "pods that are pending today are scheduled with them",
    "a new node has the cheapest offering of the first available capacity type",
    "if several nodes fit, kube-scheduler's choice is approximated",
    "no pod preempts pods of lower priority",
)


class LimitUse(msgspec.Struct, frozen=True):
    """Use of a NodePool's limit by its nodes today, in nano-units."""

    resource: str
    used: int
    limit: int


class PoolRoom(msgspec.Struct, frozen=True):
    """How many pods new nodes of one NodePool take, if no other may launch any."""

    pool_name: str
    pods: int
    is_at_least: bool
    """Whether more may fit than were tried."""
    nodes: int
    price_per_hour: float
    """Dollars of these nodes."""
    reason: str = ""
    """Why the next pod is unschedulable."""
    limits: tuple[LimitUse, ...] = ()


class Headroom(msgspec.Struct, frozen=True, kw_only=True):
    """How many more of a pod fit."""

    sample: SamplePod
    requests: tuple[tuple[str, str], ...]
    pods: int
    starts: int
    """How many kube-scheduler puts on the nodes that are ready now."""
    on_starting: int = 0
    """Pods of ``fits`` on nodes that are still starting."""
    on_launched: int = 0
    """Pods of ``fits`` on nodes that are launched anyway, for pods that are pending today."""
    has_preferences: bool = False
    """Whether the pods have preferences that Karpenter launches a node for and kube-scheduler ignores if it must."""
    fits: int
    """How many come before Karpenter launches a node for them, or for a CapacityBuffer that they take room from."""
    is_fits_at_least: bool
    """Whether more may fit than were tried."""
    nodes: tuple[tuple[str, int], ...]
    """Nodes that take pods before one is launched, with the number of pods."""
    next_pool: str = ""
    """NodePool of the node that the next pod needs; empty if it gets none."""
    next_type: str = ""
    """Its cheapest type, capacity type and zone."""
    next_price_per_hour: float | None = None
    total: int
    """How many fit until nothing more is launched."""
    is_total_at_least: bool
    """Whether more may fit than were tried."""
    new_nodes: int = 0
    """Launched for all these."""
    price_per_hour: float = 0.0
    """Dollars of them."""
    reason: str
    """Why the next pod after ``total`` is unschedulable; empty if that is not reached."""
    pools: tuple[PoolRoom, ...]
    """Each NodePool alone; empty if that was not asked."""
    buffered: int = 0
    """Pods whose room CapacityBuffers keep."""
    tried: int
    assumed: tuple[str, ...]


def headrooms_of(
    base: WhatIfBase,
    ref: ObjectRef | None = None,
    *,
    most: int = MOST,
    reporter: Reporter = silent,
    each: Each = one_by_one,
) -> tuple[Headroom, ...]:
    """Return the headroom for a pod or workload, for the pods on a NodePool, or for every workload if None.

    Raises:
        RequestError: There is no such object, or a pod cannot be added.
    """
    if ref is None:
        return headrooms(base, samples(base.inventory), most=most, reporter=reporter, each=each)
    if ref.kind == "NodePool":
        of = pool_samples(base, ref.name)
        return headrooms(base, of, most=most, pool=ref.name, reporter=reporter, each=each)
    return (headroom(base, sample_of(base, ref), most=most, reporter=reporter, each=each),)


def headrooms(
    base: WhatIfBase,
    sample_pods: Sequence[SamplePod],
    *,
    most: int = MOST,
    pool: str = "",
    reporter: Reporter = silent,
    each: Each = one_by_one,
) -> tuple[Headroom, ...]:
    """Return the headroom of each pod: the least first.

    Args:
        pool: A NodePool whose own headroom sorts the result; empty for none.

    Raises:
        RequestError: A pod cannot be added.
    """
    rooms: list[Headroom] = []
    for room in each(_of_sample, (base, most, (pool,) if pool else ()), sample_pods, silent):
        reporter(len(rooms), len(sample_pods))
        rooms.append(room)

    def fewest(room: Headroom) -> tuple[int, int, int, str]:
        return room.pools[0].pods if room.pools else 0, room.total, room.fits, room.sample.name

    return tuple(sorted(rooms, key=fewest))


def pool_samples(base: WhatIfBase, pool: str) -> tuple[SamplePod, ...]:
    """Return a pod of every workload on a NodePool's nodes; of every workload if it has no pods."""
    pools = {nodepool.name for nodepool in base.inventory.nodepools}
    if pool not in pools:
        raise no_such("NodePool", pool, sorted(pools))
    names = {node.name for node in base.inventory.nodes if node.labels.get(NODEPOOL) == pool}
    origins = OriginIndex(OwnerIndex(base.inventory.workloads))
    there = {origins.of(pod) for pod in base.inventory.pods if pod.node_name in names and pod.is_active}
    every = samples(base.inventory)
    return tuple(pod for pod in every if pod.name in there) or every


def _of_sample(common: Any, sample: Any, _reporter: Reporter) -> Headroom:
    base, most, pools = common
    return headroom(base, sample, most=most, pools=pools)


def headroom(
    base: WhatIfBase,
    sample: SamplePod,
    *,
    most: int = MOST,
    pools: Sequence[str] | None = None,
    reporter: Reporter = silent,
    each: Each = one_by_one,
) -> Headroom:
    """Return the headroom of a pod.

    Args:
        pools: NodePools that are also asked alone; None for each.
    """
    from_base = {pod.key for pod in base.inventory.pods}
    edited = apply(base, sample.edits(most))
    copies = [pod for pod in edited.inventory.pods if pod.key not in from_base and not pod.node_name]
    if len(copies) < most:
        raise RequestError(f"{sample.name}: its pods cannot be copied")
    usable = [pool.name for pool in edited.prepared.pools]
    pools_alone = usable if pools is None else pools
    ignored = {pod.pod.uid: pod for pod in edited.prepared.ignored}
    if not usable or all(pod.uid in ignored for pod in copies):
        reason = passed_over_text(ignored[copies[0].uid]) if usable else NO_POOLS
        return _without_karpenter(base, sample, edited, copies, pools_alone=pools_alone, reason=reason)
    steps = 2 + len(pools_alone)
    reporter(0, steps)
    trial = PodTrial(edited, edited.inventory, copies)
    fits = trial.greatest(trial.needs_no_node, most, trial.on_nodes(most))
    nodes = Counter(
        filled.state.node_name for filled in trial.solved(fits).nodes for pod in filled.pods if pod.key in trial.keys
    )
    following = trial.claim_of(fits) if fits < most else None
    option = trial.first_type(following)
    reporter(1, steps)
    filled = trial.settled(most)
    total = trial.greatest(lambda count: not trial.settled(count).waiting, most, most - filled.waiting)
    end = trial.settled(total)
    rooms: list[PoolRoom] = []
    for answered in each(_pool_room, (edited, copies, most), pools_alone, silent):
        reporter(2 + len(rooms), steps)
        rooms.append(answered)
    return Headroom(
        sample=sample,
        requests=_requests(copies),
        pods=_present_pods(base, sample),
        starts=len(_placed(edited, copies)),
        has_preferences=edited.settings.preference_policy == RESPECT and _has_preferences(copies[0].template),
        on_starting=sum(nodes[state.node_name] for state in edited.prepared.states if not state.is_initialized),
        on_launched=trial.on_claims(fits),
        fits=fits,
        is_fits_at_least=fits == most,
        nodes=tuple(nodes.most_common()),
        next_pool=following.nodepool_name if following is not None else "",
        next_type=" ".join(filter(None, (option.name, option.capacity_type, option.zone))) if option else "",
        next_price_per_hour=trial.price_of(following) if following is not None else None,
        total=total,
        is_total_at_least=total == most,
        new_nodes=end.nodes,
        price_per_hour=end.price_per_hour,
        reason=trial.settled(total + 1).reason if total < most else "",
        pools=tuple(rooms),
        buffered=len(edited.prepared.buffer_pods),
        tried=most,
        assumed=(*placement_premises(base), *ASSUMED),
    )


def _present_pods(base: WhatIfBase, sample: SamplePod) -> int:
    origins = OriginIndex(OwnerIndex(base.inventory.workloads))
    if sample.first or sample.ref.kind != "Pod":
        return sample.present
    pods = [pod for pod in base.inventory.pods if pod.is_active]
    origin = next(origins.of(pod) for pod in pods if pod.key == sample.ref.key)
    return sum(1 for pod in pods if pod.namespace == sample.ref.namespace and origins.of(pod) == origin)


def _pool_room(common: Any, name: Any, _reporter: Reporter) -> PoolRoom:
    edited, copies, most = common
    inventory = edited.inventory
    alone = tuple(pool for pool in inventory.nodepools if pool.name == name)
    if name not in {pool.name for pool in edited.prepared.pools}:
        pool = alone[0]
        hurdle = skip_reason(pool, is_served=pool in served_pools(inventory.nodepools))
        return _closed(
            edited, pool, f"NodePool {name} is {hurdle}, so that Karpenter launches nothing from it for pods"
        )
    trial = PodTrial(edited, msgspec.structs.replace(inventory, nodepools=alone), copies)
    filled = trial.settled(most)
    total = trial.greatest(lambda count: not trial.settled(count).waiting, most, most - filled.waiting)
    end = trial.settled(total)
    is_at_least = total == most
    return PoolRoom(
        name,
        end.on_new,
        is_at_least,
        end.nodes,
        end.price_per_hour,
        "" if is_at_least else trial.settled(total + 1).reason,
        tuple(use for pool in alone for use in _limits(edited, pool)),
    )


def _closed(edited: Situation, pool: NodePool, reason: str) -> PoolRoom:
    limits = tuple(_limits(edited, pool))
    return PoolRoom(pool.name, 0, is_at_least=False, nodes=0, price_per_hour=0.0, reason=reason, limits=limits)


def _limits(edited: Situation, pool: NodePool) -> Iterator[LimitUse]:
    """Yield the use of each limit by nodes that are not being removed, as Karpenter counts it."""
    staying = (
        state
        for state in edited.prepared.states
        if state.nodepool_name == pool.name and not state.is_marked_for_deletion
    )
    left = remaining_limits(pool, staying)
    for name, limit in sorted((pool.limits or {}).items()):
        yield LimitUse(name, limit.nano - left[name], limit.nano)


def _without_karpenter(
    base: WhatIfBase,
    sample: SamplePod,
    edited: Situation,
    copies: Sequence[Pod],
    *,
    pools_alone: Sequence[str],
    reason: str,
) -> Headroom:
    """Return the headroom without Karpenter: pods that kube-scheduler binds."""
    placed = _placed(edited, copies)
    is_at_least = len(placed) == len(copies)
    return Headroom(
        sample=sample,
        requests=_requests(copies),
        pods=_present_pods(base, sample),
        starts=len(placed),
        fits=len(placed),
        is_fits_at_least=is_at_least,
        nodes=tuple(Counter(placed.values()).most_common()),
        total=len(placed),
        is_total_at_least=is_at_least,
        reason="" if is_at_least else reason,
        pools=tuple(_closed(edited, pool, reason) for pool in edited.inventory.nodepools if pool.name in pools_alone),
        tried=len(copies),
        assumed=(*placement_premises(base), *ASSUMED),
    )


def _requests(copies: Sequence[Pod]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, str(amount)) for key, amount in copies[0].template.requests.items()))


def _has_preferences(template: PodTemplate) -> bool:
    return bool(
        template.preferred_node_terms
        or template.preferred_pod_affinity
        or template.preferred_pod_anti_affinity
        or any(constraint.when_unsatisfiable == SCHEDULE_ANYWAY for constraint in template.topology_spread)
    )


def _placed(edited: Situation, copies: Sequence[Pod]) -> dict[str, str]:
    """Return the ready node for each pod that kube-scheduler binds, by uid; older pending pods are bound first.

    kube-scheduler ignores CapacityBuffers.
    """
    pods = edited.inventory.pods
    placed = Scheduler(edited.prepared, bound_pods(pods)).place([pod for pod in pods if awaits_node(pod)])
    return {pod.uid: placed[pod.uid] for pod in copies if pod.uid in placed}
