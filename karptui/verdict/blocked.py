"""Findings about blocked nodes, and about nodes whose deletion takes long for no known reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from karptui.disruption.churn.moves import EVICTED, is_eviction
from karptui.disruption.codes import CODES, Blocker, Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.do_not_disrupt import protects_node
from karptui.disruption.drain import LONG_NS, Hold
from karptui.disruption.joint_saving import JointSaving, NodeSaving, joint_saving
from karptui.disruption.termination import STUCK_ALLOWANCE_NS, deadline_of
from karptui.karpenter.labels import TERMINATION_FINALIZER
from karptui.karpenter.nodeclaim import DRAINED, DrainStage, deletion_stage
from karptui.kube.group import group_by
from karptui.kube.selectors import LabelSelector
from karptui.kube.timestamps import HOUR_NS, MINUTE_NS
from karptui.kube.workload import PodDisruptionBudget
from karptui.provisioning.pool_order import usable_pools
from karptui.verdict.controller import has_leader, is_running
from karptui.verdict.finding import (
    ClusterFinding,
    CountBound,
    FindingCode,
    FindingSeverity,
    Leaving,
    Manner,
    PdbCounts,
    VerdictCase,
    VerdictNode,
)
from karptui.verdict.pending_pods import folded_by_namespace
from karptui.verdict.upcoming import forced_end_ns

BRIEF_NS: Final = 5 * MINUTE_NS
"""A rollout uses up PodDisruptionBudgets and disruption budgets for this long."""
ADVANCED_NS: Final = 10 * MINUTE_NS
"""A drain that evicts one pod after the other takes this long for each: until its successor is ready."""
ENDS_SOON_NS: Final = HOUR_NS
"""Protection that ends within this time needs no action."""
_HELD: Final = {
    WhyCode.DND: (FindingCode.POD_DND, "blockers", "kind=do-not-disrupt"),
    WhyCode.NODE_DND: (FindingCode.NODE_DND, "blockers", "kind=node*"),
    WhyCode.PDB: (FindingCode.PDB, "blockers", "kind=*PDB*"),
    WhyCode.BUDGET: (FindingCode.BUDGET, "budgets", ""),
    WhyCode.REPAIR: (FindingCode.REPAIR_HELD, "blockers", ""),
}

NAMED_HOLDERS: Final = frozenset({WhyCode.DND, WhyCode.NODE_DND, WhyCode.PDB})
"""Blockers whose finding mentions that their nodes are drifted."""


def held(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield findings for blocked nodes that a method wants to remove, each node under its first blocker."""
    groups: dict[tuple[WhyCode, Manner], list[VerdictNode]] = {}
    protecting = {pool.name for pool in case.pools if protects_node(pool.template_annotations)}
    for line in case.nodes:
        why = holder_of(line)
        if why is not None:
            by_template = why is WhyCode.NODE_DND and line.pool in protecting
            manner = Manner.BY_TEMPLATE if by_template else manner_of(line, why, case)
            groups.setdefault((why, manner), []).append(line)
    for (why, manner), lines in groups.items():
        for part in _split_by_drain(why, lines) if why in NAMED_HOLDERS else (lines,):
            yield _of_holders(why, manner, part, case)


def _split_by_drain(why: WhyCode, lines: Sequence[VerdictNode]) -> list[list[VerdictNode]]:
    """Group nodes by the cause of their drain and whether it ends, unless a blocker spans several groups."""
    parts: list[tuple[set[str], list[VerdictNode]]] = []
    states = group_by(lines, lambda line: (_drains(line), _initiators([line]), _ends_ns(line, why) is None))
    for part in states.values():
        names, joined = {_name(b, _HELD[why][0]) for line in part for b in own_blockers(line, why)}, part
        for other in [other for other in parts if not names.isdisjoint(other[0])]:
            parts.remove(other)
            names, joined = names | other[0], [*other[1], *joined]
        parts.append((names, joined))
    return [part for _, part in parts]


def _ends_ns(line: VerdictNode, why: WhyCode) -> int | None:
    """Return when the blockers of a node end; None if that is not known."""
    ends = [blocker.until_ns for blocker in own_blockers(line, why)]
    if ends and None not in ends:
        return max(end for end in ends if end is not None)
    # Expiration and its grace period end every other blocker.
    return forced_end_ns(line) if why in (WhyCode.DND, WhyCode.PDB) else None


