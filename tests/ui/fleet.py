"""A small, realistic cluster for tests of the screens, with fixed names and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from karptui.app import KarptuiApp
from karptui.aws.evidence import Evidence
from karptui.aws.prices import PriceSettings
from karptui.decode.kinds import Kind
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Condition, Event, Node, OwnerReference
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.quantity import Quantity, parse_quantity
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.kube.taints import Taint
from karptui.session.cluster_view import ClusterView
from karptui.sources.evidence import EvidenceSource
from karptui.sources.source import Mailbox, Phase, SourceStatus
from karptui.state.cluster import EMPTY
from karptui.state.reducer import Batch, KindDelta, reduce
from tests.builders.sources import QuietSource
from tests.canvas import strips_of

UNPRICED = Evidence(price_settings=PriceSettings(is_disabled=True))
"""Settings without list prices, which would change with the price catalogue."""
NOW_NS = 1_795_521_607_000_000_000
"""2026-11-24 12:00:07Z."""
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 3600 * SECOND


def amounts(**given: str) -> dict[str, Quantity]:
    """Return a resource list; ``ephemeral`` stands for ephemeral-storage and ``gpu`` for nvidia.com/gpu."""
    names = {"ephemeral": "ephemeral-storage", "gpu": "nvidia.com/gpu"}
    return {names.get(name, name): parse_quantity(text) for name, text in given.items()}


def conditions(*pairs: str, at_ns: int = NOW_NS - HOUR) -> tuple[Condition, ...]:
    """Return conditions from ``Ready``, ``!Ready`` (False) and ``?Ready`` (Unknown)."""
    result = []
    for pair in pairs:
        status = {"!": "False", "?": "Unknown"}.get(pair[0], "True")
        result.append(Condition(type=pair.lstrip("!?"), status=status, last_transition_ns=at_ns))
    return tuple(result)


@dataclass
class Fleet:
    """Objects by kind, and the status of the source."""

    objects: dict[Kind, dict[str, Any]] = field(default_factory=dict)

    def add(self, kind: Kind, item: Any) -> Any:
        self.objects.setdefault(kind, {})[item.key] = item
        return item

    def pour(self, mailbox: Mailbox, *, phase: Phase = Phase.LIVE, kinds: Sequence[Kind] | None = None) -> None:
        for kind in kinds or (Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODEPOOL, Kind.EVENT):
            items = self.objects.get(kind, {})
            mailbox.replace(kind, items)
            mailbox.report(status(kind, phase, count=len(items)))


def status(kind: Kind, phase: Phase = Phase.LIVE, **given: Any) -> SourceStatus:
    given = {"since_ns": NOW_NS - MINUTE, "last_contact_ns": NOW_NS} | given
    return SourceStatus(kind=kind, phase=phase, **given)


TYPES = {
    "r6i.4xlarge": ("16", "15890m", "128Gi", "118312Mi", "234"),
    "m7i.8xlarge": ("32", "31850m", "128Gi", "118312Mi", "234"),
    "c7i.4xlarge": ("16", "15890m", "32Gi", "28100Mi", "234"),
    "m6a.2xlarge": ("8", "7910m", "32Gi", "29600Mi", "58"),
    "r5a.8xlarge": ("32", "31850m", "256Gi", "239554Mi", "234"),
    "c7a.xlarge": ("4", "3920m", "8Gi", "6584Mi", "58"),
    "g6.2xlarge": ("8", "7910m", "32Gi", "29600Mi", "58"),
}


def a_node(
    fleet: Fleet,
    name: str,
    *,
    pool: str = "general",
    type_: str = "m7i.8xlarge",
    cap: str = "on-demand",
    zone: str = "eu-west-1b",
    age_ns: int = 12 * HOUR,
    node_conditions: tuple[Condition, ...] = (),
    claim_conditions: tuple[Condition, ...] | None = None,
    is_managed: bool = True,
    claim_memory: str | None = None,
    **given: Any,
) -> Node:
    cores, cpu, memory, allocatable, pods = TYPES[type_]
    full = f"{name}.eu-west-1.compute.internal"
    labels = {
        karpenter_labels.INSTANCE_TYPE: type_,
        karpenter_labels.ZONE: zone,
        karpenter_labels.REGION: zone[:-1],
        karpenter_labels.ARCH: "amd64",
        "team": "ci" if pool == "runners" else "web",
    }
    if claim_conditions is None or any(c.type == "Initialized" and c.status == "True" for c in claim_conditions):
        labels |= {karpenter_labels.REGISTERED: "true", karpenter_labels.INITIALIZED: "true"}
    gpu = {"gpu": "1"} if type_.startswith("g6") else {}
    if is_managed:
        labels |= {karpenter_labels.NODEPOOL: pool, karpenter_labels.CAPACITY_TYPE: cap}
        fleet.add(
            Kind.NODECLAIM,
            NodeClaim(
                name=f"{pool}-{name[-6:].replace('-', 'x')}",
                labels=labels,
                created_ns=NOW_NS - age_ns - 40 * SECOND,
                deletion_ns=given.get("deletion_ns", 0),
                node_name=full,
                provider_id=f"aws:///{zone}/i-{name}",
                image_id="ami-0a1b2c3d4e5f60718",
                expire_after_ns=30 * 24 * HOUR,
                termination_grace_period_ns=24 * HOUR if pool == "runners" else None,
                requests=amounts(cpu="2100m", memory="6Gi", pods="9"),
                allocatable=amounts(cpu=cpu, memory=claim_memory or allocatable, pods=pods),
                capacity=amounts(cpu=cores, memory=memory, pods=pods),
                conditions=claim_conditions
                if claim_conditions is not None
                else conditions("Launched", "Registered", "Initialized", "Consolidatable", at_ns=NOW_NS - age_ns),
            ),
        )
    node: Node = fleet.add(
        Kind.NODE,
        Node(
            name=full,
            labels=labels,
            created_ns=NOW_NS - age_ns,
            provider_id=f"aws:///{zone}/i-{name}",
            capacity=amounts(cpu=cores, memory=memory, pods=pods, ephemeral="80Gi", **gpu),
            allocatable=amounts(cpu=cpu, memory=allocatable, pods=pods, ephemeral="71Gi", **gpu),
            conditions=node_conditions or conditions("Ready", "!MemoryPressure", "!DiskPressure", "!PIDPressure"),
            kubelet_version="v1.33.4-eks-1",
            os_image="Bottlerocket OS 1.49.0 (aws-k8s-1.33)",
            architecture="amd64",
            internal_ip=name.removeprefix("ip-").replace("-", "."),
            **given,
        ),
    )
    return node


def pods_of(
    fleet: Fleet,
    owner: str,
    names: Sequence[str],
    node: Node | None,
    *,
    cpu: str = "500m",
    memory: str = "1Gi",
    **given: Any,
) -> None:
    """Add pods of one controller, written ``namespace/Kind/name``."""
    namespace, kind, controller = owner.split("/")
    api = {"Job": "batch/v1"}.get(kind, "apps/v1")
    template = PodTemplate(
        namespace=namespace,
        labels={"app": controller},
        annotations=given.pop("annotations", {}),
        owners=(OwnerReference(api, kind, controller, controller=True),),
        requests=amounts(cpu=cpu, memory=memory),
        images=(f"registry.example/{controller}:1.4",),
    )
    for name in names:
        pod = {
            "phase": "Running" if node is not None else "Pending",
            "ready": True if node is not None else None,
            "created_ns": NOW_NS - 5 * HOUR,
            "node_name": node.name if node is not None else "",
            "uid": f"uid-{namespace}-{name}",
        } | given
        fleet.add(Kind.POD, Pod(name=name, template=template, **pod))


def a_fleet() -> Fleet:
    """Return the cluster of the mock-ups; all tests share its objects, so that they are analysed once."""
    return Fleet({kind: dict(objects) for kind, objects in _mocked_up().objects.items()})


@cache
def _mocked_up() -> Fleet:
    """Return nodes and NodeClaims, each in a different state."""
    fleet = Fleet()
    for pool in ("general", "gpu", "runners", "trino"):
        fleet.add(Kind.NODEPOOL, NodePool(name=pool, consolidate_after_ns=0, conditions=conditions("Ready")))
    runners = a_node(fleet, "ip-10-0-71-204", pool="runners", type_="r6i.4xlarge", zone="eu-west-1a", age_ns=6 * HOUR)
    full = a_node(fleet, "ip-10-0-12-88", age_ns=76 * HOUR)
    draining = a_node(fleet, "ip-10-0-90-13", type_="c7i.4xlarge", cap="spot", zone="eu-west-1c", age_ns=26 * HOUR,
                      deletion_ns=NOW_NS - 12 * MINUTE,
                      claim_conditions=(*conditions("Launched", "Registered", "Initialized", "Consolidatable",
                                                    at_ns=NOW_NS - 26 * HOUR),
                                        Condition("Drained", "Unknown", "Draining", "Draining", NOW_NS - 12 * MINUTE)),
                      taints=(karpenter_labels.DISRUPTED_TAINT,))  # fmt: skip
    spot = a_node(fleet, "ip-10-0-33-7", type_="m6a.2xlarge", cap="spot", zone="eu-west-1a", age_ns=9 * HOUR)
    trino = a_node(fleet, "ip-10-0-5-160", pool="trino", type_="r5a.8xlarge", zone="eu-west-1a", age_ns=12 * 24 * HOUR,
                   claim_memory="239570Mi")  # fmt: skip
    small = a_node(fleet, "ip-10-0-8-41", type_="c7a.xlarge", cap="spot", age_ns=40 * MINUTE)
    a_node(fleet, "ip-10-0-44-2", type_="m6a.2xlarge", cap="spot", age_ns=3 * HOUR,
           node_conditions=(Condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.",
                                      NOW_NS - 4 * MINUTE),))  # fmt: skip
    cordoned = a_node(fleet, "ip-10-0-60-19", type_="m6a.2xlarge", age_ns=8 * 24 * HOUR, is_unschedulable=True,
                      taints=(Taint("node.kubernetes.io/unschedulable", "NoSchedule"),))  # fmt: skip
    gpu = a_node(fleet, "ip-10-0-21-3", pool="gpu", type_="g6.2xlarge", cap="reserved", zone="eu-west-1c",
                 age_ns=50 * HOUR,
                 claim_conditions=(*conditions("Launched", "Registered", "Initialized"),
                                   Condition("Drifted", "True", "NodePoolDrifted", "", NOW_NS - 2 * HOUR)))  # fmt: skip
    system = a_node(fleet, "ip-10-0-1-10", type_="m6a.2xlarge", age_ns=90 * 24 * HOUR, is_managed=False)
    a_node(
        fleet,
        "ip-10-0-77-9",
        type_="m6a.2xlarge",
        cap="spot",
        zone="eu-west-1c",
        age_ns=50 * SECOND,
        claim_conditions=(
            *conditions("Launched", "Registered"),
            Condition(
                "Initialized",
                "Unknown",
                "StartupTaintsExist",
                'StartupTaint "node.cilium.io/agent-not-ready:NoExecute" still exists',
                NOW_NS,
            ),
        ),
    )
    fleet.add(Kind.NODECLAIM,
              NodeClaim(name="general-x7k2p", created_ns=NOW_NS - 38 * SECOND,
                        labels={karpenter_labels.NODEPOOL: "general"}, requests=amounts(cpu="6500m", memory="21Gi"),
                        conditions=(Condition("Launched", "Unknown", "AwaitingReconciliation",
                                              "object is awaiting reconciliation"),)))  # fmt: skip
    fleet.add(Kind.NODECLAIM,
              NodeClaim(name="gpu-9fq4z", created_ns=NOW_NS - 14 * MINUTE, labels={karpenter_labels.NODEPOOL: "gpu"},
                        requests=amounts(cpu="7", memory="24Gi", gpu="1"),
                        conditions=(Condition("Launched", "Unknown", "InsufficientCapacityError",
                                              "no capacity for g6.2xlarge in eu-west-1c"),)))  # fmt: skip
    nodes = [runners, full, draining, spot, trino, small, cordoned, gpu, system]
    for index, node in enumerate(nodes):
        suffix = f"{index:02d}x"
        pods_of(fleet, "kube-system/DaemonSet/aws-node", [f"aws-node-{suffix}"], node, cpu="50m", memory="128Mi")
        pods_of(
            fleet, "monitoring/DaemonSet/node-exporter", [f"node-exporter-{suffix}"], node, cpu="110m", memory="180Mi"
        )
    pods_of(fleet, "gitlab/Job/ci-4711", ["runner-7f2c4", "runner-9d0aa"], runners, memory="2Gi",
            annotations={karpenter_labels.DO_NOT_DISRUPT: "true"})  # fmt: skip
    pods_of(fleet, "web/ReplicaSet/front-5c9d8f", [f"front-5c9d8f-{i:02d}" for i in range(44)], full, cpu="640m",
            memory="1900Mi")  # fmt: skip
    pods_of(fleet, "web/ReplicaSet/cart-77b6", [f"cart-77b6-{i}" for i in range(4)], draining, cpu="500m",
            memory="300Mi", deletion_ns=NOW_NS - 11 * MINUTE)  # fmt: skip
    pods_of(fleet, "web/ReplicaSet/search-6d4", [f"search-6d4-{i:02d}" for i in range(12)], spot, cpu="270m",
            memory="1200Mi")  # fmt: skip
    pods_of(fleet, "trino/StatefulSet/trino-worker", ["trino-worker-0"], trino, cpu="30", memory="228Gi")
    pods_of(fleet, "web/ReplicaSet/small-1", ["small-1-a", "small-1-b"], small, cpu="250m", memory="500Mi")
    pods_of(fleet, "batch/Job/report-9", ["report-9-0"], cordoned, cpu="4", memory="20Gi")
    pods_of(fleet, "ml/Job/train-3", ["train-3-0"], gpu, cpu="6", memory="20Gi")
    pods_of(fleet, "kube-system/Deployment/coredns", ["coredns-0", "coredns-1"], system, cpu="100m", memory="70Mi")
    pods_of(
        fleet,
        "trino/StatefulSet/trino-worker",
        ["trino-worker-1"],
        None,
        cpu="30",
        memory="240Gi",
        scheduled_reason="Unschedulable",
        scheduled_ns=NOW_NS - 14 * MINUTE,
        scheduled_message="0/11 nodes are available: 9 Insufficient memory, 2 node(s) had untolerated taint",
    )
    pods_of(fleet, "web/ReplicaSet/broken-1", ["broken-1-a"], spot, cpu="50m", memory="64Mi", ready=False,
            waiting_reason="CrashLoopBackOff")  # fmt: skip
    fleet.add(
        Kind.EVENT,
        Event(
            name="e1",
            namespace="default",
            reason="DisruptionBlocked",
            type="Normal",
            source="karpenter",
            message='Cannot disrupt Node: pod has "karpenter.sh/do-not-disrupt" annotation (Pod=gitlab/runner-7f2c4)',
            involved_kind="Node",
            involved_name=runners.name,
            count=14,
            last_ns=NOW_NS - 11 * MINUTE,
        ),
    )
    return fleet


@dataclass
class FleetSource(QuietSource):
    """A source that delivers all objects when it is started."""

    fleet: Fleet
    title: str = "prod-eu-1"
    phase: Phase = Phase.LIVE
    mailbox: Mailbox | None = None
    stopped: int = 0

    def start(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox
        self.fleet.pour(mailbox, phase=self.phase)

    def stop(self) -> None:
        """Count the calls."""
        self.stopped += 1

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return an abridged manifest of an object."""
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": key}}


