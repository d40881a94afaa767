"""Sentences about nodes that fail, are taken back, or expire."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, clock_text, count_text, counted, first_of, span_text, verb
from karptui.views.sanitize import short_name
from karptui.views.verdict.parts import (
    NAMED,
    SHARED,
    Reasons,
    Say,
    age_in_brackets,
    last_text,
    lasting,
    names_text,
    nodes_text,
    of_kind,
    of_pools,
    pods_pending,
    quoted,
    time_left,
    uncounted,
    why_not_ready,
)
from karptui.views.verdict.pools import in_time

if TYPE_CHECKING:
    from karptui.verdict.finding import ClusterFinding


_USED: Final = re.compile(r"\d+(?:\.\d+)? ?%")
"""The share of a disk in a kubelet's message."""


_RECURRING: Final[Mapping[str, tuple[str, str]]] = {
    "flapping": ("was not ready", "were not ready"),
    "rebooting": ("rebooted", "rebooted"),
    "out-of-memory": ("ran out of memory", "ran out of memory"),
}


def _zone_not_ready(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    count = count_text(finding.nodes)
    nodes = f"{count} of {count} Karpenter nodes have not been ready{lasting(finding, now_ns)}"
    return f"Zone {finding.zones[0]}: {nodes}{why_not_ready(finding)}{pods_pending(finding)}"


def _zonal_shift(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    text = f"Zonal shift away from {finding.zones[0]}{age_in_brackets(finding, now_ns)}: no node is launched there"
    return f"{text}{pods_pending(finding)}"


_ENDS: Final = {"InstanceStopping": "stopped", "InstanceTerminating": "terminated"}
"""Karpenter's events about instances, and what EC2 has done."""


def _interrupted(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    if finding.manner == "node-gone":
        ago = age_text(finding.since_ns or now_ns, now_ns)
        gone = f"{nodes_text(finding)} disappeared in the last {ago} without a drain: their instances no longer exist"
        spot = f"{counted(finding.of_nodes, 'spot node')} {verb(finding.of_nodes, 'needs', 'need')}"
        queue = f"; its {spot} a working interruption queue (INTERRUPTION_QUEUE)" if finding.of_nodes else ""
        return f"{gone}, and Karpenter reported no interruption{queue}"
    kind = f"{finding.detail} node" if finding.detail else "node"
    of = f"{count_text(finding.nodes)} of {count_text(finding.of_nodes)} {kind}s"
    if not finding.of_nodes:
        of = counted(finding.nodes, kind)
    pools = f" in {of_kind('NodePool', finding.names)}" if finding.names else ""
    since = f"{age_text(finding.since_ns, now_ns)} ago" if finding.since_ns else ""
    ago = f"{verb(finding.nodes, '', ', the first')} {since}" if since else ""
    slow = ""
    if finding.pods:
        names = first_of(uncounted(finding.stuck_pods, finding.pods), NAMED)
        ends = "EC2 ends an instance 2 minutes after its notice"
        slow = f"; {ends}, {counted(finding.pods, 'pod')} ({names}) may take longer and be killed"
    how = "interrupted"
    if finding.reasons:
        ends = " or ".join(_ENDS[reason] for reason in finding.reasons)
        how = f"{ends} in EC2, not by Karpenter{',' * (finding.nodes == 1)}"
    return f"{of}{pools} {verb(finding.nodes, 'was', 'were')} {how}{ago}{slow}{pods_pending(finding)}"


def _unhealthy(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    where = f" in {finding.zones[0]}" if finding.zones and finding.nodes > 1 else ""
    why = why_not_ready(finding)
    if finding.manner in _RECURRING:
        nodes = f"node {names_text(finding.names)}{of_pools(finding)}"
        if finding.nodes > 1:
            nodes = f"{nodes_text(finding)}{of_pools(finding)}{where} ({names_text(finding.names)})"
        nodes += f" {verb(finding.nodes, *_RECURRING[finding.manner])}"
        times = f"{count_text(finding.of_nodes)} times{in_time(finding, now_ns)}"
        are = verb(finding.nodes, "it is", "they are")
        killed = f", and the kernel killed processes (SystemOOM{f': {finding.words}' if finding.words else ''})"
        killed = killed if finding.manner == "out-of-memory" else ""
        return f"{nodes} {times}{last_text(finding, now_ns)}{killed}; {are} ready now"
    if finding.reasons:
        why += f"; its memory ran out before ({finding.reasons[0]})"
    if finding.apart:
        shared, value = finding.apart
        why += f"; all of them are {SHARED[shared].format(value)}, and the others are ready"
    if finding.manner == "emptied":
        why = "; cordoned and emptied before, as for a reboot"
    if finding.nodes == 1:
        return f"node {names_text(finding.names)} has not been ready{lasting(finding, now_ns)}{why}"
    every = "all " if finding.of_nodes else ""
    nodes = f"{every}{nodes_text(finding)}{of_pools(finding)}{where} ({names_text(finding.names)})"
    return f"{nodes} have not been ready{lasting(finding, now_ns)}{why}{pods_pending(finding)}"


def _node_pressure(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    nodes = f"{nodes_text(finding)}{of_pools(finding)} ({names_text(finding.names[: finding.nodes])})"
    if finding.manner == "filling-up":
        used = _USED.search(finding.words)
        disk = f" ({used[0]} of the disk{verb(finding.nodes, '', 's')} used)" if used is not None else ""
        no_images = f"the kubelet{verb(finding.nodes, ' finds', 's find')} no unused images to delete{disk}"
        run = verb(finding.nodes, "is running", "are running")
        return f"{nodes} {run} out of disk space{age_in_brackets(finding, now_ns)}: {no_images}"
    if finding.manner == "devices":
        offers = f"{verb(finding.nodes, 'offers', 'offer')} {' of '.join(finding.reasons)} {finding.detail}"
        return f"{nodes} {offers}: the device plugin reports the others as unhealthy, or does not run"
    has = f"{verb(finding.nodes, 'has had', 'have had')} {finding.detail}{lasting(finding, now_ns)}"
    has += f" (too few free {finding.reasons[0]})" if finding.reasons else ""
    others = finding.names[finding.nodes :]
    if finding.pods:
        names = first_of([name.removesuffix(f" ({count_text(finding.pods)})") for name in others], NAMED)
        pods = f"evicted {counted(finding.pods, 'pod')} in the last hour"
        if not finding.nodes:
            ago = f", the last {age_text(finding.last_ns, now_ns)} ago" if finding.last_ns else ""
            return f"kubelets {pods} for lack of {finding.detail} ({names}){ago}"
        return f"{nodes} {has}; the kubelet {pods} ({names})"
    if not others:
        return f"{nodes} {has}"
    until = f" until {clock_text(finding.until_ns)[:5]} UTC" if finding.until_ns else ""
    repair = {
        "unrepaired": "node repair is off",
        "closed": f"the disruption budget blocks {verb(finding.nodes, 'its', 'their')} repair{until}",
        "tripped": "Karpenter repairs none of them, because more than 20 % of the nodes are unhealthy",
        "missing": "",
        "unsupported": "Karpenter repairs no node for this condition",
    }.get(finding.manner, "Karpenter repairs it")
    return f"{nodes} {has} ({quoted(others[0])}){repair and '; '}{repair}"


def _cordoned(finding: ClusterFinding, now_ns: int, __: Reasons) -> str:
    takes, taken = verb(finding.nodes, "it takes", "they take"), "no new pods"
    cordoned = f"{verb(finding.nodes, 'is', 'are')} cordoned{age_in_brackets(finding, now_ns)}"
    if finding.manner == "tainted":
        cordoned = f"{verb(finding.nodes, 'is ready and has', 'are ready and have')} the taint {finding.detail}"
        taken = "only pods that tolerate it"
    pdbs = of_kind("PodDisruptionBudget", finding.reasons)
    eviction = f"; {pdbs} {verb(len(finding.reasons), 'allows', 'allow')} no eviction there" if finding.reasons else ""
    return f"{nodes_text(finding)} ({names_text(finding.names)}) {cordoned}: {takes} {taken}{eviction}"


def _old_kubelets(finding: ClusterFinding, _: int, __: Reasons) -> str:
    *old, newest = finding.reasons
    nodes = f"{nodes_text(finding)}{of_pools(finding)} ({names_text(finding.names)})"
    run = f"{verb(finding.nodes, 'runs', 'run')} kubelet {' and '.join(old)}"
    return f"{nodes} {run}, other nodes {newest}: more than 3 minor versions behind the API server is not supported"


def _churn(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pool, *workloads = finding.names
    if finding.manner == "scaled":
        low_high = f" between {' and '.join(finding.reasons)} replicas" if finding.reasons else ""
        times = f"{count_text(finding.pods)} times{low_high}{in_time(finding, now_ns)}"
        removed = f"Karpenter removed {nodes_text(finding)} as empty or underutilized meanwhile"
        done = "rolled out" if finding.detail == "rollouts" else "scaled up and down"
        return f"{workloads[0]} was {done} {times}; {removed}"
    span = f" in the last {age_text(finding.since_ns, now_ns)}" if finding.since_ns else ""
    if finding.manner == "rebalanced":
        drained = f"{counted(finding.of_nodes, 'node')}{span} on rebalance recommendations (enableRebalanceDraining)"
        removed = f"Karpenter removed {nodes_text(finding)}{of_pools(finding)} as empty meanwhile"
        return f"aws-node-termination-handler drained {drained}; {removed}"
    why = f" ({', '.join(finding.reasons)})" if finding.reasons else ""
    evictions = f"{counted(finding.pods, 'eviction')} of {workloads[0]}" if workloads else ""
    if not pool:
        if finding.detail:
            moved = f"Karpenter evicted its pods {count_text(finding.pods)} times"
            return f"Job {workloads[0]} failed ({finding.detail}); {moved}{span}{why}"
        return f"Pods of {workloads[0]} are moved again and again: {counted(finding.pods, 'eviction')}{span}{why}"
    if finding.manner == "interrupted":
        has = f"it has {counted(finding.of_nodes, 'node')} now"
        return f"Node churn loop in {pool}: {nodes_text(finding)} interrupted{span}, and {has}"
    setting, short = (
        ("expireAfter", "") if finding.manner == "expired" else ("consolidateAfter", " shortly after launch")
    )
    text = f"Node churn loop in {pool}: {nodes_text(finding)} removed{short}{span}{why}"
    pause = f"{setting} is {span_text(int(finding.detail) * NS_PER_SECOND)}" if finding.detail else ""
    if finding.words:
        pause = f"its new nodes get the taint {finding.words}, which its startupTaints lack, so others are launched too"
    return "; ".join(filter(None, (text, evictions, pause)))


def _expiry(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    if finding.manner in ("own-grace", "unread"):
        return _unprotected(finding, now_ns)
    if finding.manner == "block-ends":
        return _block_ends(finding, now_ns)
    pods = first_of(finding.names, NAMED)
    many = len(finding.names) > 1
    expires = max((finding.expires_ns or 0) - now_ns, 0)
    grace = span_text((finding.until_ns or 0) - (finding.expires_ns or 0))
    end = f"{clock_text(finding.until_ns or 0)[:5]} UTC (in {time_left(finding, now_ns)})"
    why = f"node {short_name(finding.detail)} expires in {span_text(expires)}, terminationGracePeriod {grace}"
    if finding.expires_ns is None:
        why = f"node {short_name(finding.detail)} is draining, and its terminationGracePeriod ends"
    others = finding.pods - len(finding.names)
    more = f"; {counted(others, 'more protected pod')} on nodes that drain now or expire within a day" if others else ""
    return f"{pods} {'are' if many else 'is'} protected but will be killed by {end}: {why}{more}"


def _block_ends(finding: ClusterFinding, now_ns: int) -> str:
    """Return that the nodes of a capacity block are drained before its end, and which pods end with them."""
    soon, them = span_text(max((finding.expires_ns or 0) - now_ns, 0)), "it" if finding.nodes == 1 else "them"
    drains = f"Karpenter drains its {nodes_text(finding)}{of_pools(finding)} in {soon}"
    ends = f"EC2 ends {them} from {clock_text(finding.until_ns or 0)[:5]} UTC"
    names = f", protected: {first_of(finding.names, NAMED)}" if finding.names else ""
    return f"Capacity block {finding.detail} ends: {drains}, {ends} ({counted(finding.pods, 'pod')} on {them}{names})"


def _unprotected(finding: ClusterFinding, now_ns: int) -> str:
    """Return that pods end earlier than their grace period or their annotation suggests."""
    pods, node = first_of(finding.names, NAMED), f"node {short_name(finding.detail)}"
    its = verb(finding.pods, "its", "their")
    is_one = finding.nodes == 1
    if finding.manner == "unread":
        when = f"{node} expires" if is_one else f"their nodes expire, the first ({short_name(finding.detail)})"
        are = f"{verb(finding.pods, 'is', 'are')} not protected when {when} in {time_left(finding, now_ns)}"
        return f"{pods} {are}: Karpenter does not read {its} annotation {finding.words}"
    end = f"{clock_text(finding.until_ns or 0)[:5]} UTC (in {time_left(finding, now_ns)})"
    grace = span_text((finding.until_ns or 0) - (finding.since_ns or 0))
    nodes = f"{node} is draining, and its" if is_one else f"their nodes are draining, and the first ({node})'s"
    shorter = f"{nodes} terminationGracePeriod of {grace} is shorter than {its} own"
    return f"{pods} will be killed{'' if is_one else ', the first'} by {end}: {shorter}"


SENTENCES: Final[Mapping[str, Say]] = {
    "ZONE_NOT_READY": _zone_not_ready,
    "ZONAL_SHIFT": _zonal_shift,
    "INTERRUPTED": _interrupted,
    "UNHEALTHY": _unhealthy,
    "NODE_PRESSURE": _node_pressure,
    "CHURN": _churn,
    "EXPIRY": _expiry,
    "CORDONED": _cordoned,
    "OLD_KUBELETS": _old_kubelets,
}
