"""How NodePools let their nodes go: consolidation, expiry, drains, spot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median_low
from typing import Final

from karptui.advice.churn import longer_after, loop_fact, remedies
from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, listed, pool_ref, ref_text, share, span
from karptui.disruption.consolidation import SPOT_TO_SPOT_GATE, SPOT_TO_SPOT_TYPES
from karptui.disruption.do_not_disrupt import protects_node
from karptui.disruption.termination import WAVE_NS, expiry_calendar, expiry_wave
from karptui.karpenter.do_not_disrupt import ProtectionKind, protection_of
from karptui.karpenter.labels import DO_NOT_DISRUPT, INSTANCE_TYPE
from karptui.karpenter.nodepool import BALANCED, WHEN_EMPTY, NodePool
from karptui.kube import resources
from karptui.kube.pod import Pod
from karptui.kube.resources import CPU, MEMORY
from karptui.kube.timestamps import DAY_NS, HOUR_NS, format_second
from karptui.kube.units import counted, verb
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import ObjectRef, SetField, SetSetting

_LONG_AFTER_NS: Final = DAY_NS
_LONG_EMPTY_NS: Final = 6 * HOUR_NS
_CONSOLIDATE_AFTER: Final = ("spec", "disruption", "consolidateAfter")


@rule(
    "pool-balanced-silent",
    title="Balanced rejects silently",
    what="A NodePool with nodes has consolidationPolicy Balanced.",
    why="Balanced compares the share of the pool's cost that a move saves with the share of its pods that it disrupts, "
    "and approves a score of 0.5 or more. An approved move gets the event ConsolidationApproved. A rejected node gets "
    "no event, and neither does a node without budget.",
    source="pkg/controllers/disruption/balanced.go",
    remedy="No change is needed: the WHY column of the Nodes screen shows the score.",
)
def _balanced_silent(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        if pool.consolidation_policy == BALANCED and nodes and not pool.is_static:
            yield Finding(
                severity=Severity.INFO,
                objects=(pool_ref(pool),),
                fact=f"{pool.name} ({counted(len(nodes), 'node')}) consolidates by the Balanced policy: a node whose "
                "removal saves little for the pods it disrupts is rejected, and nothing on the node shows it.",
            )


@rule(
    "pool-churn-loop",
    title="node churn loop",
    what="At least three times in the observed period, Karpenter removed a node within half an hour of its creation, "
    "or an empty one within 10 minutes, and not all of them after one surge; or removed one as underutilized or empty "
    "and launched the same type in its place or within 15 minutes; or created a NodeClaim that never became a node, "
    "the last one within half an hour and after the last launch that succeeded, while pods are pending. "
    "Drifted nodes do not count if none of them had replaced another.",
    why="Consolidation looks at the present moment: a node is removed as soon as its pods fit elsewhere, and pods "
    "created a minute later need it again. Every round costs launches, evictions, and pods that start cold. The "
    "observed period is that of the API server's events, usually an hour, and of karptui's own observation.",
    source="pkg/controllers/disruption/queue.go, pkg/controllers/nodeclaim/disruption/consolidation.go and "
    "pkg/controllers/nodeclaim/lifecycle",
    remedy="Raise consolidateAfter above the time between two waves of pods, use policy Balanced or WhenEmpty, or give "
    "short-lived pods a separate NodePool. The Churn screen shows each replacement.",
)
def _churn_loop(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        loops = [loop for loop in context.loops if loop.pool == pool.name]
        if not loops:
            continue
        after_ns = longer_after(loops, pool)
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool),),
            fact=" ".join(map(loop_fact, loops)),
            remedy=" ".join(remedies(loops, pool)),
            edits=(SetField(pool_ref(pool), _CONSOLIDATE_AFTER, span(after_ns)),) if after_ns is not None else (),
        )


_FEWEST_NODES: Final = 3
_OLD: Final = 3
"""A node counts once it is this many times as old as consolidateAfter: it has had time to be quiet."""


@rule(
    "pool-consolidate-after-churn",
    title="pods outpace consolidateAfter",
    what="At least three nodes, and half of those three times as old as consolidateAfter, had a pod added or removed "
    "within consolidateAfter. Nodes whose pods have all ended do not count unless others started there in that time. "
    "It is a warning if pods request less than half of most of them.",
    why="Every pod that is bound to a node or leaves it restarts consolidateAfter, including CronJob and batch pods. A "
    "pool with more frequent pod changes is never consolidated, however empty its nodes are.",
    source="pkg/controllers/nodeclaim/podevents and pkg/controllers/nodeclaim/disruption/consolidation.go",
    remedy="Shorten consolidateAfter; with 0s pods do not restart it. Or give short-lived pods a separate pool.",
)
def _consolidate_after_churn(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        if pool.is_static or not pool.consolidate_after_ns:
            continue
        old = [node for node in context.nodes_of(pool) if _is_old(node, pool, context.now_ns)]
        kept = [node for node in old if _quiet_ns(node, context.now_ns) < pool.consolidate_after_ns]
        kept = [node for node in kept if not _is_emptied(context, node, pool.consolidate_after_ns)]
        if len(kept) < _FEWEST_NODES or 2 * len(kept) < len(old):
            continue
        cost, after = context.cost(kept), span(pool.consolidate_after_ns)
        quiet = span(median_low(_quiet_ns(node, context.now_ns) for node in kept))
        light = sum(map(_is_light, kept))
        pods = _short_pods(context, kept, pool.consolidate_after_ns)
        yield Finding(
            severity=Severity.WARNING if 2 * light >= len(kept) else Severity.INFO,
            objects=(pool_ref(pool), *pods),
            fact=f"{counted(len(kept), 'node')} of {pool.name}{at_cost(cost)} are not consolidated: pods{_of(pods)} "
            f"keep restarting consolidateAfter ({after}), on half of the nodes within the last {quiet}. Pods request "
            f"less than half of {share(light, len(kept), 'node')}.",
            edits=(SetField(pool_ref(pool), _CONSOLIDATE_AFTER, "0s"),),
            per_hour=cost,
        )


def _is_emptied(context: AdviceContext, node: StateNode, within_ns: int) -> bool:
    """Return whether a node's last pods have ended, and none has started there within a time."""
    is_empty = all(pod.template.is_daemonset_owned for pod in node.pods)
    return is_empty and not _short_pods(context, [node], within_ns)


