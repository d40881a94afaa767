"""A finding of the verdict: what is wrong, with which objects, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from karptui.changes.changes import Edit
from karptui.kube import resources
from karptui.kube.resources import ResourceList


class FindingSeverity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class FindingCode(StrEnum):
    """The cause of a finding; the order breaks ties in the ranking."""

    KARPENTER_DOWN = "KARPENTER_DOWN"
    """No pod of Karpenter is ready."""
    KARPENTER_DEGRADED = "KARPENTER_DEGRADED"
    """Some pods of Karpenter are not ready, but one is."""
    NO_LEADER = "NO_LEADER"
    """No pod of Karpenter holds the leader lease."""
    KARPENTER_FORBIDDEN = "KARPENTER_FORBIDDEN"
    """AWS or the API server denies Karpenter a permission."""
    TWO_AUTOSCALERS = "TWO_AUTOSCALERS"
    """The Cluster Autoscaler adds nodes for pods that Karpenter also serves."""
    PODS_NOT_CREATED = "PODS_NOT_CREATED"
    """Controllers cannot create their pods, because an admission webhook, a quota or a policy refuses them."""
    CONTROLLERS_STOPPED = "CONTROLLERS_STOPPED"
    """Kubernetes' own controllers do not act on changed objects or missing pods."""
    STOPPED = "STOPPED"
    """Karpenter disrupts nothing, because a NodeClaim has no provider ID."""
    ALL_LEAVING = "ALL_LEAVING"
    """No node takes new pods: all are cordoned or being removed, and none is launching."""
    NO_NODEPOOLS = "NO_NODEPOOLS"
    """No NodePool can take pods: Karpenter launches nothing for pending pods."""
    POOL_GONE = "POOL_GONE"
    """Nodes have a NodePool that does not exist."""
    NODECLASS_NOT_READY = "NODECLASS_NOT_READY"
    """A NodeClass is not ready or does not exist, so its NodePools launch nothing."""
    ZONE_NOT_READY = "ZONE_NOT_READY"
    """No node of a zone is ready."""
    ZONAL_SHIFT = "ZONAL_SHIFT"
    """AWS shifts traffic away from a zone, and Karpenter launches nothing there."""
    INTERRUPTED = "INTERRUPTED"
    """The cloud interrupts instances."""
    LAUNCH_REFUSED = "LAUNCH_REFUSED"
    """The cloud refuses to launch instances: no capacity, no addresses, a quota, a permission."""
    CLAIM_STUCK = "CLAIM_STUCK"
    """NodeClaims do not launch, or their instances do not register."""
    NOT_INITIALIZED = "NOT_INITIALIZED"
    """Registered nodes do not initialize."""
    DAEMONSET_PENDING = "DAEMONSET_PENDING"
    """Pods of a DaemonSet do not fit on their nodes."""
    PENDING = "PENDING"
    """Pods are unschedulable."""
    RESERVATIONS_FULL = "RESERVATIONS_FULL"
    """Pods are pending because capacity reservations are full; Karpenter reports nothing."""
    POOL_DELETED = "POOL_DELETED"
    """A NodePool is being deleted, and all its nodes drain."""
    POOL_NOT_READY = "POOL_NOT_READY"
    """A NodePool is not ready and launches nothing, or its last nodes did not register."""
    POOL_AT_LIMIT = "POOL_AT_LIMIT"
    """A NodePool is at a limit, or close to it."""
    UNHEALTHY = "UNHEALTHY"
    """Nodes are not ready or unhealthy."""
    PODS_NOT_STARTING = "PODS_NOT_STARTING"
    """Pods are bound to a node, but their containers are not created."""
    NOT_SCALED = "NOT_SCALED"
    """HorizontalPodAutoscalers do not scale."""
    PODS_NOT_ENDING = "PODS_NOT_ENDING"
    """Pods of Jobs have finished, but a sidecar runs on, so the Jobs never complete."""
    NODE_PRESSURE = "NODE_PRESSURE"
    """Ready nodes are short of disk, memory or process IDs, or have no network."""
    CHURN = "CHURN"
    """Nodes of a NodePool are launched and removed again and again."""
    EXPIRY = "EXPIRY"
    """Expiration or the end of a drain will kill protected pods."""
    LAUNCHES_MOVED = "LAUNCHES_MOVED"
    """New nodes come from another NodePool and capacity type than older ones."""
    PODS_LOST = "PODS_LOST"
    """Karpenter removes nodes with pods that nothing recreates."""
    CORDONED = "CORDONED"
    """Nodes have been cordoned for long."""
    OLD_KUBELETS = "OLD_KUBELETS"
    """Kubelets are too old for the API server."""
    PREFERRED = "PREFERRED"
    """Nearly empty nodes stay, for example because their pods prefer separate nodes."""
    REPAIR_HELD = "REPAIR_HELD"
    """Karpenter wants to repair unhealthy nodes, but something blocks it."""
    POD_DND = "POD_DND"
    """Pods with karpenter.sh/do-not-disrupt block the removal of nodes."""
    NODE_DND = "NODE_DND"
    """karpenter.sh/do-not-disrupt on nodes blocks their removal."""
    PDB = "PDB"
    """PodDisruptionBudgets block the removal of nodes."""
    BUDGET = "BUDGET"
    """Disruption budgets block the removal of nodes."""
    LEAVING = "LEAVING"
    """The deletion of nodes takes long, without a known blocker."""
    DRIFT = "DRIFT"
    """The replacement of drifted nodes does not advance."""
    TIMED_OUT = "TIMED_OUT"
    """Consolidation times out, so the last nodes in its order are never evaluated."""
    NO_PERMISSION = "NO_PERMISSION"
    """Objects that the verdict needs may not be listed, or were not read."""
    NO_PRICES = "NO_PRICES"
    """Nodes have no known price."""
    ASSUMED_CLASS = "ASSUMED_CLASS"
    """NodeClasses were not read; karptui assumes default ones."""
    ASSUMED_VOLUMES = "ASSUMED_VOLUMES"
    """Kinds about volumes were not read; karptui assumes that volumes restrict no pod."""
    ADVICE = "ADVICE"
    """Errors and warnings of Advice that no other finding covers."""
    NEXT = "NEXT"
    """Karpenter's next command."""
    FINE = "FINE"
    """Nothing was found."""


