"""Findings about NodeClaims that do not become initialized nodes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

from karptui.aws.nodeclass import CUSTOM
from karptui.aws.user_data import refused_labels
from karptui.disruption.churn.life import LAUNCHING, command_reason
from karptui.disruption.termination import BY_INTERRUPTION, INSTANCE_ENDS
from karptui.forward.durations import joined_since
from karptui.karpenter.labels import INSTANCE_TYPE, NODEPOOL, OS
from karptui.karpenter.nodeclaim import InitializationObstacles, NodeClaim, initialization_obstacles, pool_in_name
from karptui.karpenter.nodeclass import EC2_KIND, METADATA_ENDPOINT
from karptui.kube.objects import Event, condition_of
from karptui.kube.pod import CREATING
from karptui.kube.timestamps import ABSENT_NS, MINUTE_NS, NS_PER_SECOND
from karptui.kube.workload import DaemonSet
from karptui.pending.causes import Cause
from karptui.provisioning.pool_order import served_pools
from karptui.verdict.agents import SHARED_WORDS, absent_agent
from karptui.verdict.blocked import lacks_some, sum_of, why_not_ready
from karptui.verdict.case import PendingLine, StartingPod, VerdictCase, VerdictNode
from karptui.verdict.controller import SCALED_UP
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Manner, Shared
from karptui.verdict.late_pods import PROPERTIES
from karptui.verdict.pending_pods import PendingPods, expected_on, key_of
from karptui.verdict.refusals import REFUSED_RECENTLY_NS, recent_refusals, refusal_message, stopping_refusal

JOIN_PATIENCE_NS: Final = 5 * MINUTE_NS
"""Nodes register, and then initialize, within a few minutes."""
SLOW_JOIN_PATIENCE_NS: Final = 12 * MINUTE_NS
"""Windows and bare metal take about ten minutes to boot."""
REGISTRATION_TTL_NS: Final = 15 * MINUTE_NS
"""Karpenter deletes a NodeClaim that has not registered by then: pkg/controllers/nodeclaim/lifecycle/liveness.go."""
SCALE_UP_NS: Final = 15 * MINUTE_NS
"""The Cluster Autoscaler gives up a node that has not joined by then (--max-node-provision-time)."""
_UNREGISTERED: Final = "RegistrationFailed"
"""Reason of the condition NodeRegistrationHealthy if launched instances do not become nodes."""
_NETWORK_AGENTS: Final = frozenset({"antrea", "aws-node", "calico", "canal", "cilium", "flannel", "kindnet", "weave"})
"""Names of CNI DaemonSets, or words in them; next to ``aws-node`` others enforce policies only."""
_NO_NETWORK: Final = "NetworkPluginNotReady"
_OF_DEVICES: Final = frozenset({"plugin", "driver"})
"""Words in the names of DaemonSets that register devices; others only use them."""
_DENIED: Final = re.compile(r"failed to call (\S+) due to missing permissions")
_NO_CIDR: Final = "CIDRNotAvailable"
"""Reason of the controller manager's events about nodes that get no part of the cluster's range for pods."""
FEWEST_ENDS: Final = 2
"""One instance may fail; from this many on something is wrong."""


def not_registering(case: VerdictCase, reported: AbstractSet[str]) -> Iterator[ClusterFinding]:
    """Yield NodePools whose last nodes did not register, unless another finding is about their launches."""
    for pool in served_pools(case.pools):
        health = condition_of(pool.conditions, "NodeRegistrationHealthy")
        claims = [line.claim.name for line in case.nodes if line.claim is not None and line.pool == pool.name]
        is_told = not reported.isdisjoint([f"NodePool/{pool.name}", *(f"NodeClaim/{name}" for name in claims)])
        is_failing = health is not None and health.status == "False" and health.reason == _UNREGISTERED
        if health is None or not is_failing or is_told or pool.is_deleting:
            continue
        yield ClusterFinding(
            severity=FindingSeverity.WARNING,
            code=FindingCode.POOL_NOT_READY,
            since_ns=health.last_transition_ns or None,
            objects=(f"NodePool/{pool.name}",),
            names=(pool.name,),
            manner=Manner.UNREGISTERED,
            screen="pools",
        )


def waits_for(group: PendingLine, pool: str, claims: frozenset[str]) -> bool:
    """Return whether pods are pending for launches of a NodePool, not for its limits or for an existing node."""
    if group.limited_pool or group.daemonsets or group.cause == Cause.NODE:
        return bool(group.nodes & claims)
    return pool in group.pools or bool(group.nodes & claims)


def ended_early(case: VerdictCase) -> set[str]:
    """Return the names of gone NodeClaims whose instance ended before it became a node: no interruptions."""
    return {event.involved_name for events in early_ends(case).values() for event in events}


def early_ends(case: VerdictCase) -> dict[str, list[Event]]:
    """Return events about gone NodeClaims whose instance ended before it became a node, by NodePool.

    EC2 reports the end, and Karpenter publishes it about the NodeClaim and, if there is one, about its Node.
    """
    ends: defaultdict[str, list[Event]] = defaultdict(list)
    of_claims = case.recent(*INSTANCE_ENDS, kind="NodeClaim")
    if not of_claims:
        return ends
    instance_ends = case.recent(*INSTANCE_ENDS, kind="Node")
    of_nodes = {event.first_ns // NS_PER_SECOND + second for event in instance_ends for second in (-1, 0, 1)}
    # A NodeClaim that Karpenter deletes for another reason has no TerminatingOnInterruption.
    interrupted = {event.involved_name for event in case.recent(BY_INTERRUPTION, kind="NodeClaim")}
    interrupted -= {event.involved_name for event in case.recent("SpotInterrupted", kind="NodeClaim")}
    interrupted -= {line.claim.name for line in case.nodes if line.claim is not None}
    pools = {pool.name for pool in case.pools}
    for event in of_claims:
        pool = pool_in_name(event.involved_name, pools)
        if pool and event.involved_name in interrupted and event.first_ns // NS_PER_SECOND not in of_nodes:
            ends[pool].append(event)
    return ends


def early_end_findings(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield NodePools whose instances end before they become nodes, again and again."""
    for pool, events in early_ends(case).items():
        claims, last_ns = {event.involved_name for event in events}, max(event.last_ns for event in events)
        if len(claims) < FEWEST_ENDS or case.now_ns - last_ns > REFUSED_RECENTLY_NS:
            continue
        starting = frozenset(line.claim.name for line in case.nodes if line.pool == pool and line.claim is not None)
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.CLAIM_STUCK,
            since_ns=min(event.first_ns for event in events),
            last_ns=last_ns,
            objects=(f"NodePool/{pool}", *(f"NodeClaim/{name}" for name in sorted(claims))),
            names=tuple(sorted(claims)),
            nodes=len(claims),
            manner=Manner.ENDED_EARLY,
            pools=(pool,),
            pending=pending.take(partial(waits_for, pool=pool, claims=starting)),
            screen="events",
        )