def _short_pods(context: AdviceContext, nodes: Sequence[StateNode], within_ns: int) -> tuple[ObjectRef, ...]:
    """Return the workloads whose pods started on nodes within a time, the one with the most first."""
    names = {node.node.name for node in nodes if node.node is not None}
    pods = (pod for pod in context.inventory.pods if pod.node_name in names and not pod.template.is_daemonset_owned)
    started = Counter(context.owner_of(pod) for pod in pods if context.now_ns - pod.created_ns < within_ns)
    return tuple(owner for owner, _ in started.most_common(2))


def _of(owners: Sequence[ObjectRef]) -> str:
    return f" of {listed(map(ref_text, owners))}" if owners else ""


def _is_light(node: StateNode, part: int = 2) -> bool:
    """Return whether pods request less than half of a node's CPU and memory, or another part of it."""
    for name in (CPU, MEMORY):
        if part * sum(resources.nano(pod.requests, name) for pod in node.pods) >= node.allocatable_nano.get(name, 0):
            return False
    return True


def _is_old(node: StateNode, pool: NodePool, now_ns: int) -> bool:
    initialized = node.claim.condition("Initialized") if node.claim is not None else None
    if initialized is None or initialized.status != "True" or node.is_marked_for_deletion:
        return False
    return now_ns - initialized.last_transition_ns > _OLD * (pool.consolidate_after_ns or 0)


def _quiet_ns(node: StateNode, now_ns: int) -> int:
    """Return the time since the last pod event; unlimited without one."""
    last_ns = node.claim.last_pod_event_ns if node.claim is not None else 0
    return now_ns - last_ns


