"""Clusters for the rules about EC2NodeClasses and the controller's settings."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from karptui.advice.finding import Severity
from karptui.aws.evidence import Evidence
from karptui.aws.launch_refusals import UnavailableOfferings
from karptui.aws.region import AccountSubnet, Dated, RegionFacts
from karptui.karpenter import labels
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.instance_type import InstanceType, NodeOverlay
from karptui.karpenter.inventory import CapacityBuffer, Inventory
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.karpenter.nodeclass import NodeClass
from karptui.kube.objects import Condition
from tests.advice.asking import LARGE, XLARGE, Case, quiet, reserved_type
from tests.builders import (
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    a_requirement,
    amounts,
    an_instance_type,
    an_inventory,
)

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
AWS = labels.AWS_GROUP


def ec2(
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    *,
    conditions: tuple[Condition, ...] = (),
    name: str = "default",
) -> NodeClass:
    return NodeClass(name=name, group=AWS, kind="EC2NodeClass", spec={"amiFamily": "AL2023", **(spec or {})},
                     status=status or {}, conditions=conditions)  # fmt: skip


def with_class(nodeclass: NodeClass, **pool: Any) -> Inventory:
    return an_inventory(nodepools=(a_nodepool(**pool),), nodeclasses=(nodeclass,))


def of_arch(name: str, arch: str) -> InstanceType:
    instance_type = an_instance_type(name=name)
    requirements = tuple(
        a_requirement(labels.ARCH, "In", arch) if requirement.key == labels.ARCH else requirement
        for requirement in instance_type.requirements
    )
    return replace(instance_type, requirements=requirements)


def images(*archs: str) -> dict[str, Any]:
    return {
        "amis": [
            {"id": f"ami-{arch}", "requirements": [{"key": labels.ARCH, "operator": "In", "values": [arch]}]}
            for arch in archs
        ]
    }


def subnets(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"subnets": [{"id": f"s-{i}", "zone": zone, "zoneID": zone_id} for i, (zone, zone_id) in enumerate(pairs)]}


TWO_ZONES: Final = subnets(("us-east-1a", "use1-az1"), ("us-east-1b", "use1-az2"))


def addresses(free: dict[str, int]) -> Evidence:
    """Return EC2's answer about free addresses of subnets."""
    told = tuple(AccountSubnet(id_, "", "", count) for id_, count in free.items())
    return Evidence(facts=RegionFacts(subnets=Dated(told, NOW_NS)))


def real_nodes(type_name: str, memory: str) -> Inventory:
    """Return a node of a real instance type that reports this memory, with its NodePool and NodeClass."""
    return Inventory(
        nodepools=(a_nodepool(),),
        nodeclasses=(ec2(),),
        nodes=(a_node(instance_type=type_name, capacity={"memory": memory}),),
        nodeclaims=(a_nodeclaim(instance_type=type_name),),
    )


def metrics(
    *, spot: float = 0.04, running_ns: int = HOUR_NS, is_leader: bool = True, timeouts: dict[str, int] | None = None
) -> Evidence:
    offerings = {
        OfferingName("m5.large", "us-east-1a", kind): OfferingMetrics(price)
        for kind, price in (("on-demand", 0.096), ("spot", spot))
    }
    return Evidence(metrics=ControllerMetrics(read_at_ns=NOW_NS, endpoint="pod karpenter/karpenter-1",
                                              started_at_ns=NOW_NS - running_ns, offerings=offerings,
                                              is_leader=is_leader, consolidation_timeouts=timeouts or {}))  # fmt: skip


def controlled(version: str = "1.14.1", **settings: str) -> Evidence:
    """Return the evidence after the controller's Deployment has been read."""
    title = "Deployment kube-system/karpenter"
    return Evidence(controller=ControllerInfo(title=title, version=version, settings=settings))


RESERVED = (an_instance_type(reserved={"cpu": "2"}), XLARGE)
GPU = an_instance_type(name="g6f.large")
DISK = an_instance_type(name="i4i.large", requirements=(a_requirement(f"{AWS}/instance-local-nvme", "In", "468"),))
ENI_PODS = (an_instance_type(pods="110", reserved={"memory": "574Mi"}),)