def view_of(fleet: Fleet, **phases: Phase) -> ClusterView:
    """Return the view of a fleet, with each kind live unless its phase is given."""
    batch = Batch({kind: KindDelta(items, replaces=True) for kind, items in fleet.objects.items()})
    kinds = (Kind.NODE, Kind.NODECLAIM, Kind.POD)
    statuses = {str(kind): status(kind, phases.get(kind, Phase.LIVE)) for kind in kinds}
    return ClusterView(reduce(EMPTY, batch), statuses, evidence=UNPRICED)


def price_evidence(usage: Any = None) -> EvidenceSource:
    """Return fixed prices of the fleet's instance types."""
    return EvidenceSource(Evidence(instance_types=_priced_types(), taken_at_ns=NOW_NS), usage=usage)


@cache
def _priced_types() -> tuple[InstanceType, ...]:
    """Return the same type objects for every app, because cached answers are found by identity."""
    return tuple(
        InstanceType(name=name, requirements=(), capacity={}, offerings=_offerings(0.1 * (index + 1)))
        for index, name in enumerate(TYPES)
    )


def _offerings(price_per_hour: float) -> tuple[Offering, ...]:
    return tuple(
        Offering(
            requirements=(
                NodeSelectorRequirement(karpenter_labels.CAPACITY_TYPE, "In", (kind,)),
                NodeSelectorRequirement(karpenter_labels.ZONE, "In", (f"eu-west-1{letter}",)),
            ),
            price_per_hour=price_per_hour * factor,
        )
        for kind, factor in (("on-demand", 1.0), ("spot", 0.4))
        for letter in "abc"
    )


def lines_of(app: KarptuiApp) -> list[str]:
    return [strip.text.rstrip() for strip in strips_of(app)]


def screen_text(app: KarptuiApp) -> str:
    return "\n".join(lines_of(app))