class Manner(StrEnum):
    """Variant of a finding that changes its message."""

    PLAIN = ""
    NEVER = "never"
    """It does not end automatically."""
    ADVANCING = "advancing"
    """A PodDisruptionBudget that lets pods go one after the other."""
    OVERDUE = "overdue"
    """What ends it is over, and it has not ended."""
    OWN_GRACE = "own-grace"
    """Its pods use their termination grace period, which ends."""
    BLOCK_ENDS = "block-ends"
    """A capacity block ends, and its instances with it."""
    UNREAD = "unread"
    """Protected by an annotation that Karpenter does not read."""
    INTERRUPTED = "interrupted"
    """By interruptions, again and again."""
    SEVERAL_ENDS = "several-ends"
    """It ends automatically, at different times for its nodes."""
    USED_UP = "used-up"
    """A disruption budget that other nodes use up."""
    AT_ONCE = "at-once"
    """Drift that drains most nodes of a NodePool at once."""
    AFTER_OTHERS = "after-others"
    """The next command comes once Karpenter is no longer blocked."""
    WITH_NOTES = "with-notes"
    """Nothing needs attention, but something is reported."""
    INCOMPLETE = "incomplete"
    """No rule found anything, but some rules failed to run or lack data."""
    ON_REQUEST = "on-request"
    """It is worked out only when its screen is opened."""
    MISSING = "missing"
    """The object does not exist."""
    LEAVING = "leaving"
    """The object is being deleted."""
    UNWRITTEN = "unwritten"
    """No controller renews its lease, as if the API server accepted no writes."""
    WEBHOOK_FAILS = "webhook-fails"
    """An admission webhook cannot be called."""
    WEBHOOK_DENIES = "webhook-denies"
    QUOTA = "quota"
    REJECTED = "rejected"
    """Kubelets reject pods that were scheduled to their nodes."""
    BY_PLATFORM = "by-platform"
    """Pods crash on nodes of one platform, and run on those of others."""
    BY_TEMPLATE = "by-template"
    """The template of their NodePool put an annotation on its nodes."""
    CRASHING = "crashing"
    """Pods crash, on nodes that share nothing that others lack."""
    BY_NODES = "by-nodes"
    """Pods crash on nodes that share something else, and run on other nodes."""
    IDLE = "idle"
    """A Deployment that other pods need and that runs no pod."""
    UNREADY_BY_NODES = "unready-by-nodes"
    """Pods are not ready on nodes that share something, and their others are ready elsewhere."""
    SCALED = "scaled"
    """By a workload that is scaled up and down, or rolled out, again and again."""
    FLAPPING = "flapping"
    """Nodes that are not ready again and again, for a short time each."""
    REBOOTING = "rebooting"
    """Nodes that reboot again and again."""
    OUT_OF_MEMORY = "out-of-memory"
    """Ready nodes on which the kernel kills processes again and again."""
    FILLING_UP = "filling-up"
    """Nodes whose disks fill up."""
    DEVICES = "devices"
    """Nodes with fewer allocatable devices than they have."""
    OWN_LIMIT = "own-limit"
    """Pods that use more than their own limit."""
    ROLLOUT = "rollout"
    """Pods of a new revision, while the old revision has all its replicas."""
    EXPIRED = "expired"
    """Nodes that expire minutes after their launch, or now."""
    REBALANCED = "rebalanced"
    """The AWS Node Termination Handler, which drains nodes on rebalance recommendations, and Karpenter."""
    EMPTIED = "emptied"
    """Nodes that were cordoned and emptied before they stopped being ready."""
    UNSUPPORTED = "unsupported"
    """A node condition that Karpenter does not repair."""
    UNREPAIRED = "unrepaired"
    """Karpenter does not repair such nodes."""
    CLOSED = "closed"
    """A disruption budget is closed."""
    TAINTED = "tainted"
    """Nodes that a taint keeps pods away from, and that are not cordoned."""
    NONE_READY = "none-ready"
    """Workloads with running pods, none of which is ready."""
    STARTING_UP = "starting-up"
    """Workloads whose pods start up for the first time, none of which is ready."""
    TRIPPED = "tripped"
    """Karpenter repairs no node, because too many are unhealthy."""
    GATED = "gated"
    """Running pods whose readiness gate is not true."""
    UNRESIZED = "unresized"
    """The kubelet does not resize pods in place."""
    UNENDED = "unended"
    """Pods that were deleted and should have ended."""
    RESTARTS = "restarts"
    """Ready pods whose containers end again and again."""
    DESCHEDULED = "descheduled"
    """A controller that evicts pods, such as the descheduler, and Karpenter."""
    SAME_KIND = "same-kind"
    """Two installations of Karpenter."""
    WEIGHT = "weight"
    """Because of the order of NodePools by weight."""
    LIMIT = "limit"
    """Because of a NodePool's limit."""
    ENDED_EARLY = "ended-early"
    """Instances end before they become nodes."""
    UNREGISTERED = "unregistered"
    """Nodes joined, but Karpenter does not register them."""
    NODE_GONE = "node-gone"
    """A NodeClaim had a node, which no longer exists."""
    NO_NODES = "no-nodes"
    """Nothing is wrong, but there are no nodes."""
    SOME_CORDONED = "some-cordoned"
    """No node takes new pods: some are only cordoned, the others are being removed."""
    ALL_CORDONED = "all-cordoned"
    """The nodes are cordoned, and none is being removed."""
    STATIC = "static"
    """No NodePool takes pods, and static ones go on to replace their nodes: they are ready, with room for one more."""
    FEWER_THAN_REPLICAS = "fewer-than-replicas"
    """A node limit below the replicas of a static NodePool."""
    SPARES_TYPES = "spares-types"
    """A limit that stops only some of a NodePool's types."""
    ON_SIGNS = "on-signs"
    """Inferred from several objects; no event or condition reports it."""
    DEFAULTED = "defaulted"
    """Requests that a LimitRange set."""
    NOMINATED = "nominated"
    """Karpenter nominates nodes again and again for pods that are not scheduled to them."""
    NOT_KARPENTERS = "not-karpenters"
    """Nothing is wrong, but Karpenter manages no node."""