def _drains(line: VerdictNode) -> bool:
    return line.findings is not None and line.findings.why.code is WhyCode.DRAIN


def holder_of(line: VerdictNode) -> WhyCode | None:
    """Return the code of the first blocker of a node that a method wants to remove; None if another finding has it."""
    findings = line.findings
    if findings is None or not findings.is_held or (findings.freed is not None and not findings.freed.goes):
        # A blocker of a node that would stay anyway costs nothing.
        return None
    why = _holder(line)
    # A drifted node counts for its NodePool's drift, and an unhealthy one for being so.
    is_drift = findings.why.method == Method.DRIFT
    if why is WhyCode.BUDGET and (is_drift or is_repair(line) or line.not_ready_ns is not None):
        return None
    return why if why in _HELD else None


def is_repair(line: VerdictNode) -> bool:
    """Return whether Karpenter wants to remove a node to repair it."""
    return line.findings is not None and line.findings.why.method == Method.REPAIR


def manner_of(line: VerdictNode, why: WhyCode, case: VerdictCase) -> Manner:
    """Return whether a node's blocker may end, and why."""
    blockers = own_blockers(line, why)
    if why is WhyCode.PDB:
        is_closed = any(blocker.code is Code.PDB_MULTIPLE or case.never_allows(blocker.value) for blocker in blockers)
        return Manner.NEVER if is_closed else Manner.PLAIN
    if why is WhyCode.BUDGET and line.findings is not None and line.findings.why.of:
        return Manner.USED_UP
    is_always = why is WhyCode.BUDGET and all(blocker.until_ns is None for blocker in blockers)
    return Manner.NEVER if is_always else Manner.PLAIN


def _of_holders(why: WhyCode, manner: Manner, lines: Sequence[VerdictNode], case: VerdictCase) -> ClusterFinding:
    code, screen, filter_text = _HELD[why]
    blockers = [blocker for line in lines for blocker in own_blockers(line, why)]
    ends = [_ends_ns(line, why) for line in lines]
    until = None if None in ends else max(end for end in ends if end is not None)
    is_over = code is FindingCode.BUDGET and until is not None
    since = min((blocker.since_ns for blocker in blockers if blocker.since_ns), default=None)
    is_new = since is not None and case.now_ns - since < BRIEF_NS and manner is not Manner.NEVER
    may_advance = manner is Manner.USED_UP or (code is FindingCode.PDB and manner is Manner.PLAIN)
    if may_advance and _advances(lines, blockers, manner, case):
        is_new = is_new or (since is not None and case.now_ns - since < ENDS_SOON_NS)
        manner = Manner.ADVANCING if code is FindingCode.PDB else manner
    ends_soon = until is not None and until - case.now_ns < ENDS_SOON_NS and not any(line.goes for line in lines)
    is_brief = ends_soon if code is FindingCode.POD_DND else is_new
    objects = [blocker.object_ref for blocker in blockers if blocker.object_ref]
    if code is FindingCode.PDB:
        objects += [f"PodDisruptionBudget/{key}" for blocker in blockers for key in blocker.value.split()]
    saving = saving_of(((line, line.held) for line in lines), case)
    conditions = [line.claim.condition("Drifted") for line in lines if line.claim is not None]
    drifted = [condition for condition in conditions if condition is not None and condition.status == "True"]
    draining = [line for line in lines if _drains(line)]
    ready = [line.node.ready for line in draining if line.node is not None]
    sick = [state.last_transition_ns for state in ready if state is not None and state.status != "True"]
    at_once = _nodes_at_once(lines, case) if code is not FindingCode.BUDGET else None
    pdb = _only_pdb(blockers, case) if code is FindingCode.PDB else None
    opens = [end for line in lines for b in own_blockers(line, WhyCode.BUDGET) if (end := b.until_ns) is not None]
    return ClusterFinding(
        severity=FindingSeverity.INFO if is_over or is_brief else FindingSeverity.WARNING,
        code=code,
        price_per_hour=saving.per_hour,
        is_upper_bound=saving.is_upper_bound,
        saves_in_seconds=saving.seconds,
        is_partial=lacks_some(line.held for line in lines)
        or any(line.findings is not None and line.findings.freed is None for line in lines),
        since_ns=since,
        until_ns=until,
        objects=tuple(dict.fromkeys(objects)),
        names=tuple(name for name, _ in Counter(_name(blocker, code) for blocker in blockers).most_common()),
        nodes=len(lines),
        nodes_bound=CountBound.AT_MOST if is_simulating(lines) else CountBound.EXACT,
        at_once=at_once,
        closed_until_ns=min(opens, default=None) if at_once == 0 else None,
        draining=len(draining),
        sick=len(sick),
        sick_ns=min(filter(None, sick), default=None),
        drifted=len(drifted),
        drifted_ns=min((c.last_transition_ns for c in drifted if c.last_transition_ns), default=None),
        pods=len({blocker.object_key for blocker in blockers if blocker.object_kind == "Pod"}),
        recent_pods=sum(line.findings.recent_pods for line in lines if line.findings is not None),
        detail=_method(lines) if code is FindingCode.BUDGET else _detail(blockers, code, case),
        reasons=closed_reasons(lines, case) if code is FindingCode.BUDGET else _initiators(lines),
        words=_method(lines),
        of_namespace=_of_namespace(pdb),
        pdb_counts=PdbCounts(pdb.current_healthy, pdb.desired_healthy, pdb.expected_pods) if pdb else PdbCounts(),
        pools=tuple(sorted({line.pool for line in lines})) if manner is Manner.BY_TEMPLATE else (),
        used_by=users_of({line.pool for line in lines}, case) if manner is Manner.USED_UP else (),
        manner=manner,
        screen=screen,
        filter_text=filter_text,
    )