@rule(
    "pool-consolidation-never",
    title="consolidation is switched off",
    what="A NodePool with nodes has consolidateAfter Never, or of a day or more and nodes that have been empty for 6h.",
    why="With consolidateAfter Never the Consolidatable condition is never set, which emptiness and consolidation "
    "require; consolidationPolicy has no effect. Drift, expiration and deletion still apply.",
    source="pkg/controllers/nodeclaim/disruption/consolidation.go",
    remedy="Set consolidateAfter to a duration if empty or underutilized nodes should be removed.",
)
def _consolidation_never(context: AdviceContext) -> Iterator[Finding]:
    by_pool = {
        pool.name: [node for node in context.nodes_of(pool) if not node.is_marked_for_deletion]
        for pool in context.pools
        if not pool.is_static and (pool.consolidate_after_ns is None or pool.consolidate_after_ns >= _LONG_AFTER_NS)
    }
    pools = [pool for pool in context.pools if by_pool.get(pool.name)]
    never = [pool for pool in pools if pool.consolidate_after_ns is None]
    for pool in pools:
        if pool.consolidate_after_ns is not None:
            yield from _empty_for_long(context, pool, _empty(context, by_pool[pool.name]), pool.consolidate_after_ns)
    if not never:
        return
    nodes = [node for pool in never for node in by_pool[pool.name]]
    empty = _empty(context, nodes)
    cost = context.cost(empty)
    of_these = f"; {counted(len(empty), 'of them is', 'of them are')} empty{at_cost(cost)}" if empty else ""
    has, it_has = ("has", "It has") if len(never) == 1 else ("have", "They have")
    yield Finding(
        severity=Severity.WARNING if empty else Severity.INFO,
        objects=tuple(map(pool_ref, never)),
        fact=f"{listed(pool.name for pool in never)} {has} consolidateAfter Never: neither empty nor underutilized "
        f"nodes are removed, whatever consolidationPolicy is. {it_has} {counted(len(nodes), 'node')}{of_these}.",
        edits=tuple(SetField(pool_ref(pool), _CONSOLIDATE_AFTER, "5m") for pool in never),
        per_hour=cost,
    )


def _empty(context: AdviceContext, nodes: Iterable[StateNode]) -> list[StateNode]:
    """Return the initialized nodes without pods, except those on which a pod is expected."""
    unused = (node for node in nodes if context.fleet.is_empty(node) and node.name not in context.fleet.nominated)
    return [node for node in unused if node.is_initialized]


def _empty_for_long(
    context: AdviceContext, pool: NodePool, empty: Sequence[StateNode], after_ns: int
) -> Iterator[Finding]:
    late = [node for node in empty if _LONG_EMPTY_NS <= _quiet_ns(node, context.now_ns) < after_ns]
    if late:
        left = span(after_ns - max(_quiet_ns(node, context.now_ns) for node in late))
        cost = context.cost(late)
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool),),
            fact=f"{counted(len(late), 'empty node')} of {pool.name}{at_cost(cost)} "
            f"{verb(len(late), 'stays', 'stay')} for at least {left} more: consolidateAfter is {span(after_ns)}.",
            edits=(SetField(pool_ref(pool), _CONSOLIDATE_AFTER, "5m"),),
            per_hour=cost,
        )


_LIGHT_NS: Final = HOUR_NS
"""A node that has just started may still get its pods."""