class Shared(StrEnum):
    """Common property of the nodes with crashing pods."""

    PLATFORM = "platform"
    FAMILY = "family"
    """The family of their instance types, or the type if that has none."""
    ZONE = "zone"
    TYPE = "type"
    POOL = "pool"
    IMAGE = "image"
    """The release of their operating system."""
    NODE = "node"
    """The node: all of them are on one."""


class Apart(StrEnum):
    """Rule by which the pods of a workload keep to separate nodes."""

    PREFERRED = "preferred"
    PREFERRED_SPREAD = "preferred-spread"
    SPREAD = "spread"
    ANTI_AFFINITY = "anti-affinity"
    RESTING = "resting"
    """Other nodes of the NodePool have room, but Karpenter moves no pods there before their consolidateAfter."""
    MIN_VALUES = "minvalues"
    """No rule of pods: too few types are cheaper for the minValues of the NodePool."""


PREFERENCES: Final = frozenset({Apart.PREFERRED, Apart.PREFERRED_SPREAD})
"""Rules that Karpenter treats as required for as long as PREFERENCE_POLICY is Respect."""


class Leaving(StrEnum):
    """Stage of a node whose deletion takes long."""

    WAITS = "waits"
    """Its drain has not begun."""
    ENDING = "ending"
    """Its pods are terminating."""
    EVICTED = "evicted"
    """Its pods are still being evicted."""
    UNEVICTED = "unevicted"
    """Its pods are not evicted, although nothing protects them and Karpenter runs."""
    WEBHOOK = "webhook"
    """A webhook without whose answer evictions fail has no ready pod."""
    UNDRAINED = "undrained"
    """No pod blocks it, but it is not marked as drained."""
    DRAINING = "draining"
    """It is draining; its pods were not inspected."""
    VOLUMES = "volumes"
    INSTANCE = "instance"
    FINALIZER = "finalizer"
    """Karpenter is done, but a finalizer of another controller keeps the Node."""
    PDB = "pdb"
    """The Node is being deleted, NodeClaims may not be listed, and PodDisruptionBudgets allow no eviction."""
    NO_NODE = "no-node"
    """Only the NodeClaim is left."""
    UNMANAGED = "unmanaged"
    """Only the NodeClaim is left, and Karpenter ignores it because its nodeClassRef has no group or kind."""
    NODE_ALONE = "node-alone"
    """The Node is being deleted, but its NodeClaim is not, or does not exist."""
    UNKNOWN = "unknown"
    """The Node is being deleted; NodeClaims may not be listed."""


