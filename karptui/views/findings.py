"""Texts of findings about a cluster, for the Nodes screen and for `karptui verdict`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from karptui.aws.money import saved_text
from karptui.karpenter.instance_type import error_words
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, clock_text, count_text, counted, first_of, span_text, verb
from karptui.kube.volumes import unread_text
from karptui.views.sanitize import clean, short_name

if TYPE_CHECKING:
    from karptui.pending.groups import PendingGroup, PendingReport
    from karptui.verdict.finding import ClusterFinding, EditBefore

LATE_NS: Final = 300 * NS_PER_SECOND
"""A node that Karpenter launches is there within this time."""
_LONGEST_VALUE: Final = 40
NAMED: Final = 2
"""Maximum number of objects named; the others are counted."""
_MANY_PREEMPTED: Final = 3
"""Preemption happens now and then; from this many pods of a workload on it is named."""
QUOTED: Final = 160
"""Characters that are quoted of a message."""
_HEAD: Final = 60
"""Characters of a longer message before the part that is left out: errors end with their cause."""
_RESTRICTED: Final = re.compile(r"using label (\S+) is not allowed")
_RPC: Final = re.compile(r"rpc error: code = \w+ desc = ")
_VOLUME_OF: Final = re.compile(r'(?:MountVolume\.\w+|AttachVolume\.Attach) failed for volume "[^"]+" ?: ')
_CODES: Final = (
    "InsufficientInstanceCapacity",
    "InsufficientFreeAddressesInSubnet",
    "MaxSpotInstanceCountExceeded",
    "VcpuLimitExceeded",
)
"""EC2's error codes that stand for a whole message."""
_UNAUTHORIZED: Final = "UnauthorizedOperation"
_DRIFT_HELD: Final[Mapping[str, str]] = {
    "SIM_UNSCHEDULABLE": "the pods fit nowhere else",
    "POD_DND": "do-not-disrupt pods block it, and no terminationGracePeriod forces it",
    "PDB_EXHAUSTED": "PodDisruptionBudgets allow no eviction, and no terminationGracePeriod forces it",
    "PDB_MULTIPLE": "two PodDisruptionBudgets match the same pods, and no terminationGracePeriod forces it",
    "NODE_DND": "the nodes have do-not-disrupt",
    "NOMINATED": "pending pods are expected on the nodes",
    "NOT_INITIALIZED": "the nodes are not initialized",
    "NODEPOOL_UNRESOLVED": "the NodePool does not exist",
    "NODEPOOL_NO_TYPES": "the NodePool has no known instance types",
    "STATIC_NO_HEADROOM": "limits.nodes leaves no room for a replacement",
    "STATIC_SCALING": "the NodePool has more nodes than replicas",
    "": "no blocker is known",
}
_METHODS: Final[Mapping[str, str]] = {
    "Repair": "unhealthy",
    "Emptiness": "empty",
    "Drift": "drifted",
    "StaticDrift": "drifted",
    "MultiNodeConsolidation": "consolidation",
    "SingleNodeConsolidation": "consolidation",
}
Reasons = Mapping[str, str]
"""Why pods are pending, by the key of their group."""


def pending_reasons(report: PendingReport | None) -> Reasons:
    """Return the reason why pods are pending, by the key of their group."""
    if report is None:
        return {}
    from karptui.pending.causes import FAULTY, Cause  # noqa: PLC0415 - with the engines, once they have answered
    from karptui.pending.disagreements import DECISIVE  # noqa: PLC0415 - as above
    from karptui.views.pending.sentences import disagreement_text, now_words  # noqa: PLC0415 - as above

    def reason(group: PendingGroup) -> str:
        place = group.diagnosis.destination
        reasons = group.disagreements
        if reasons and reasons[0].code in DECISIVE:
            return disagreement_text(reasons[0])
        if group.cause is Cause.CLAIM and place is not None and report.now_ns - group.since_ns >= LATE_NS:
            return f"fits a new node of {place.nodepool} ({place.instance_type}), but none was launched"
        if group.cause in FAULTY or not reasons:
            return now_words(group)
        return disagreement_text(reasons[-1] if group.cause is Cause.NODE else reasons[0])

    return {group.key: reason(group) for group in report.groups}


def sentence(finding: ClusterFinding, now_ns: int, reasons: Reasons) -> str:
    """Return a finding in one sentence."""
    text = _SENTENCES[str(finding.code)](finding, now_ns, reasons)
    return clean(text + (f"; {edit_text(finding.edit)}" if finding.edit is not None else ""))


def edit_text(edit: EditBefore) -> str:
    """Return ``after weight of spot 100 → 10 at 14:02Z by argocd``: a coincidence in time, no cause."""
    from karptui.views.changes import value_text  # noqa: PLC0415 - rarely needed

    field = edit.path.removeprefix("spec.").removeprefix("template.spec.")
    before, after = (value_text(value)[:_LONGEST_VALUE] or "none" for value in (edit.before, edit.after))
    more = f" and {counted(edit.more, 'more field')}" if edit.more else ""
    by = f" by {edit.manager}" if edit.manager else ""
    at = clock_text(edit.at_ns)
    return f"after {field} of {edit.key} {before} → {after}{more} at {at[:5]}{at[-1]}{by}"


def _for(finding: ClusterFinding, now_ns: int) -> str:
    return f" for {age_text(finding.since_ns, now_ns)}" if finding.since_ns else ""


def _in_brackets(finding: ClusterFinding, now_ns: int) -> str:
    return f" ({age_text(finding.since_ns, now_ns)})" if finding.since_ns else ""