def _advances(lines: Sequence[VerdictNode], blockers: Sequence[Blocker], manner: Manner, case: VerdictCase) -> bool:
    """Return whether similar blocking pods were evicted lately, or pods of the drains that use up a budget."""
    pods = {blocker.object_key for blocker in blockers if blocker.object_kind == "Pod"}
    if manner is Manner.USED_UP:
        users = users_of({line.pool for line in lines}, case)
        drains = [line.findings.drain for line in case.nodes if line.name in users and line.findings is not None]
        pods = {pod.pod.key if drain else "" for drain in drains for pod in (drain.holders if drain else ())}
        if len(drains) < len(users) or not all(drain is not None and drain.holders for drain in drains):
            return False
    evicted = {  # by controller, whose pods have its name and a suffix
        f"{event.involved_namespace}/{event.involved_name}".rpartition("-")[0]
        for event in case.recent(*EVICTED, within_ns=ADVANCED_NS)
        if is_eviction(event)
    }
    return bool(pods) and evicted.issuperset(pod.rpartition("-")[0] for pod in pods)


def _of_namespace(pdb: PodDisruptionBudget | None) -> int:
    """Return the pods of a PodDisruptionBudget if it selects a whole namespace of them, else 0."""
    return pdb.expected_pods if pdb and pdb.selector == LabelSelector() and pdb.expected_pods > 1 else 0


def _only_pdb(blockers: Sequence[Blocker], case: VerdictCase) -> PodDisruptionBudget | None:
    """Return the only PodDisruptionBudget of blockers; None if there are several."""
    budgets = {blocker.value for blocker in blockers}
    return case.pdbs.get(budgets.pop()) if len(budgets) == 1 else None


def closed_reasons(lines: Sequence[VerdictNode], case: VerdictCase, *methods: Method) -> tuple[str, ...]:
    """Return the reasons that disruption budgets block, if they allow other reasons.

    Args:
        methods: Methods that want the nodes; the first of each node if empty.
    """
    budgets = case.analysis.budgets if case.analysis is not None else {}
    states = [state for pool in {line.pool for line in lines} & budgets.keys() for state in budgets[pool].states]
    wanting: set[str] = {*methods} or {line.findings.why.method for line in lines if line.findings is not None}
    reasons_of_methods = {Method(method).reason for method in wanting if method}
    others = any(state.allowed for state in states if state.reason not in reasons_of_methods)
    return tuple(sorted(str(reason) for reason in reasons_of_methods)) if others else ()


