"""The node that a NodeClaim becomes: the type and offering it is launched with, and its objects once it is there.

Which offering AWS takes is approximated by the cheapest of the first capacity type that has any: reserved, spot,
on-demand. A NodeClaim that does not register is deleted. Rules: ``pkg/providers/instance/instance.go`` of the AWS
provider, ``pkg/controllers/nodeclaim/lifecycle/liveness.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Final

import msgspec

from karptui.disruption.launch_price import ReckonedPrices
from karptui.disruption.static_drift import template_types
from karptui.forward.calendar import Agenda, Calendar
from karptui.forward.durations import Durations, joined_since
from karptui.forward.observation import Observation
from karptui.forward.result import StepKind
from karptui.forward.world import World
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.labels import (
    CAPACITY_TYPE,
    HOSTNAME,
    INITIALIZED,
    INSTANCE_TYPE,
    NODEPOOL,
    ON_DEMAND,
    REGISTERED,
    RESERVED,
    SPOT,
    WELL_KNOWN,
)
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirement, Requirements
from karptui.karpenter.rules import Rules
from karptui.kube.objects import Condition, Node
from karptui.kube.quantity import Quantity
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND
from karptui.provisioning.catalogue import allocatable_nano
from karptui.provisioning.solution import NewClaim
from karptui.provisioning.template import template_requirements

_ORDER: Final = (RESERVED, SPOT, ON_DEMAND)
_LAUNCH_NS: Final = 300 * NS_PER_SECOND
_REGISTER_NS: Final = 900 * NS_PER_SECOND
"""Karpenter's timeouts of a NodeClaim's launch, and of its registration."""


class LaunchOrder(msgspec.Struct, frozen=True, eq=False):
    """A NodeClaim that is to be made."""

    pool: NodePool
    types: Sequence[InstanceType]
    """Types it may have, the cheapest first."""
    requirements: Requirements
    requests: ResourceList
    annotations: Mapping[str, str] = {}


def order_of(claim: NewClaim) -> LaunchOrder:
    """Return the order for a node that provisioning wants."""
    types = claim.catalogue.types
    return LaunchOrder(claim.pool, [types[i] for i in claim.by_price()], claim.requirements, claim.requests)


def template_order(pool: NodePool, book: ReckonedPrices) -> LaunchOrder:
    """Return the order of a static NodePool's node, from its template."""
    types = [book.types[name] for name in template_types(pool, book)[0]]
    return LaunchOrder(pool, types, template_requirements(pool), {})


def order_again(claim: NodeClaim, pool: NodePool, types: Iterable[InstanceType], rules: Rules) -> LaunchOrder:
    """Return the order that a NodeClaim without an instance is, of the types that meet it and have room for it."""
    requirements = Requirements.from_selectors(claim.requirements)
    named = requirements.get(INSTANCE_TYPE)
    fitting = [
        instance_type
        for instance_type in types
        if named.allows(instance_type.name)
        and requirements.compatible(Requirements.from_selectors(instance_type.requirements), WELL_KNOWN)
        and _has_room(allocatable_nano(instance_type, rules=rules), claim.requests)
    ]
    return LaunchOrder(pool, fitting, requirements, claim.requests)


def _has_room(allocatable: Mapping[str, int], requests: ResourceList) -> bool:
    return all(amount.nano <= allocatable.get(name, 0) for name, amount in requests.items())


def choose(order: LaunchOrder, rules: Rules) -> tuple[InstanceType, Offering] | None:
    """Return the type and offering to launch, None if none is available."""
    by_capacity: dict[str, tuple[float, int, str, InstanceType, Offering]] = {}
    for rank, instance_type in enumerate(order.types):
        for offering in instance_type.offerings:
            if not offering.is_launchable(rules):
                continue
            if not order.requirements.compatible(Requirements.from_selectors(offering.requirements), WELL_KNOWN):
                continue
            capacity_type = _value(offering.requirements, CAPACITY_TYPE)
            zone = str(sorted(value for key in offering.requirements for value in key.values))
            choice = (offering.price_per_hour, rank, zone, instance_type, offering)
            best = by_capacity.get(capacity_type)
            if best is None or choice[:3] < best[:3]:
                by_capacity[capacity_type] = choice
    names = [*(name for name in _ORDER if name in by_capacity), *sorted(set(by_capacity) - set(_ORDER))]
    return by_capacity[names[0]][3:] if names else None