def _left(finding: ClusterFinding, now_ns: int) -> str:
    return span_text(max((finding.until_ns or 0) - now_ns, 0))


def _nodes(finding: ClusterFinding) -> str:
    bound = f"{finding.nodes_bound} " if finding.nodes_bound else ""
    return f"{bound}{counted(finding.nodes, 'node')}"


def _draining(finding: ClusterFinding) -> str:
    """Return the number of draining nodes, with what initiated that."""
    kind = {"Interruption": "interrupted ", "Expiry": "expired "}.get(next(iter(finding.reasons), ""), "")
    return counted(finding.nodes, f"{kind}node")


def _names(names: Sequence[str]) -> str:
    return first_of([short_name(name) for name in names], NAMED)


def _of_kind(kind: str, names: Sequence[str]) -> str:
    """Return ``NodePool general``, ``NodePools general, gpu``."""
    return f"{kind if len(names) == 1 else f'{kind}s'} {first_of(names, NAMED)}"


def _uncounted(names: Sequence[str], count: int) -> list[str]:
    """Return names of workloads without the number of their pods, where a sentence gives that already."""
    return [name.removesuffix(f" ({count_text(count)})") for name in names]


def _last(finding: ClusterFinding, now_ns: int) -> str:
    return f", last {age_text(finding.last_ns, now_ns)} ago" if finding.last_ns else ""


def _pods_pending(finding: ClusterFinding) -> str:
    """Return ``; 9 pods pending (shop/web-*)``; nothing if no pod is pending because of a finding."""
    pending = finding.pending
    if not pending.pods:
        return ""
    count = len(pending.pods)
    names = _uncounted(pending.names, count) if len(pending.names) == 1 else pending.names
    text = f"; {counted(count, 'pod')} pending{f' ({first_of(names, NAMED)})' if names else ''}"
    if pending.bound_names and len(pending.bound_zones) == 1:
        count = len(pending.bound_names)
        the, are = verb(count, "the volume", "the volumes"), verb(count, "is", "are")
        text += f"; {the} of {first_of(pending.bound_names, NAMED)} {are} in {pending.bound_zones[0]}"
    text += "".join(f"; nodes with room: {rule}" for rule in pending.rules)
    return f"{text}{_preempted(finding)}"


def _preempted(finding: ClusterFinding) -> str:
    count = finding.pending.preempted
    return f"; {count_text(count)} of that workload preempted in the last hour" if count >= _MANY_PREEMPTED else ""


def _of_pools(finding: ClusterFinding) -> str:
    return f" of {first_of(finding.pools, NAMED)}" if finding.pools else ""


def _quoted(message: str) -> str:
    """Return a message, shortened; EC2's errors in plain words."""
    plain = next((error_words(code) for code in _CODES if code in message), "")
    if _UNAUTHORIZED in message:
        plain = "Karpenter's role may not launch instances"
    restricted = _RESTRICTED.search(message)
    plain = f"label {restricted[1]} is not allowed" if restricted is not None else plain
    message = " ".join(message.split()).removesuffix(".")
    if plain or len(message) <= QUOTED:
        return plain or message
    head, tail = message[:_HEAD], message[_HEAD - QUOTED :]
    return f"{head.rpartition(' ')[0] or head} … {tail.partition(' ')[2] or tail}"