class Explained(msgspec.Struct, frozen=True):
    """Pending pods that one cause explains."""

    pods: tuple[str, ...] = ()
    """``namespace/name`` of each."""
    names: tuple[str, ...] = ()
    """Their groups, such as ``shop/web-* (9)``."""
    since_ns: int | None = None
    """When the oldest became pending."""
    bound_names: tuple[str, ...] = ()
    """The groups whose volumes bind them to zones."""
    bound_zones: tuple[str, ...] = ()
    expected: tuple[frozenset[str], ...] = ()
    """Nodes and NodeClaims that each group is expected on."""
    rules: tuple[str, ...] = ()
    """Why topology rules of the pods keep them off nodes with room."""
    preempted: int = 0
    """Pods of the same workloads that kube-scheduler preempted in the last hour."""
    spread_keys: tuple[str, ...] = ()
    """Labels over whose values all of them must be spread."""


NOTHING_PENDING: Final = Explained()


class CountBound(StrEnum):
    """How a count of nodes relates to the final one, while removals are still being simulated."""

    EXACT = ""
    AT_LEAST = "at least"
    AT_MOST = "up to"


_KEYS: Final = {
    "nodes": "^z",
    "pools": "2",
    "claims": "3",
    "pods": "4",
    "pending": "5",
    "blockers": "6",
    "next": "6 n",
    "budgets": "7",
    "events": "9",
    "advice": "0",
    "sources": ":sources",
    "churn": ":churn",
}


