"""Ask Karpenter's model about one side of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count
from types import MappingProxyType

from msgspec.structs import replace

from karptui.disruption.methods import NextPass, next_pass
from karptui.disruption.removal import EngineSimulator
from karptui.karpenter.pod_predicates import is_reschedulable
from karptui.kube.group import group_by
from karptui.kube.pod import Pod
from karptui.provisioning.kube_scheduler import Scheduler, bound_pods, is_kube_scheduled
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import Reporter, silent
from karptui.provisioning.solution import FilledStateNode, Solution, solve
from karptui.whatif.drift.drift import with_drift
from karptui.whatif.outcome import ReplayOutcome
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import EditedCluster, Situation, from_scratch, without_nodes


def replay(situation: Situation, mode: Replay, reporter: Reporter = silent) -> ReplayOutcome:
    """Return the outcome of one side; repeated calls return the same object.

    Nodes that the edits remove are removed in every mode. `Replay.REMOVE` removes them as consolidation would: their
    pods
    may use reserved capacity that others hold, and do not move to nodes within their consolidateAfter. In the other
    modes
    their pods are new pods.
    """
    outcome = situation.outcomes.get(mode)
    if outcome is None:
        outcome = situation.outcomes[mode] = _replay(situation, mode, reporter)
    return outcome


def _replay(situation: Situation, mode: Replay, reporter: Reporter) -> ReplayOutcome:
    removed = situation.removed if isinstance(situation, EditedCluster) else ()
    match mode:
        case Replay.SCRATCH:
            replayed = situation.derive(from_scratch(situation.inventory))
        case Replay.REMOVE:
            return _remove(situation, removed, reporter)
        case _:
            replayed = situation.derive(without_nodes(situation.inventory, removed)) if removed else situation
    if mode is Replay.NEXT:
        if isinstance(situation, EditedCluster):
            inventory = with_drift(replayed.inventory, situation.base, situation)
            replayed = replayed if inventory is replayed.inventory else situation.derive(inventory)
        return _next(situation, replayed, reporter)
    solution = solve(replayed.prepared, reporter=reporter)
    return _outcome(situation, mode, replayed, solution=solution, bound=_bound(replayed.prepared, solution))


def _remove(situation: Situation, removed: Sequence[str], reporter: Reporter) -> ReplayOutcome:
    prepared = situation.prepared
    going = [state for state in prepared.states if state.node_name in removed and not state.is_marked_for_deletion]
    gone = frozenset(state.provider_id for state in going)
    pods: list[Pod] = [pod for state in going for pod in (*state.pods, *state.ending) if is_reschedulable(pod)]
    solution = solve(
        prepared,
        sorted(pods, key=lambda pod: (pod.namespace, pod.name)),
        excluded=gone,
        reserved_fallback=bool(going),
        enforce_consolidate_after=bool(going),
        reporter=reporter,
    )
    solution, refused = _without_uninitialized(solution, {pod.uid for pod in pods})
    return _outcome(
        situation,
        Replay.REMOVE,
        situation,
        solution=solution,
        gone=gone,
        moved=tuple(pods),
        refused=refused,
        bound=_bound(prepared, solution, gone=gone, moved=pods),
    )


def _bound(
    prepared: Prepared, solution: Solution, *, gone: Collection[str] = (), moved: Sequence[Pod] = ()
) -> tuple[FilledStateNode, ...]:
    """Return the pods that only kube-scheduler finds a node for, by node.

    These are the pods that Karpenter ignores, and all pods if no NodePool is usable.

    Args:
        solution: What Karpenter decides; its pods come first.
    """
    pods = [ignored_pod.pod for ignored_pod in prepared.ignored]
    if not prepared.pools:
        virtual = {pod.uid for pod in prepared.buffer_pods}
        pods += [pod for pod in (*prepared.pending, *prepared.leaving, *moved) if pod.uid not in virtual]
    pods = [pod for pod in pods if is_kube_scheduled(pod)]
    if not pods:
        return ()
    moving = (*prepared.leaving, *moved)
    scheduler = Scheduler(prepared, bound_pods(prepared.inventory.pods), excluded=gone, moving=moving)
    for filled in solution.nodes:
        for pod in filled.pods:
            scheduler.place_on(pod, filled.state.name)
    nodes = scheduler.place(pods)
    by_node = group_by((pod for pod in pods if pod.uid in nodes), lambda pod: nodes[pod.uid])
    states = {destination.state.name: destination.state for destination in prepared.destinations}
    return tuple(FilledStateNode(states[name], tuple(by_node[name])) for name in sorted(by_node))


def _without_uninitialized(solution: Solution, moved: Collection[str]) -> tuple[Solution, dict[str, str]]:
    """Return a removal without moved pods on uninitialized nodes, because Karpenter does not count on those.

    Args:
        moved: Uids of the pods on removed nodes.

    Returns:
        The rest of the solution, and the refused node by ``namespace/name`` of the pod.
    """
    refused = {
        pod.key: filled.state.name
        for filled in solution.nodes
        if not filled.state.is_initialized
        for pod in filled.pods
        if pod.uid in moved
    }
    if not refused:
        return solution, refused
    kept = (replace(node, pods=tuple(pod for pod in node.pods if pod.key not in refused)) for node in solution.nodes)
    return replace(solution, nodes=tuple(node for node in kept if node.pods)), refused


def _next(situation: Situation, replayed: Situation, reporter: Reporter) -> ReplayOutcome:
    before = _counting(reporter, len(replayed.fleet.nodes))
    simulator = EngineSimulator(replayed.prepared, replayed.fleet, before=before)
    upcoming_pass = next_pass(replayed.prepared, replayed.fleet, simulator)
    return _outcome(situation, Replay.NEXT, replayed, next_pass=upcoming_pass)


def _outcome(
    situation: Situation,
    mode: Replay,
    replayed: Situation,
    *,
    solution: Solution | None = None,
    next_pass: NextPass | None = None,
    gone: frozenset[str] = frozenset(),
    moved: tuple[Pod, ...] = (),
    refused: Mapping[str, str] = MappingProxyType({}),
    bound: tuple[FilledStateNode, ...] = (),
) -> ReplayOutcome:
    """Return an outcome with its prices."""
    return ReplayOutcome(
        mode=mode,
        prepared=replayed.prepared,
        books=replayed.books,
        prices=situation.prices,
        claim_types=situation.claim_types,
        solution=solution,
        next_pass=next_pass,
        gone=gone,
        moved=moved,
        refused=refused,
        bound=bound,
    )


def _counting(reporter: Reporter, total: int) -> Callable[[], None]:
    """Return a function that counts removals; the reporter may cancel between two of them."""
    tried = count()
    return lambda: reporter(min(next(tried), total), total)