CASES = [
    Case("setting-version", an_inventory, ("Karpenter 1.12.0 is not modelled: the nearest, 1.14.1, is used.",),
         evidence=controlled("1.12.0")),
    Case("setting-others-labelled", an_inventory,
         ("Deployment shop/web, Pod ci/runner are labelled as Karpenter in addition",
          "from Deployment k/karpenter alone"),
         evidence=Evidence(controller=ControllerInfo(title="Deployment k/karpenter"),
                           others_labelled=("Deployment shop/web", "Pod ci/runner"))),
    Case("setting-others-labelled", an_inventory,
         ("Pod ci/runner is labelled as Karpenter but not recognizable as Karpenter",),
         evidence=Evidence(others_labelled=("Pod ci/runner",)), name="no Karpenter"),
    *quiet("setting-others-labelled", an_inventory, evidence=controlled()),
    *quiet("setting-version", an_inventory, evidence=controlled()),
    Case("setting-version", an_inventory, name="not known"),
    Case("pool-arm64-image", lambda: with_class(ec2(status=images("amd64"))),
         ("general allows 1 of 2 types of arm64, and EC2NodeClass default has no image for it",),
         types=(LARGE, of_arch("m7g.large", "arm64"))),
    *quiet("pool-arm64-image", lambda: with_class(ec2(status=images("amd64", "arm64"))), lambda: with_class(ec2()),
           types=(LARGE, of_arch("m7g.large", "arm64"))),
    *quiet("pool-arm64-image", lambda: with_class(ec2(status=images("amd64")))),
    Case("pool-fractional-gpu", lambda: with_class(ec2()), ("general allows 1 type with a part of a GPU (g6f.large)",),
         INFO, types=(LARGE, GPU)),
    *quiet("pool-fractional-gpu", lambda: with_class(ec2()), lambda: with_class(ec2(), is_ready=False)),
    Case("pool-reserved-waits",
         lambda: with_class(ec2(), requirements=(a_requirement(labels.CAPACITY_TYPE, "In", "reserved", "on-demand"),)),
         ("general may use 1 capacity reservation with 3 instances left",), INFO,
         types=(an_instance_type(prices={"on-demand": 0.1}), reserved_type(3))),
    *quiet("pool-reserved-waits", lambda: with_class(ec2())),
    *quiet("pool-reserved-waits", lambda: with_class(ec2()), settings={"FEATURE_GATES": "ReservedCapacity=false"}),
    Case("nodeclass-not-ready",
         lambda: with_class(ec2(conditions=(a_condition("SubnetsReady", status="False", message="none found"),))),
         ("is not ready: SubnetsReady is False (none found): general cannot launch nodes",), ERROR),
    Case("nodeclass-not-ready", lambda: with_class(ec2({"userData": 5}, name="other")),
         ("cannot be read", "no NodePool uses it"), INFO, name="unreadable"),
    *quiet("nodeclass-not-ready", lambda: with_class(ec2(conditions=(a_condition("Ready"),))),
           lambda: with_class(ec2(conditions=(a_condition("Ready", status="Unknown", since_ns=NOW_NS),)))),
    Case(
        "nodeclass-userdata-kubelet",
        lambda: with_class(
            ec2({"userData": "#!/bin/bash\n/etc/eks/bootstrap.sh x --kubelet-extra-args '--max-pods=110'"})
        ),
        ("userData sets maxPods 110", "which Karpenter ignores"),
        name="story C",
    ),
    *quiet("nodeclass-userdata-kubelet", lambda: with_class(ec2({"userData": "echo hello"}))),
    Case("nodeclass-reserved-node", lambda: with_class(ec2()),
         ("In general kubeReserved", "nothing allocatable on 1 of 2 types (m5.large: cpu 0)"), types=RESERVED),
    *quiet("nodeclass-reserved-node", lambda: with_class(ec2()), an_inventory),
    Case("nodeclass-eviction-soft", lambda: with_class(ec2({"kubelet": {"evictionSoft": {"memory.available": "1Gi"}}})),
         ("sets evictionSoft (memory.available 1Gi)",), INFO),
    *quiet("nodeclass-eviction-soft",
           lambda: with_class(ec2({"kubelet": {"evictionHard": {"memory.available": "1Gi"}}}))),
    Case("nodeclass-max-pods-memory", lambda: with_class(ec2({"kubelet": {"maxPods": 110}})),
         ("sets maxPods 110", "on m5.large it differs by 891Mi from 1,465Mi"), INFO, types=ENI_PODS),
    *quiet("nodeclass-max-pods-memory",
           lambda: with_class(ec2({"kubelet": {"maxPods": 110, "kubeReserved": {"memory": "1Gi"}}})),
           lambda: with_class(ec2({"kubelet": {"maxPods": 110}, "amiFamily": "Bottlerocket"})),
           lambda: with_class(ec2()), types=ENI_PODS),
    *quiet("nodeclass-max-pods-memory", lambda: with_class(ec2({"kubelet": {"maxPods": 110}}))),
    Case("nodeclass-raid0-size", lambda: with_class(ec2({"instanceStorePolicy": "RAID0"})),
         ("local disks (RAID0), and 1 of 2 available types of 1 NodePool has none",), INFO, types=(LARGE, DISK)),
    *quiet("nodeclass-raid0-size", lambda: with_class(ec2({"instanceStorePolicy": "RAID0"})), types=(DISK,)),
    *quiet("nodeclass-raid0-size", lambda: with_class(ec2())),
    Case("nodeclass-volume-size",
         lambda: with_class(ec2({"blockDeviceMappings": [{"deviceName": "/dev/xvda",
                                                          "ebs": {"snapshotID": "snap-1"}}]})),
         ("gives /dev/xvda no volumeSize", "plans with 20Gi")),
    Case("nodeclass-volume-size",
         lambda: with_class(ec2({"amiFamily": "Bottlerocket",
                                 "blockDeviceMappings": [{"deviceName": "/dev/xvda",
                                                          "ebs": {"volumeSize": "100Gi"}}]})),
         ("maps /dev/xvda, and pods' storage is on /dev/xvdb",), name="bottlerocket"),
    Case("nodeclass-volume-size",
         lambda: with_class(ec2({"amiFamily": "Custom", "blockDeviceMappings": [{"ebs": {}}]})),
         ("gives a device without a name no volumeSize",), name="custom"),
    *quiet("nodeclass-volume-size", lambda: with_class(ec2()),
           lambda: with_class(ec2({"blockDeviceMappings": [{"deviceName": "/dev/xvda",
                                                            "ebs": {"volumeSize": "50Gi"}}]})),
           lambda: with_class(ec2({"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {}},
                                                           {"deviceName": "/dev/sdb", "rootVolume": True,
                                                            "ebs": {"volumeSize": "50Gi"}}]}))),
    Case("nodeclass-subnet-zone-id", lambda: with_class(ec2(status=subnets(("us-east-1a", ""), ("us-east-1b", "")))),
         ("2 subnets", "us-east-1a and us-east-1b count as one zone, us-east-1a")),
    *quiet("nodeclass-subnet-zone-id",
           lambda: with_class(ec2(status=subnets(("us-east-1a", "use1-az1"), ("us-east-1b", "use1-az2")))),
           lambda: with_class(ec2(status=subnets(("us-east-1a", ""), ("us-east-1a", ""))))),
    Case("nodeclass-subnet-addresses", lambda: with_class(ec2(status=TWO_ZONES)),
         ("zone us-east-1b (s-1): 7 free IPv4 addresses",), evidence=addresses({"s-0": 4_000, "s-1": 7})),
    Case("nodeclass-subnet-addresses", lambda: with_class(ec2(status=TWO_ZONES)),
         ("zone us-east-1a (s-0): EC2 just refused a launch in s-0",), ERROR, name="refused",
         evidence=Evidence(refused=UnavailableOfferings(subnets=frozenset({"s-0"})))),
    *quiet("nodeclass-subnet-addresses", lambda: with_class(ec2(status=TWO_ZONES)),
           evidence=addresses({"s-0": 4_000, "s-1": 32})),
    *quiet("nodeclass-subnet-addresses", lambda: with_class(ec2(status=TWO_ZONES))),
    Case("nodeclass-no-interfaces", lambda: with_class(ec2({"networkInterfaces": []})), ("has networkInterfaces: []",)),
    *quiet("nodeclass-no-interfaces", lambda: with_class(ec2())),
    Case("nodeclass-panics",
         lambda: with_class(ec2({"blockDeviceMappings": [{}], "kubelet": {"evictionHard": {"memory.available": ""}}})),
         ("blockDeviceMappings[0] has no ebs, blockDeviceMappings[0] has no deviceName and evictionHard",), ERROR),
    *quiet("nodeclass-panics",
           lambda: with_class(ec2({"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {}}]}))),
    Case("nodeclass-refused-by-1-15",
         lambda: with_class(ec2({"amiFamily": "Bottlerocket",
                                 "kubelet": {"podsPerCore": 4, "clusterDNS": ["10.0.0.10", "fd00::a"]}})),
         ("it is not ready: UnsupportedKubeletConfiguration",
          "the Bottlerocket AMI family that would be silently dropped: podsPerCore; spec.kubelet.clusterDNS"),
         ERROR),
    Case("nodeclass-refused-by-1-15", lambda: with_class(ec2({"kubelet": {"maxPods": "vcpus * 8"}})),
         ("KubeletExpressionsDisabled",), ERROR, name="gate"),
    Case("nodeclass-refused-by-1-15",
         lambda: with_class(ec2({"kubelet": {"kubeReserved": {"cpu": "vcpus / (vcpus - 2)"}}})),
         ("KubeletExpressionEvaluationFailed",), ERROR, settings={"AWS_FEATURE_GATES": "NodeClassCEL=true"},
         name="evaluation"),
    *quiet("nodeclass-refused-by-1-15",
           lambda: with_class(ec2({"kubelet": {"podsPerCore": 4, "cpuManagerPolicy": "static"}}))),
    Case("nodeclass-windows-price", lambda: with_class(ec2({"amiFamily": "Windows2022"})),
         ("launches Windows2022 nodes", "3 nodes ($0.29/h) cost more"), INFO),
    Case("nodeclass-windows-price",
         lambda: with_class(ec2(), requirements=(a_requirement(f"{AWS}/instance-tenancy", "In", "dedicated"),)),
         ("nodes of dedicated tenancy",), INFO, name="dedicated"),
    *quiet("nodeclass-windows-price", lambda: with_class(ec2()), an_inventory),
    Case("nodeclass-a1-al2023",
         lambda: with_class(ec2(), requirements=(a_requirement(f"{AWS}/instance-family", "In", "a1", "m7g"),)),
         ("asks for the family a1", "the other 1 family may")),
    Case("nodeclass-a1-al2023",
         lambda: with_class(ec2(), requirements=(a_requirement(f"{AWS}/instance-family", "In", "a1"),)),
         ("nothing is left",), ERROR, name="alone"),
    *quiet("nodeclass-a1-al2023",
           lambda: with_class(ec2({"amiFamily": "Bottlerocket"}),
                              requirements=(a_requirement(f"{AWS}/instance-family", "In", "a1"),)),
           lambda: with_class(ec2(), requirements=(a_requirement(f"{AWS}/instance-family", "In", "m7g"),))),
    Case("setting-unread", an_inventory, ('BATCH_MAX_DURATION is "ten"', "uses the default"),
         settings={"BATCH_MAX_DURATION": "ten"}),
    *quiet("setting-unread", an_inventory, settings={"BATCH_MAX_DURATION": "10s"}),
    Case("setting-overhead-high", lambda: real_nodes("r5a.8xlarge", "258939904Ki"),
         ("is 0.075", "1 node of 1 type reports more memory than that leaves, r5a.8xlarge 10,388Mi more",
          "0.0354 would not"),
         settings={"VM_MEMORY_OVERHEAD_PERCENT": "0.075"}, name="story D"),
    Case("setting-overhead-high", lambda: real_nodes("r5a.8xlarge", "258939904Ki"),
         ("is 0.075, assumed because it is unknown; 1 node",), INFO, name="assumed"),
    *quiet("setting-overhead-high", lambda: real_nodes("r5a.8xlarge", "242483Mi"),
           lambda: real_nodes("t3.small", "1990Mi"), an_inventory),
    Case("setting-overhead-low", lambda: real_nodes("r5a.8xlarge", "240000Mi"),
         ("0.075 overestimates 1 type that runs (r5a.8xlarge by 2,483Mi)",),
         evidence=controlled(VM_MEMORY_OVERHEAD_PERCENT="0.075"), settings={"VM_MEMORY_OVERHEAD_PERCENT": "0.075"}),
    Case("setting-overhead-low", lambda: real_nodes("r5a.8xlarge", "240000Mi"),
         ("0.075, assumed because it is unknown, overestimates",), INFO, name="assumed"),
    *quiet("setting-overhead-low", lambda: real_nodes("r5a.8xlarge", "242483Mi"), an_inventory),
    Case("setting-reserved-enis", lambda: with_class(ec2()), ("RESERVED_ENIS is 1",), INFO,
         settings={"RESERVED_ENIS": "1"}),
    *quiet("setting-reserved-enis", lambda: with_class(ec2())),
    Case("setting-gate-off",
         lambda: Inventory(nodepools=(a_nodepool(replicas=2),), overlays=(NodeOverlay(name="cheap"),),
                           capacity_buffers=(CapacityBuffer(name="room", namespace="default"),)),
         ("1 static NodePool (general) needs", "NodeOverlay", "CapacityBuffer (default/room)"), ERROR, count=3,
         evidence=controlled(CLUSTER_NAME="prod")),
    Case("setting-gate-off",
         lambda: Inventory(nodepools=(a_nodepool(),),
                           overlays=(NodeOverlay(name="fuse", capacity=amounts({"example.com/fuse": "9"})),),
                           pods=(a_pod(requests={"example.com/fuse": "1"}),)),
         ("1 NodeOverlay (fuse) needs the feature gate NodeOverlay, which is off",), ERROR,
         evidence=controlled(CLUSTER_NAME="prod"), name="missed"),
    Case("setting-gate-off", lambda: Inventory(overlays=(NodeOverlay(name="cheap"),)),
         ("which is off (FEATURE_GATES is not known: its default is assumed)",), INFO, name="assumed"),
    *quiet("setting-gate-off",
           lambda: Inventory(nodepools=(a_nodepool(replicas=2),), overlays=(NodeOverlay(name="cheap"),)),
           settings={"FEATURE_GATES": "StaticCapacity=true,NodeOverlay=true"}),
    *quiet("setting-gate-off", an_inventory),
    Case("setting-no-spot-prices", an_inventory, ("Karpenter has run for 1h and every spot price",),
         evidence=metrics(spot=0.096)),
    *quiet("setting-no-spot-prices", an_inventory, evidence=metrics(spot=0.04)),
    Case("setting-no-spot-prices", an_inventory, evidence=metrics(spot=0.096, running_ns=MINUTE_NS), name="young"),
    Case("setting-no-spot-prices", an_inventory, evidence=metrics(spot=0.096, is_leader=False), name="standby"),
    Case("setting-no-spot-prices", an_inventory, name="no metrics"),
    Case("setting-consolidation-timeouts", an_inventory,
         ("Single-node consolidation has run out of its 3 minutes 41 times in the 1h since Karpenter started",),
         evidence=metrics(timeouts={"single": 41, "multi": 0})),
    Case("setting-consolidation-timeouts", an_inventory,
         ("Multi-node consolidation has run out of its 1 minute 1 time in the 5h since",), INFO,
         evidence=metrics(timeouts={"multi": 1}, running_ns=5 * HOUR_NS), name="seldom"),
    *quiet("setting-consolidation-timeouts", an_inventory, evidence=metrics(timeouts={"single": 0, "multi": 0})),
    Case("setting-consolidation-timeouts", an_inventory, evidence=metrics(timeouts={"single": 9}, is_leader=False),
         name="standby"),
    Case("setting-consolidation-timeouts", an_inventory, evidence=metrics(timeouts={"single": 9}, running_ns=0),
         name="not started"),
    Case("setting-consolidation-timeouts", an_inventory, name="no metrics"),
]  # fmt: skip