@rule(
    "pool-when-empty",
    title="only empty nodes are consolidated",
    what="At least three nodes of a NodePool with consolidationPolicy WhenEmpty, and half of its nodes, are older than "
    "an hour and run pods that request less than a quarter of them and can be evicted.",
    why="With consolidationPolicy WhenEmpty, a node stays as long as one pod that is not a DaemonSet's runs on it, "
    "however small. Pods are never moved together onto fewer nodes.",
    source="pkg/controllers/disruption/consolidation.go",
    remedy="Set consolidationPolicy WhenEmptyOrUnderutilized if the pods may be evicted. A what-if shows which nodes "
    "are then removed.",
)
def _only_empty_nodes(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        if pool.is_static or pool.consolidation_policy != WHEN_EMPTY or pool.consolidate_after_ns is None:
            continue
        nodes = context.nodes_of(pool)
        light = [node for node in nodes if _is_kept_by_a_little(node, context)]
        if len(light) < _FEWEST_NODES or 2 * len(light) < len(nodes):
            continue
        cost = context.cost(light)
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool),),
            fact=f"{counted(len(light), 'node')} of {pool.name}{at_cost(cost)} stay although pods request less than a "
            "quarter of each: its consolidationPolicy WhenEmpty removes only empty nodes.",
            edits=(
                SetField(pool_ref(pool), ("spec", "disruption", "consolidationPolicy"), "WhenEmptyOrUnderutilized"),
            ),
            per_hour=cost,
        )


def _is_kept_by_a_little(node: StateNode, context: AdviceContext) -> bool:
    """Return whether a node that is neither new nor empty has much room, and only the policy keeps it."""
    claim = node.claim
    if claim is None or not node.is_initialized or node.is_marked_for_deletion or protects_node(node.annotations):
        return False
    if context.now_ns - claim.created_ns < _LIGHT_NS or context.fleet.is_empty(node) or not _is_light(node, 4):
        return False
    return not _holds_pods(node, context)


def _holds_pods(node: StateNode, context: AdviceContext) -> bool:
    """Return whether do-not-disrupt or a PodDisruptionBudget protects a pod on a node."""
    block = context.fleet.pods.pdb_block
    return any(protection_of(pod, context.now_ns).is_active or block(pod) for pod in node.pods)


_SOON_NS: Final = DAY_NS
_AHEAD_NS: Final = 7 * _SOON_NS
_SHARE: Final = 3


