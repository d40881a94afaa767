from __future__ import annotations

from typing import Any

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import parse_settings
from karptui.kube.pod import HostPort, PodVolume
from karptui.kube.selectors import NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import Taint, Toleration
from karptui.kube.volumes import PersistentVolume, PersistentVolumeClaim
from karptui.provisioning.overlap import PENDING, PODS_A_STEP, UNMANAGED, Overlap, overlap, overlap_steps
from karptui.provisioning.prepared import prepare
from tests import builders

TYPES = (
    builders.an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1}),
    builders.an_instance_type(name="m5.4xlarge", cpu="16", memory="64Gi", prices={"on-demand": 0.8}),
)
SETTINGS = parse_settings({})


def overlap_of(*pods: Any, pools: Any, settings: Any = SETTINGS, **inventory: Any) -> Overlap:
    held = Inventory(nodepools=pools, pods=pods, **inventory)
    return overlap(prepare(held, TYPES, settings, builders.NOW_NS))


POOLS = (
    builders.a_nodepool(name="first", weight=100),
    builders.a_nodepool(name="second", weight=50),
    builders.a_nodepool(name="tainted", taints=(Taint("dedicated", "NoSchedule", "x"),)),
)


def test_every_pod_is_assigned_to_the_heaviest_compatible_pool() -> None:
    tolerant = (Toleration(operator="Exists"),)
    result = overlap_of(
        *(builders.a_pod(name=f"web-{i}", cpu="1") for i in range(3)),
        builders.a_pod(name="ci", cpu="2", tolerations=tolerant),
        builders.a_pod(name="agent", owner=builders.an_owner(kind="DaemonSet", name="agent", api_version="apps/v1")),
        builders.a_pod(name="done", phase="Succeeded"),
        pools=POOLS,
    )
    assert result.pods == 4
    assert [(kind.example, kind.pods, kind.pools, kind.goes_to) for kind in result.kinds] == [
        ("default/web-0", 3, ("first", "second"), "first"),
        ("default/ci", 1, ("first", "second", "tainted"), "first"),
    ]
    assert (result.several, result.none, result.stranded) == (4, 0, 0)
    told = {
        name: (outcome.matching, outcome.shared, outcome.goes_here, outcome.lost_to)
        for name, outcome in result.pools.items()
    }
    assert told == {"first": (4, 4, 4, {}), "second": (4, 4, 0, {"first": 4}), "tainted": (1, 1, 0, {"first": 1})}
    assert result.pools["second"].shared_with == {"first": 4, "tainted": 1}


def test_limits_and_preferences_come_before_the_order_of_pools() -> None:
    pools = (
        builders.a_nodepool(name="full", weight=100, limits=builders.amounts({"cpu": "1"})),
        builders.a_nodepool(name="no-nodes", weight=60, limits=builders.amounts({"nodes": "0"})),
        builders.a_nodepool(name="spare"),
    )
    (kind,) = overlap_of(builders.a_pod(), pools=pools).kinds
    assert (kind.goes_to, kind.pools) == ("spare", ("full", "no-nodes", "spare"))
    assert overlap_of(builders.a_pod(), pools=pools[:2]).stranded == 1
    two = (
        builders.a_nodepool(name="heavy", weight=100),
        builders.a_nodepool(name="gpu", template_labels={"kind": "gpu"}),
    )
    wish = PreferredSchedulingTerm(1, NodeSelectorTerm((builders.a_requirement("kind", "In", "gpu"),)))
    (kind,) = overlap_of(builders.a_pod(preferred_node_terms=(wish,)), pools=two).kinds
    assert (kind.pools, kind.goes_to) == (("heavy", "gpu"), "gpu")


def test_pods_that_fit_no_pool() -> None:
    result = overlap_of(
        builders.a_pod(name="huge", cpu="100"),
        builders.a_pod(name="choosy", node_selector={"karpenter.sh/nodepool": "another"}),
        builders.a_pod(name="hosted", node_selector={"kubernetes.io/hostname": "node-1"}),
        builders.a_pod(name="claims", has_resource_claims=True),
        pools=POOLS[:2],
    )
    assert result.none == 4
    assert [kind.goes_to for kind in result.kinds] == [""] * 4


def test_host_ports_of_daemonsets() -> None:
    port = (HostPort(8080),)
    taken = builders.a_daemonset(host_ports=port)
    assert overlap_of(builders.a_pod(host_ports=port), pools=POOLS, daemonsets=(taken,)).none == 1
    assert overlap_of(builders.a_pod(host_ports=port), pools=POOLS).none == 0


def test_pools_that_pods_run_in_now() -> None:
    nodes = (builders.a_node(name="a", pool="second"), builders.a_node(name="b", pool=""))
    pods = [builders.a_pod(name=f"web-{i}", node=node) for i, node in enumerate(("a", "a", "b", "gone", ""))]
    result = overlap_of(*pods, pools=POOLS, nodes=nodes)
    (kind,) = result.kinds
    assert dict(kind.running) == {"second": 2, UNMANAGED: 2, PENDING: 1}


def test_pods_of_one_template_are_grouped() -> None:
    shared = builders.a_pod_template(owners=(builders.an_owner(),))
    daemon = builders.a_pod_template(owners=(builders.an_owner(kind="DaemonSet", name="agent"),))
    pods = [builders.a_pod(name=f"web-{i}", template=shared) for i in range(3)]
    pods += [builders.a_pod(name=f"agent-{i}", template=daemon) for i in range(3)]
    (kind,) = overlap_of(*pods, pools=POOLS).kinds
    assert kind.pods == 3


def test_volumes_restrict_pods_to_their_zone() -> None:
    pools = tuple(
        builders.a_nodepool(
            name=zone[-1], requirements=(builders.a_requirement("topology.kubernetes.io/zone", "In", zone),)
        )
        for zone in ("us-east-1a", "us-east-1b")
    )
    term = NodeSelectorTerm((builders.a_requirement("topology.kubernetes.io/zone", "In", "us-east-1b"),))
    volume = PersistentVolume(name="disk", required_node_terms=(term,), is_aws_ebs=True)
    gone = NodeSelectorTerm((builders.a_requirement("topology.kubernetes.io/zone", "In", "us-east-1z"),))
    other = PersistentVolume(name="gone", required_node_terms=(gone,), is_aws_ebs=True)
    claims = tuple(PersistentVolumeClaim(name=name, namespace="default", volume_name=name) for name in ("disk", "gone"))
    result = overlap_of(
        *(builders.a_pod(name=name, volumes=[PodVolume(name="v", claim_name=name)]) for name in ("disk", "gone")),
        pools=pools,
        volumes=(volume, other),
        claims=claims,
    )
    assert {kind.example: kind.pools for kind in result.kinds} == {"default/disk": ("b",), "default/gone": ()}


def test_each_step_covers_few_pods() -> None:
    pods = tuple(builders.a_pod(name=f"web-{i}") for i in range(2 * PODS_A_STEP + 1))
    held = Inventory(nodepools=POOLS, pods=pods)
    steps = list(overlap_steps(prepare(held, TYPES, SETTINGS, builders.NOW_NS)))
    assert steps[:-1] == [None] * 4
    assert steps[-1] is not None
    assert steps[-1].pods == 2 * PODS_A_STEP + 1