def _nodes_at_once(lines: Sequence[VerdictNode], case: VerdictCase) -> int | None:
    """Return the number of nodes that disruption budgets let go at once; 0 if none now, None if all or unknown."""
    groups: dict[tuple[str, str], int] = Counter(
        (line.pool, line.findings.why.method) for line in lines if line.findings is not None and not _drains(line)
    )
    budgets = case.analysis.budgets if case.analysis is not None else {}
    left = at_once = 0
    for (pool, method), count in groups.items():
        states = budgets[pool].states if pool in budgets and method else ()
        state = next((state for state in states if state.reason is Method(method).reason), None)
        left += min(count, state.left) if state is not None else count
        at_once += min(count, state.allowed) if state is not None else count
    if left or not groups:
        return at_once if at_once < sum(groups.values()) else None
    return 0


def own_blockers(line: VerdictNode, why: WhyCode) -> list[Blocker]:
    """Return a node's blockers that belong to a code of WHY, if a method wants to remove the node."""
    blockers = line.findings.blockers if line.findings is not None else ()
    return [blocker for blocker in blockers if blocker.is_wanted and CODES[blocker.code].why is why]


def _name(blocker: Blocker, code: FindingCode) -> str:
    if code is FindingCode.POD_DND:
        return blocker.origin.partition("/")[2] or blocker.object_key
    if code is FindingCode.PDB:
        return blocker.value.replace(" ", " + ")
    return blocker.object_key


def _initiators(lines: Sequence[VerdictNode]) -> tuple[str, ...]:
    """Return the common cause of the nodes' drains; empty if they differ."""
    drains = [line.findings.drain if line.findings is not None else None for line in lines]
    initiators = {drain.initiator if drain is not None else None for drain in drains}
    return tuple(initiator for initiator in initiators if initiator is not None) if len(initiators) == 1 else ()


def _detail(blockers: Sequence[Blocker], code: FindingCode, case: VerdictCase) -> str:
    if code is FindingCode.PDB:
        pdbs = [case.pdbs.get(blocker.value) for blocker in blockers]
        errors = {pdb.sync_error if pdb is not None else "" for pdb in pdbs}
        return errors.pop() if len(errors) == 1 else ""
    return next((blocker.message for blocker in blockers if code is FindingCode.REPAIR_HELD), "")


def users_of(pools: Collection[str], case: VerdictCase) -> tuple[str, ...]:
    """Return the nodes that count against the disruption budgets of NodePools: not ready, or being deleted."""
    budgets = case.analysis.budgets if case.analysis is not None else {}
    states = [budgets[pool].states[0] for pool in sorted(pools) if pool in budgets and budgets[pool].states]
    return tuple(name for state in states for name in (*state.not_ready, *state.deleting))


def _method(lines: Sequence[VerdictNode]) -> str:
    """Return the method that wants nodes, if it is the same for all of them."""
    methods = {line.findings.why.method for line in lines if line.findings is not None}
    return methods.pop() if len(methods) == 1 else ""


def _holder(line: VerdictNode) -> WhyCode | None:
    """Return the code of a node's blocker; for a draining node, the blocker of its drain."""
    if line.findings is None:
        return None
    why = line.findings.why
    return why.codes[1] if why.code is WhyCode.DRAIN and len(why.codes) > 1 else why.code


_ENDED_BY_GRACE: Final = frozenset(
    {
        Leaving.WAITS,
        Leaving.ENDING,
        Leaving.EVICTED,
        Leaving.UNEVICTED,
        Leaving.WEBHOOK,
        Leaving.UNDRAINED,
        Leaving.DRAINING,
        Leaving.VOLUMES,
    }
)
"""Stages that terminationGracePeriod ends."""