@rule(
    "pool-expiry-wave",
    title="many nodes expire at once",
    what="Within the next week at least three nodes, and a third of a NodePool, expire within half an hour, twice the "
    "average rate of expireAfter.",
    why="Expiry is forceful: a NodeClaim older than expireAfter is deleted, regardless of budgets and without waiting "
    "for a replacement. Nodes launched together, for a deployment or an upgrade, expire together.",
    source="pkg/controllers/nodeclaim/expiration/controller.go",
    remedy="Replace some of them earlier, a few at a time (delete NodeClaims, or let drift do it within the budgets), "
    "and set a terminationGracePeriod so that every drain ends.",
)
def _expiry_wave(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        nodes = context.nodes_of(pool)
        coming = [e for e in expiry_calendar(nodes) if context.now_ns < e.at_ns <= context.now_ns + _AHEAD_NS]
        wave = expiry_wave(coming)
        if len(wave) < _FEWEST_NODES or _SHARE * len(wave) < len(nodes):
            continue
        if pool.expire_after_ns and len(wave) * pool.expire_after_ns < 2 * len(nodes) * WAVE_NS:
            # Nodes of so short a life expire at this rate however evenly they are spread.
            continue
        names = {expiry.claim_name for expiry in wave}
        going = [node for node in nodes if node.claim is not None and node.claim.name in names]
        cost, until_ns = context.cost(going), wave[0].at_ns - context.now_ns
        endless = {expiry.claim_name for expiry in wave if expiry.forced_end_ns is None}
        held = sum(n.claim is not None and n.claim.name in endless and _holds_pods(n, context) for n in going)
        drains = f" {counted(held, 'drain')} may never end: no terminationGracePeriod." if held else ""
        protected = sum(protects_node(node.annotations) for node in going)
        drains += f" do-not-disrupt on {counted(protected, 'node')} does not stop it." if protected else ""
        yield Finding(
            severity=Severity.WARNING if until_ns < _SOON_NS else Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"{share(len(wave), len(nodes), 'node')} of {pool.name}{at_cost(cost)} expire within 30m of each "
            f"other, from {format_second(wave[0].at_ns)} on (in {span(until_ns)}). Disruption budgets do not limit "
            f"expiration.{drains}",
        )


_GRACE_PERIOD_PATH: Final = ("spec", "template", "spec", "terminationGracePeriod")


@rule(
    "pool-no-grace-period",
    title="do-not-disrupt without an end",
    what="Pods that karpenter.sh/do-not-disrupt protects without end run on nodes without terminationGracePeriod. The "
    "severity is info while none of the nodes expires, has drifted or is being deleted.",
    why="do-not-disrupt blocks drift and consolidation of the node, and a drain that begins anyway (expiration, "
    "deletion) waits for the pod. Only terminationGracePeriod ends that wait; it also lets drift replace the node. It "
    "never lets consolidation remove a node with a protected pod.",
    source="pkg/controllers/state/statenode.go and pkg/controllers/node/termination/terminator",
    remedy="Set terminationGracePeriod on the NodePool to the longest that such a pod may take (changing it makes "
    "existing nodes drift), or give the annotation a duration, such as 4h, instead of true.",
)
def _no_grace_period(context: AdviceContext) -> Iterator[Finding]:
    predicates = context.fleet.pods
    protected: dict[str, list[tuple[ObjectRef, Pod]]] = {}
    for group in context.groups:
        if DO_NOT_DISRUPT in group.template.annotations:
            for pod in group.pods:
                is_endless = predicates.protection(pod).kind is ProtectionKind.ALWAYS
                if pod.node_name and pod.is_active and is_endless:
                    protected.setdefault(pod.node_name, []).append((group.owner, pod))
    for pool in context.pools:
        nodes = [
            node
            for node in context.nodes_of(pool)
            if node.node is not None
            and node.node.name in protected
            and node.claim is not None
            and node.claim.termination_grace_period_ns is None
        ]
        pods = [pair for node in nodes if node.node is not None for pair in protected[node.node.name]]
        if not pods:
            continue
        owners = tuple(dict.fromkeys(owner for owner, _ in pods))
        cost = context.cost(nodes)
        goes_anyway = any(
            node.is_marked_for_deletion
            or (node.claim is not None and (node.claim.expire_after_ns is not None or node.claim.is_true("Drifted")))
            for node in nodes
        )
        endless = ""
        if pool.termination_grace_period_ns is not None:
            endless = f" New nodes of the pool have one, {verb(len(nodes), 'this does', 'these do')} not."
        yield Finding(
            severity=Severity.WARNING if goes_anyway else Severity.INFO,
            objects=(pool_ref(pool), *owners),
            fact=f"{counted(len(pods), 'pod')} ({listed(map(ref_text, owners))}) {verb(len(pods), 'has', 'have')} "
            f"do-not-disrupt on {counted(len(nodes), 'node')} of {pool.name}{at_cost(cost)} without "
            "terminationGracePeriod: when such a node drifts it stays, and when it expires or is deleted its drain "
            f"has no end while {verb(len(pods), 'it runs', 'they run')}.{endless}",
            edits=(SetField(pool_ref(pool), _GRACE_PERIOD_PATH, "24h"),) if not endless else (),
            per_hour=cost,
        )


_ANNOTATIONS_PATH: Final = ("spec", "template", "metadata", "annotations", DO_NOT_DISRUPT)


@rule(
    "pool-protects-nodes",
    title="the pool protects all its nodes",
    what="The template of a NodePool carries karpenter.sh/do-not-disrupt.",
    why="Annotations of the template are copied to each node once, when it registers. On a node only the value true "
    "counts, and it never expires; durations work on pods only. Adding or removing the annotation changes the "
    "template's hash, so that every existing node drifts.",
    source="pkg/controllers/nodeclaim/lifecycle/registration.go and pkg/controllers/state/statenode.go",
    remedy="Remove it; protect the pods that need it, or close the pool for a reason with a disruption budget.",
)
def _protects_nodes(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        value = pool.template_annotations.get(DO_NOT_DISRUPT)
        if value is None:
            continue
        nodes = [node for node in context.nodes_of(pool) if protects_node(node.annotations)]
        cost = context.cost(nodes)
        if protects_node(pool.template_annotations):
            fact = f"Every new node of {pool.name} has do-not-disrupt: neither consolidation nor drift removes "
            fact += f"one. {counted(len(nodes), 'node')}{at_cost(cost)} {verb(len(nodes), 'has', 'have')} it now."
        else:
            fact = f'The template of {pool.name} has do-not-disrupt "{value}": on nodes only "true" counts, so it '
            fact += "protects nothing."
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool),),
            fact=fact,
            edits=(SetField(pool_ref(pool), _ANNOTATIONS_PATH),),
            per_hour=cost if protects_node(pool.template_annotations) else None,
        )


