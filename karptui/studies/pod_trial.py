"""Pods added to a cluster, any number of them: decisions of one provisioner pass, and the final result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from karptui.disruption.no_place import reason_of
from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.disruption.simulation import no_place
from karptui.errors import RequestError
from karptui.forward.launching import launch, order_of, ready
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.pod_predicates import is_reschedulable
from karptui.kube.pod import Pod
from karptui.provisioning.kube_scheduler import FARGATE_SCHEDULER
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.solution import NewClaim, Solution, solve
from karptui.provisioning.waiting_pods import IgnoredPod
from karptui.whatif.edits import AnyEdit, CopyPod, ObjectRef, PutObject, ScaleWorkload
from karptui.whatif.outcome import cost_of_option
from karptui.whatif.placement_difference import passed_over_text
from karptui.whatif.situation import Situation, WhatIfBase

_MOST_PASSES: Final = 50


class SettledPods(msgspec.Struct, frozen=True):
    """Result of repeated provisioner passes."""

    waiting: int
    """Unschedulable pods."""
    on_new: int
    nodes: int
    """New nodes that hold any of the pods."""
    price_per_hour: float
    reason: str = ""
    """Why the first unschedulable pod is so."""


class PodTrial:
    """Adds the first N of some pods to a cluster, for any N."""

    def __init__(self, situation: Situation, inventory: Inventory, copies: Sequence[Pod]) -> None:
        self._situation = situation
        self._copies = list(copies)
        self.keys = frozenset(pod.key for pod in copies)
        """``namespace/name`` of all of them."""
        self._rest = tuple(pod for pod in inventory.pods if pod.key not in self.keys)
        this_situation = situation if inventory is situation.inventory else situation.derive(inventory)
        self._prepared = this_situation.prepared
        self._ignored = {pod.pod.uid: pod for pod in this_situation.prepared.ignored if pod.pod.key in self.keys}
        """Pods that Karpenter skips, by uid."""
        self._latest = self._prepared
        """Last prepared cluster. The next is derived from it, as pending pods change little of it."""
        self._inventory = inventory
        self.solved: Callable[[int], Solution] = cache(lambda count: solve(self._with(count)))
        """Decisions of one pass by number of pods."""
        self.settled: Callable[[int], SettledPods] = cache(self._settle)
        """Final results by number of pods."""

    def _with(self, count: int) -> Prepared:
        pods = (*self._rest, *self._copies[:count])
        inventory = msgspec.structs.replace(self._inventory, pods=pods)
        self._latest = self._latest.later(
            inventory,
            self._prepared.states,
            self._prepared.now_ns,
            pods={pod.uid: pod for pod in pods},
            unbound=[pod for pod in pods if not pod.node_name],
        )
        return self._latest

    def greatest(self, holds: Callable[[int], bool], most: int, guess: int) -> int:
        """Return the greatest count for which a monotone condition is true; it must be true for 0."""
        low, high = 0, most + 1
        for count in (guess, guess + 1):
            if low < count < high:
                low, high = (count, high) if holds(count) else (low, count)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    def on_nodes(self, count: int) -> int:
        """Return the number of pods that land on existing nodes."""
        return sum(1 for filled in self.solved(count).nodes for pod in filled.pods if pod.key in self.keys)

    def on_claims(self, count: int) -> int:
        """Return the number of pods that land on launched nodes."""
        return sum(1 for claim in self.solved(count).claims for pod in claim.pods if pod.key in self.keys)

    def _passed_over(self, count: int) -> list[IgnoredPod]:
        return [self._ignored[pod.uid] for pod in self._copies[:count] if pod.uid in self._ignored]

    def needs_no_node(self, count: int) -> bool:
        """Return whether all pods are scheduled without an additional node."""
        solution = self.solved(count)
        is_placed = not self._passed_over(count) and not any(pod.key in self.keys for pod in solution.failed)
        return is_placed and len(solution.claims) <= len(self.solved(0).claims)

    def claim_of(self, place: int) -> NewClaim | None:
        """Return the NodeClaim for the pod after the first ``count``."""
        pods_of_claims = [frozenset(pod.key for pod in claim.pods) for claim in self.solved(place).claims]
        claims = self.solved(place + 1).claims
        mine = [claim for claim in claims if any(pod.key in self.keys for pod in claim.pods)]
        if len(claims) <= len(pods_of_claims):
            return mine[0] if mine else None
        new = [claim for claim in claims if frozenset(pod.key for pod in claim.pods) not in pods_of_claims]
        return next(iter([claim for claim in new if claim in mine] or new), None)

    def first_type(self, claim: NewClaim | None) -> Any:
        """Return the cheapest type of a claim."""
        return self._situation.claim_types.first(claim) if claim is not None else None

    def price_of(self, claim: NewClaim) -> float | None:
        """Return the cheapest price of a claim, with spot of unknown price as on-demand."""
        cost = cost_of_option(self._situation.prices, self.first_type(claim))
        return cost.at_most_per_hour if cost.per_hour is None else cost.per_hour

    def _settle(self, count: int) -> SettledPods:
        """Run passes until nothing is launched.

        Limits count the largest type within a pass, and the launched nodes in the next.
        """
        prepared = self._with(count)
        ignored = self._passed_over(count)
        on_new = nodes = 0
        price_per_hour = 0.0
        for number in range(_MOST_PASSES):
            solution = solve(prepared) if number else self.solved(count)
            for claim in solution.claims:
                total = sum(1 for pod in claim.pods if pod.key in self.keys)
                on_new += total
                nodes += bool(total)
                price_per_hour += (self.price_of(claim) or 0.0) if total else 0.0
            left = [pod for pod in solution.failed if pod.key in self.keys]
            launched = dict(self._launched(solution.claims, number)) if left and solution.claims else {}
            if not launched:
                break
            prepared = self._after(prepared, solution, launched)
        reason = ""
        if ignored:
            reason = passed_over_text(ignored[0])
        elif left:
            names = [pool.name for pool in self._inventory.nodepools]
            reason, _ = reason_of(no_place(solution, left[0]), only=names[0] if len(names) == 1 else "")
        return SettledPods(len(left) + len(ignored), on_new, nodes, price_per_hour, reason)

    def _launched(self, claims: Iterable[NewClaim], number: int) -> Iterator[tuple[NewClaim, Any]]:
        for place, claim in enumerate(claims):
            rules, now_ns = self._situation.settings.rules, self._prepared.now_ns
            launched = launch(order_of(claim), rules, name=f"headroom-{number}-{place}", now_ns=now_ns)
            if launched is not None:
                yield claim, ready(launched, None, now_ns)

    def _after(self, prepared: Prepared, solution: Solution, launched: dict[NewClaim, Any]) -> Prepared:
        node_of = {pod.uid: filled.state.name for filled in solution.nodes for pod in filled.pods}
        for claim, (_, node) in launched.items():
            node_of.update((pod.uid, node.name) for pod in claim.pods)
        inventory = prepared.inventory
        later = msgspec.structs.replace(
            inventory,
            pods=tuple(
                msgspec.structs.replace(pod, node_name=node_of[pod.uid], phase="Running", scheduled_reason="")
                if pod.uid in node_of and not pod.node_name
                else pod
                for pod in inventory.pods
            ),
            nodes=(*inventory.nodes, *(node for _, node in launched.values())),
            nodeclaims=(*inventory.nodeclaims, *(claim for claim, _ in launched.values())),
        )
        return self._situation.derive(later).prepared


class SamplePod(msgspec.Struct, frozen=True):
    """The pod that is added over and over."""

    name: str
    """``Kind/namespace/name`` of its workload or pod; its requests if it is made up."""
    ref: ObjectRef
    first: tuple[AnyEdit, ...] = ()
    """What puts it into the cluster."""
    present: int = 0
    """Pods that exist before the first is added."""

    def edits(self, count: int) -> tuple[AnyEdit, ...]:
        """Return the edits that add pods."""
        if self.ref.kind != "Pod":
            return (*self.first, ScaleWorkload(self.ref, self.present + count))
        copies = count - len(self.first)
        return (*self.first, *((CopyPod(self.ref, copies),) if copies > 0 else ()))


def sample_of(base: WhatIfBase, ref: ObjectRef) -> SamplePod:
    """Return a pod, or a pod of a workload."""
    name = f"{ref.kind}/{ref.key}"
    pods = [pod for pod in base.inventory.pods if pod.is_active]
    if ref.kind == "Pod":
        if any(pod.key == ref.key for pod in pods):
            return SamplePod(name, ref)
        raise RequestError(f"there is no pod {ref.key}")
    owners = OwnerIndex(base.inventory.workloads)
    origins = OriginIndex(owners)
    if members := [pod for pod in pods if name in (str(owners.of(pod)), origins.of(pod))]:
        newest = max(members, key=lambda pod: (pod.created_ns, pod.name))
        return SamplePod(name, ObjectRef("Pod", newest.name, newest.namespace))
    workloads = (item for item in base.inventory.workloads if hasattr(item, "replicas"))
    if any((item.kind, item.namespace, item.name) == (ref.kind, ref.namespace, ref.name) for item in workloads):
        return SamplePod(name, ref)
    raise RequestError(f"there is no {ref.kind} {ref.key} with pods or a template")


def sample_of_manifest(base: WhatIfBase, edit: PutObject, ref: ObjectRef) -> SamplePod:
    """Return the pod of a manifest, which is put into the cluster: of a Pod, or of a workload."""
    ref = ref if ref.namespace else msgspec.structs.replace(ref, namespace="default")
    present = 0
    if ref.kind != "Pod":
        owners = OwnerIndex(base.inventory.workloads)
        name = f"{ref.kind}/{ref.key}"
        present = sum(1 for pod in base.inventory.pods if pod.is_active and str(owners.of(pod)) == name)
    return SamplePod(f"{ref.kind}/{ref.key}", ref, (edit,), present)


def samples(inventory: Inventory) -> tuple[SamplePod, ...]:
    """Return a pod of every workload whose pods may run anywhere else, by name; not of those on Fargate."""
    origins = OriginIndex(OwnerIndex(inventory.workloads))
    newest: dict[str, Pod] = {}
    for pod in inventory.pods:
        is_on_fargate = pod.template.scheduler_name == FARGATE_SCHEDULER
        if not pod.owners or not pod.is_active or not is_reschedulable(pod) or is_on_fargate:
            continue
        origin = origins.of(pod)
        latest = newest.get(origin)
        if latest is None or (pod.created_ns, pod.name) > (latest.created_ns, latest.name):
            newest[origin] = pod
    return tuple(
        SamplePod(name, ObjectRef("Pod", newest[name].name, newest[name].namespace)) for name in sorted(newest)
    )