def stuck_claims(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield NodeClaims that were refused, or whose instance has not registered, unless they stop everything."""
    stuck: defaultdict[str, list[NodeClaim]] = defaultdict(list)
    joined: defaultdict[str, list[NodeClaim]] = defaultdict(list)
    unjoined: defaultdict[tuple[str, ...], list[NodeClaim]] = defaultdict(list)
    lost: list[NodeClaim] = []
    lines = {line.claim.name: line for line in case.nodes if line.claim is not None}
    stopping = stopping_refusal(case)
    reported = {refusal.nodeclaim for refusal in recent_refusals(case)}
    for line in case.nodes:
        claim = line.claim
        if claim is None or claim.is_deleting:
            continue
        if line.has_node:
            registered = claim.condition("Registered")
            if registered is not None and registered.status != "True" and _is_late(case, claim):
                joined[registered.message or registered.reason].append(claim)
            continue
        refused = refusal_message(line)
        if refused:
            if refused != stopping and claim.name not in reported:
                stuck[refused].append(claim)
        elif claim.provider_id and _is_late(case, claim) and (case.sees_nodes or not claim.is_true("Registered")):
            (lost if claim.is_true("Registered") else unjoined[_user_data_fault(case, claim)]).append(claim)
    groups = [(refused, claims, Manner.PLAIN) for refused, claims in stuck.items()]
    groups += [("", claims, Manner.PLAIN) for claims in unjoined.values()]
    for message, claims in joined.items():  # several Nodes may have a NodeClaim's provider ID
        groups.append((message, [*{claim.name: claim for claim in claims}.values()], Manner.UNREGISTERED))
    if lost:
        groups.append(("", lost, Manner.NODE_GONE))
    for detail, claims, manner in groups:
        is_refused, is_unjoined = bool(detail) and not manner, not detail and not manner
        explained = pending.take(
            partial(waits_for_claims, claims=claims, failing=failing_pools(case, claims) if is_refused else frozenset())
        )
        created = [claim.created_ns for claim in claims if claim.created_ns]
        # No object shows when a Node disappeared.
        since_ns = None if manner is Manner.NODE_GONE else min(created, default=None)
        of_claims, names = [lines[claim.name] for claim in claims], {claim.name for claim in claims}
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.CLAIM_STUCK,
            price_per_hour=None if is_refused else sum_of(line.per_hour for line in of_claims),
            is_partial=lacks_some(line.per_hour for line in of_claims),
            since_ns=since_ns,
            until_ns=since_ns + REGISTRATION_TTL_NS if since_ns and not is_refused else None,
            objects=tuple(f"NodeClaim/{claim.name}" for claim in claims),
            names=tuple(_node_names(case, claims) or [claim.name for claim in claims]),
            zones=_common_value(Shared.ZONE, case, of_claims) if is_unjoined else (),
            apart=(Shared.FAMILY, *family)
            if is_unjoined and (family := _common_value(Shared.FAMILY, case, of_claims))
            else (),
            nodes=len(claims),
            detail=detail,
            manner=manner,
            pools=tuple(sorted({claim.labels.get(NODEPOOL, "") for claim in claims})),
            reasons=_why_unregistered(case, claims) if manner is Manner.UNREGISTERED else replaced_reasons(case, names),
            drifted=_drifted_count(case, {claim.labels.get(NODEPOOL, "") for claim in claims}),
            user_data=next((fault for fault, of_fault in unjoined.items() if of_fault is claims), ()),
            nameless=tuple(_without_provider_id(case, min(created))) if created and is_unjoined else (),
            pending=explained,
            screen="claims",
        )


def _why_unregistered(case: VerdictCase, claims: Sequence[NodeClaim]) -> tuple[str, ...]:
    """Return the webhook without which Karpenter cannot register nodes, if it reports no other reason."""
    registered = claims[0].condition("Registered")
    return case.node_webhook if registered is not None and registered.status == "Unknown" else ()


def _node_names(case: VerdictCase, claims: Sequence[NodeClaim]) -> list[str]:
    names = {claim.name for claim in claims}
    return [line.name for line in case.nodes if line.has_node and line.claim is not None and line.claim.name in names]


def _without_provider_id(case: VerdictCase, since_ns: int) -> Iterator[str]:
    """Yield nodes that joined since an instant without a provider ID, so that Karpenter cannot match them."""
    for line in case.nodes:
        node = line.node if line.claim is None else None
        if node is not None and not node.provider_id and node.created_ns >= since_ns:
            yield node.name


def _user_data_fault(case: VerdictCase, claim: NodeClaim) -> tuple[str, ...]:
    """Return the EC2NodeClass whose user data keeps instances from joining, with refused labels; empty without one."""
    nodeclass = case.nodeclasses.get(claim.node_class_ref.key)
    if nodeclass is None or nodeclass.kind != EC2_KIND:
        return ()
    if (nodeclass.spec.get("metadataOptions") or {}).get("httpEndpoint") == "disabled":
        return nodeclass.name, METADATA_ENDPOINT
    user_data = nodeclass.spec.get("userData")
    labels = refused_labels(str(user_data or ""))
    # A redacted recording holds the kubelet's settings only, which may be none.
    is_bare = nodeclass.spec.get("amiFamily") == CUSTOM.name and user_data is None
    return (nodeclass.name, *labels) if labels or is_bare else ()


def _is_late(case: VerdictCase, claim: NodeClaim) -> bool:
    return bool(claim.created_ns) and case.now_ns - claim.created_ns > _join_patience_ns(case, claim)


def _common_value(
    shared: Shared, case: VerdictCase, late: Sequence[VerdictNode], stage: str = "Registered"
) -> tuple[str, ...]:
    """Return the value (a zone, say) shared by instances that miss a stage which nodes with other values reached."""
    here = {PROPERTIES[shared](line) for line in late}
    since_ns = min(line.claim.created_ns for line in late if line.claim is not None) - REGISTRATION_TTL_NS
    nodes = [(line, line.claim) for line in case.nodes if line.has_node and line.claim is not None]
    if shared is Shared.FAMILY:  # a NodePool of one family is another property
        pools = {line.pool for line in late}
        nodes = [(line, claim) for line, claim in nodes if line.pool in pools]
    joined = {
        PROPERTIES[shared](line) for line, claim in nodes if claim.created_ns >= since_ns and claim.is_true(stage)
    }
    return tuple(here) if len(late) > 1 and len(here) == 1 and joined - here else ()


def without_expected(case: VerdictCase, groups: Sequence[PendingLine]) -> list[PendingLine]:
    """Return groups of pending pods, except those expected on nodes that are not late yet: of Karpenter or others."""
    claims = [(line.name, line.claim) for line in case.nodes if line.claim is not None and not line.goes]
    joining = {
        name
        for node, claim in claims
        if claim.provider_id and not claim.is_true("Initialized")
        if not _is_late(case, claim)
        for name in (node, claim.name)
    }
    scaled_up = {key_of(event) for event in case.recent(SCALED_UP, kind="Pod", within_ns=SCALE_UP_NS)}
    # Before they are analysed, pods of all workloads are one group without an owner.
    served = {group.owner for group in groups if group.owner and not scaled_up.isdisjoint(group.pods)}
    return [
        group
        for group in groups
        if group.is_held or not group.nodes or not joining.issuperset(group.nodes)
        if group.owner not in served or case.now_ns - group.since_ns > SCALE_UP_NS
    ]


def _join_patience_ns(case: VerdictCase, claim: NodeClaim) -> int:
    """Return the patience for a node to register or initialize: longer if others of its NodePool took longer."""
    is_metal = ".metal" in claim.labels.get(INSTANCE_TYPE, "")
    is_slow = is_metal or claim.labels.get(OS) == "windows"
    usual_ns = case.durations.start_ns_by_pool.get(claim.labels.get(NODEPOOL, ""), 0) * 3 // 2
    if not claim.is_true("Registered"):
        # The usual time includes initialization: the time to register alone is unknown.
        usual_ns = min(usual_ns, SLOW_JOIN_PATIENCE_NS)
    return max(SLOW_JOIN_PATIENCE_NS if is_slow else JOIN_PATIENCE_NS, usual_ns)


def replaced_reasons(case: VerdictCase, names: Collection[str]) -> tuple[str, ...]:
    """Return the disruption reasons of the nodes that NodeClaims replace; empty if they replace none."""
    launch_events = case.events_by_reason.get(LAUNCHING, ())
    reasons = (command_reason(event.message) for event in launch_events if event.involved_name in names)
    return tuple(sorted({str(reason) for reason in reasons if reason is not None}))


def _drifted_count(case: VerdictCase, pools: Collection[str]) -> int:
    """Return the number of drifted nodes of NodePools."""
    claims = (line.claim for line in case.nodes if line.pool in pools and line.deleted_ns is None)
    return sum(claim is not None and claim.is_true("Drifted") for claim in claims)


def waits_for_claims(group: PendingLine, claims: Sequence[NodeClaim], failing: frozenset[str]) -> bool:
    """Return whether pods are expected on NodeClaims, or on new nodes of NodePools whose launches all fail."""
    if group.nodes & {claim.name for claim in claims}:
        return True
    return bool(group.pools) and group.cause == Cause.CLAIM and failing.issuperset(group.pools)


def failing_pools(case: VerdictCase, claims: Sequence[NodeClaim]) -> frozenset[str]:
    """Return the NodePools of refused NodeClaims that have launched no instance since."""
    oldest: dict[str, int] = {}
    for claim in claims:
        pool = claim.labels.get(NODEPOOL, "")
        oldest[pool] = min(claim.created_ns, oldest.get(pool, claim.created_ns))
    launched = {
        line.pool
        for line in case.nodes
        if line.pool in oldest and line.claim is not None and line.claim.provider_id
        if line.claim.created_ns >= oldest[line.pool]
    }
    return frozenset(oldest) - launched


def not_initialized(case: VerdictCase, pending: PendingPods) -> Iterator[ClusterFinding]:
    """Yield registered nodes that have not been initialized for long, and why."""
    groups: defaultdict[InitializationObstacles, list[VerdictNode]] = defaultdict(list)
    expected = frozenset(name for group in pending.left() for name in group.nodes)
    for line in case.nodes:
        claim, node = line.claim, line.node
        if (
            claim is None
            or node is None
            or line.goes
            or claim.is_true("Initialized")
            or not claim.is_true("Registered")
        ):
            continue
        joined_ns = joined_since(claim)
        is_expected = not expected.isdisjoint((claim.name, line.name))
        patience_ns = _join_patience_ns(case, claim) if is_expected else case.durations.patience_of(line.pool)
        if joined_ns != ABSENT_NS and case.now_ns - joined_ns > patience_ns:
            groups[initialization_obstacles(claim, node)].append(line)
    for obstacles, lines in groups.items():
        claims = [line.claim for line in lines if line.claim is not None]
        names = frozenset((*(line.name for line in lines), *(claim.name for claim in claims)))
        explained = pending.take(expected_on(names))
        yield ClusterFinding(
            severity=FindingSeverity.ERROR,
            code=FindingCode.NOT_INITIALIZED,
            price_per_hour=sum_of(line.per_hour for line in lines),
            is_partial=lacks_some(line.per_hour for line in lines),
            since_ns=min(map(joined_since, claims)),
            objects=tuple(f"Node/{line.name}" for line in lines),
            names=tuple(line.name for line in lines),
            nodes=len(lines),
            zones=_common_value(Shared.ZONE, case, lines, "Initialized"),
            detail=why_not_ready(lines) or obstacles.text,
            words=_denied_to_cni(case),
            reasons=tuple({e.reason for e in case.recent(_NO_CIDR, kind="Node") if e.involved_name in names}),
            manner=Manner.MISSING if obstacles.missing_resources else Manner.PLAIN,
            overlays=tuple(
                o.name for o in case.overlays if not o.capacity.keys().isdisjoint(obstacles.missing_resources)
            ),
            agent=_missing_agent(case, lines[0]),
            failing=_failing_agent(case, lines, obstacles.text),
            pending=explained,
            screen="claims",
        )


def _denied_to_cni(case: VerdictCase) -> str:
    """Return the EC2 action that the VPC CNI reports to be denied, such as ``ec2:DescribeNetworkInterfaces``."""
    matches = (_DENIED.search(event.message) for event in case.recent("MissingIAMPermissions", kind="Pod"))
    return next((match[1] for match in matches if match is not None), "")


def _missing_agent(case: VerdictCase, line: VerdictNode) -> tuple[str, ...]:
    """Return the DaemonSet that a node lacks to initialize, and taints that keep it off; empty without one.

    It tolerates a startup taint by its key, whose domain names its project: ``fsx.csi.aws.com`` belongs to
    ``fsx-csi-node``. On a node without a network it is the network agent.
    """
    if line.claim is None or line.node is None:
        return ()
    taints = line.claim.startup_taints
    domains = {taint.key: {*taint.key.partition("/")[0].split(".")} - SHARED_WORDS for taint in taints}
    lacks_network = _NO_NETWORK in why_not_ready([line])

    def is_agent(daemonset: DaemonSet) -> bool:
        words = set(daemonset.name.split("-"))
        keys = {toleration.key for toleration in daemonset.template.tolerations}
        of_network = lacks_network and _is_network_agent(daemonset.name)
        return of_network or any(words & own for key, own in domains.items() if keys & {key, ""})

    return absent_agent(case, line, is_agent)


def _failing_agent(case: VerdictCase, lines: Sequence[VerdictNode], obstacle: str) -> tuple[str, ...]:
    """Return the DaemonSet whose pods fail on nodes without a network or device, their waiting reason, and the pods.

    Without a network it is the CNI plugin; without a device, such as ``nvidia.com/gpu``, its plugin or driver.
    """
    lacks_network = _NO_NETWORK in why_not_ready(lines)
    devices = {*re.findall(r"\w+", obstacle)} - SHARED_WORDS - _OF_DEVICES
    failing: defaultdict[tuple[str, str], list[StartingPod]] = defaultdict(list)
    for pod in (*case.crashing, *case.starting):
        kind, _, key = pod.owner.partition("/")
        name = key.rpartition("/")[2]
        words = set(name.split("-"))
        is_agent = (lacks_network and _is_network_agent(name)) or (words & devices and words & _OF_DEVICES)
        if kind == "DaemonSet" and pod.waiting_reason not in CREATING and is_agent:
            failing[key, pod.waiting_reason].append(pod)
    nodes = {line.name for line in lines}
    for agent, pods in failing.items():
        if nodes.issubset(pod.node for pod in pods):
            return (*agent, *(f"Pod/{pod.key}" for pod in pods))
    return ()


def _is_network_agent(name: str) -> bool:
    """Return whether a DaemonSet of this name is a CNI plugin."""
    return not _NETWORK_AGENTS.isdisjoint({name, *name.split("-")})
