"""Instance types, capacity types and images left by the requirements of NodePools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, joined, listed, pool_ref, share
from karptui.aws.labels import GPU_COUNT
from karptui.aws.lint import LintFinding, LintSeverity, unknown_operators, wildcard_values
from karptui.aws.nodeclass import Ec2NodeClass
from karptui.karpenter.labels import ARCH, CAPACITY_TYPE, ON_DEMAND, RESERVED, SPOT, ZONE
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.karpenter.nodepool import NodePool, is_being_checked
from karptui.karpenter.requirements import OPERATORS, Requirement, Requirements, plain_bounds
from karptui.kube.resources import PODS, cpu_millis, memory_bytes
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.units import amount_text, counted, cpu_text, mebibytes_text, verb
from karptui.provisioning.catalogue import bits
from karptui.provisioning.pool_types import Filter, FilterCount, PoolTypes, TypeVerdict
from karptui.provisioning.template import Template
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.edits.document import requirement_documents
from karptui.whatif.field_path import POOL_REQUIREMENTS


@rule(
    "pool-arm64-image",
    title="no image for an architecture",
    what="A NodePool allows types of an architecture without a resolved image in its EC2NodeClass.",
    why="Scheduling ignores images. Karpenter plans with types without a matching image, even as the cheapest choice, "
    "and drops them at launch; if no type is left the launch fails and is retried.",
    source="pkg/providers/amifamily/resolver.go of the AWS provider",
    remedy="Add a requirement on kubernetes.io/arch to the NodePool, or an image for the other architecture.",
)
def _arm64_image(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.tried_pools:
        nodeclass = context.ec2_nodeclass_of(pool)
        if nodeclass is None or not nodeclass.amis:
            continue
        lost = _lost(context, pool, nodeclass)
        if not lost:
            continue
        offered = len(context.offered_types(pool))
        count = sum(lost.values())
        yield Finding(
            severity=Severity.ERROR if count == offered else Severity.WARNING,
            objects=(pool_ref(pool), ObjectRef(EC2_KIND, nodeclass.name)),
            fact=f"{pool.name} allows {share(count, offered, 'type')} of {joined(sorted(lost))}, and {EC2_KIND} "
            f"{nodeclass.name} has no image for it: Karpenter plans with "
            f"{verb(count, 'it and drops it', 'them and drops them')} at launch.",
        )


def _lost(context: AdviceContext, pool: NodePool, nodeclass: Ec2NodeClass) -> dict[str, int]:
    """Return the architectures without an image, each with the number of available types that the pool allows."""
    images = [Requirements.from_selectors(ami.selectors) for ami in nodeclass.amis]
    catalogue = context.catalogue_of(pool)
    offered = frozenset(context.offered_types(pool))
    index = catalogue.keys.get(ARCH)
    results: dict[str, int] = {}
    for arch, mask in (index.by_value if index is not None else {}).items():
        types = sum(1 for i in bits(mask) if catalogue.types[i].name in offered)
        architecture = Requirements((Requirement.of(ARCH, "In", (arch,)),))
        if types and not any(image.intersects(architecture) for image in images):
            results[arch] = types
    return results


@rule(
    "pool-capacity-type-open",
    title="no capacity type is required",
    what="Neither requirements nor labels of a NodePool name karpenter.sh/capacity-type.",
    why="Such a pool counts as both. When consolidation replaces a node it restricts the new one to spot, so that the "
    "launch fails instead of using a more expensive on-demand node, even if only on-demand is offered. A spot node of "
    "such a pool is never replaced with a cheaper on-demand type. Reserved capacity has priority over both, and a "
    "NodeClaim that may be reserved is restricted to reserved.",
    source="computeConsolidation in pkg/controllers/disruption/consolidation.go",
    remedy="Name the capacity types that you want: In [on-demand], In [spot], or both on purpose.",
)
def _capacity_type_open(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        if pool.is_static or CAPACITY_TYPE in context.requirements_of(pool) or not context.knows_types(pool):
            continue
        nodes, spot = context.nodes_of(pool), context.spot_nodes_of(pool)
        sells = context.capacity_types_of(pool)
        no_spot = bool(sells) and SPOT not in sells
        is_reserved = RESERVED in sells and context.settings.gate("ReservedCapacity")
        these = "these fail" if is_reserved else "every replacement fails"
        consequence = (
            f"{these} to launch, and the savings shown are too high"
            if no_spot
            else "the launch does not fall back to on-demand"
        )
        pinned = "replacements that are not reserved" if is_reserved else "its replacements"
        consolidation = f" Consolidation pins {pinned} to spot: {consequence}." if pool.consolidates_used_nodes else ""
        fact = f"{pool.name} requires no capacity type: new nodes are "
        fact += "reserved while a reservation has room, else " if is_reserved else ""
        fact += "on-demand, as no spot is offered" if no_spot else "spot wherever spot is offered"
        are = verb(len(spot) or len(nodes), "is", "are")
        fact += f"; {share(len(spot), len(nodes), 'node')} {are} spot{at_cost(context.cost(spot))}" if nodes else ""
        on_demand = NodeSelectorRequirement(CAPACITY_TYPE, "In", (ON_DEMAND,))
        requirements = requirement_documents((*pool.requirements, on_demand))
        yield Finding(
            severity=Severity.WARNING if no_spot and pool.consolidates_used_nodes else Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"{fact}.{consolidation}",
            edits=(SetField(pool_ref(pool), POOL_REQUIREMENTS, requirements),),
        )


@rule(
    "pool-daemonset-types",
    title="DaemonSets exclude types",
    what="On types that a NodePool allows, the DaemonSets that run there leave no pod slot, or do not fit themselves.",
    why="Karpenter subtracts cpu, memory and a pod slot for every DaemonSet that tolerates and selects the node. Types "
    "without room for one more pod are dropped silently; small types have as few as 4, 8 or 11 slots, and eleven "
    "DaemonSets are not unusual.",
    source="buildDaemonOverheadGroups in pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Narrow DaemonSets with node selectors, allow larger types, or raise spec.kubelet.maxPods in the NodeClass "
    "where the CNI has the addresses (prefix delegation).",
)
def _daemonset_types(context: AdviceContext) -> Iterator[Finding]:
    known = (template for template in context.prepared.templates if context.knows_types(template.pool))
    crowded = {template.name: template for template in known if _is_crowded(template)}
    for name, pool_type in context.pool_types(crowded).items() if crowded else ():
        template = crowded[name]
        removed = [
            v
            for v in pool_type.verdicts
            if v.removed_by is Filter.DAEMONSETS or (v.removed_by is Filter.POD and v.reason.startswith(PODS))
        ]
        if removed:
            yield _finding(template, pool_type, removed)


def _is_crowded(template: Template) -> bool:
    """Return whether the DaemonSets, with one more pod, do not fit on some type: cheap to tell."""
    for group in template.groups:
        if group.row:
            needs = ((name, value.nano) for name, value in group.overhead.items() if name != PODS)
            slots = (PODS, (len(group.daemons) + 1) * 1_000_000_000)
            rows = template.catalogue.fitting_rows((*needs, slots))
            if group.types & ~template.catalogue.types_of_rows(rows):
                return True
    return False


def _finding(template: Template, types: PoolTypes, removed: list[TypeVerdict]) -> Finding:
    allowed = template.types.bit_count()
    heaviest = max(removed, key=lambda verdict: (verdict.daemon_pods, verdict.instance_type.name))
    amounts = f"{cpu_text(cpu_millis(heaviest.daemons))}, {mebibytes_text(memory_bytes(heaviest.daemons))}"
    carried = f"{counted(heaviest.daemon_pods, 'DaemonSet pod')} ({amounts})"
    fitting = (None, Filter.POD, Filter.LIMITS)
    is_dead = all(verdict.removed_by not in fitting or verdict in removed for verdict in types.verdicts)
    consequence = (
        "it can launch no node" if is_dead else f"{verb(len(removed), 'it is', 'they are')} left out without a message"
    )
    pool = template.pool
    return Finding(
        severity=Severity.ERROR if is_dead else Severity.WARNING if 2 * len(removed) > allowed else Severity.INFO,
        objects=(pool_ref(pool),),
        fact=f"A new node of {pool.name} carries {carried}: {len(removed):,} of {counted(allowed, 'allowed type')} "
        f"{verb(len(removed), 'has', 'have')} no room for another pod, {listed(map(_short, removed))}; {consequence}.",
    )


def _short(verdict: TypeVerdict) -> str:
    short = verdict.shortages[0]
    if short.resource == PODS:
        return f"{verdict.instance_type.name} ({short.room.units} pod slots)"
    have = amount_text(short.resource, short.room.nano, is_exact=True)
    need = amount_text(short.resource, short.need.nano, is_exact=True)
    return f"{verdict.instance_type.name} ({short.resource} {have}, {need} needed)"


_FAMILY: Final = "g6f."


@rule(
    "pool-fractional-gpu",
    title="fractional GPUs count as none",
    what="A NodePool without a requirement on instance-gpu-count allows g6f types.",
    why="g6f types carry a fraction of a GPU. They have the label instance-gpu-count with the value 0 and no GPU "
    "resource, so the filter that keeps GPU types from plain pods lets them through, and they boot the GPU image.",
    source="pkg/providers/instancetype/types.go and pkg/providers/instance/filter/filter.go of the AWS provider",
    remedy="Exclude the family (instance-family NotIn [g6f]) from pools for plain pods.",
)
def _fractional_gpu(context: AdviceContext) -> Iterator[Finding]:
    pools, fractional = [], set()
    for pool in context.tried_pools:
        if context.ec2_nodeclass_of(pool) is None or GPU_COUNT in context.requirements_of(pool):
            continue
        types = context.offered_types(pool)
        fractional_types = {name for name in types if name.startswith(_FAMILY)}
        if fractional_types and len(fractional_types) < len(types):
            pools.append(pool)
            fractional |= fractional_types
    if pools:
        yield Finding(
            severity=Severity.INFO,
            objects=tuple(map(pool_ref, pools)),
            fact=f"{listed(pool.name for pool in pools)} {verb(len(pools), 'allows', 'allow')} "
            f"{counted(len(fractional), 'type')} with a part of a GPU ({listed(sorted(fractional), 6)}): "
            f"{verb(len(fractional), 'it counts', 'they count')} as having no GPU, so plain pods may get one, with the "
            "GPU image.",
        )


@rule(
    "pool-min-values",
    title="minValues switch filters off",
    what="A NodePool of the AWS provider has a requirement with minValues above 1.",
    why="Before it asks EC2 for an instance the AWS provider drops metal, GPU and accelerator types that no pod needs, "
    "and spot offerings dearer than the cheapest on-demand one. With minValues it does neither, as either could leave "
    "too few values.",
    source="pkg/providers/instance/filter/filter.go of the AWS provider",
    remedy="Exclude what you do not want by requirements (instance-category, instance-gpu-count DoesNotExist, "
    "instance-size NotIn [metal]).",
)
def _min_values(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.tried_pools:
        floors = [f"{r.key} {r.min_values}" for r in pool.requirements if (r.min_values or 0) > 1]
        if floors and context.ec2_nodeclass_of(pool) is not None:
            yield Finding(
                severity=Severity.INFO,
                objects=(pool_ref(pool),),
                fact=f"{pool.name} requires minValues ({joined(floors)}): launches then exclude neither exotic types "
                "nor spot offerings dearer than the cheapest on-demand type.",
            )


_MOST_REASONS: Final = 8
"""More than a NodePool usually requires: any requirement may be the wrong one."""
_WORDS: Final = {
    Filter.REQUIREMENTS: "its requirements exclude",
    Filter.OFFERINGS: "its zones and capacity types offer none of",
    Filter.RESERVED: "reservations leave nothing on",
}


@rule(
    "pool-no-types",
    title="no instance type is left",
    what="Requirements, offerings and reservations leave a NodePool without a single instance type, or with fewer "
    "values than its minValues require.",
    why="Karpenter skips such a NodePool before it considers any pod, and logs that once. Pods that need the pool fail "
    "with a message about all pools, or stay pending without a message.",
    source="NewScheduler in pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Loosen the requirement that removes most types; the Types screen counts them filter by filter.",
)
def _no_types(context: AdviceContext) -> Iterator[Finding]:
    left_out_of = context.prepared.left_out
    without = [
        pool
        for pool in context.pools
        if left_out_of.get(pool.name) is not None and not pool.is_static and not _has_dead_wildcard(pool)
    ]
    types = context.pool_types({pool.name for pool in without}) if without else {}
    for pool in without:
        left_out, pool_types = left_out_of[pool.name], types[pool.name]
        if not pool_types.verdicts:
            continue
        if pool_types.unlisted and pool_types.counts and not pool_types.counts[0].left:
            # An incomplete list does not prove that a type is missing, except for types of existing nodes.
            yield Finding(
                severity=Severity.INFO,
                objects=(pool_ref(pool),),
                fact=f"The types that {pool.name} launches are unknown: "
                f"{context.evidence.lacks_text(pool_types.unlisted)}.",
            )
            continue
        # Zones and reservations of an unread NodeClass are assumed.
        is_assumed = "NodeClass" in context.hidden and context.ec2_nodeclass_of(pool) is None
        if is_assumed or not context.knows_types(pool):
            continue
        because = _unreserved(context, pool) or (pool_types.why_not if left_out else _why_no_types(pool_types))
        doubt = context.doubt("MIN_VALUES_POLICY") if left_out else ""
        yield Finding(
            severity=Severity.WARNING if doubt else Severity.ERROR,
            objects=(pool_ref(pool),),
            fact=f"NodePool {pool.name} cannot launch any node: {because}{doubt}.",
        )


def _unreserved(context: AdviceContext, pool: NodePool) -> str:
    """Return that a NodePool of reserved capacity has no reservation, or none in its zones; empty for others."""
    allowed = {
        value for requirement in pool.requirements if requirement.key == CAPACITY_TYPE for value in requirement.values
    }
    nodeclass = context.ec2_nodeclass_of(pool)
    if allowed != {RESERVED} or nodeclass is None:
        return ""
    if not context.settings.gate("ReservedCapacity"):
        return "it allows only reserved capacity, and the feature gate ReservedCapacity is off"
    why = (
        f"it allows only reserved capacity, and {pool.node_class_ref.kind} {nodeclass.name} has no capacity reservation"
    )
    reserved = sorted({reservation.availability_zone for reservation in nodeclass.status.capacity_reservations or ()})
    zones = context.requirements_of(pool).find(ZONE)
    if not reserved:
        return why
    if zones is None or any(map(zones.allows, reserved)):
        return ""
    return f"{why} in its zones, only in {listed(reserved)}"


def _why_no_types(types: PoolTypes) -> str:
    counts = [count for count in types.counts if count.filter in _WORDS and count.removed]
    most = len(types.verdicts)
    if len(counts) == 1 and counts[0].removed == most > 1:
        alone = [plain_bounds(str(each)) for each in types.requirements if _excludes_all(each, types)]
        reasons = f" ({listed(alone, _MOST_REASONS)})" if alone else _reasons(counts[0])
        return f"{_WORDS[counts[0].filter]} all {counted(most, 'instance type')}{reasons}"
    removed = [f"{_WORDS[count.filter]} {count.removed:,}{_reasons(count)}" for count in counts]
    return f"{', '.join(removed)} of {counted(most, 'instance type')}"


def _excludes_all(requirement: Requirement, types: PoolTypes) -> bool:
    """Return whether no type meets a requirement, whatever the others are."""
    of_types = (Requirements.from_selectors(verdict.instance_type.requirements) for verdict in types.verdicts)
    found = (each.find(requirement.key) for each in of_types)
    return all(of_type is not None and of_type.clashes(requirement) for of_type in found)


def _reasons(count: FilterCount) -> str:
    return f" ({listed((plain_bounds(reason) for reason, _ in count.reasons), _MOST_REASONS)})" if count.reasons else ""


@rule(
    "pool-not-ready",
    title="the NodePool is not ready",
    what="A NodePool's Ready condition is not True, and Karpenter is not still checking it after a change.",
    why="Karpenter skips NodePools that are not ready, most often because their NodeClass is missing or cannot be "
    "resolved; pods go to other pools or fail. With no usable NodePool at all there is neither error nor event.",
    source="pkg/controllers/nodepool/readiness and pkg/controllers/provisioning/provisioner.go",
    remedy="Fix the cause named in the condition. For an EC2NodeClass it is usually a selector for subnets, security "
    "groups or images that matches nothing, or the instance profile's role.",
)
def _not_ready(context: AdviceContext) -> Iterator[Finding]:
    classes = {nodeclass.key: nodeclass for nodeclass in context.inventory.nodeclasses}
    for pool in context.pools:
        ref = pool.node_class_ref
        if pool.is_ready or is_being_checked(pool, classes.get(ref.key), context.now_ns):
            continue
        is_seen = ref.key in classes
        is_missing = not is_seen and ("NodeClass" not in context.hidden or pool.nodeclass_exists is False)
        reason = f"its {ref.kind} {ref.name} does not exist" if is_missing else _reason(pool)
        nodes = len(context.nodes_of(pool))
        stay = verb(nodes, "stays and takes", "stay and take")
        there = f"; its {counted(nodes, 'node')} {stay} pods" if nodes else ""
        yield Finding(
            severity=Severity.ERROR,
            objects=(pool_ref(pool), *(() if is_missing else (ObjectRef(ref.kind, ref.name),))),
            fact=f"{pool.name} is not ready: {reason}. It launches nothing{there}.",
        )


def _reason(pool: NodePool) -> str:
    """Return the failing conditions as text, Ready last."""
    failing = [condition for condition in pool.conditions if condition.status != "True"]
    conditions = [condition for condition in failing if condition.type != "Ready"] or failing
    if not conditions:
        return "it has no Ready condition yet"
    return "; ".join(f"{c.type} is {c.status}{_why_not_ready(c.message or c.reason, c.type)}" for c in conditions)


def _why_not_ready(text: str, type_: str) -> str:
    return f" ({text})" if text and text != type_ else ""


@rule(
    "pool-reserved-waits",
    title="pods wait for reservations",
    what="A NodePool has available offerings of reserved capacity.",
    why="In provisioning, a NodeClaim that could be reserved uses one slot of every compatible reservation. A later pod"
    " without a slot gets neither spot nor on-demand in the same run, without an event; the next run, within ten "
    "seconds, schedules it.",
    source="pkg/controllers/provisioning/scheduling/reservationmanager.go and nodeclaim.go",
    remedy="No change is needed if a short wait does no harm; a separate NodePool restricts the pods that may use a "
    "reservation.",
)
def _reserved_waits(context: AdviceContext) -> Iterator[Finding]:
    if not context.settings.gate("ReservedCapacity"):
        return
    for pool in context.tried_pools:
        kinds = context.capacity_types_of(pool)
        if RESERVED not in kinds:
            continue
        reservations = {
            identity: left
            for kind in context.catalogue_of(pool).reserved_kinds
            for requirement in kind.requirements
            if requirement.key.endswith("capacity-reservation-id")
            for identity in requirement.values
            if (left := context.prepared.reservation_capacity.get(identity)) is not None
        }
        left = sum(reservations.values())
        yield Finding(
            severity=Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"{pool.name} may use {counted(len(reservations), 'capacity reservation')} with "
            f"{counted(left, 'instance')} left: while a claim is planned it holds every reservation that it could "
            "use, and pods that would need one wait for the next run rather than fall back at once.",
        )


_SPELLED: Final = {name.lower(): name for name in OPERATORS}


@rule(
    "pool-unknown-operator",
    title="an operator that does not exist",
    what="A requirement of a NodePool has an operator that Karpenter does not define, such as in instead of In. Only "
    "files can contain it: the API server rejects it.",
    why="Operators are case-sensitive. An unknown operator sets no bounds: the requirement allows every value, and the "
    "pool more types than intended.",
    source="SupportedNodeSelectorOps in pkg/apis/v1/nodeclaim_validation.go and pkg/scheduling/requirement.go",
    remedy=f"Write one of {', '.join(OPERATORS)}.",
)
def _unknown_operator(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        ref, edits = pool_ref(pool), _respelled(pool)
        for operator in unknown_operators(f"NodePool {pool.name}", pool.requirements):
            yield Finding(
                severity=Severity(str(operator.severity)),
                objects=(ref,),
                fact=f"NodePool {pool.name}: {operator.fact}",
                remedy=operator.remedy,
                edits=edits,
            )


def _respelled(pool: NodePool) -> tuple[SetField, ...]:
    """Return edits with the operators in Karpenter's capitalization; none if an operator is unknown."""
    written = [requirement.operator for requirement in pool.requirements]
    spelled = [_SPELLED.get(operator.strip().lower(), "") for operator in written]
    if not all(spelled):
        return ()
    mended = [replace(r, operator=operator) for r, operator in zip(pool.requirements, spelled, strict=True)]
    return (SetField(pool_ref(pool), POOL_REQUIREMENTS, requirement_documents(mended)),)


