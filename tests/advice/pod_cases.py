"""Clusters for the rules about pods, PodDisruptionBudgets, volumes and DaemonSets."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from karptui.advice.finding import Severity
from karptui.karpenter import labels
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import HostPort, Pod, PodAffinityTerm, PodVolume, TopologySpreadConstraint
from karptui.kube.selectors import LabelSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import Taint, Toleration
from karptui.kube.volumes import PersistentVolume, PersistentVolumeClaim
from tests.advice.asking import Case, quiet
from tests.builders import (
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    a_daemonset,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pdb,
    a_pod,
    a_pod_template,
    a_requirement,
    an_event,
    an_inventory,
    an_owner,
)

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
DND = labels.DO_NOT_DISRUPT
WEB = LabelSelector((("app", "web"),))


def on_node(*pods: Pod, pools: Any = None, **others: Any) -> Inventory:
    """Return a cluster of one managed node with these pods."""
    return Inventory(
        nodepools=pools or (a_nodepool(),), nodes=(a_node(),), nodeclaims=(a_nodeclaim(),), pods=pods, **others
    )


def waiting(*pods: Pod, pools: tuple[NodePool, ...] | None = None, **others: Any) -> Inventory:
    return Inventory(nodepools=(a_nodepool(),) if pools is None else pools, pods=pods, **others)


def annotated(key: str, value: str, **others: Any) -> Inventory:
    return on_node(a_pod(node="node-1", annotations={key: value}), **others)


def twins(count: int = 3, *, nodes: bool = False, **template: Any) -> tuple[Pod, ...]:
    shared = a_pod_template(owners=(an_owner(),), **template)
    return tuple(a_pod(name=f"web-{i}", template=shared, node="node-1" if nodes else "") for i in range(count))


def term(*expressions: tuple[str, str, tuple[str, ...]]) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        tuple(NodeSelectorRequirement(key, operator, values) for key, operator, values in expressions)
    )


def prefers(key: str, *values: str) -> PreferredSchedulingTerm:
    return PreferredSchedulingTerm(1, term((key, "In", values)))


def spread(
    key: str = labels.ZONE, *, when: str = "DoNotSchedule", skew: int = 1, **others: Any
) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(skew, key, when, WEB, **others)


def volume(name: str, zone: str) -> tuple[PersistentVolumeClaim, PersistentVolume]:
    claim = PersistentVolumeClaim(name=name, namespace="default", volume_name=f"pv-{name}", phase="Bound",
                                  annotations={"pv.kubernetes.io/bind-completed": "yes"})  # fmt: skip
    return claim, PersistentVolume(name=f"pv-{name}", required_node_terms=(term((labels.ZONE, "In", (zone,))),))


def tied(*zones: str, node: str = "", **template: Any) -> Inventory:
    """Return a pod for each zone, with a volume in that zone."""
    shared = a_pod_template(owners=(an_owner(kind="StatefulSet", name="db"),), **template)
    volumes = [volume(f"data-{i}", zone) for i, zone in enumerate(zones)]
    pods = tuple(
        a_pod(name=f"db-{i}", template=shared, node=node, volumes=(PodVolume("data", claim_name=f"data-{i}"),))
        for i in range(len(zones))
    )
    return on_node(*pods, claims=tuple(claim for claim, _ in volumes), volumes=tuple(volume for _, volume in volumes))


def selected(*pdbs: Any, **pod: Any) -> Inventory:
    return on_node(a_pod(node="node-1", **pod), pdbs=pdbs)


def tainted_zone() -> tuple[Any, ...]:
    """Return an untainted NodePool in one zone, and a tainted one in another."""
    return (
        a_nodepool(requirements=(a_requirement(labels.ZONE, "In", "us-east-1a"),)),
        a_nodepool(name="closed", requirements=(a_requirement(labels.ZONE, "In", "us-east-1b"),),
                   taints=(Taint("closed", "NoSchedule"),)),
    )  # fmt: skip


def zonal_twins(count: int = 3, **constraint: Any) -> Inventory:
    return waiting(*twins(count, topology_spread=(spread(**constraint),)), pools=tainted_zone())


def with_ports(pod_port: int, **daemon: Any) -> Inventory:
    return waiting(
        a_pod(host_ports=(HostPort(pod_port),)),
        daemonsets=(a_daemonset(name="agent", host_ports=(HostPort(9100),), **daemon),),
    )


def kruise(*others: Pod, api_version: str = "apps.kruise.io/v1alpha1") -> Inventory:
    owner = an_owner(kind="DaemonSet", name="agent", api_version=api_version)
    return on_node(a_pod(name="agent-1", node="node-1", owner=owner), *others)


def two_terms(count: int = 2, pools: int = 2) -> Inventory:
    terms = tuple(term((labels.ARCH, "In", (arch,))) for arch in ("amd64", "arm64")[:count])
    return Inventory(
        nodepools=tuple(a_nodepool(name=f"pool-{i}") for i in range(pools)),
        daemonsets=(a_daemonset(required_node_terms=terms),),
    )


def nominated(*, count: int = 7, first_ns: int = HOUR_NS, last_ns: int = MINUTE_NS, node: str = "") -> Inventory:
    event = an_event(about="Pod/default/web-1", reason="Nominated", message="Pod should schedule on: node/node-1",
                     count=count, last_ns=NOW_NS - last_ns)  # fmt: skip
    return on_node(a_pod(node=node), events=(replace(event, first_ns=NOW_NS - first_ns),))


NEVER = a_pdb(max_unavailable=0, allowed=0)
ANTI_ZONE = (PodAffinityTerm(labels.ZONE, WEB),)

NO_POOL = term((labels.NODEPOOL, "DoesNotExist", ()))

CASES = [
    Case("pod-dead-protection", lambda: annotated(DND, "1d"),
         ('1 pod (ReplicaSet/default/web) has do-not-disrupt "1d"', 'unknown unit "d"')),
    Case("pod-dead-protection", lambda: annotated(DND, "true "), ('"true "',), name="blank"),
    *quiet("pod-dead-protection", lambda: annotated(DND, "true"), lambda: annotated(DND, "24h"),
           lambda: annotated(DND, "false")),
    Case("pod-dead-annotation", lambda: annotated("karpenter.sh/do-not-evict", "true"),
         ("1 pod (ReplicaSet/default/web) carries karpenter.sh/do-not-evict",
          "karpenter.sh/do-not-disrupt on the pod")),
    Case("pod-dead-annotation", lambda: waiting(a_pod(node_selector={"karpenter.sh/provisioner-name": "x"})),
         ("selects nodes by karpenter.sh/provisioner-name",), name="selector"),
    Case("pod-dead-annotation",
         lambda: Inventory(nodes=(a_node(annotations={"karpenter.sh/do-not-consolidate": "true"}),)),
         ("1 node (node-1) carries karpenter.sh/do-not-consolidate",), name="node"),
    *quiet("pod-dead-annotation", lambda: annotated(DND, "true")),
    Case("pod-safe-to-evict", lambda: annotated(labels.SAFE_TO_EVICT, "false"),
         ('1 pod (ReplicaSet/default/web) has safe-to-evict "false"', "runs on nodes of Karpenter",
          "nothing protects it")),
    *quiet("pod-safe-to-evict", lambda: annotated(labels.SAFE_TO_EVICT, "true"),
           lambda: on_node(a_pod(node="node-1", annotations={labels.SAFE_TO_EVICT: "false", DND: "true"})),
           lambda: waiting(a_pod(annotations={labels.SAFE_TO_EVICT: "false"}))),
    Case("pod-several-pdbs", lambda: selected(a_pdb(name="a", allowed=1), a_pdb(name="b", allowed=1)),
         ("1 pod (ReplicaSet/default/web) is selected by 2 PodDisruptionBudgets (default/a and default/b)", "1 node"),
         ERROR, per_hour=0.096),
    *quiet("pod-several-pdbs", lambda: selected(a_pdb(name="a")),
           lambda: selected(a_pdb(name="a"), a_pdb(name="b", labels={"app": "other"})),
           lambda: selected(a_pdb(name="a"), a_pdb(name="b"), annotations={DND: "true"})),
    Case("pdb-never-allows", lambda: selected(NEVER),
         ("default/web has maxUnavailable 0: its 1 pod cannot be evicted", "1 node of Karpenter ($0.10/h)"),
         per_hour=0.096),
    Case("pdb-never-allows", lambda: selected(a_pdb(min_available=1, expected_pods=1)),
         ("minAvailable 1 of 1 pod expected",), name="single"),
    *quiet("pdb-never-allows", lambda: selected(a_pdb(max_unavailable=1, allowed=1)),
           lambda: selected(a_pdb(min_available=1, expected_pods=2)),
           lambda: selected(a_pdb(max_unavailable=0, labels={"app": "other"}))),
    Case("pdb-contradicts-status", lambda: selected(a_pdb(max_unavailable="0%", allowed=1)),
         ("allows nothing by its spec and reports 1 disruption allowed",)),
    *quiet("pdb-contradicts-status", lambda: selected(NEVER), lambda: selected(a_pdb(max_unavailable=1, allowed=1))),
    Case("pdb-without-status", lambda: selected(a_pdb(observed_generation=None, created_ns=NOW_NS - HOUR_NS)),
         ("default/web is 1h old and has no status", "1 pod cannot be evicted")),
    *quiet("pdb-without-status", lambda: selected(a_pdb(observed_generation=None, created_ns=NOW_NS - MINUTE_NS)),
           lambda: selected(a_pdb(created_ns=NOW_NS - HOUR_NS)),
           lambda: selected(a_pdb(observed_generation=None, created_ns=NOW_NS - HOUR_NS, labels={"app": "other"}))),
    Case("pod-no-requests", lambda: on_node(a_pod(node="node-1", cpu="", memory="")),
         ("1 of 1 workload pod requests neither cpu nor memory (ReplicaSet/default/web)",)),
    Case("pod-no-requests",
         lambda: on_node(a_pod(name="bare", node="node-1", cpu="", memory="", owner=an_owner(name="bare")),
                         *(a_pod(name=f"w-{i}", node="node-1") for i in range(10))),
         ("1 of 11 workload pods",), INFO, name="few"),
    *quiet("pod-no-requests", lambda: on_node(a_pod(node="node-1", cpu="")),
           lambda: on_node(a_pod(node="node-1", cpu="", memory="", daemonset="agent")),
           lambda: waiting(a_pod(cpu="", memory=""))),
    Case("pod-fails-silently",
         lambda: waiting(a_pod(required_node_terms=(term((labels.HOSTNAME, "In", ("node-7",))),))),
         ("1 pending pod (ReplicaSet/default/web) is ignored", "using label kubernetes.io/hostname is not allowed"),
         ERROR, name="hostname"),
    Case("pod-fails-silently",
         lambda: waiting(a_pod(preferred_node_terms=(PreferredSchedulingTerm(1, NO_POOL),))),
         ("even as a preference, without error or event",), name="no pool"),
    *quiet("pod-fails-silently", lambda: waiting(a_pod())),
    Case("pod-fails-silently",
         lambda: waiting(a_pod(volumes=(PodVolume("data", claim_name="gone"),)),
                         unread=frozenset({"PersistentVolumeClaim"})),
         name="claims hidden"),
    Case("pod-no-usable-pool", lambda: waiting(a_pod(), pools=(a_nodepool(is_ready=False),)),
         ("1 pod is pending, and none of 1 NodePool is usable",), ERROR),
    Case("pod-no-usable-pool", lambda: waiting(a_pod(), pools=()),
         ("1 pod is pending, and there is no NodePool: Karpenter reports neither",), ERROR, name="none at all"),
    *quiet("pod-no-usable-pool", lambda: waiting(a_pod()), lambda: waiting(pools=(a_nodepool(is_ready=False),))),
    Case("pod-preference-first-term",
         lambda: waiting(a_pod(required_node_terms=(term((labels.ZONE, "In", ("us-east-1a",))),
                                                    term((labels.ZONE, "In", ("us-east-1b",)))),
                               preferred_node_terms=(prefers(labels.ZONE, "us-east-1b"),))),
         ("1 pod (ReplicaSet/default/web) prefers a value that the first of its required alternatives excludes",)),
    *quiet("pod-preference-first-term",
           lambda: waiting(a_pod(required_node_terms=(term((labels.ZONE, "In", ("us-east-1a",))),
                                                      term((labels.ZONE, "In", ("us-east-1b",)))),
                                 preferred_node_terms=(prefers(labels.ZONE, "us-east-1a"),))),
           lambda: waiting(a_pod(preferred_node_terms=(prefers(labels.ZONE, "us-east-1b"),)))),
    Case("pod-preference-first-term", lambda: waiting(a_pod()), settings={"PREFERENCE_POLICY": "Ignore"},
         name="ignored"),
    Case("pod-preferences", lambda: waiting(a_pod(preferred_node_terms=(prefers(labels.ZONE, "us-east-1a"),))),
         ("1 pod of 1 workload (ReplicaSet/default/web) has preferences (node affinity)",), INFO),
    *quiet("pod-preferences", lambda: waiting(a_pod())),
    Case("pod-preferences", lambda: waiting(a_pod(topology_spread=(spread(when="ScheduleAnyway"),))),
         settings={"PREFERENCE_POLICY": "Ignore"}, name="ignored"),
    Case("pod-zonal-anti-affinity", lambda: waiting(*twins(3, pod_anti_affinity=ANTI_ZONE)),
         ("3 pods of ReplicaSet/default/web may not share a zone", "reach 2 zones for them: at most 2 can run.")),
    Case("pod-zonal-anti-affinity", lambda: waiting(*twins(2, pod_anti_affinity=ANTI_ZONE)), ("one per run",), INFO,
         name="enough zones"),
    *quiet("pod-zonal-anti-affinity", lambda: waiting(*twins(1, pod_anti_affinity=ANTI_ZONE)),
           lambda: waiting(*twins(3, pod_anti_affinity=(PodAffinityTerm(labels.HOSTNAME, WEB),)))),
    Case("pod-affinity-and-spread", lambda: waiting(*twins(2, pod_affinity=ANTI_ZONE, topology_spread=(spread(),))),
         ("2 pods (ReplicaSet/default/web) have both", "over topology.kubernetes.io/zone")),
    Case("pod-affinity-and-spread",
         lambda: on_node(*twins(2, nodes=True, pod_affinity=ANTI_ZONE, topology_spread=(spread(),))), ("have both",),
         INFO, name="running"),
    *quiet("pod-affinity-and-spread",
           lambda: waiting(*twins(2, pod_affinity=ANTI_ZONE, topology_spread=(spread(labels.HOSTNAME),))),
           lambda: waiting(*twins(2, pod_affinity=ANTI_ZONE, topology_spread=(spread(when="ScheduleAnyway"),)))),
    Case("pod-spread-zonal-volumes", lambda: tied("us-east-1a", "us-east-1a", topology_spread=(spread(),)),
         ("Volumes tie the 2 pods of StatefulSet/default/db to zones (2 in us-east-1a)", "skew of 1 among 2 zones")),
    *quiet("pod-spread-zonal-volumes", lambda: tied("us-east-1a", "us-east-1b", topology_spread=(spread(),)),
           lambda: tied("us-east-1a", "us-east-1a"), lambda: tied("us-east-1a", topology_spread=(spread(),))),
    Case("volume-zone-without-offering", lambda: tied("us-east-1c", node="node-1"),
         ("1 pod (StatefulSet/default/db) needs volumes in us-east-1c", "it runs, and has no zone to move to")),
    Case("volume-zone-without-offering", lambda: tied("us-east-1c", "us-east-1c"), ("2 pods are pending",), ERROR,
         name="waiting"),
    *quiet("volume-zone-without-offering", lambda: tied("us-east-1a", node="node-1"),
           lambda: tied("us-east-1c", node="elsewhere"),
           lambda: waiting(a_pod(volumes=(PodVolume("data", claim_name="gone"),)))),
    Case("pod-spread-unreachable", zonal_twins,
         ("ReplicaSet/default/web (3 pods) counts us-east-1b",
          "lets each of us-east-1a have 1. 3 of them are pending."),
         ERROR),
    *quiet("pod-spread-unreachable", lambda: zonal_twins(node_taints_policy="Honor"), lambda: zonal_twins(count=1),
           lambda: waiting(*twins(3, topology_spread=(spread(),))),
           lambda: waiting(*twins(3, topology_spread=(spread(),), node_selector={labels.ZONE: "us-east-1a"}),
                           pools=tainted_zone())),
    Case("pod-spread-shared-group",
         lambda: waiting(a_pod(name="a", owner=an_owner(name="a"), topology_spread=(spread(),)),
                         a_pod(name="b", owner=an_owner(name="b"), topology_spread=(spread(min_domains=2),))),
         ("Spreads over topology.kubernetes.io/zone of 2 pod templates", "differ only in minDomains"), INFO),
    Case("pod-spread-shared-group",
         lambda: waiting(a_pod(name="a", owner=an_owner(name="a"), node_selector={"disk": "a"},
                               topology_spread=(spread(),)),
                         a_pod(name="b", owner=an_owner(name="b"), node_selector={"disk": "b"},
                               topology_spread=(spread(),))),
         ("differ only in values of the pods' node selector",), INFO, name="selector"),
    *quiet("pod-spread-shared-group",
           lambda: waiting(a_pod(name="a", topology_spread=(spread(),)), a_pod(name="b", topology_spread=(spread(),))),
           lambda: waiting(a_pod(name="a", topology_spread=(spread(skew=2),)),
                           a_pod(name="b", topology_spread=(spread(min_domains=2),))),
           lambda: waiting(a_pod(name="a", node_selector={"d": "1"},
                                 topology_spread=(spread(node_affinity_policy="Ignore"),)),
                           a_pod(name="b", node_selector={"d": "2"},
                                 topology_spread=(spread(node_affinity_policy="Ignore"),)))),
    Case("pod-stored-not-in",
         lambda: waiting(a_pod(name="a", required_node_terms=(term(("tier", "NotIn", ("bronze",))),)),
                         a_pod(name="b", owner=an_owner(name="b"), node_selector={"tier": "gold"})),
         ("1 pod (ReplicaSet/default/web) excludes values of tier",), INFO),
    *quiet("pod-stored-not-in", lambda: waiting(a_pod(required_node_terms=(term(("tier", "NotIn", ("bronze",))),))),
           lambda: waiting(a_pod(name="a", required_node_terms=(term(("tier", "NotIn", ("bronze",))),)),
                           a_pod(name="b", node_selector={"tier": "gold"}),
                           pools=(a_nodepool(template_labels={"tier": "gold"}),))),
    Case("pod-no-cost", lambda: annotated(labels.POD_DELETION_COST, "-2147483648"),
         ("1 pod (ReplicaSet/default/web) costs nothing", "1 node with nothing else on it counts as empty")),
    *quiet("pod-no-cost", lambda: annotated(labels.POD_DELETION_COST, "-5"), lambda: on_node(a_pod(node="node-1"))),
    Case("pod-cost-unread", lambda: annotated(labels.POD_DELETION_COST, "-1.4e8"),
         ('1 pod (ReplicaSet/default/web) has pod-deletion-cost "-1.4e8"', "Karpenter ignores it, it is not a 32-bit")),
    Case("pod-cost-unread", lambda: annotated(labels.POD_DELETION_COST, "100"),
         ("Karpenter ignores it, Karpenter writes these costs itself",),
         settings={"FEATURE_GATES": "PodDeletionCostManagement=true"}, name="managed"),
    Case("pod-cost-unread", lambda: annotated(labels.POD_DELETION_COST, "-1.4e8"),
         ("after an upgrade to 1.15 Karpenter would ignore it",), version="1.14.1", name="1.14"),
    Case("pod-cost-unread", lambda: annotated(labels.POD_DELETION_COST, "-7"),
         settings={"FEATURE_GATES": "PodDeletionCostManagement=true"}, name="written by Karpenter"),
    *quiet("pod-cost-unread", lambda: annotated(labels.POD_DELETION_COST, "-100"),
           lambda: annotated(labels.DISRUPTION_COST, "much"),
           lambda: waiting(a_pod(annotations={labels.POD_DELETION_COST: "1.5"}))),
    Case("pod-host-port-daemonset", lambda: with_ports(9100),
         ("1 pod of ReplicaSet/default/web requests host port 9100/TCP", "kube-system/agent", "(1 is pending)"), ERROR),
    *quiet("pod-host-port-daemonset", lambda: with_ports(9101),
           lambda: with_ports(9100, node_selector={"disk": "fast"}),
           lambda: waiting(a_pod(host_ports=(HostPort(9100),)), pools=(a_nodepool(is_ready=False),))),
    Case("pod-pending-in-simulations", lambda: on_node(a_pod(created_ns=NOW_NS - HOUR_NS)),
         ("1 pod (ReplicaSet/default/web) has been pending for up to 1h",), INFO),
    *quiet("pod-pending-in-simulations", lambda: on_node(a_pod(created_ns=NOW_NS - MINUTE_NS)),
           lambda: waiting(a_pod(created_ns=NOW_NS - HOUR_NS))),
    Case("daemonset-other-group", kruise,
         ("1 pod of 1 DaemonSet of apps.kruise.io/v1alpha1 on 1 node", "there is nothing else on it ($0.10/h)"),
         per_hour=0.096),
    Case("daemonset-other-group", lambda: kruise(a_pod(node="node-1")), ("its node is never empty.",), INFO,
         name="beside others"),
    *quiet("daemonset-other-group", lambda: kruise(api_version="apps/v1"), lambda: on_node(a_pod(node="node-1"))),
    Case("daemonset-or-terms", two_terms,
         ("1 DaemonSet (kube-system/agent (2 terms)) has several", "which of 2 NodePools"), INFO),
    *quiet("daemonset-or-terms", lambda: two_terms(count=1), lambda: two_terms(pools=1)),
    Case("daemonset-pending",
         lambda: on_node(a_pod(name="agent-1", daemonset="agent", namespace="kube-system",
                               scheduled_message="Insufficient memory")),
         ("1 DaemonSet pod of kube-system/agent has had no room", "for up to 1h", '"Insufficient memory"')),
    *quiet("daemonset-pending", lambda: on_node(a_pod(daemonset="agent", created_ns=NOW_NS - MINUTE_NS)),
           lambda: on_node(a_pod(daemonset="agent", node="node-1")), an_inventory),
    Case("pod-nominated-limbo", nominated,
         ("1 pod (ReplicaSet/default/web) has been nominated up to 7 times over 1h",
          "(Pod should schedule on: node/node-1) and still is pending")),
    *quiet("pod-nominated-limbo", lambda: nominated(count=2), lambda: nominated(first_ns=MINUTE_NS),
           lambda: nominated(last_ns=30 * MINUTE_NS), lambda: nominated(node="node-1")),
    Case("daemonset-do-not-disrupt",
         lambda: on_node(a_pod(node="node-1", daemonset="agent", namespace="kube-system", annotations={DND: "true"})),
         ("1 pod of the DaemonSet kube-system/agent has do-not-disrupt, which blocks 1 of 1 node",
          "of Karpenter ($0.10/h)"),
         per_hour=0.096),
    *quiet("daemonset-do-not-disrupt",
           lambda: on_node(a_pod(node="node-1", daemonset="agent", annotations={DND: "1d"})),
           lambda: annotated(DND, "true"),
           lambda: on_node(a_pod(node="elsewhere", daemonset="agent", annotations={DND: "true"}))),
    Case("pod-tolerates-disrupted",
         lambda: on_node(a_pod(node="node-1", tolerations=(Toleration(operator="Exists"),), annotations={DND: "true"})),
         ("1 pod (ReplicaSet/default/web) tolerates the taint", "with the instance, in spite of do-not-disrupt")),
    Case("pod-tolerates-disrupted", lambda: on_node(a_pod(node="node-1", tolerations=(Toleration(operator="Exists"),))),
         ("it ends with the instance.",), INFO, name="not protected"),
    *quiet("pod-tolerates-disrupted", lambda: on_node(a_pod(node="node-1", tolerations=(Toleration("ci", "Exists"),))),
           lambda: on_node(a_pod(node="node-1", daemonset="agent", tolerations=(Toleration(operator="Exists"),))),
           lambda: waiting(a_pod(tolerations=(Toleration(operator="Exists"),)))),
]  # fmt: skip
