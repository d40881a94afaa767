"""What EC2NodeClasses launch with: images, interfaces, subnets, prices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, joined, listed, pool_ref
from karptui.aws.evidence import subnet_rooms
from karptui.aws.labels import FAMILY, TENANCY
from karptui.aws.market import live_instance_types
from karptui.aws.nodeclass import AL2023, Ec2NodeClass, NodeClassError, parse_nodeclass
from karptui.aws.nodeclass_validation import refusal
from karptui.karpenter.nodeclass import EC2_KIND, NodeClass, is_ec2
from karptui.karpenter.nodepool import NodePool, is_being_checked
from karptui.kube.group import group_by
from karptui.kube.units import counted
from karptui.whatif.edits import ObjectRef, SetField


@rule(
    "nodeclass-a1-al2023",
    title="a1 does not boot AL2023",
    what="A NodePool names the family a1 and its EC2NodeClass is AL2023.",
    why="First-generation Graviton lacks instructions that AL2023 is built for; Karpenter rules the types out.",
    source="pkg/providers/instancetype/compatibility of the AWS provider",
    remedy="Remove a1 from the requirement, or use another AMI family.",
)
def _a1_al2023(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodeclass = context.ec2_nodeclass_of(pool)
        families = context.requirements_of(pool).find(FAMILY)
        if nodeclass is None or nodeclass.family != AL2023 or families is None or families.complement:
            continue
        if "a1" in families.values:
            others = len(families.values) - 1
            rest = f"the other {counted(others, 'family', 'families')} may" if others else "nothing is left"
            yield Finding(
                severity=Severity.WARNING if others else Severity.ERROR,
                objects=(pool_ref(pool), ObjectRef(EC2_KIND, nodeclass.name)),
                fact=f"{pool.name} asks for the family a1, and a1 types never launch with AL2023: {rest}.",
            )


@rule(
    "nodeclass-no-interfaces",
    title="an empty networkInterfaces list",
    what="spec.networkInterfaces of an EC2NodeClass is an empty list.",
    why="An empty list is not the same as no list: Karpenter then counts EFA interfaces from the list, so every type "
    "has 0, and excludes types that cannot have the interfaces, such as those without ENA.",
    source="pkg/providers/instancetype/types.go and compatibility.go of the AWS provider",
    remedy="Omit the field.",
)
def _no_interfaces(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        if nodeclass.spec.network_interfaces == ():
            ref = ObjectRef(EC2_KIND, nodeclass.name)
            yield Finding(
                severity=Severity.WARNING,
                objects=(ref, *map(pool_ref, context.pools_with(nodeclass.name))),
                fact=f"{EC2_KIND} {nodeclass.name} has networkInterfaces: []: every type counts as having no EFA, and "
                "types without an Elastic Network Adapter are ruled out.",
                edits=(SetField(ref, ("spec", "networkInterfaces")),),
            )


@rule(
    "nodeclass-not-ready",
    title="the NodeClass is not ready",
    what="A condition of a NodeClass is not True, or its spec cannot be read. Conditions that have been Unknown for "
    "less than two minutes do not count: Karpenter is still checking the NodeClass.",
    why="A NodePool is ready only if its NodeClass is: subnets, security groups, images and the instance profile must "
    "have been resolved. Until then the NodePool launches nothing.",
    source="pkg/controllers/nodeclass of the AWS provider",
    remedy="Fix the cause named in the condition; usually a selector matches nothing.",
)
def _not_ready(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in sorted(context.inventory.nodeclasses, key=lambda node_class: node_class.key):
        users = [pool for pool in context.pools if pool.node_class_ref.key == nodeclass.key]
        reason = _not_ready_fact(nodeclass)
        if not reason or any(is_being_checked(pool, nodeclass, context.now_ns) for pool in users):
            continue
        used = f"{listed(pool.name for pool in users)} cannot launch nodes" if users else "no NodePool uses it"
        yield Finding(
            severity=Severity.ERROR if users else Severity.INFO,
            objects=(ObjectRef(nodeclass.kind, nodeclass.name), *map(pool_ref, users)),
            fact=f"{nodeclass.kind} {nodeclass.name} {reason}: {used}.",
        )


def _not_ready_fact(nodeclass: NodeClass) -> str:
    if failing := [condition for condition in nodeclass.conditions if condition.status != "True"]:
        conditions = [condition for condition in failing if condition.type != "Ready"] or failing
        words = [f"{c.type} is {c.status}" + (f" ({c.message})" if c.message else "") for c in conditions]
        return f"is not ready: {'; '.join(words)}"
    if is_ec2(nodeclass):
        try:
            parse_nodeclass(nodeclass)
        except NodeClassError as error:
            return f"cannot be read ({error})"
    return ""


@rule(
    "nodeclass-refused-by-1-15",
    title="Karpenter 1.15 refuses the NodeClass",
    what="Karpenter 1.15 rejects spec.kubelet or an annotation of an EC2NodeClass, so that it is not ready.",
    why="Since 1.15 the controller validates spec.kubelet, not the API server. It rejects some settings that 1.14 "
    "accepts: podsPerCore on Bottlerocket, several clusterDNS on AL2, Bottlerocket and Windows, negative or empty "
    "thresholds. No NodePool of a NodeClass that is not ready takes pods.",
    source="pkg/controllers/nodeclass/validation.go of the AWS provider, 1.15.1",
    remedy="Fix the cause named in the message; if 1.14 is running, before upgrading to 1.15.",
)
def _refused(context: AdviceContext) -> Iterator[Finding]:
    runs = context.settings.rules.evaluates_kubelet
    facts = live_instance_types(context.evidence.facts).values()
    by_name = {node_class.name: node_class for node_class in context.inventory.nodeclasses if is_ec2(node_class)}
    for nodeclass in context.ec2_nodeclasses:
        class_refusal = refusal(by_name[nodeclass.name], nodeclass, context.settings, facts)
        if class_refusal is None:
            continue
        pools = context.pools_with(nodeclass.name)
        when = "it is not ready" if runs else "after an upgrade to 1.15 it would not be ready"
        yield Finding(
            severity=(Severity.ERROR if runs else Severity.WARNING) if pools else Severity.INFO,
            objects=(ObjectRef(EC2_KIND, nodeclass.name), *map(pool_ref, pools)),
            fact=f"{EC2_KIND} {nodeclass.name}: {when}: {class_refusal.reason}: {class_refusal.message}.",
        )


@rule(
    "nodeclass-panics",
    title="a NodeClass that makes Karpenter panic",
    what="A block device mapping of an EC2NodeClass has no ebs or no deviceName, or a hard eviction threshold is "
    "empty.",
    why="The schema of v1.14.1 accepts these, and the code that resolves instance types reads the missing field. It "
    "is unknown whether the NodeClass's own validation rejects it first.",
    source="pkg/providers/instancetype/types.go of the AWS provider",
    remedy="Complete the mapping, and give the threshold a value.",
)
def _panics(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        if problems := list(_problems(nodeclass)):
            yield Finding(
                severity=Severity.ERROR,
                objects=(ObjectRef(EC2_KIND, nodeclass.name), *map(pool_ref, context.pools_with(nodeclass.name))),
                fact=f"{EC2_KIND} {nodeclass.name}: {joined(problems)}; version 1.14.1 panics when it resolves the "
                "types.",
            )


def _problems(nodeclass: Ec2NodeClass) -> Iterator[str]:
    for index, device in enumerate(nodeclass.block_devices):
        if device.ebs is None:
            yield f"blockDeviceMappings[{index}] has no ebs"
        if device.device_name is None:
            yield f"blockDeviceMappings[{index}] has no deviceName"
    for signal, value in (nodeclass.kubelet.eviction_hard or {}).items():
        if not value:
            yield f"evictionHard {signal} is empty"


@rule(
    "nodeclass-subnet-zone-id",
    title="subnets without zone id",
    what="Subnets in the status of an EC2NodeClass lie in several zones and have no zoneID.",
    why="Karpenter distinguishes zones by their ids. Subnets without an id count as the same zone, and only the first "
    "zone name is offered: pods that need another zone are unschedulable.",
    source="pkg/providers/instancetype/instancetype.go of the AWS provider",
    remedy="Let the controller rewrite the status: it needs ec2:DescribeSubnets, and a version that supports zoneID.",
)
def _subnet_zone_id(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        bare = [subnet for subnet in nodeclass.status.subnets or () if not subnet.zone_id]
        zones = list(dict.fromkeys(subnet.zone for subnet in bare))
        if len(zones) > 1:
            yield Finding(
                severity=Severity.WARNING,
                objects=(ObjectRef(EC2_KIND, nodeclass.name), *map(pool_ref, context.pools_with(nodeclass.name))),
                fact=f"{counted(len(bare), 'subnet')} in status.subnets of {EC2_KIND} {nodeclass.name} have no zoneID: "
                f"{joined(zones)} count as one zone, {zones[0]}, and nothing is offered in the others.",
            )


FEW_ADDRESSES: Final = 32
"""Free addresses of a zone that a few new nodes take: the VPC CNI reserves up to 30 for the pods of a node."""


@rule(
    "nodeclass-subnet-addresses",
    title="few free addresses",
    what="The subnets of an EC2NodeClass in a zone have fewer than 32 free IPv4 addresses, or EC2 refused a launch "
    "for lack of addresses within the last three minutes.",
    why="Every node takes an address, and with the VPC CNI its pods take more. Without free addresses EC2 refuses the"
    " launch, Karpenter leaves the subnet out for three minutes, and pods stay pending.",
    source="pkg/providers/subnet/subnet.go of the AWS provider",
    remedy="Add larger subnets to subnetSelectorTerms, or release addresses (WARM_IP_TARGET of the VPC CNI, prefixes).",
)
def _subnet_addresses(context: AdviceContext) -> Iterator[Finding]:
    for nodeclass in context.ec2_nodeclasses:
        by_zone = group_by(subnet_rooms(nodeclass.status.subnets or (), context.evidence), lambda room: room.zone)
        for zone, rooms in sorted(by_zone.items()):
            refused = [subnet_room for subnet_room in rooms if subnet_room.is_refused]
            is_told = all(subnet_room.free_addresses is not None for subnet_room in rooms)
            free = sum(subnet_room.free_addresses or 0 for subnet_room in rooms)
            if not refused and not (is_told and free < FEW_ADDRESSES):
                continue
            ips = f"{counted(free, 'free IPv4 address', 'free IPv4 addresses')}" if is_told else ""
            why = f"EC2 just refused a launch in {listed([s.id for s in refused])}" if refused else ""
            named = listed([subnet_room.id for subnet_room in rooms])
            yield Finding(
                severity=Severity.ERROR if len(refused) == len(rooms) or (is_told and not free) else Severity.WARNING,
                objects=(ObjectRef(EC2_KIND, nodeclass.name), *map(pool_ref, context.pools_with(nodeclass.name))),
                fact=f"{EC2_KIND} {nodeclass.name} in zone {zone} ({named}): {', '.join(filter(None, (ips, why)))}.",
            )


@rule(
    "nodeclass-windows-price",
    title="cost more than shown",
    what="A NodePool's EC2NodeClass is of a Windows family, or the pool allows dedicated tenancy.",
    why="Karpenter uses prices of Linux on shared hardware. The order of types is mostly the same; savings and totals "
    "are too low.",
    source="pkg/providers/pricing/pricing.go of the AWS provider",
    remedy="No change is needed: add the surcharge when you read the figures, or set a price multiplier in the "
    "settings.",
)
def _windows_price(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        reason = _reason(context, pool)
        if not reason:
            continue
        nodes = context.nodes_of(pool)
        cost = context.cost(nodes)
        yield Finding(
            severity=Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"{pool.name} launches {reason}, which Karpenter and karptui price as Linux on shared hardware: its "
            f"{counted(len(nodes), 'node')}{at_cost(cost)} cost more than is shown.",
            per_hour=cost,
        )


def _reason(context: AdviceContext, pool: NodePool) -> str:
    nodeclass = context.ec2_nodeclass_of(pool)
    if nodeclass is None:
        return ""
    if nodeclass.family.is_windows:
        return f"{nodeclass.family.name} nodes"
    tenancy = context.requirements_of(pool).find(TENANCY)
    return "nodes of dedicated tenancy" if tenancy is not None and tenancy.allows("dedicated") else ""