def launch(order: LaunchOrder, rules: Rules, *, name: str, now_ns: int) -> NodeClaim | None:
    """Return a NodeClaim right after its launch; None if none of its offerings is available.

    Args:
        name: Name of the NodeClaim and of its node.
    """
    chosen = choose(order, rules)
    if chosen is None:
        return None
    instance_type, offering = chosen
    pool = order.pool
    ref = pool.node_class_ref
    labels = {
        **_custom_labels(order.requirements),
        **{r.key: next(iter(r.values)) for r in order.requirements if r.operator == "In" and len(r.values) == 1},
        **_single_selectors(instance_type.requirements),
        **_single_selectors(offering.requirements),
        **pool.template_labels,
        INSTANCE_TYPE: instance_type.name,
        NODEPOOL: pool.name,
        f"{ref.group}/{ref.kind.lower()}": ref.name,
    }
    for key in (HOSTNAME, REGISTERED, INITIALIZED):
        labels.pop(key, None)
    launched = Condition("Launched", "True", "Launched", last_transition_ns=now_ns)
    return NodeClaim(
        name=name,
        uid=f"forward-{name}",
        labels=labels,
        annotations={**pool.template_annotations, **order.annotations},
        created_ns=now_ns,
        requirements=tuple(_selectors(order.requirements)),
        requests=order.requests,
        taints=pool.taints,
        startup_taints=pool.startup_taints,
        node_class_ref=ref,
        expire_after_ns=pool.expire_after_ns,
        termination_grace_period_ns=pool.termination_grace_period_ns,
        provider_id=f"forward:///{name}",
        capacity=dict(instance_type.capacity),
        allocatable=_allocatable(instance_type, offering, rules),
        conditions=(launched,),
    )


def ready(claim: NodeClaim, node: Node | None, now_ns: int) -> tuple[NodeClaim, Node]:
    """Return a NodeClaim and its Node once the node is ready."""
    conditions = (
        *(condition for condition in claim.conditions if condition.type not in ("Registered", "Initialized", "Ready")),
        Condition("Registered", "True", "Registered", last_transition_ns=now_ns),
        Condition("Initialized", "True", "Initialized", last_transition_ns=now_ns),
        Condition("Ready", "True", "Ready", last_transition_ns=now_ns),
    )
    labels = {**claim.labels, HOSTNAME: claim.name, REGISTERED: "true", INITIALIZED: "true"}
    is_ready = (Condition("Ready", "True", "KubeletReady", last_transition_ns=now_ns),)
    provider_id = claim.provider_id or f"forward:///{claim.name}"
    if node is not None:
        labels = {**node.labels, REGISTERED: "true", INITIALIZED: "true"}
        node = msgspec.structs.replace(
            node,
            labels=labels,
            taints=claim.taints,
            conditions=is_ready,
            provider_id=provider_id,
            capacity=_completed(node.capacity, claim.capacity),
            allocatable=_completed(node.allocatable, claim.allocatable),
        )
    else:
        node = Node(
            name=claim.name,
            uid=f"forward-node-{claim.name}",
            labels=labels,
            annotations=claim.annotations,
            created_ns=now_ns,
            provider_id=provider_id,
            taints=claim.taints,
            capacity=claim.capacity,
            allocatable=claim.allocatable,
            conditions=is_ready,
        )
    return msgspec.structs.replace(claim, conditions=conditions, node_name=node.name, provider_id=provider_id), node


def _completed(reported: ResourceList, promised: ResourceList) -> ResourceList:
    """Return the amounts that a kubelet reports, with promised ones that it does not report yet, such as devices."""
    return {**promised, **{name: amount for name, amount in reported.items() if amount.nano}}