def _karpenter_down(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    idle = f". No node is launched or removed{_pods_pending(finding)}"
    if finding.manner == "missing":
        has = "has no pods" if finding.of_nodes else "is scaled to 0 replicas"
        return f"Karpenter is not running: Deployment {finding.names[0]} {has}{idle}"
    pod, reasons = finding.controller_pod, []
    if pod is not None and not pod.is_scheduled:
        reasons.append("they are pending")
    if pod is not None and pod.waiting_reason:
        reasons.append(pod.waiting_reason)
    if pod is not None and pod.exit_reason:
        reasons.append(f"last exit {pod.exit_reason}")
    if pod is not None and pod.restarts:
        reasons.append(counted(pod.restarts, "restart"))
    why = f" ({', '.join(reasons)})" if reasons else ""
    return f"Karpenter is not running: 0 of {finding.of_nodes} pods ready{_for(finding, now_ns)}{why}{idle}"


def _no_leader(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    idle = f"No node is launched or removed{_pods_pending(finding)}"
    if not finding.names:
        return f"Karpenter has no leader: no pod holds its lease. {idle}"
    ago = f" {age_text(finding.since_ns, now_ns)} ago" if finding.since_ns else ""
    return f"Karpenter has no leader: pod {finding.names[0]} last renewed the lease{ago}. {idle}"


def _karpenter_forbidden(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    message = " ".join(finding.detail.split())
    return f"Karpenter lacks a permission{_in_brackets(finding, now_ns)}: {message[: 2 * QUOTED]}"


def _pods_not_created(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    name, *owners = finding.names
    run = f" ({count_text(finding.nodes)} of {count_text(finding.of_nodes)} exist)" if finding.of_nodes else ""
    of = f"No new pods of {first_of(owners, NAMED)}{_for(finding, now_ns)}{run}"
    message = _quoted(finding.detail)
    if finding.manner == "webhook-fails":
        return f"{of}: admission webhook {name} fails ({message})"
    if finding.manner == "webhook-denies":
        return f"{of}: admission webhook {name} denies them: {message}"
    if finding.manner == "limit":
        return f"{of}: a LimitRange forbids them: {message}"
    if finding.manner == "quota":
        return f"{of}: ResourceQuota {name} is used up ({message})"
    return f"{of}: {message}"


def _stopped(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    why = f"cannot launch: {_quoted(finding.detail)}"
    if not finding.detail:
        why = f"{verb(len(finding.names), 'has', 'have')} no provider ID"
    why = f"{_of_kind('NodeClaim', finding.names)} {why}{_pods_pending(finding)}"
    nodes = _nodes(finding)
    removable = f". {nodes[:1].upper()}{nodes[1:]} could be removed" if finding.nodes else ""
    paused = "Launches and disruption are paused" if finding.pending.pods else "Disruption is paused"
    return f"{paused}{_in_brackets(finding, now_ns)}: {why}{removable}"


def _all_leaving(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    is_one = finding.nodes == 1
    who = "the only node" if is_one else f"all {count_text(finding.nodes)} nodes"
    are = "is" if is_one else "are"
    if finding.manner == "all-cordoned":
        return f"{who} {are} cordoned: no new pod is scheduled, and no node is launching"
    if finding.manner == "some-cordoned":
        text = f"{who} {are} cordoned or terminating, and no node is launching"
        where, left = "on the terminating nodes", "no node takes new pods"
    else:
        have = "has" if is_one else "have"
        text = f"{who} {have} been terminating{_for(finding, now_ns)}, and no node is launching"
        where, left = "there", "only DaemonSet pods are left"
    if not finding.pods:
        return text if finding.detail else f"{text}; {left}"
    pods = f"the {counted(finding.pods, 'pod')} {where}" if finding.pods > 1 else f"the pod {where}"
    need = "need" if finding.pods > 1 else "needs"
    if finding.names:
        return f"{text}: {pods} {need} nodes that Karpenter has not launched yet"
    if finding.detail:
        return f"{text}: {pods} {need} nodes"
    return f"{text}: no NodePool launches nodes for {pods}"


def _no_nodepools(finding: ClusterFinding, _: int, __: Reasons) -> str:
    many = len(finding.names) != 1
    who = f"all {len(finding.names)} NodePools are" if many else f"NodePool {finding.names[0]} is"
    if "," in finding.detail:
        who = f"of {len(finding.names)} NodePools"
    if finding.manner == "static":
        return f"Karpenter launches no nodes for pods and replaces static nodes only: {who} {finding.detail}"
    return f"Karpenter launches and replaces no nodes: {who} {finding.detail}"


def _pool_gone(finding: ClusterFinding, _: int, __: Reasons) -> str:
    count = len(finding.names)
    pools = f"{_of_kind('NodePool', finding.names)} {verb(count, 'does', 'do')} not exist"
    return f"{pools}: {_nodes(finding)} of {verb(count, 'it', 'them')} cannot be consolidated or replaced"


def _nodeclass_not_ready(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    name, *pools = finding.names
    if finding.manner == "missing":
        state = f"{name} does not exist"
    elif finding.manner == "leaving":
        state = f"{name} is being deleted"
    else:
        state = f"{name} has not been ready{_for(finding, now_ns)} ({_quoted(finding.detail)})"
    launch = f"{_of_kind('NodePool', pools)} {verb(len(pools), 'launches', 'launch')} no nodes"
    return f"{state}: {launch}{_pods_pending(finding)}"


def _zone_not_ready(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    count = count_text(finding.nodes)
    nodes = f"{count} of {count} Karpenter nodes have not been ready{_for(finding, now_ns)}"
    return f"Zone {finding.zones[0]}: {nodes}{_why_not_ready(finding)}{_pods_pending(finding)}"


def _why_not_ready(finding: ClusterFinding) -> str:
    """Return the kubelet's message, and the pods that cannot end on such nodes."""
    message = _kubelet_words(finding.detail)
    stuck = finding.stuck_pods
    pods = f"; {first_of(stuck, NAMED)} {verb(len(stuck), 'is', 'are')} stuck terminating there" if stuck else ""
    return f"{f' ({message})' if message else ''}{pods}"


def _kubelet_words(message: str) -> str:
    """Return a kubelet's message in few words."""
    if "NetworkPluginNotReady" in message or "cni plugin not initialized" in message:
        return "the CNI network plugin is not ready"
    if "container runtime is down" in message:
        return "its container runtime does not answer"
    return _quoted(message)


def _zonal_shift(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    text = f"Zonal shift away from {finding.zones[0]}{_in_brackets(finding, now_ns)}: no node is launched there"
    return f"{text}{_pods_pending(finding)}"


def _pool_deleted(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    deleted = f"NodePool {finding.names[0]} is being deleted{_in_brackets(finding, now_ns)}"
    return f"{deleted}: all its {_nodes(finding)} drain, budgets do not apply{_pods_pending(finding)}"


def _interrupted(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    kind = f"{finding.detail} nodes" if finding.detail else "nodes"
    of = f"{count_text(finding.nodes)} of {count_text(finding.of_nodes)} {kind}"
    pools = f" in {_of_kind('NodePool', finding.names)}" if finding.names else ""
    since = f"{age_text(finding.since_ns, now_ns)} ago" if finding.since_ns else ""
    ago = f"{verb(finding.nodes, '', ', the first')} {since}" if since else ""
    return f"{of}{pools} {verb(finding.nodes, 'was', 'were')} interrupted{ago}{_pods_pending(finding)}"


def _launch_refused(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pool, *subnets = finding.names
    what = " ".join(filter(None, (first_of(finding.instance_types, NAMED), "/".join(finding.capacity_types))))
    places = ", ".join([_of_kind("subnet", subnets), *finding.zones] if subnets else finding.zones)
    ago = _last(finding, now_ns)
    details = "; ".join(filter(None, (what, places)))
    launches = f"{counted(finding.nodes, 'launch', 'launches')}{f' of {pool}' if pool else ''}"
    times, why = f"EC2 refused {launches}", error_words(finding.detail)
    if finding.manner == "incomplete":  # another cloud, or EC2 was not asked
        times, why = f"{launches} failed", _quoted(finding.detail)
    times += f"{_over(finding, now_ns)}{ago}" if finding.nodes > 1 else ago.removeprefix(", last")
    if finding.missing_nodes:
        running = finding.of_nodes - finding.missing_nodes
        times = f"static NodePool {pool} has {running} of {counted(finding.of_nodes, 'node')}: {times}"
    keys = finding.pending.spread_keys
    spread = f", which must spread over {first_of(keys, NAMED)}" if keys else ""
    return f"{times}: {why}{f' ({details})' if details else ''}{_pods_pending(finding)}{spread}"


def _over(finding: ClusterFinding, now_ns: int) -> str:
    return f" in {age_text(finding.since_ns, now_ns)}" if finding.since_ns else ""


def _stuck(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    many = len(finding.names) > 1
    if finding.manner == "ended-early":
        ended = f"{counted(finding.nodes, 'instance')} of {finding.pools[0]} ended before they became nodes"
        over = _over(finding, now_ns).strip()
        ago = f" ({over}, last {age_text(finding.last_ns or now_ns, now_ns)} ago)"
        return f"{ended}{ago}: see their StateReason in EC2{_pods_pending(finding)}"
    claims = _of_kind("NodeClaim", finding.names)
    has = "have" if many else "has"
    first = "the first " if many else ""
    gives_up = f"; Karpenter gives up after 15m, {first}in {_left(finding, now_ns)}" if finding.until_ns else ""
    if finding.manner == "unregistered":
        nodes = f"{_nodes(finding)}{_of_pools(finding)} ({_names(finding.names)})"
        joined = f"{nodes} joined and {has} not been registered{_for(finding, now_ns)}: {_quoted(finding.detail)}"
        return f"{joined}{gives_up}{_pods_pending(finding)}"
    if finding.detail:
        return f"{claims} cannot launch{_for(finding, now_ns)}: {_quoted(finding.detail)}{_pods_pending(finding)}"
    if finding.manner == "node-gone":
        return f"{claims} {has} an instance, but the Node is gone{_pods_pending(finding)}"
    where = f" (all in {finding.zones[0]})" if finding.zones else ""
    instances = "instances that have" if many else "an instance that has"
    state = f"{has} {instances} not registered as a node{_for(finding, now_ns)}"
    replaces = f" (to replace {finding.reasons[0].lower()} nodes of {finding.pools[0]})" if finding.reasons else ""
    return f"{claims}{where}{replaces} {state}{gives_up}{_pods_pending(finding)}"


def _not_initialized(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    have = verb(finding.nodes, "has", "have")
    missing = "missing resource " if finding.manner == "missing" else ""
    why = f": {missing}{_kubelet_words(finding.detail)}" if finding.detail else ""
    text = f"{_nodes(finding)} ({_names(finding.names)}) {have} not been initialized{_for(finding, now_ns)}{why}"
    return f"{text}{_pods_pending(finding)}"


def _daemonset_pending(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    from karptui.views.pending.sentences import resources_words  # noqa: PLC0415 - with the engines

    pods = counted(finding.pods, "pod")
    text = f"DaemonSet {finding.names[0]}: {pods} pending{_for(finding, now_ns)}, no room on their nodes"
    asks = f" (each requests {resources_words(finding.requests)})"
    if not finding.pending.pods:
        return f"{text}{asks}"
    count = len(finding.pending.pods)
    names = first_of(_uncounted(finding.pending.names, count), NAMED)
    others = f"{counted(count, 'other pod')} pending ({names})"
    return f"{text}{asks}; {others}: a new node has no room left for them"


def _pending(finding: ClusterFinding, now_ns: int, reasons: Reasons) -> str:
    pods = counted(finding.pods, "pod")
    age = f" {age_text(finding.since_ns, now_ns)}" if finding.since_ns else ""
    if not finding.detail:
        return f"{pods} pending, the oldest{age}"
    name = _uncounted(finding.names, finding.pods)[0]
    reason = reasons.get(finding.detail, "")
    text = f"{f'{pods} ' if finding.pods > 1 else ''}{name} pending{age}{f': {reason}' if reason else ''}"
    volume = ""
    if finding.zones and reason and "volume" not in reason:
        zones = first_of(finding.zones, NAMED)
        volume = f"; {verb(finding.pods, 'its volume is', 'their volumes are')} in {zones}"
        if len(finding.names) > 1:
            volumes = verb(finding.pods, "its volume", "their volumes")
            volume = f"; StorageClass {first_of(finding.names[1:], NAMED)} allows {volumes} only in {zones}"
    scaled = f"; a VerticalPodAutoscaler set this {' and '.join(finding.reasons)} request" if finding.reasons else ""
    return f"{text}{volume}{scaled}{_preempted(finding)}"


def _reservations_full(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pods = counted(finding.pods, "pod")
    full = f"the capacity reservations of NodePool {finding.names[0]} are full"
    return f"{pods} pending{_for(finding, now_ns)}, and Karpenter reports nothing: {full}"


def _pool_not_ready(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    count = len(finding.names)
    why = f" ({_quoted(finding.detail)})" if finding.detail else ""
    state = f"{_of_kind('NodePool', finding.names)} {verb(count, 'has', 'have')} not been ready{_for(finding, now_ns)}"
    return f"{state}{why}: {verb(count, 'it launches', 'they launch')} no nodes{_pods_pending(finding)}"


def _pool_at_limit(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pool = finding.names[0]
    if finding.manner == "fewer-than-replicas":
        return f"static NodePool {pool} wants {finding.detail}"
    if finding.manner == "limit":
        return f"NodePool {pool}: too little room under its limit ({finding.detail}){_pods_pending(finding)}"
    others = "; instance types that need none of it still launch" if finding.manner == "spares-types" else ""
    since = _for(finding, now_ns)
    state = f"has been at its limit{since}" if since else "is at its limit"
    return f"NodePool {pool} {state}: {finding.detail}{others}{_pods_pending(finding)}"


def _unhealthy(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    where = f" in {finding.zones[0]}" if finding.zones and finding.nodes > 1 else ""
    why = _why_not_ready(finding)
    if finding.nodes == 1:
        return f"node {_names(finding.names)} has not been ready{_for(finding, now_ns)}{why}"
    nodes = f"{_nodes(finding)}{_of_pools(finding)}{where} ({_names(finding.names)})"
    return f"{nodes} have not been ready{_for(finding, now_ns)}{why}"


def _node_pressure(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    nodes = f"{_nodes(finding)}{_of_pools(finding)} ({_names(finding.names[: finding.nodes])})"
    has = f"{verb(finding.nodes, 'has had', 'have had')} {finding.detail}{_for(finding, now_ns)}"
    others = finding.names[finding.nodes :]
    if finding.pods:
        names = first_of([name.removesuffix(f" ({count_text(finding.pods)})") for name in others], NAMED)
        pods = f"evicted {counted(finding.pods, 'pod')} in the last hour"
        if not finding.nodes:
            ago = f", the last {age_text(finding.last_ns, now_ns)} ago" if finding.last_ns else ""
            return f"kubelets {pods} for want of {finding.detail} ({names}){ago}"
        return f"{nodes} {has}; the kubelet {pods} ({names})"
    if not others:
        return f"{nodes} {has}"
    until = f" until {clock_text(finding.until_ns)[:5]} UTC" if finding.until_ns else ""
    repair = {
        "unrepaired": "node repair is off",
        "closed": f"the disruption budget blocks {verb(finding.nodes, 'its', 'their')} repair{until}",
        "tripped": "Karpenter repairs none of them, because more than 20 % of the nodes are unhealthy",
    }.get(finding.manner, "Karpenter repairs it")
    return f"{nodes} {has} ({_quoted(others[0])}); {repair}"


def _cordoned(finding: ClusterFinding, now_ns: int, __: Reasons) -> str:
    it = verb(finding.nodes, "it takes", "they take")
    cordoned = f"{verb(finding.nodes, 'is', 'are')} cordoned{_in_brackets(finding, now_ns)}"
    return f"{_nodes(finding)} ({_names(finding.names)}) {cordoned}: {it} no new pods"


def _pods_not_starting(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    if finding.manner == "rejected":
        reason, *pods = finding.names
        names = first_of([name.removesuffix(f" ({count_text(finding.pods)})") for name in pods], NAMED)
        rejected = f"kubelets rejected {counted(finding.pods, 'pod')} ({names}){_over(finding, now_ns)}"
        return f"{rejected}: {reason}: {_quoted(finding.detail)}"
    reason, image, *pods = finding.names
    where = f"node {short_name(finding.stuck_pods[0])}" if finding.nodes == 1 else _nodes(finding)
    count = f"{count_text(finding.pods)} pods " if finding.pods > 1 else ""
    names = first_of(_uncounted(pods, finding.pods), NAMED)
    have = verb(finding.pods, "has", "have")
    text = f"{count}{names} on {where} {have} not started{_for(finding, now_ns)}"
    if image and finding.reasons:
        nodes = verb(finding.nodes, "that node", "those nodes")
        return f"{text}: image {image} has no build for {'/'.join(finding.reasons)}, the architecture of {nodes}"
    message = _VOLUME_OF.sub("", _RPC.sub("", finding.detail))
    if image:
        cause = message.rpartition(f'{image}": ')[2]
        return f"{text}: image {image} cannot be pulled: {_quoted(cause)}"
    if "failed to assign an IP address" in message or "add cmd: failed" in message:
        message = "the CNI assigns no IP address"
    return f"{text}: {reason}{f': {_quoted(message)}' if message else ''}"


def _karpenter_degraded(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pod = finding.controller_pod
    why = ""
    if pod is not None and finding.manner == "restarts":
        of = "its pod" if finding.of_nodes == 1 else f"its {finding.of_nodes} pods"
        exit_ = f" ({pod.exit_reason})" if pod.exit_reason else ""
        times = f"{counted(finding.nodes, 'restart')} of {of}, last {age_text(finding.last_ns or now_ns, now_ns)} ago"
        return f"Karpenter keeps restarting: {times}{exit_}{_pods_pending(finding)}"
    if pod is not None:
        why = pod.waiting_reason if pod.is_scheduled else "pending"
    ready = f"only {count_text(finding.nodes)} of {count_text(finding.of_nodes)} Karpenter pods"
    name = f": {pod.key}{f' ({why})' if why else ''}" if pod is not None else ""
    running = verb(finding.nodes, "is running", "are running")
    return f"{ready} {running}{_in_brackets(finding, now_ns)}{name}"


def _two_autoscalers(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    if finding.manner == "same-kind":
        run = f"{len(finding.names)} installations of Karpenter run"
        return f"{run}, in namespaces {first_of(finding.names, NAMED)}: both launch and remove nodes"
    names = first_of(_uncounted(finding.names, finding.pods), NAMED)
    pods = f"{counted(finding.pods, 'pod')} ({names})"
    if finding.manner == "descheduled":
        loop = f"while Karpenter consolidates nodes of {first_of(finding.pools, NAMED)} again and again"
        return f"the descheduler evicted {pods} in the last hour, {loop}"
    both = "Cluster Autoscaler and Karpenter both add nodes for the same pods"
    return f"{both}: {pods} in the last hour{_last(finding, now_ns)}"


def _churn(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pool, *workloads = finding.names
    span = f" in the last {age_text(finding.since_ns, now_ns)}" if finding.since_ns else ""
    evictions = f"{counted(finding.pods, 'eviction')} of {workloads[0]}" if workloads else ""
    if not pool:
        return f"Pods of {workloads[0]} are moved again and again: {counted(finding.pods, 'eviction')}{span}"
    why = f" ({', '.join(finding.reasons)})" if finding.reasons else ""
    text = f"Node churn loop in {pool}: {_nodes(finding)} removed shortly after launch{span}{why}"
    return f"{text}; {evictions}" if evictions else text


def _expiry(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pods = first_of(finding.names, NAMED)
    many = len(finding.names) > 1
    expires = max((finding.expires_ns or 0) - now_ns, 0)
    grace = span_text((finding.until_ns or 0) - (finding.expires_ns or 0))
    end = f"{clock_text(finding.until_ns or 0)[:5]} UTC (in {_left(finding, now_ns)})"
    why = f"node {short_name(finding.detail)} expires in {span_text(expires)}, terminationGracePeriod {grace}"
    if finding.expires_ns is None:
        why = f"node {short_name(finding.detail)} is draining, and its terminationGracePeriod ends"
    others = finding.pods - len(finding.names)
    more = f"; {counted(others, 'more protected pod')} on nodes that expire within a day" if others else ""
    return f"{pods} {'are' if many else 'is'} protected but will be killed by {end}: {why}{more}"


def _pods_lost(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    has, it = verb(finding.pods, "has", "have"), verb(finding.pods, "it", "them")
    when = "if" if finding.manner == "after-others" else "when"
    nodes = short_name(finding.detail) if finding.nodes == 1 else "their nodes"
    pods = f"{first_of(finding.names, NAMED)} {has} no owner"
    if finding.expires_ns is not None:
        expires = f"expires in {span_text(max(finding.expires_ns - now_ns, 0))}"
        return f"{pods}: lost when node {short_name(finding.detail)} {expires}, nothing recreates {it}"
    return f"{pods}: lost {when} Karpenter removes {nodes}, nothing recreates {it}"


def _launches_moved(finding: ClusterFinding, _: int, __: Reasons) -> str:
    now, before, weight_now, weight_before = finding.names
    text = f"All {_nodes(finding)} launched in the last hour are {finding.detail}, from NodePool {now}"
    if finding.manner == "limit":
        return f"{text}: NodePool {before} is at its limit"
    return f"{text}: its weight {weight_now} puts it before {before} (weight {weight_before})"


def _repair_held(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    why = f": {finding.detail}" if finding.detail else ""
    return f"repair of {counted(finding.nodes, 'unhealthy node')} is blocked{_for(finding, now_ns)}{why}"


def _new_pods(finding: ClusterFinding) -> str:
    """Return that pods are still scheduled to blocked nodes, which therefore never drain."""
    if not finding.recent_pods:
        return ""
    pods = counted(finding.recent_pods, "new pod/h", "new pods/h")
    return f", {pods} {verb(finding.recent_pods, 'lands', 'land')} on {verb(finding.nodes, 'it', 'them')}"


def _pace(finding: ClusterFinding) -> str:
    """Return the number of nodes that disruption budgets allow at a time, if not all."""
    if finding.at_once:
        return f"; disruption budget: {count_text(finding.at_once)} at a time"
    if finding.closed_until_ns is not None:
        return f"; disruption budget also 0 until {clock_text(finding.closed_until_ns)[:5]} UTC"
    return "; disruption budget also 0 now" if finding.at_once == 0 else ""


def _drifted(finding: ClusterFinding, now_ns: int) -> str:
    """Return that nodes are drifted, and since when; nothing if none is."""
    if not finding.drifted:
        return ""
    some = f"{count_text(finding.drifted)} of them " if finding.drifted < finding.nodes else ""
    age = f" for {age_text(finding.drifted_ns, now_ns)}" if finding.drifted_ns else ""
    return f", {some}drifted{age}"


def _blocks(finding: ClusterFinding, now_ns: int) -> str:
    so_far = f"{age_text(finding.since_ns, now_ns)} so far, " if finding.since_ns else ""
    if finding.until_ns is None:
        return f"({so_far}no time limit)"
    return f"({so_far}ends in {_left(finding, now_ns)})"


def _pod_dnd(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pods = counted(finding.pods, "pod")
    if len(finding.names) == 1:
        pods = f"{count_text(finding.pods)} {finding.names[0]} {verb(finding.pods, 'pod', 'pods')}"
    elif finding.names:
        pods = f"{pods} ({first_of(finding.names, NAMED)})"
    drains = finding.draining == finding.nodes
    blocks = f"blocks {f'the drain of {_draining(finding)}' if drains else _nodes(finding)}"
    drifted = "" if drains else _drifted(finding, now_ns)
    blocks = f"{blocks}{drifted} {_blocks(finding, now_ns)}"
    return f"do-not-disrupt on {pods} {blocks}{_new_pods(finding)}{_pace(finding)}"


def _node_dnd(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    nodes, them = f"{_nodes(finding)} ({_names(finding.names)})", verb(finding.nodes, "it", "them")
    blocks = f"blocks {them}{_drifted(finding, now_ns)} {_blocks(finding, now_ns)}"
    return f"do-not-disrupt on {nodes} {blocks}{_new_pods(finding)}{_pace(finding)}"


def _pdb(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    state = "unable to drain" if finding.draining == finding.nodes else "blocked"
    drifted = _drifted(finding, now_ns) if finding.draining < finding.nodes else ""
    nodes = _draining(finding) if finding.draining == finding.nodes else _nodes(finding)
    blocked = f"{nodes} {state}{_for(finding, now_ns)}{drifted}{_new_pods(finding)}{_pace(finding)}"
    pairs = [name for name in finding.names if " + " in name]
    single = [name for name in finding.names if " + " not in name]
    if pairs and not single:
        two = f"Two PodDisruptionBudgets match the same pods ({first_of(pairs, NAMED)}), so these are never evicted"
        return f"{two}: {blocked}"
    both = f"; {first_of(pairs, 1)} match the same pods, which are never evicted" if pairs else ""
    if len(single) > 1:
        how = f"{len(single)} PodDisruptionBudgets ({first_of(single, NAMED)}) allow no eviction"
        how += "" if finding.manner == "never" else " now"
    else:
        how = f"PodDisruptionBudget {single[0]} "
        how += "never allows an eviction" if finding.manner == "never" else "allows no eviction now"
    if finding.detail:
        how += f" ({verb(len(single), 'its', 'the')} pods cannot be counted: {_quoted(finding.detail)})"
    return f"{how}{both}: {blocked}"


def _budget(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    budgets = verb(len(finding.names), "the disruption budget", "the disruption budgets")
    shut = f"{budgets} of {first_of(finding.names, NAMED)} {_shut(finding, now_ns)}"
    return f"{shut}: {_nodes(finding)} blocked{_for(finding, now_ns)}"


def _shut(finding: ClusterFinding, now_ns: int) -> str:
    """Return the reason why a disruption budget allows nothing: by its window, by nodes that use it up, or always."""
    are = verb(len(finding.names), "is", "are")
    if finding.until_ns is not None:
        return f"{are} 0 for {_left(finding, now_ns)} (until {clock_text(finding.until_ns)[:5]} UTC)"
    if finding.manner == "used-up":
        return f"{are} used up by terminating or not-ready nodes"
    return f"{are} always 0 (never {verb(len(finding.names), 'opens', 'open')})"


_LEAVING: Final[Mapping[str, str]] = {
    "waits": "{its} drain has not begun",
    "ending": "{pods} {take} long to terminate",
    "evicted": "{pods} {are} still being evicted",
    "undrained": "no pod blocks the drain, but Karpenter has not marked {it} drained",
    "draining": "{its} drain is not finished",
    "volumes": "drained, but volumes are still attached",
    "instance": "drained, but {its} {instance} still exist{s}",
    "finalizer": "{its} {instance} {are_gone}, but the finalizer {finalizer} keeps {its} Node{s_many}",
    "no-node": "{its} Node{s_many} {are_gone}, but a finalizer keeps {its} NodeClaim{s_many}",
    "node-alone": "only the Node is being deleted, but a finalizer remains",
    "unknown": "{its} progress is not known",
}


def _leaving(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    is_one, is_one_pod = finding.nodes == 1, finding.pods == 1
    what = _LEAVING[finding.detail].format(
        its="its" if is_one else "their",
        it="it" if is_one else "them",
        pods=counted(finding.pods, "pod"),
        instance="instance" if is_one else "instances",
        s="s" if is_one else "",
        take="takes" if is_one_pod else "take",
        are="is" if is_one_pod else "are",
        are_gone="is gone" if is_one else "are gone",
        s_many="" if is_one else "s",
        finalizer=first_of(finding.reasons, NAMED),
    )
    ends = ""
    if finding.manner == "never":
        ends = "; no terminationGracePeriod ends its drain"
    elif finding.manner == "overdue":
        ends = "; terminationGracePeriod is over"
    elif finding.manner == "own-grace":
        ends = f"; the termination grace period ends in {_left(finding, now_ns)}"
    elif finding.until_ns is not None:
        when = "all forced within" if finding.manner == "several-ends" else "forced in"
        ends = f"; {when} {_left(finding, now_ns)}"
    nodes = f"{_names(finding.names)} {'has' if is_one else 'have'} been terminating"
    return f"{nodes}{_for(finding, now_ns)}: {what}{ends}"


def _drift(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    why = _DRIFT_HELD.get(finding.detail, finding.detail)
    if finding.detail == "BUDGET_ZERO":
        why = f"its disruption budget {_shut(finding, now_ns)}"
    if len(finding.names) > 1:
        pool, pod, cause = finding.names
        stuck = f"drift of {_nodes(finding)} of {pool} stuck{_for(finding, now_ns)}"
        return f"{cause[:1].upper()}{cause[1:]}: {stuck}, because {pod} fits nowhere else"
    pool = f"static NodePool {finding.names[0]}" if finding.manner == "static" else finding.names[0]
    if finding.of_nodes and finding.detail == "STATIC_NO_HEADROOM":
        why = f"its limit of {counted(finding.of_nodes, 'node')} leaves no room for a replacement"
    return f"{pool}: drift of {_nodes(finding)} stuck{_for(finding, now_ns)}, {why}{_pace(finding)}"


def _no_permission(finding: ClusterFinding, _: int, __: Reasons) -> str:
    kinds = first_of(finding.names, 4)
    unread = f"{kinds} were not read" if finding.manner == "missing" else f"no permission to list {kinds}"
    return f"{unread}: findings that need them are missing"


def _assumed_class(finding: ClusterFinding, _: int, __: Reasons) -> str:
    many = len(finding.names) != 1
    what = f"EC2NodeClass{'es' * many} {first_of(finding.names, 3)} {'were' if many else 'was'} not read"
    return f"{what}: karptui assumes {finding.detail} in the zones of the nodes"


def _assumed_volumes(finding: ClusterFinding, _: int, __: Reasons) -> str:
    return unread_text(finding.names)


def _no_prices(finding: ClusterFinding, _: int, __: Reasons) -> str:
    has, them = verb(finding.nodes, "has", "have"), verb(finding.nodes, "it", "them")
    return f"{_nodes(finding)} {has} no known price: totals exclude {them}"


def _advice(finding: ClusterFinding, _: int, __: Reasons) -> str:
    fact = " ".join(finding.detail.split())
    if len(fact) > 2 * QUOTED:
        fact = f"{fact[: 2 * QUOTED].rpartition(' ')[0]} …"
    if not finding.of_nodes:
        return f"{fact.removesuffix('.')}{_pods_pending(finding)}"
    return f"Advice has {counted(finding.of_nodes, 'warning')}{verb(finding.of_nodes, '', ', the first')}: {fact}"


def _next(finding: ClusterFinding, _: int, __: Reasons) -> str:
    if finding.manner == "on-request":
        return f"next command: press {finding.key}: in so large a cluster it is computed only while Next is open"
    decision, method = finding.detail.split(" ", 1)
    after = "next, once unblocked" if finding.manner == "after-others" else "next"
    saves = f", {saved_text(finding.price_per_hour, digits=2)}" if finding.price_per_hour else ""
    return f"{after}: {decision} {_names(finding.names)} ({_METHODS.get(method, method)}{saves})"


def _fine(finding: ClusterFinding, _: int, __: Reasons) -> str:
    is_empty = finding.manner == "no-nodes"
    if finding.manner == "incomplete":
        return f"nothing found, but not everything is checked: {finding.detail}"
    if not is_empty and finding.manner != "not-karpenters":
        return "no blockers or problems in this cluster"
    if is_empty and not finding.names:
        return "no nodes, no NodeClaims and no NodePools"
    what = f"none of the {_nodes(finding)} is managed by Karpenter"
    if is_empty:
        what = "no nodes and no NodeClaims"
    elif finding.nodes == 1:
        what = "Karpenter does not manage the only node"
    pools = counted(len(finding.names), "NodePool")
    return f"{what}: {pools}, no pod pending for long" if finding.names else f"{what}, and there is no NodePool"


def _preferred(finding: ClusterFinding, _: int, __: Reasons) -> str:
    pool, workload = finding.names
    treats = "and Karpenter treats that as required (PREFERENCE_POLICY Respect)"
    return f"{_nodes(finding)} of {pool} stay nearly empty: pods of {workload} prefer separate nodes, {treats}"


def _timed_out(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    times, since = counted(int(finding.detail), "time"), age_text(finding.since_ns or now_ns, now_ns)
    text = f"consolidation timed out (3 minutes) {times} in the {since} since Karpenter started"
    return f"{text}: the last nodes in its order are not evaluated"


_SENTENCES: Final = {
    "KARPENTER_DOWN": _karpenter_down,
    "KARPENTER_DEGRADED": _karpenter_degraded,
    "NO_LEADER": _no_leader,
    "KARPENTER_FORBIDDEN": _karpenter_forbidden,
    "PODS_NOT_CREATED": _pods_not_created,
    "STOPPED": _stopped,
    "ALL_LEAVING": _all_leaving,
    "NO_NODEPOOLS": _no_nodepools,
    "POOL_GONE": _pool_gone,
    "NODECLASS_NOT_READY": _nodeclass_not_ready,
    "ZONE_NOT_READY": _zone_not_ready,
    "ZONAL_SHIFT": _zonal_shift,
    "POOL_DELETED": _pool_deleted,
    "INTERRUPTED": _interrupted,
    "LAUNCH_REFUSED": _launch_refused,
    "CLAIM_STUCK": _stuck,
    "NOT_INITIALIZED": _not_initialized,
    "DAEMONSET_PENDING": _daemonset_pending,
    "PENDING": _pending,
    "RESERVATIONS_FULL": _reservations_full,
    "POOL_NOT_READY": _pool_not_ready,
    "POOL_AT_LIMIT": _pool_at_limit,
    "UNHEALTHY": _unhealthy,
    "NODE_PRESSURE": _node_pressure,
    "PODS_NOT_STARTING": _pods_not_starting,
    "CHURN": _churn,
    "TWO_AUTOSCALERS": _two_autoscalers,
    "EXPIRY": _expiry,
    "LAUNCHES_MOVED": _launches_moved,
    "PODS_LOST": _pods_lost,
    "CORDONED": _cordoned,
    "REPAIR_HELD": _repair_held,
    "POD_DND": _pod_dnd,
    "NODE_DND": _node_dnd,
    "PDB": _pdb,
    "BUDGET": _budget,
    "LEAVING": _leaving,
    "DRIFT": _drift,
    "PREFERRED": _preferred,
    "TIMED_OUT": _timed_out,
    "NO_PERMISSION": _no_permission,
    "NO_PRICES": _no_prices,
    "ASSUMED_CLASS": _assumed_class,
    "ASSUMED_VOLUMES": _assumed_volumes,
    "ADVICE": _advice,
    "NEXT": _next,
    "FINE": _fine,
}