@rule(
    "pool-spot-gate-off",
    title="spot-to-spot consolidation is off",
    what="A NodePool that consolidates underutilized nodes has spot nodes, and the gate SpotToSpotConsolidation is "
    "off.",
    why="Replacing spot with spot is behind a feature gate that is off by default. Without it a large spot node with "
    "few pods is removed only if they fit elsewhere.",
    source="computeSpotToSpotConsolidation in pkg/controllers/disruption/consolidation.go",
    remedy="Set FEATURE_GATES=SpotToSpotConsolidation=true on the controller, with pools that allow at least 15 "
    "cheaper types; or leave it off on purpose if interruptions cost more.",
)
def _spot_gate_off(context: AdviceContext) -> Iterator[Finding]:
    if context.settings.gate(SPOT_TO_SPOT_GATE):
        return
    nodes = [
        node
        for pool in context.pools
        for node in context.spot_nodes_of(pool)
        if pool.consolidates_used_nodes and node.node is not None and not node.is_marked_for_deletion
    ]
    if not nodes:
        return
    pools = [pool for pool in context.pools if pool.name in {node.nodepool_name for node in nodes}]
    cost = context.cost(nodes)
    yield Finding(
        severity=Severity.INFO,
        objects=tuple(map(pool_ref, pools)),
        fact=f"{counted(len(nodes), 'spot node')}{at_cost(cost)} of {listed(pool.name for pool in pools)} can be "
        f"deleted by consolidation but never replaced by cheaper ones: {SPOT_TO_SPOT_GATE} is off"
        f"{context.doubt('FEATURE_GATES')}.",
        edits=(SetSetting(f"FEATURE_GATES.{SPOT_TO_SPOT_GATE}", "true"),),
        per_hour=cost,
    )


@rule(
    "pool-spot-inflexible",
    title="too few types for spot-to-spot",
    what="SpotToSpotConsolidation is on, and a NodePool with spot nodes allows 15 types or fewer.",
    why="A single spot node is replaced with another spot node only if at least 15 cheaper types remain, so that the "
    "replacement is not interrupted soon. A pool with 15 types or fewer never has 15 cheaper ones.",
    source="MinInstanceTypesForSpotToSpotConsolidation in pkg/controllers/disruption/consolidation.go",
    remedy="Allow more families, sizes or generations.",
)
def _spot_inflexible(context: AdviceContext) -> Iterator[Finding]:
    if not context.settings.gate(SPOT_TO_SPOT_GATE):
        return
    for pool in context.pools:
        if not (pool.consolidates_used_nodes and context.knows_types(pool)):
            continue
        nodes = context.spot_nodes_of(pool)
        offered = frozenset(context.offered_types(pool))
        types, running = len(offered), {node.labels.get(INSTANCE_TYPE, "") for node in nodes}
        # A type is never cheaper than itself.
        if nodes and types - (running <= offered) < SPOT_TO_SPOT_TYPES:
            cost = context.cost(nodes)
            yield Finding(
                severity=Severity.WARNING,
                objects=(pool_ref(pool),),
                fact=f"{pool.name} allows {counted(types, 'available type')}; a spot node is replaced by another only "
                f"with {SPOT_TO_SPOT_TYPES} cheaper ones to choose from, so its {counted(len(nodes), 'spot node')}"
                f"{at_cost(cost)} can be deleted but never be replaced.",
                per_hour=cost,
            )