class MemoryLimit(NamedTuple):
    """The memory limit of a container that ran out of memory."""

    container: str
    memory_bytes: int


class PdbCounts(NamedTuple):
    """Pods of a PodDisruptionBudget; zeros without one."""

    healthy: int = 0
    demanded: int = 0
    """Number of pods that must be healthy."""
    pods: int = 0


def began(instants: Iterable[int | None]) -> dict[str, Any]:
    """Return the fields of a finding for when its nodes or pods began to be so; 0 and None are unknown."""
    known = [ns for ns in instants if ns]
    return {"since_ns": min(known, default=None), "youngest_ns": max(known, default=None)}


class ClusterFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that holds or endangers the cluster."""

    severity: FindingSeverity
    code: FindingCode
    price_per_hour: float | None = None
    """Its cost in dollars per hour; None if it costs nothing or the cost is unknown."""
    since_ns: int | None = None
    youngest_ns: int | None = None
    """When the last of its nodes or pods began to be so, if that is known."""
    started_ns: int | None = None
    """When the first of its pods started, if these crash: edits before that may be the cause."""
    last_ns: int | None = None
    """When it was last seen, for recurring events."""
    until_ns: int | None = None
    """When it ends automatically."""
    objects: tuple[str, ...] = ()
    """``Kind/namespace/name`` of the objects that it is about."""
    names: tuple[str, ...] = ()
    """Names in its message."""
    zones: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()
    capacity_types: tuple[str, ...] = ()
    nodes: int = 0
    of_nodes: int = 0
    """Total of nodes, replicas or pods that ``nodes`` is a part of."""
    missing_nodes: int = 0
    """Nodes that a static NodePool lacks of its replicas."""
    pods: int = 0
    pending: Explained = NOTHING_PENDING
    """The pods that are pending because of it."""
    reasons: tuple[str, ...] = ()
    """Karpenter's reasons of the disruption that it belongs to."""
    draining: int = 0
    """Number of its nodes that are draining."""
    drifted: int = 0
    """Number of its nodes that are drifted."""
    drifted_ns: int | None = None
    """When the first of them drifted."""
    sick: int = 0
    """Number of its draining nodes that are not ready."""
    sick_ns: int | None = None
    """When the first of them stopped being ready."""
    stuck_pods: tuple[str, ...] = ()
    """``namespace/name`` of pods that terminate and cannot end."""
    pools: tuple[str, ...] = ()
    """NodePools of its nodes."""
    user_data: tuple[str, ...] = ()
    """EC2NodeClass whose user data keeps its instances from joining, and the labels there that the kubelet refuses.

    Without labels there is no user data, and no AMI family that Karpenter writes some for. Instead of labels there is
    the field `METADATA_ENDPOINT` if that switches the instance metadata service off.
    """
    nameless: tuple[str, ...] = ()
    """Nodes without a provider ID that joined since its NodeClaims were created."""
    words: str = ""
    """Detail of the cause: the kubelet's message, an annotation, or the method that wants its nodes."""
    agent: tuple[str, ...] = ()
    """DaemonSet that its nodes lack, and their taints that it does not tolerate; without any it selects other nodes."""
    failing: tuple[str, ...] = ()
    """The DaemonSet whose pods fail on these nodes, their waiting reason, and the pods."""
    apart: tuple[str, ...] = ()
    """Property that only its nodes have, a `Shared`, and its value."""
    overlays: tuple[str, ...] = ()
    """NodeOverlays that promise the resources that its nodes lack."""
    user_pods: int = 0
    """Pods of the workload that uses most of a limit."""
    of_namespace: int = 0
    """Pods of a PodDisruptionBudget that selects every pod of its namespace; 0 for other PodDisruptionBudgets."""
    pdb_counts: PdbCounts = PdbCounts()
    """Pod counts of its only PodDisruptionBudget."""
    others: int = 0
    """Nodes that the same disruption budget blocks without drift; ready pods of other revisions; other outcomes."""
    is_outdated: bool = False
    """Whether its pods have a revision that their StatefulSets no longer have."""
    is_newer: bool = False
    """Whether its pods started after those that run, and long after their nodes."""
    used_by: tuple[str, ...] = ()
    """Nodes that use up a disruption budget."""
    restarts: int = 0
    """Restarts of its pods since the first of them started; 0 unless they are at least hourly."""
    limit: MemoryLimit | None = None
    """The limit that all its pods ran out of memory at."""
    recent_pods: int = 0
    """Pods bound to those nodes in the last hour."""
    detail: str = ""
    """Karpenter's message, or a reason."""
    manner: Manner = Manner.PLAIN
    is_partial: bool = False
    """Whether its cost may rise, because some of its nodes are not simulated or have no price."""
    nodes_bound: CountBound = CountBound.EXACT
    """Whether its nodes are still being simulated, and how their count may change."""
    is_upper_bound: bool = False
    """Whether its savings are of several nodes whose removal under budgets is not simulated."""
    saves_in_seconds: int | None = None
    """Time until the last of several nodes is gone without the blockers, by forecast; None without a forecast."""
    requests: ResourceList = resources.EMPTY
    """Requests of each of its pods."""
    controller_pod: ControllerPod | None = None
    """The pod of Karpenter that tells the most about why it is down."""
    expires_ns: int | None = None
    """When its node expires."""
    container: str = ""
    """The init container of its pods that crashes, or that has not finished; their only container that is not ready."""
    at_once: int | None = None
    """Number of its nodes that disruption budgets let go at once; 0 if none now, None if all."""
    closed_until_ns: int | None = None
    """When a disruption budget that also blocks it opens."""
    screen: str = ""
    """The screen that proves it."""
    filter_text: str = ""
    """Filter to apply on that screen."""
    edit: Edit | None = None
    """The newest relevant edit shortly before it began: a hint, not a proven cause."""

    @property
    def key(self) -> str:
        """The key that leads to the screen from Nodes."""
        return _KEYS.get(self.screen, "?" if self.code is FindingCode.NO_PERMISSION else "")


class ControllerPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod of the Karpenter controller."""

    key: str
    """``namespace/name``."""
    is_ready: bool
    is_scheduled: bool = True
    waiting_reason: str = ""
    """``CrashLoopBackOff``, ``ImagePullBackOff``, …"""
    exit_reason: str = ""
    """Why a container of it ended last: ``OOMKilled``, or its exit code."""
    restarts: int = 0
    exited_ns: int | None = None
    """When a container of it ended last; None if none has, or that is not known."""
    since_ns: int | None = None
    """When it stopped being ready, None if that is not known."""
    refusal: str = ""
    """Why kube-scheduler finds no node for it."""