def given_up_ns(claim: NodeClaim) -> int | None:
    """Return the time at which Karpenter deletes a NodeClaim that does not launch or register; None if it did both.

    A condition without a time counts from the creation of the NodeClaim.
    """
    launched = claim.condition("Launched")
    if launched is None or claim.is_true("Registered"):
        return None
    is_launched = launched.status == "True"
    waits = claim.condition("Registered") if is_launched else launched
    if waits is None:
        return None
    since_ns = waits.last_transition_ns if waits.last_transition_ns != ABSENT_NS else claim.created_ns
    return since_ns + (_REGISTER_NS if is_launched else _LAUNCH_NS)


def is_stuck(claim: NodeClaim, durations: Durations, now_ns: int) -> bool:
    """Return whether a joined node has been uninitialized for so long that it counts as stuck.

    Karpenter never deletes such a node: liveness.go checks launches and registrations only.
    """
    joined_ns = joined_since(claim)
    is_starting = joined_ns != ABSENT_NS and not claim.is_true("Initialized") and not claim.is_deleting
    return is_starting and now_ns - durations.patience_of(claim.labels.get(NODEPOOL, "")) > joined_ns


def late_since(claim: NodeClaim, durations: Durations, now_ns: int) -> int | None:
    """Return when the start of a node began that takes more than twice the usual time; None if it does not.

    It counts as ready now, unless it counts as stuck or Karpenter gives it up.
    """
    lost_ns = given_up_ns(claim)
    is_lost = claim.is_launch_overdue(now_ns) or (lost_ns is not None and lost_ns <= now_ns)
    if not claim.provider_id or claim.is_true("Initialized") or claim.is_deleting or is_lost:
        return None
    if is_stuck(claim, durations, now_ns):
        return None
    since_ns = joined_since(claim) or claim.created_ns
    usual_ns = durations.start_of(claim.labels.get(NODEPOOL, ""))
    return since_ns if since_ns != ABSENT_NS and now_ns - since_ns > 2 * usual_ns else None