def leaving_for_long(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield findings for nodes whose deletion takes long, without those reported as blocked."""
    groups: dict[tuple[Leaving, Manner], list[VerdictNode]] = {}
    acts = bool(case.controller.pods) and is_running(case.controller) and has_leader(case.controller)
    for line in case.nodes:
        is_long = line.deleted_ns is not None and case.now_ns - line.deleted_ns >= LONG_NS
        if not is_long or (_holder(line) in _HELD and line.findings is not None and line.findings.is_held):
            continue
        stage = _leaving(line, sees_nodes=case.sees_nodes, sees_claims=case.sees_claims)
        if stage is Leaving.EVICTED and acts and "PodDisruptionBudgets" not in case.hidden:
            stage = Leaving.UNEVICTED
        if stage in (Leaving.EVICTED, Leaving.UNEVICTED) and case.eviction_webhook:
            stage = Leaving.WEBHOOK
        if stage is Leaving.UNKNOWN and line.closed_pdbs:
            stage = Leaving.PDB
        groups.setdefault((stage, _end_manner(line, stage, case.now_ns)), []).append(line)
    for (stage, ended), lines in groups.items():
        of_line = _own_end_ns if ended is Manner.OWN_GRACE else _forced_ns
        ends = [end for line in lines if (end := of_line(line)) is not None]
        drains = [line.findings.drain for line in lines if line.findings is not None]
        pods = [
            pod.pod.key
            for drain in drains
            if drain is not None
            for pod in drain.holders
            if stage is not Leaving.ENDING or pod.hold is Hold.TERMINATING
        ]
        webhook = case.eviction_webhook if stage is Leaving.WEBHOOK else ()
        pdbs = sorted({key for line in lines for key in line.closed_pdbs}) if stage is Leaving.PDB else ()
        is_without_claims = all(line.claim is None for line in lines)
        yield ClusterFinding(
            severity=FindingSeverity.INFO if ended is Manner.OWN_GRACE else FindingSeverity.WARNING,
            code=FindingCode.LEAVING,
            price_per_hour=sum_of(line.per_hour for line in lines) if stage is not Leaving.FINALIZER else None,
            is_partial=lacks_some(line.per_hour for line in lines if line.has_node),
            reasons=webhook
            or tuple(pdbs)
            or tuple(dict.fromkeys(name for line in lines for name in _foreign_finalizers(line))),
            since_ns=min((line.deleted_ns for line in lines if line.deleted_ns is not None), default=None),
            until_ns=max(ends, default=None) if stage in _ENDED_BY_GRACE else None,
            objects=tuple(_object(line) for line in lines),
            names=(*(line.name for line in lines), *folded_by_namespace(pods)),
            nodes=len(lines),
            pods=len(pods),
            pools=tuple(sorted({line.pool for line in lines if line.pool})),
            detail=stage,
            manner=Manner.SEVERAL_ENDS if ended is Manner.PLAIN and len(set(ends)) > 1 else ended,
            screen="nodes" if is_without_claims else "claims",
        )


def all_leaving(case: VerdictCase) -> Iterator[ClusterFinding]:
    """Yield a finding if no node takes new pods and none starts; an error if pods need a node."""
    nodes = [line for line in case.nodes if line.has_node]
    is_all = all(line.goes or line.is_cordoned for line in nodes)
    is_known = case.sees_nodes and case.sees_claims
    if not nodes or not is_all or not is_known or any(map(_starts, case.nodes)):
        return
    going = [line for line in nodes if line.goes]
    pods, pools = sum(line.pods for line in going), tuple(pool.name for pool in usable_pools(case.pools))
    manner, severity = Manner.PLAIN, FindingSeverity.WARNING
    if len(going) < len(nodes):
        manner = Manner.SOME_CORDONED if going else Manner.ALL_CORDONED
    elif not pods and case.sees_pods:
        severity = FindingSeverity.INFO
    if pods and not pools and case.sees_pools:
        severity = FindingSeverity.ERROR
    yield ClusterFinding(
        severity=severity,
        code=FindingCode.ALL_LEAVING,
        since_ns=min((line.deleted_ns for line in nodes if line.deleted_ns is not None), default=None),
        objects=tuple(_object(line) for line in nodes),
        names=pools,
        nodes=len(nodes),
        pods=pods,
        detail="" if case.sees_pods and case.sees_pools else "hidden",
        manner=manner,
        screen="claims" if going else "nodes",
    )


def _starts(line: VerdictNode) -> bool:
    """Return whether a node is launching; a registered NodeClaim without node lost it."""
    claim = line.claim
    return not line.has_node and claim is not None and not line.goes and not claim.is_true("Registered")


def _object(line: VerdictNode) -> str:
    return f"Node/{line.name}" if line.has_node or line.claim is None else f"NodeClaim/{line.claim.name}"


def _forced_ns(line: VerdictNode) -> int | None:
    """Return the latest time at which terminationGracePeriod ends a drain; None without one."""
    deadline = deadline_of(line.claim) if line.claim is not None else None
    return None if deadline is None else deadline.at_ns + STUCK_ALLOWANCE_NS


def _own_end_ns(line: VerdictNode) -> int | None:
    """Return the end of the longest grace period of a node's pods, if its drain waits only for terminating pods."""
    holders = line.findings.drain.holders if line.findings is not None and line.findings.drain is not None else ()
    if any(pod.hold is not Hold.TERMINATING for pod in holders):
        return None
    return max((pod.pod.deletion_ns for pod in holders), default=None)


def _end_manner(line: VerdictNode, stage: Leaving, now_ns: int) -> Manner:
    """Return whether a node's wait ends automatically, or should have ended."""
    if stage not in _ENDED_BY_GRACE:
        return Manner.PLAIN
    end, own_end = _forced_ns(line), _own_end_ns(line) if stage is Leaving.ENDING else None
    if own_end is not None and now_ns < own_end and (end is None or own_end <= end):
        return Manner.OWN_GRACE
    if end is None:
        return Manner.NEVER
    return Manner.PLAIN if end > now_ns else Manner.OVERDUE


def _foreign_finalizers(line: VerdictNode) -> tuple[str, ...]:
    """Return the other controllers' finalizers of a Node without Karpenter's own: the instance is terminated."""
    finalizers = line.node.finalizers if line.node is not None and line.node.is_deleting else ()
    return () if TERMINATION_FINALIZER in finalizers else finalizers


def _leaving(line: VerdictNode, *, sees_nodes: bool, sees_claims: bool) -> Leaving:
    """Return the deletion stage of a node."""
    claim = line.claim
    if claim is None and not sees_claims:
        return Leaving.UNKNOWN
    if claim is None or not claim.is_deleting:
        return Leaving.NODE_ALONE
    stage, _ = deletion_stage(claim, line.node)
    if stage is DrainStage.INSTANCE:
        return Leaving.FINALIZER if _foreign_finalizers(line) else Leaving.INSTANCE
    if not line.has_node and sees_nodes:
        reference = claim.node_class_ref
        # Rule: IsManaged in Karpenter's pkg/utils/nodeclaim, since 1.1; v1beta1 allowed an empty group and kind.
        is_managed = (reference.group and reference.kind) or not reference.name
        return Leaving.NO_NODE if is_managed else Leaving.UNMANAGED
    if stage is DrainStage.VOLUMES:
        return Leaving.VOLUMES
    drain = line.findings.drain if line.findings is not None else None
    if drain is None:
        return Leaving.DRAINING if stage is DrainStage.DRAINING else Leaving.WAITS
    holds = {pod.hold for pod in drain.holders}
    if Hold.TERMINATING in holds:
        return Leaving.ENDING
    if stage is DrainStage.DELETING:
        return Leaving.WAITS
    if claim.condition(DRAINED) is None and not holds:
        return Leaving.UNKNOWN
    return Leaving.EVICTED if holds else Leaving.UNDRAINED


def is_simulating(lines: Iterable[VerdictNode]) -> bool:
    """Return whether the removal of a node is not simulated yet."""
    return any(
        line.has_node and line.claim is not None and (line.findings is None or line.findings.outlook is None)
        for line in lines
    )


def saving_of(amounts: Iterable[tuple[VerdictNode, float | None]], case: VerdictCase) -> JointSaving:
    """Return the savings if nodes are removed together.

    Args:
        amounts: The nodes, each with its savings if removed alone.
        case: The cluster.
    """
    alone = [NodeSaving(line.findings.key, held, line.per_hour) for line, held in amounts if line.findings is not None]
    return joint_saving(alone, case.analysis.joint if case.analysis is not None else None)


def sum_of(amounts: Iterable[float | None]) -> float | None:
    """Return the sum of the known amounts; None if all are unknown."""
    known_amounts = [amount for amount in amounts if amount is not None]
    return sum(known_amounts) if known_amounts else None


def lacks_some(amounts: Iterable[float | None]) -> bool:
    """Return whether any amount is unknown."""
    return any(amount is None for amount in amounts)


def why_not_ready(lines: Sequence[VerdictNode]) -> str:
    """Return the message of the Ready condition, if all nodes have the same; empty if they are ready."""
    conditions = [line.node.ready for line in lines if line.node is not None]
    messages = {c.message if c is not None and c.status != "True" else "" for c in conditions}
    return messages.pop() if len(messages) == 1 else ""