@rule(
    "pool-wildcard-value",
    title="* is not a wildcard",
    what="A requirement of a NodePool has a value with a * in it.",
    why="Label values are compared, never matched as patterns: In [*] asks for a type whose label is a star, and there "
    "is none, so the pool launches nothing and the next one takes its pods.",
    source="pkg/scheduling/requirement.go",
    remedy="Omit the requirement to allow every value, use operator Exists, or list the values.",
)
def _wildcard_value(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        is_left_out = context.prepared.left_out.get(pool.name) is not None and not pool.is_static
        for value in _wildcards(pool):
            is_dead = is_left_out and value.severity is LintSeverity.ERROR
            effect = "cannot launch any node: it requires" if is_dead else "requires"
            yield Finding(
                severity=Severity(str(value.severity)),
                objects=(pool_ref(pool),),
                fact=f"NodePool {pool.name} {effect} {value.fact}",
                remedy=value.remedy,
                edits=(SetField(pool_ref(pool), POOL_REQUIREMENTS, _without_stars(pool)),),
            )


def _wildcards(pool: NodePool) -> tuple[LintFinding, ...]:
    return wildcard_values(f"NodePool {pool.name}", pool.requirements)


def _has_dead_wildcard(pool: NodePool) -> bool:
    """Return whether a requirement allows nothing but values that hold a star; its own rule reports it."""
    return any(value.severity is LintSeverity.ERROR for value in _wildcards(pool))


def _without_stars(pool: NodePool) -> list[dict[str, Any]]:
    """Return the requirements in the API's form, without values that hold a star and requirements made of these."""
    requirements: list[NodeSelectorRequirement] = []
    for requirement in pool.requirements:
        values = tuple(value for value in requirement.values if "*" not in value)
        if requirement.values and not values:
            continue
        requirements.append(replace(requirement, values=values))
    return requirement_documents(requirements)
