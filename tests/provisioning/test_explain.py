from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.karpenter.instance_type import UNFULFILLABLE, InstanceType, Offering
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import ARCH, CAPACITY_TYPE, HOSTNAME, RESERVATION_ID, ZONE
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.settings import Settings, parse_settings
from karptui.kube.pod import (
    HostPort,
    Pod,
    PodAffinityTerm,
    PodVolume,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from karptui.kube.selectors import LabelSelector, NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import Taint, Toleration
from karptui.kube.volumes import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karptui.kube.workload import Service
from karptui.provisioning.explain import PodExplanation, PoolExplanation, explain
from karptui.provisioning.nearest import furthest
from karptui.provisioning.prepared import prepare
from karptui.provisioning.rejection import PlacementGate, RequirementsUnmet, TypesExhausted
from karptui.provisioning.solution import provisioning_events, solve
from karptui.views.pending.rejections import miss_text
from tests.builders import (
    NOW_NS,
    a_condition,
    a_daemonset,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    a_requirement,
    amounts,
    an_instance_type,
    present,
)

TYPES = [an_instance_type(name="small", cpu="2"), an_instance_type(name="large", cpu="8", memory="32Gi")]
DEDICATED = Taint("dedicated", "NoSchedule", "x")
WEB = LabelSelector((("app", "web"),))
OWN_SPREAD = (TopologySpreadConstraint(1, ZONE, "DoNotSchedule", WEB, 3),)


def explained(
    pod: Pod, *pools: Any, nodes: tuple[Any, ...] = (), settings: Settings | None = None, **others: Any
) -> PodExplanation:
    pods, types = (pod, *others.pop("pods", ())), others.pop("types", TYPES)
    inventory = Inventory(pods=pods, nodepools=pools or (a_nodepool(),), nodes=nodes, **others)
    return explain(solve(prepare(inventory, types, settings or Settings(), NOW_NS)), pod)


def refused(result: InstanceType) -> InstanceType:
    """Return a type with every offering refused by EC2."""
    offerings = (replace(offering, is_available=False, error_code=UNFULFILLABLE) for offering in result.offerings)
    return replace(result, offerings=tuple(offerings))


def pool(explanation: PodExplanation, name: str = "general") -> PoolExplanation:
    return next(pool for pool in explanation.pools if pool.nodepool == name)


class TestPools:
    def test_a_schedulable_pod(self) -> None:
        explanation = explained(a_pod(cpu="1"))
        assert (explanation.place, explanation.is_new_claim) == ("general", True)
        assert pool(explanation).failed is None
        assert [(left.after, left.count) for left in pool(explanation).types_left] == [
            ("all", 2),
            ("on offer", 2),
            ("limits", 2),
            ("room", 2),
        ]
        explanation = explained(a_pod(cpu="1"), a_nodepool(limits=amounts({"cpu": "2"})))
        assert (explanation.place, pool(explanation).failed, pool(explanation).rejection) == ("general", None, None)

    def test_a_huge_request_has_a_nearest_miss(self) -> None:
        nearest = pool(explained(a_pod(cpu="1e999"))).nearest
        assert nearest is not None
        assert nearest.shortages[0].resource == "cpu"

    def test_nearest_miss_in_numbers(self) -> None:
        daemonset = a_daemonset(cpu="500m", memory="1Gi")
        explanation = explained(a_pod(cpu="8", memory="1Gi"), daemonsets=(daemonset,))
        assert pool(explanation).failed is PlacementGate.INSTANCE_TYPES
        nearest = pool(explanation).nearest
        assert nearest is not None
        [short] = nearest.shortages
        assert (nearest.instance_type, short.resource, str(short.need), str(short.room)) == (
            "large", "cpu", "8500m", "8",
        )  # fmt: skip
        assert [(left.after, left.count) for left in pool(explanation).types_left][-3:] == [
            ("labels", 2),
            ("offering", 2),
            ("room", 0),
        ]
        assert not explanation.place

    def test_requirements_that_exclude_types(self) -> None:
        general = a_nodepool(
            requirements=(
                a_requirement(CAPACITY_TYPE, "In", "on-demand"),
                a_requirement("node.kubernetes.io/instance-type", "In", "small"),
            )
        )
        explanation = pool(explained(a_pod(cpu="4"), general))
        assert [(cost.requirement, cost.meeting) for cost in explanation.label_costs] == []
        assert explanation.types_left[1].count == 1
        arm = pool(explained(a_pod(node_selector={ARCH: "arm64"})))
        assert [(cost.requirement, cost.meeting) for cost in arm.label_costs] == [("kubernetes.io/arch In [arm64]", 0)]
        assert arm.nearest is None

    def test_pools_fail_at_the_first_gate(self) -> None:
        heavy = a_nodepool(name="heavy", weight=9, taints=(DEDICATED,))
        limited = a_nodepool(name="limited", weight=5, limits=amounts({"cpu": "1"}))
        full = a_nodepool(name="full", weight=4, limits=amounts({"nodes": "0"}))
        elsewhere = a_nodepool(name="elsewhere", requirements=(a_requirement(ZONE, "In", "us-east-1b"),))
        explanation = explained(a_pod(node_selector={ZONE: "us-east-1a"}), heavy, limited, full, elsewhere)
        assert [(pool.nodepool, pool.failed) for pool in explanation.pools] == [
            ("heavy", PlacementGate.TAINTS),
            ("limited", PlacementGate.LIMITS),
            ("full", PlacementGate.LIMITS),
            ("elsewhere", PlacementGate.REQUIREMENTS),
        ]

    @pytest.mark.parametrize(("fields", "why"), [
        ({"replicas": 3}, "static"),
        ({"deletion_ns": NOW_NS}, "being deleted"),
        ({"deletion_ns": NOW_NS, "replicas": 3}, "being deleted"),
        ({"node_class_ref": NodeClassRef("other", "OtherNodeClass", "x"), "is_ready": False}, "another provider"),
        ({"is_ready": False}, "not ready: Ready"),
        ({"conditions": ()}, "not ready"),
        ({"conditions": (a_condition("Ready", status="False", message="no subnets"),)}, "no subnets"),
        ({"node_class_ref": NodeClassRef("other", "OtherNodeClass", "x")}, "another provider"),
        ({"requirements": (a_requirement(ZONE, "In", "mars"),)}, "no compatible instance type is available"),
        ({"requirements": (a_requirement("node.kubernetes.io/instance-type", "Exists", min_values=3),)}, "minValues"),
    ])  # fmt: skip
    def test_excluded_pools_show_the_reason(self, fields: dict[str, Any], why: str) -> None:
        explanation = pool(explained(a_pod(), a_nodepool(name="beside"), a_nodepool(**fields)))
        assert why in explanation.takes_no_part
        assert (explanation.position, explanation.failed) == (-1, None)

    @pytest.mark.parametrize(("devices", "selected", "tolerated", "nearest"), [
        ("1", {}, [], "gpu"),
        ("8", {}, [], "general"),
        ("1", {ARCH: "arm64"}, [], "general"),
        ("1", {ZONE: "us-east-1b"}, [DEDICATED], "gpu"),
        ("1", {"team": "b"}, [DEDICATED], "gpu-b"),
    ])  # fmt: skip
    def test_a_tainted_pool_is_nearest_only_if_it_offers_the_devices(
        self, devices: str, selected: dict[str, str], tolerated: list[Taint], nearest: str
    ) -> None:
        gpu = replace(an_instance_type(name="gpu"), capacity={**TYPES[0].capacity, **amounts({"nvidia.com/gpu": "1"})})
        names = ("In", *(instance_type.name for instance_type in TYPES))
        general = a_nodepool(weight=9, requirements=(a_requirement("node.kubernetes.io/instance-type", *names),))
        zones = (a_requirement(ZONE, "In", "us-east-1a"),)
        pools = [general, a_nodepool(name="gpu", weight=8, taints=(DEDICATED,), requirements=zones)]
        if tolerated:
            pools.append(a_nodepool(name="gpu-b", taints=(Taint("team", "NoSchedule"),), template_labels={"team": "b"}))
        tolerations = tuple(Toleration(taint.key, "Exists") for taint in tolerated)
        pod = a_pod(requests={"nvidia.com/gpu": devices}, node_selector=selected, tolerations=tolerations)
        assert present(furthest(explained(pod, *pools, types=[*TYPES, gpu]))).nodepool == nearest

    def test_types_refused_by_ec2_are_the_nearest_miss(self) -> None:
        tainted = a_nodepool(name="tainted", weight=9, taints=(DEDICATED,))
        large = [a_requirement("node.kubernetes.io/instance-type", "In", "large")]
        types = [refused(instance_type) if instance_type.name == "large" else instance_type for instance_type in TYPES]
        explanation = explained(a_pod(cpu="4"), tainted, a_nodepool(requirements=large), types=types)
        assert pool(explanation).takes_no_part == "insufficient capacity in EC2 (on-demand large)"
        assert present(furthest(explanation)).nodepool == "general"
        partly = explained(a_pod(cpu="4"), tainted, a_nodepool(), types=types)
        assert miss_text(present(furthest(partly))) == "insufficient capacity in EC2 (on-demand large)"
        too_large = explained(a_pod(cpu="40"), a_nodepool(), types=types)
        assert not pool(too_large).refused

    def test_min_values(self) -> None:
        flexible = a_nodepool(requirements=(a_requirement("node.kubernetes.io/instance-type", "Exists", min_values=2),))
        explanation = pool(explained(a_pod(cpu="4"), flexible))
        assert isinstance(explanation.rejection, TypesExhausted)
        assert explanation.rejection.unmet_min_values == (("node.kubernetes.io/instance-type", 1),)
        assert explanation.types_left[-1].count == 1

    def test_explaining_a_pod_of_another_run_is_an_error(self) -> None:
        solution = solve(prepare(Inventory(pods=(a_pod(),), nodepools=(a_nodepool(),)), TYPES, Settings(), NOW_NS))
        with pytest.raises(LookupError, match="other"):
            explain(solution, a_pod(name="other"))

    def test_a_pod_pending_for_reserved_capacity(self) -> None:
        reserved = Offering(
            requirements=(a_requirement(CAPACITY_TYPE, "In", "reserved"), a_requirement(RESERVATION_ID, "In", "cr-1")),
            price_per_hour=0.0,
            reservation_capacity=1,
        )
        instance_type = an_instance_type(name="held", cpu="2", prices={"reserved": 0.1})
        types = [
            InstanceType(name="held", requirements=instance_type.requirements, capacity=instance_type.capacity,
                         offerings=(reserved,)),
        ]  # fmt: skip
        pods = tuple(a_pod(name=f"p{i}", cpu="2") for i in range(2))
        inventory = Inventory(pods=pods, nodepools=(a_nodepool(requirements=()),))
        solution = solve(prepare(inventory, types, Settings(), NOW_NS))
        [failed] = solution.failed
        explanation = pool(explain(solution, failed))
        assert (explanation.failed, explanation.rejection is not None) == (PlacementGate.RESERVATIONS, True)
        assert explain(solution, failed).given_up == ()
        taken = explain(solution, next(pod for pod in pods if pod.key != failed.key))
        assert (taken.place, pool(taken).failed) == ("general", None)
        assert provisioning_events(prepare(inventory, types, Settings(), NOW_NS), solution) == {}

    def test_the_nearest_of_several_types(self) -> None:
        types = [*TYPES, an_instance_type(name="odd", cpu="1", memory="64Gi")]
        inventory = Inventory(pods=(a_pod(cpu="16"),), nodepools=(a_nodepool(),))
        nearest = pool(explain(solve(prepare(inventory, types, Settings(), NOW_NS)), inventory.pods[0])).nearest
        assert nearest is not None
        assert nearest.instance_type == "large"


class TestPreferences:
    def test_dropped_preferences_are_named(self) -> None:
        zone = PreferredSchedulingTerm(7, NodeSelectorTerm((a_requirement(ZONE, "In", "mars"),)))
        term = PodAffinityTerm(ZONE, LabelSelector((("app", "nobody"),)))
        pod = a_pod(
            required_node_terms=(NodeSelectorTerm((a_requirement(ZONE, "In", "mars"),)), NodeSelectorTerm()),
            preferred_node_terms=(zone,),
            preferred_pod_affinity=(WeightedPodAffinityTerm(5, term),),
            preferred_pod_anti_affinity=(WeightedPodAffinityTerm(3, PodAffinityTerm(ZONE, WEB)),),
            topology_spread=(TopologySpreadConstraint(1, "example.com/rack", "ScheduleAnyway", WEB),),
        )
        soft = a_nodepool(taints=(Taint("soft", "PreferNoSchedule"),))
        explanation = explained(pod, soft)
        assert explanation.place == "general"
        assert explanation.given_up == (
            "first alternative of the required node affinity, 1 left",
            "preferred pod affinity of weight 5",
            "preferred pod anti-affinity of weight 3",
            "preferred node affinity of weight 7",
            "topology spread over example.com/rack (ScheduleAnyway)",
            "avoidance of PreferNoSchedule taints",
        )

    def test_pods_with_device_claims_keep_their_preferences(self) -> None:
        preferred = (WeightedPodAffinityTerm(5, PodAffinityTerm(ZONE, WEB)),)
        pod = a_pod(has_resource_claims=True, preferred_pod_affinity=preferred)
        assert explained(pod).given_up == ()
        solution = solve(prepare(Inventory(pods=(pod,), nodepools=(a_nodepool(),)), TYPES, Settings(), NOW_NS))
        assert "Dynamic Resource Allocation" in str(solution.errors[pod.key])


def running(**fields: Any) -> dict[str, Any]:
    return {"nodes": (a_node(**fields),), "nodeclaims": (a_nodeclaim(),)}


class TestNodes:
    @pytest.mark.parametrize(("pod", "fields", "gate", "words"), [
        (a_pod(), {"taints": (DEDICATED,)}, PlacementGate.TAINTS, "dedicated=x:NoSchedule"),
        (a_pod(cpu="3"), {}, PlacementGate.ROOM, "cpu 3 > 1930m"),
        (a_pod(memory="9Gi"), {}, PlacementGate.ROOM, "memory 9Gi > 7Gi"),
        (a_pod(node_selector={ZONE: "us-east-1b"}), {}, PlacementGate.REQUIREMENTS, "us-east-1b"),
        (a_pod(node_selector={"team": "x"}), {}, PlacementGate.REQUIREMENTS, '"team"'),
        (a_pod(pod_affinity=(PodAffinityTerm(HOSTNAME, LabelSelector((("app", "db"),))),)), {}, PlacementGate.TOPOLOGY,
         "pod affinity does not allow it here"),
        (a_pod(pod_affinity=(PodAffinityTerm(ZONE, LabelSelector((("app", "db"),))),)), {}, PlacementGate.TOPOLOGY,
         "no domain"),
        (a_pod(), {"allocatable": {"hugepages-2Mi": "-1"}}, PlacementGate.ROOM, "more than it has"),
    ])  # fmt: skip
    def test_why_a_node_refuses_a_pod(self, pod: Pod, fields: dict[str, Any], gate: PlacementGate, words: str) -> None:
        [refusal] = explained(pod, **running(**fields)).nodes
        assert (refusal.node, refusal.gate) == ("node-1", gate)
        short = [f"{shortage.resource} {shortage.need} > {shortage.room}" for shortage in refusal.shortages]
        assert words in ", ".join([refusal.reason, *short])

    def test_host_ports(self) -> None:
        holder = a_pod(name="holder", node="node-1", host_ports=(HostPort(80),))
        [refusal] = explained(a_pod(host_ports=(HostPort(80),)), pods=(holder,), **running()).nodes
        assert (refusal.gate, refusal.reason) == (PlacementGate.PORTS, "host port 80 is used by default/holder")

    def volumes(self, **fields: Any) -> dict[str, Any]:
        claim = PersistentVolumeClaim(
            name="data", namespace="default", annotations={"pv.kubernetes.io/bind-completed": "yes"}, **fields
        )
        late = StorageClass(name="late", provisioner="ebs.csi.aws.com", volume_binding_mode="WaitForFirstConsumer")
        return {"claims": (claim,), "storage_classes": (late,)}

    def test_volumes_of_a_driver(self) -> None:
        limits = (CSINode(name="node-1", driver_limits=(("ebs.csi.aws.com", 0), ("other", None))),)
        pod = a_pod(volumes=[PodVolume(name="v", claim_name="data")])
        [refusal] = explained(pod, csi_nodes=limits, **self.volumes(storage_class_name="late"), **running()).nodes
        assert (refusal.gate, refusal.reason) == (PlacementGate.VOLUMES, "more volumes than a driver can attach")

    @pytest.mark.parametrize("key", [ZONE, HOSTNAME])
    def test_a_volume_in_another_zone(self, key: str) -> None:
        volume = PersistentVolume(
            name="pv",
            csi_driver="ebs.csi.aws.com",
            required_node_terms=(NodeSelectorTerm((a_requirement(key, "In", "us-east-1b"),)),),
        )
        pod = a_pod(volumes=[PodVolume(name="v", claim_name="data")])
        explanation = explained(pod, volumes=(volume,), **self.volumes(volume_name="pv"), **running())
        assert [(refusal.gate, refusal.reason) for refusal in explanation.nodes] == [
            (PlacementGate.VOLUMES, "volumes or topology rules leave no domain here")
        ]
        assert explanation.place == ("general" if key == ZONE else "")

    def test_pods_of_a_deleting_node_whose_volume_is_missing(self) -> None:
        going: dict[str, Any] = {
            "nodes": (a_node(), a_node(name="node-2")),
            "nodeclaims": (a_nodeclaim(deletion_ns=NOW_NS), a_nodeclaim(name="c2", node="node-2")),
        }
        pod = a_pod(node="node-1", volumes=[PodVolume(name="v", claim_name="data")], node_selector={HOSTNAME: "node-1"})
        explanation = explained(pod, **self.volumes(volume_name="gone"), **going)
        assert [(refusal.node, refusal.gate) for refusal in explanation.nodes] == [("node-2", PlacementGate.VOLUMES)]
        free = a_pod(node="node-1", node_selector={HOSTNAME: "node-1"})
        assert (
            explained(free, **going)
            .nodes[0]
            .reason.endswith("kubernetes.io/hostname In [node-1] not in kubernetes.io/hostname In [node-2]")
        )
        assert isinstance(pool(explained(free, **going)).rejection, RequirementsUnmet)

    def test_removed_nodes_reject_pods(self) -> None:
        inventory = Inventory(
            pods=(a_pod(cpu="1"),), nodepools=(a_nodepool(),), nodes=(a_node(),), nodeclaims=(a_nodeclaim(),)
        )
        prepared = prepare(inventory, TYPES, Settings(), NOW_NS)
        solution = solve(prepared, excluded=[prepared.states[0].provider_id])
        [refusal] = explain(solution, inventory.pods[0]).nodes
        assert refusal.reason == "it is removed"

    def test_nodes_that_reject_a_pod(self) -> None:
        two: dict[str, Any] = {
            "nodes": (a_node(), a_node(name="node-2")),
            "nodeclaims": (a_nodeclaim(), a_nodeclaim(name="c2", node="node-2")),
        }
        explanation = explained(a_pod(cpu="1"), **two)
        assert (explanation.place, explanation.nodes) == ("node-1", ())
        pods = tuple(a_pod(name=f"p{i}", cpu="1", host_ports=(HostPort(80 + i),)) for i in range(2))
        explanation = explained(pods[1], pods=pods[:1], **running())
        assert explanation.place == "general"
        assert [refusal.gate for refusal in explanation.nodes] == [PlacementGate.ROOM]


class TestDefaultSpread:
    SPREAD = (
        '{"podTopologySpread": {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",'
        ' "minDomains": 3, "whenUnsatisfiable": "DoNotSchedule"}]}}'
    )

    @pytest.mark.parametrize(("taints", "end"), [
        ((DEDICATED,), "; only batch does, whose taint dedicated=x:NoSchedule it does not tolerate"),
        ((), None),
    ])  # fmt: skip
    def test_the_only_nodepool_of_a_required_zone_is_named_if_it_is_tainted(
        self, taints: tuple[Taint, ...], end: str | None
    ) -> None:
        spread = (TopologySpreadConstraint(1, ZONE, "DoNotSchedule", WEB),)
        held = a_pod(name="held", node="node-1", topology_spread=spread)
        pools = [
            a_nodepool(requirements=(a_requirement(ZONE, "In", "us-east-1a"),)),
            a_nodepool(name="batch", requirements=(a_requirement(ZONE, "In", "us-east-1b"),), taints=taints),
        ]
        node = a_node(zone="us-east-1a", cpu="100m")
        result = pool(explained(a_pod(cpu="1", topology_spread=spread), *pools, nodes=(node,), pods=(held,)))
        assert (result.tainted_pool is not None) is bool(end)
        assert not end or miss_text(result).endswith(end)

    @pytest.mark.parametrize(("constraints", "key"), [((), ZONE), (OWN_SPREAD, "")])
    def test_the_default_spread_is_named(self, constraints: tuple[TopologySpreadConstraint, ...], key: str) -> None:
        settings = parse_settings({"SCHEDULER_CONFIG": self.SPREAD}, "1.15.0")
        labels = {"app": "web"}
        held = a_pod(name="held", labels=labels, node="node-1", topology_spread=constraints)
        pod = a_pod(labels=labels, node_selector={ZONE: "zone-1"}, topology_spread=constraints)
        service = Service(name="web", namespace=pod.namespace, selector=(("app", "web"),))
        node = a_node(name="node-1", zone="zone-1", cpu="1")
        explanation = explained(pod, nodes=(node,), settings=settings, pods=(held,), services=(service,))
        assert pool(explanation).default_spread_key == key
        assert ("default spread (SCHEDULER_CONFIG)" in miss_text(pool(explanation))) is bool(key)