class Launches:
    """The NodeClaims of a play that are made, until their nodes take pods."""

    def __init__(
        self,
        world: World,
        agenda: Agenda,
        calendar: Calendar,
        observation: Observation,
        *,
        durations: Durations,
        rules: Rules,
    ) -> None:
        self._world = world
        self._agenda = agenda
        self._calendar = calendar
        self._durations = durations
        self._observation = observation
        self._rules = rules
        self._launch_count = 0
        self._stuck: set[str] = set()
        """NodeClaims whose nodes count as stuck."""

    @property
    def is_any_starting(self) -> bool:
        """Whether a node is starting."""
        return any(
            not claim.is_deleting and not claim.is_true("Initialized") and claim.name not in self._stuck
            for claim in self._world.claims.values()
        )

    def prepare(self, order: LaunchOrder) -> NodeClaim | None:
        """Return the NodeClaim of an order; None if no offering is available."""
        self._launch_count += 1
        name = f"{order.pool.name}-f{self._launch_count:04d}"
        return launch(order, self._rules, name=name, now_ns=self._agenda.now_ns)

    def add(self, claim: NodeClaim) -> str:
        """Add a NodeClaim to the cluster, and return its name."""
        self._world.add_claim(claim)
        ready_ns = self._agenda.now_ns + self._durations.start_of(claim.labels[NODEPOOL])
        self._agenda.at(ready_ns, partial(self._become_ready, claim.name))
        return claim.name

    def expect_ready(self, claim: NodeClaim) -> None:
        """Enter when the node of a NodeClaim that is there already takes pods, or when Karpenter gives it up."""
        if claim.is_true("Initialized") or claim.is_deleting:
            return
        now_ns = self._agenda.now_ns
        if is_stuck(claim, self._durations, now_ns):
            self._stuck.add(claim.name)
            return
        if claim.is_launch_overdue(now_ns):
            self._wait_in_vain(claim)
            return
        lost_ns = given_up_ns(claim)
        start_ns = max(claim.created_ns, 0) + self._durations.start_of(claim.labels.get(NODEPOOL, ""))
        if lost_ns is not None and lost_ns <= max(start_ns, now_ns):
            self._agenda.at(lost_ns, partial(self._give_up, claim.name))
            return
        if claim.provider_id or not self._types_of(claim):
            self._agenda.at(max(start_ns, now_ns), partial(self._become_ready, claim.name))
        else:
            self._agenda.at(now_ns, partial(self._get_instance, claim.name, max(start_ns, now_ns)))

    def _types_of(self, claim: NodeClaim) -> Sequence[InstanceType]:
        name = claim.labels.get(NODEPOOL, "")
        return self._observation.types_by_pool.get(name, ()) if name in self._observation.pools else ()

    def _get_instance(self, name: str, ready_ns: int) -> None:
        """Launch a NodeClaim that had no instance at the start; without an available offering it stays pending."""
        claim = self._world.claims.get(name)
        if claim is None or claim.is_deleting:
            return
        order = order_again(claim, self._observation.pools[claim.labels[NODEPOOL]], self._types_of(claim), self._rules)
        launched = launch(order, self._rules, name=name, now_ns=self._agenda.now_ns)
        if launched is None:
            self._wait_in_vain(claim)
        else:
            self._world.add_claim(
                msgspec.structs.replace(
                    launched, uid=claim.uid, created_ns=claim.created_ns, annotations=claim.annotations
                )
            )
            self._agenda.at(ready_ns, partial(self._become_ready, name))

    def _wait_in_vain(self, claim: NodeClaim) -> None:
        """Let a NodeClaim be that does not launch, until Karpenter gives it up."""
        self._stuck.add(claim.name)
        if (lost_ns := given_up_ns(claim)) is not None:
            self._agenda.at(lost_ns, partial(self._give_up, claim.name))

    def _give_up(self, name: str) -> None:
        self._world.delete_claims((name,), self._agenda.now_ns)

    def _become_ready(self, name: str) -> None:
        claim, now_ns = self._world.claims.get(name), self._agenda.now_ns
        if claim is None or claim.is_deleting or claim.is_true("Initialized"):
            return
        claim, node = ready(claim, self._world.node_of(claim), now_ns)
        self._world.add_claim(claim)
        self._observation.nominate(node.name, self._durations.nomination_ns)
        self._world.add_node(node)
        self._agenda.note(StepKind.READY, nodes=(node.name,))
        self._calendar.expect_expiry(claim)
        self._calendar.expect_consolidatable(claim)


def _allocatable(instance_type: InstanceType, offering: Offering, rules: Rules) -> dict[str, Quantity]:
    amounts = allocatable_nano(instance_type, offering, rules)
    return {
        name: Quantity(nano, instance_type.capacity[name].format) if name in instance_type.capacity else Quantity(nano)
        for name, nano in amounts.items()
    }


def _selectors(requirements: Requirements) -> Iterable[NodeSelectorRequirement]:
    for selector in requirements.as_selectors():
        values = tuple(selector.get("values", ()))
        yield NodeSelectorRequirement(selector["key"], selector["operator"], values, selector.get("minValues"))


def _custom_labels(requirements: Requirements) -> dict[str, str]:
    """Return a value for each custom label of a new node, as Karpenter resolves them.

    Of several values Karpenter takes any, and of bounded ones any number.
    """
    labels = {r.key: _any_value(r) for r in requirements if r.key not in WELL_KNOWN}
    return {key: value for key, value in labels.items() if value}


def _any_value(requirement: Requirement) -> str:
    if requirement.operator == "In":
        return min(requirement.values)
    if requirement.operator not in ("NotIn", "Exists"):
        return ""
    least = max(requirement.gte or 0, 0)
    return next((text for number in count(least) if (text := str(number)) not in requirement.values), "")


def _single_selectors(selectors: Iterable[NodeSelectorRequirement]) -> dict[str, str]:
    return {s.key: s.values[0] for s in selectors if s.operator == "In" and len(s.values) == 1}


def _value(selectors: Iterable[NodeSelectorRequirement], key: str) -> str:
    return next((selector.values[0] for selector in selectors if selector.key == key and selector.values), "")
