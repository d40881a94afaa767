"""Sentences about NodePools, NodeClasses, and launches that fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from karptui.aws.capacity import POD_ENI, PRIVATE_IPV4
from karptui.karpenter.instance_type import error_words
from karptui.karpenter.nodeclass import METADATA_ENDPOINT
from karptui.kube.units import age_text, count_text, counted, first_of, verb
from karptui.views.verdict.parts import (
    NAMED,
    Reasons,
    Say,
    absent_agent,
    after,
    age_in_brackets,
    dead_webhook_text,
    kubelet_words,
    last_text,
    lasting,
    names_text,
    nodes_text,
    of_kind,
    of_pools,
    pods_pending,
    quoted,
    time_left,
)

if TYPE_CHECKING:
    from karptui.verdict.finding import ClusterFinding


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
    pools = f"{of_kind('NodePool', finding.names)} {verb(count, 'does', 'do')} not exist"
    return f"{pools}: {nodes_text(finding)} of {verb(count, 'it', 'them')} cannot be consolidated or replaced"


def _nodeclass_not_ready(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    name, *pools = finding.names
    if finding.manner == "missing":
        state = f"{name} does not exist"
    elif finding.manner == "leaving":
        state = f"{name} is being deleted"
    elif finding.manner == "incomplete":
        state = f"{name} has no conditions, because nothing has reconciled it"
    else:
        log = "; see Karpenter's log" if finding.detail.endswith("=Unknown") else ""
        state = f"{name} has not been ready{lasting(finding, now_ns)} ({quoted(finding.detail)}{log})"
    launch = f"{of_kind('NodePool', pools)} {verb(len(pools), 'launches', 'launch')} no nodes"
    return f"{state}: {launch}{pods_pending(finding)}"


def _pool_deleted(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    deleted = f"NodePool {finding.names[0]} is being deleted{age_in_brackets(finding, now_ns)}"
    drain = "would drain if Karpenter ran" if finding.manner == "after-others" else "drain"
    return f"{deleted}: all its {nodes_text(finding)} {drain}, budgets do not apply{pods_pending(finding)}"


def _launch_refused(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pool, *subnets = finding.names
    what = " ".join(filter(None, (first_of(finding.instance_types, NAMED), "/".join(finding.capacity_types))))
    places = ", ".join([of_kind("subnet", subnets), *finding.zones] if subnets else finding.zones)
    ago = last_text(finding, now_ns)
    details = "; ".join(filter(None, (what, places)))
    launches = f"{counted(finding.nodes, 'launch', 'launches')}{f' of {pool}' if pool else ''}"
    times, why = f"EC2 refused {launches}", error_words(finding.detail)
    if finding.manner == "incomplete":  # another cloud, or EC2 was not asked
        times, why = f"{launches} failed", quoted(finding.detail)
    times += f"{in_time(finding, now_ns)}{ago}" if finding.nodes > 1 else ago.removeprefix(", last")
    if finding.missing_nodes:
        running = finding.of_nodes - finding.missing_nodes
        times = f"static NodePool {pool} has {running} of {counted(finding.of_nodes, 'node')}: {times}"
    keys = finding.pending.spread_keys
    spread = f", which must spread over {first_of(keys, NAMED)}" if keys else ""
    drift = ""
    if finding.drifted:
        are, age = verb(finding.drifted, "is", "are"), age_text(finding.drifted_ns or now_ns, now_ns)
        drift = f"; {counted(finding.drifted, 'drifted node')} {are} not replaced (drifted for {age})"
    return f"{times}: {why}{f' ({details})' if details else ''}{pods_pending(finding)}{spread}{drift}"


def in_time(finding: ClusterFinding, now_ns: int) -> str:
    r"""Return ``\ in 5m``; empty without a beginning."""
    return f" in {age_text(finding.since_ns, now_ns)}" if finding.since_ns else ""


def _stuck(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    many = len(finding.names) > 1
    if finding.manner == "ended-early":
        ended = f"{counted(finding.nodes, 'instance')} of {finding.pools[0]} ended before they became nodes"
        over = in_time(finding, now_ns).strip()
        ago = f" ({over}, last {age_text(finding.last_ns or now_ns, now_ns)} ago)"
        return f"{ended}{ago}: see their StateReason in EC2{pods_pending(finding)}"
    claims = of_kind("NodeClaim", finding.names)
    has = "have" if many else "has"
    gives_up = ""
    if finding.until_ns and finding.until_ns > now_ns:
        first = "the first " if many else ""
        gives_up = f"; Karpenter gives up after 15m, {first}in {time_left(finding, now_ns)}"
    elif finding.until_ns:
        first = "on the first " if many else ""
        gives_up = f"; Karpenter should have given up {first}{age_text(finding.until_ns, now_ns)} ago"
    if finding.manner == "unregistered":
        several = counted(len(finding.names), "node")
        nodes = f"{nodes_text(finding)}{of_pools(finding)} ({names_text(finding.names)}) joined"
        if len(finding.names) > finding.nodes:
            instances = f"{counted(finding.nodes, 'instance')}{of_pools(finding)}"
            nodes = f"{instances} joined as {several} ({names_text(finding.names)})"
        still = f"{verb(finding.nodes, 'is', 'are')} still not registered{after(finding, now_ns)}"
        why = quoted(finding.detail)
        if finding.reasons:
            why = f"Karpenter cannot change nodes without {dead_webhook_text(*finding.reasons)}"
        joined = f"{nodes} and {still}: {why}"
        return f"{joined}{gives_up}{pods_pending(finding, now_ns)}"
    if finding.detail:
        state = f"{claims} cannot launch{lasting(finding, now_ns)}: {quoted(finding.detail)}"
        return f"{state}{pods_pending(finding, now_ns)}"
    if finding.manner == "node-gone":
        return f"{claims} {has} an instance, but the Node is gone{pods_pending(finding)}"
    shared = [*finding.apart[1:], *(f"in {zone}" for zone in finding.zones)]
    where = f" (all {' '.join(shared)})" if shared else ""
    instances = "instances that have" if many else "an instance that has"
    state = f"{has} {instances} not registered as a node{lasting(finding, now_ns)}"
    count = f"{count_text(finding.drifted)} " if finding.drifted > 1 and finding.reasons == ("Drifted",) else ""
    replaced = f"{count}{finding.reasons[0].lower()} nodes of {finding.pools[0]}" if finding.reasons else ""
    replaces = f" (to replace {replaced})" if replaced else ""
    return f"{claims}{where}{replaces} {state}{_why_unregistered(finding)}{gives_up}{pods_pending(finding, now_ns)}"


def _why_unregistered(finding: ClusterFinding) -> str:
    """Return the reason that instances have not registered (user data, no provider ID); empty if unknown."""
    if finding.nameless:
        count = len(finding.nameless)
        which = f"{names_text(finding.nameless)} {verb(count, 'has', 'have')} no spec.providerID"
        return f": {verb(count, 'node', 'nodes')} {which}, by which Karpenter finds its nodes"
    if not finding.user_data:
        return ""
    nodeclass, *labels = finding.user_data
    if not labels:
        lacks = f"EC2NodeClass {nodeclass} has amiFamily Custom and no userData"
        return f": {lacks}, so nothing but the AMI can make them join"
    if labels == [METADATA_ENDPOINT]:
        off = f"EC2NodeClass {nodeclass} switches the instance metadata service off ({METADATA_ENDPOINT})"
        return f": {off}, without which instances do not learn which cluster to join"
    refused = f"the kubelet does not start with the node label {first_of(labels, NAMED)}"
    return f": {refused} in the user data of EC2NodeClass {nodeclass}"


_OFFERED_IF: Final[Mapping[str, str]] = {
    POD_ENI: "which the VPC CNI offers only if its setting ENABLE_POD_ENI is true",
    PRIVATE_IPV4: "which EKS offers only if the ConfigMap amazon-vpc-cni sets enable-windows-ipam to true",
}
"""What some resources depend on, by name."""


def _not_initialized(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    missing = "missing resource " if finding.manner == "missing" else ""
    why = f": {missing}{kubelet_words(finding.detail)}" if finding.detail else ""
    where = f", all in {finding.zones[0]}" if finding.zones else ""
    nodes = f"{nodes_text(finding)} ({names_text(finding.names)}{where})"
    if finding.words and "network" in why:
        why += f", as aws-node is not authorized to perform {finding.words}"
    if finding.reasons and "network" in why:
        why += f", and no pod CIDR is left for {verb(finding.nodes, 'it', 'them')} ({finding.reasons[0]})"
    why += next((f", {words}" for resource, words in _OFFERED_IF.items() if resource in finding.detail), "")
    if finding.overlays:
        promise = verb(len(finding.overlays), "promises", "promise")
        why += f", which {of_kind('NodeOverlay', finding.overlays)} {promise}"
    if finding.failing:
        daemonset, reason = finding.failing[:2]
        why += f", and DaemonSet {daemonset} does not run there ({reason})"
    why += absent_agent(finding)
    still = f"{verb(finding.nodes, 'is', 'are')} still not initialized{after(finding, now_ns)}"
    return f"{nodes} {still}{why}{pods_pending(finding)}"


def _reservations_full(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pods = counted(finding.pods, "pod")
    full = f"the capacity reservations of NodePool {finding.names[0]} are full"
    return f"{pods} pending{lasting(finding, now_ns)}, and Karpenter reports nothing: {full}"


def _pool_not_ready(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    count = len(finding.names)
    why = f" ({quoted(finding.detail)})" if finding.detail else ""
    if finding.manner == "unregistered":
        age = lasting(finding, now_ns)
        return f"NodePool {finding.names[0]}: NodeRegistrationHealthy is False{age}: its last nodes did not register"
    state = (
        f"{of_kind('NodePool', finding.names)} {verb(count, 'has', 'have')} not been ready{lasting(finding, now_ns)}"
    )
    return f"{state}{why}: {verb(count, 'it launches', 'they launch')} no nodes{pods_pending(finding)}"


def _pool_at_limit(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pool = finding.names[0]
    if finding.manner == "fewer-than-replicas":
        return f"static NodePool {pool} wants {finding.detail}"
    if finding.manner == "never":
        return f"NodePool {pool} can launch no node: its limit is {finding.detail}{pods_pending(finding, now_ns)}"
    if finding.manner == "limit":
        return f"NodePool {pool}: too little room under its limit ({finding.detail}){pods_pending(finding)}"
    others = "; instance types that need none of it still launch" if finding.manner == "spares-types" else ""
    since = lasting(finding, now_ns)
    state = f"has been at its limit{since}" if since else "is at its limit"
    return f"NodePool {pool} {state}: {finding.detail}{_limit_user(finding)}{others}{pods_pending(finding)}"


def _limit_user(finding: ClusterFinding) -> str:
    """Return the workload whose pods use most of a limit; empty without one."""
    if len(finding.names) == 1:
        return ""
    kind, _, key = finding.names[1].partition("/")
    if finding.words:
        pods = counted(finding.user_pods, "placeholder pod")
        return f", {finding.words} of it for {pods} of {kind} {key}, which pods of the same priority do not preempt"
    return f", most of it for {counted(finding.user_pods, 'pod')} of {kind} {key}"


def _launches_moved(finding: ClusterFinding, _: int, __: Reasons) -> str:
    now, before, weight_now, weight_before = finding.names
    text = f"All {nodes_text(finding)} launched in the last hour are {finding.detail}, from NodePool {now}"
    if finding.manner == "limit":
        return f"{text}: NodePool {before} is at its limit"
    return f"{text}: its weight {weight_now} puts it before {before} (weight {weight_before})"


SENTENCES: Final[Mapping[str, Say]] = {
    "NO_NODEPOOLS": _no_nodepools,
    "POOL_GONE": _pool_gone,
    "NODECLASS_NOT_READY": _nodeclass_not_ready,
    "POOL_DELETED": _pool_deleted,
    "LAUNCH_REFUSED": _launch_refused,
    "CLAIM_STUCK": _stuck,
    "NOT_INITIALIZED": _not_initialized,
    "RESERVATIONS_FULL": _reservations_full,
    "POOL_NOT_READY": _pool_not_ready,
    "POOL_AT_LIMIT": _pool_at_limit,
    "LAUNCHES_MOVED": _launches_moved,
}
