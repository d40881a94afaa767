"""Findings about rules that block the disruption of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from karptui.disruption.budgets import UNLIMITED
from karptui.disruption.churn.moves import ADVANCED_NS, EVICTED, evicted_controllers
from karptui.disruption.codes import CODES, Blocker, Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.do_not_disrupt import protects_node
from karptui.disruption.joint_saving import JointSaving, NodeSaving, joint_saving
from karptui.kube.group import group_by
from karptui.kube.selectors import LabelSelector
from karptui.kube.timestamps import HOUR_NS, MINUTE_NS
from karptui.kube.workload import PodDisruptionBudget
from karptui.verdict.case import VerdictCase, VerdictNode
from karptui.verdict.finding import ClusterFinding, CountBound, FindingCode, FindingSeverity, Manner, PdbCounts, began
from karptui.verdict.upcoming import forced_end_ns

BRIEF_NS: Final = 5 * MINUTE_NS
"""A rollout uses up PodDisruptionBudgets and disruption budgets for this long."""
ENDS_SOON_NS: Final = HOUR_NS
"""Protection that ends within this time needs no action."""
HELD: Final = {
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
        names, joined = {_name(b, HELD[why][0]) for line in part for b in own_blockers(line, why)}, part
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
    why = holder(line)
    # A drifted node counts for its NodePool's drift, and an unhealthy one for being so.
    is_drift = findings.why.method == Method.DRIFT
    if why is WhyCode.BUDGET and (is_drift or is_repair(line) or line.not_ready_ns is not None):
        return None
    return why if why in HELD else None


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
    code, screen, filter_text = HELD[why]
    blockers = [blocker for line in lines for blocker in own_blockers(line, why)]
    ends = [_ends_ns(line, why) for line in lines]
    until = None if None in ends else max(end for end in ends if end is not None)
    is_over = code is FindingCode.BUDGET and until is not None
    lasts = began(blocker.since_ns for blocker in blockers)
    since = lasts["since_ns"]
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
        **lasts,
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
    evicted = evicted_controllers(case.recent(*EVICTED, within_ns=ADVANCED_NS))
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
    limits: dict[str, list[tuple[int, int]]] = {}
    is_open = not groups
    for (pool, method), count in groups.items():
        states = budgets[pool].states if pool in budgets and method else ()
        state = next((state for state in states if state.reason is Method(method).reason), None)
        is_open = is_open or state is None or state.left > 0
        limits.setdefault(pool, []).append((state.allowed if state is not None else UNLIMITED, count))
    if is_open:
        at_once = sum(_sum_within(of_pool) for of_pool in limits.values())
        return at_once if at_once < sum(groups.values()) else None
    return 0


def _sum_within(limits: Iterable[tuple[int, int]]) -> int:
    """Return how many nodes of a NodePool go at once, by the limit and the number of nodes of each reason."""
    total = 0
    # A node being deleted counts against the limit of every reason.
    for limit, count in sorted(limits):
        total = min(total + count, limit)
    return total


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


def holder(line: VerdictNode) -> WhyCode | None:
    """Return the code of a node's blocker; for a draining node, the blocker of its drain."""
    if line.findings is None:
        return None
    why = line.findings.why
    return why.codes[1] if why.code is WhyCode.DRAIN and len(why.codes) > 1 else why.code


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
