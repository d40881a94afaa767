"""Forecast of a cluster with observed durations, assumptions, and what blocks nodes at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import takewhile
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.disruption.blockers import BlockerSurvey
from karptui.disruption.codes import CODES, RANKS, Blocker
from karptui.disruption.drain import DrainState
from karptui.disruption.fleet import Fleet
from karptui.disruption.removal import assumed_seconds
from karptui.forward.draining import forced_end
from karptui.forward.durations import INSTANT, Durations, job_times, joined_since, kind_of, observed, simulation_ns
from karptui.forward.journal import Journal
from karptui.forward.launching import given_up_ns, is_stuck, late_since
from karptui.forward.play import Play
from karptui.forward.result import KeptNode, Played, Step, StepKind, circle_of, without_dollars
from karptui.karpenter.inventory import Inventory, unmanaged_nodes
from karptui.karpenter.labels import NODEPOOL, TERMINATION_FINALIZER
from karptui.karpenter.nodeclaim import DrainStage, last_finalizers, overdue_launches
from karptui.karpenter.settings import Settings
from karptui.kube.durations import format_duration
from karptui.kube.group import group_by
from karptui.kube.timestamps import HOUR_NS, NS_PER_SECOND
from karptui.kube.units import clock_text, counted, duration_text, first_of, verb
from karptui.provisioning.instance_types import InstanceTypes
from karptui.provisioning.kube_scheduler import is_kube_scheduled
from karptui.provisioning.not_modelled import KUBE_SCHEDULER_APPROXIMATED, PREEMPTION, not_modelled
from karptui.provisioning.reporter import Pause, Reporter, no_pause, silent

_MOST_NAMES: Final = 3
RECKONED: Final = (
    "reserved nodes count as almost free, NodeOverlays change prices, "
    "and spot nodes without a spot price count at the on-demand price"
)
HORIZON_NS = 6 * HOUR_NS
"""Default length of a forecast."""


def forward(
    inventory: Inventory,
    types: InstanceTypes,
    settings: Settings,
    now_ns: int,
    *,
    horizon_ns: int = HORIZON_NS,
    is_instant: bool = False,
    seed: int = 0,
    simulation_seconds: float | None = None,
    removed: Iterable[str] = (),
    most_commands: int | None = None,
    refused_until_ns: int = 0,
    has_prices: bool = True,
    prices: PriceSettings = LIST_PRICES,
    only: Container[str] | None = None,
    journal: Journal | None = None,
    reporter: Reporter = silent,
    pause: Pause = no_pause,
) -> Played:
    """Return the forecast of a cluster.

    Args:
        types: One list of instance types for all NodePools, or a list by NodePool name, before NodeOverlays.
        now_ns: Start: nanoseconds since the epoch.
        is_instant: Whether launches, drains and pod starts take no time and validation passes.
        seed: Seed of what kube-scheduler and Karpenter leave to chance, and of Karpenter's load.
        simulation_seconds: Duration of one simulated removal by Karpenter's metrics; None if unknown.
        removed: Nodes that a user deletes at the start.
        most_commands: Limit of disruption commands; None for no limit.
        refused_until_ns: When the offerings that EC2 refused are available again; 0 for never.
        has_prices: Whether the result has prices; Karpenter decides by them either way.
        prices: Prices with a discount or a surcharge; Karpenter decides by list prices.
        only: Names of the nodes that Karpenter may disrupt voluntarily; None for all.
        reporter: Called with the passed and the total seconds; may raise ``Cancelled``.
    """
    durations = INSTANT
    if not is_instant:
        durations = msgspec.structs.replace(
            observed(inventory.nodeclaims),
            simulation_ns=simulation_ns(simulation_seconds, seed, len(inventory.nodes)),
        )
    play = Play(
        inventory,
        types,
        settings,
        now_ns,
        until_ns=now_ns + horizon_ns,
        durations=durations,
        seed=seed,
        most_commands=most_commands,
        refused_until_ns=refused_until_ns,
        journal=journal,
        reporter=reporter,
        pause=pause,
        prices=prices,
        only=only,
    )
    for name in removed:
        play.delete_node(name)
    played = play.run() if has_prices else without_dollars(play.run())
    is_measured = simulation_seconds is not None
    assumed, left_out = premises(
        inventory,
        settings,
        durations,
        now_ns,
        is_instant=is_instant,
        is_measured=is_measured,
        refused_until_ns=refused_until_ns,
        stalled=play.stalled,
    )
    unmanaged = len(unmanaged_nodes(inventory))
    assumed += (
        *_foreign(unmanaged, has_prices=has_prices),
        *_scheduled(inventory, played),
        *(about_dollars(played, prices) if has_prices else ()),
    )
    return msgspec.structs.replace(
        played,
        steps=tuple(_paid(step, prices) for step in played.steps),
        kept=kept_nodes(play.observation.fleet()),
        unmanaged=unmanaged,
        circle=circle_of(played),
        assumptions=assumed,
        not_modelled=left_out,
    )


def premises(
    inventory: Inventory,
    settings: Settings,
    durations: Durations,
    now_ns: int,
    *,
    is_instant: bool = False,
    is_measured: bool = False,
    refused_until_ns: int = 0,
    stalled: Mapping[str, DrainState] = MappingProxyType({}),
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the assumptions of a forecast, and the rules that it leaves out.

    Args:
        is_instant: Whether nothing takes time.
        is_measured: Whether Karpenter's metrics have the duration of its passes.
        refused_until_ns: When the offerings that EC2 refused are available again; 0 for never.
        stalled: Drains that make no progress, by node.
    """
    usual = None if is_measured else assumed_seconds(len(inventory.nodes))
    return (
        (
            *_overdue_launches(inventory, now_ns),
            *_stalled_drains(inventory, stalled, now_ns),
            *_finalizers(inventory, stalled),
            *_stuck_nodes(inventory, durations, now_ns),
            *_late_nodes(inventory, durations, now_ns),
            *_failing_pods(inventory, now_ns),
            *_assumptions(durations, usual, is_instant=is_instant),
            *_job_assumptions(inventory),
        ),
        (
            *_refused_again(refused_until_ns),
            *not_modelled(inventory, settings, keeps_replicas=True),
            *_not_modelled(inventory),
        ),
    )


def _refused_again(until_ns: int) -> Iterator[str]:
    if until_ns:
        at = clock_text(until_ns)
        yield f"whether EC2 refuses launches again: from {at} on, Karpenter launches the refused offerings here"


def kept_nodes(fleet: Fleet) -> tuple[KeptNode, ...]:
    """Return the blocked managed nodes, each with its worst blocker.

    Nodes that no method wants to remove, and temporary blockers, are left out.
    """
    survey = BlockerSurvey(fleet)
    kept = []
    for node in fleet.nodes:
        held = () if node.claim is None or node.is_marked_for_deletion else survey.of(node)
        blockers = [blocker for blocker in held if blocker.is_wanted and not blocker.is_passing]
        if blockers:
            worst = min(blockers, key=_rank)
            kept.append(KeptNode(node.name, str(worst.code), worst.object_ref))
    return tuple(kept)


def _rank(blocker: Blocker) -> tuple[int, str]:
    return RANKS[CODES[blocker.code].why], blocker.object_key


def _assumptions(durations: Durations, usual_seconds: float | None, *, is_instant: bool) -> list[str]:
    where = KUBE_SCHEDULER_APPROXIMATED
    cheapest = "each launch takes the cheapest offering of the first available capacity type"
    load = "the load does not change: owners recreate evicted pods, and nothing scales"
    if is_instant:
        return ["launches, drains and pod starts take no time, and every validation passes", where, cheapest, load]
    starts_ns = dict(durations.start_ns_by_pool)
    starts = ", ".join(f"{name} {_seconds(starts_ns[name])}" for name in sorted(starts_ns))
    others = f"a node is ready for pods {_seconds(durations.start_ns)} after its NodeClaim is created"
    usual = "" if usual_seconds is None else f"; in a cluster of this size, one takes about {usual_seconds:g} s"
    return [
        f"nodes start as fast as earlier nodes of their NodePool ({starts}); in other NodePools {others}"
        if starts_ns
        else others,
        f"a pod is ready {_seconds(durations.pod_start_ns)} after it is bound, and terminates within its grace period",
        f"an instance terminates {_seconds(durations.instance_end_ns)} after its last pod",
        f"Karpenter needs {durations.simulation_ns / NS_PER_SECOND:.2g} s per simulated removal"
        if durations.simulation_ns
        else f"Karpenter's simulations take no time{usual}",
        where,
        cheapest,
        load,
    ]


def _foreign(count: int, *, has_prices: bool) -> Iterator[str]:
    """Yield a note that nodes not managed by Karpenter count as nodes and not in prices, if there are any."""
    if count:
        counts = verb(count, "counts", "count")
        dollars = ", but not in $/h" if has_prices else ""
        yield f"{counted(count, 'node')} not managed by Karpenter {counts} in the number of nodes{dollars}"


def _scheduled(inventory: Inventory, played: Played) -> Iterator[str]:
    """Yield the pods that are bound although their scheduler refused them, or by the rules of another scheduler."""
    before = takewhile(lambda step: step.at_ns == played.from_ns and step.kind is not StepKind.READY, played.steps)
    bound = {key for step in before if step.kind is StepKind.BIND for key in step.pods}
    refused = sorted(pod.key for pod in inventory.pods if pod.key in bound and pod.scheduled_message)
    if refused:
        fit, them = verb(len(refused), "fits", "fit"), verb(len(refused), "is bound at once", "are bound at once")
        names = first_of(refused, _MOST_NAMES)
        yield f"{names} {fit} on a ready node by kube-scheduler's filters and {them}, although reported unschedulable"
    others = sorted({pod.template.scheduler_name for pod in inventory.pods if not is_kube_scheduled(pod)})
    if others:
        names = first_of(others, _MOST_NAMES)
        yield f"pods of other schedulers ({names}) are bound by kube-scheduler's rules, but later"


def _paid(step: Step, prices: PriceSettings) -> Step:
    """Return a step with savings by paid prices; Karpenter's own savings stay."""
    if step.savings_per_hour is None:
        return step
    saved = prices.saved(step.savings_per_hour, len(step.nodes) - len(step.claims))
    return msgspec.structs.replace(step, savings_per_hour=saved)


def about_dollars(played: Played, prices: PriceSettings = LIST_PRICES) -> Iterator[str]:
    """Yield notes on the prices of a forecast, and the number of nodes that they leave out."""
    if any(moment.price_per_hour or moment.nodes > moment.unpriced + played.unmanaged for moment in played.series):
        parts = [f"times {prices.multiplier:g}"] if prices.multiplier != 1 else []
        parts += [f"plus ${prices.surcharge_per_node_hour:g} per node"] if prices.surcharge_per_node_hour else []
        changed = " ".join(parts) or "without a discount or a surcharge"
        yield f"forecasts use the prices that Karpenter compares: list prices {changed}; {RECKONED}"
    if count := max(moment.unpriced for moment in played.series):
        counts, claims = verb(count, "counts", "count"), verb(count, "its NodeClaim", "their NodeClaims")
        yield f"{counted(count, 'node')} {counts} as $0/h: the price of {claims} is not known"


def _overdue_launches(inventory: Inventory, now_ns: int) -> Iterator[str]:
    """Yield NodeClaims that are assumed never to get an instance, and when Karpenter deletes them."""
    overdue = [claim for claim in overdue_launches(inventory.nodeclaims, now_ns) if not claim.is_deleting]
    groups = group_by(overdue, lambda claim: given_up_ns(claim) is not None)
    for is_given_up, claims in sorted(groups.items()):
        names, are = sorted(claim.name for claim in claims), verb(len(claims), "is", "are")
        end = f"while {verb(len(claims), 'it exists', 'they exist')}, Karpenter launches and disrupts nothing"
        if is_given_up:
            end = "Karpenter deletes a NodeClaim that does not launch within five minutes, and the next launch succeeds"
        yield f"{first_of(names, _MOST_NAMES)}, without an instance, {are} assumed never to launch: {end}"


def _stalled_drains(inventory: Inventory, stalled: Mapping[str, DrainState], now_ns: int) -> Iterator[str]:
    """Yield the nodes whose drains make no progress now, and are assumed to make none later."""
    finalizers = {node.name: last_finalizers(node) for node in inventory.nodes}
    ends = {name: forced_end(drain, now_ns) for name, drain in stalled.items()}
    groups = group_by(sorted(stalled), lambda name: (stalled[name].stage, finalizers.get(name), ends[name] is None))
    for (stage, kept_by, is_lasting), names in groups.items():
        its, it = verb(len(names), "its", "their"), verb(len(names), "it", "them")
        why = f"{its} pods have not been evicted"
        if stage is DrainStage.VOLUMES:
            why = f"{its} volumes have not been detached"
        elif stage is DrainStage.INSTANCE:
            have = verb(len(names), "instance has", "instances have")
            why = f"the finalizer {first_of(kept_by, 1)} has kept {it}" if kept_by else f"{its} {have} not terminated"
        oldest_ns = min(stalled[name].since_ns for name in names)
        since = f"{'' if len(names) == 1 else 'up to '}{duration_text((now_ns - oldest_ns) // NS_PER_SECOND)}"
        end = "" if is_lasting else f", until terminationGracePeriod forces {its} {verb(len(names), 'drain', 'drains')}"
        yield f"{first_of(names, _MOST_NAMES)} {verb(len(names), 'stays', 'stay')}{end}: {why} for {since}"


def _finalizers(inventory: Inventory, stalled: Container[str]) -> Iterator[str]:
    """Yield the nodes that are deleted in the forecast, although another controller's finalizer may keep them."""
    for node in inventory.nodes:
        others = [name for name in node.finalizers if node.is_deleting and name != TERMINATION_FINALIZER]
        if others and node.name not in stalled:
            yield f"{node.name} is deleted once it is drained, although it has the finalizer {first_of(others, 1)}"


def _stuck_nodes(inventory: Inventory, durations: Durations, now_ns: int) -> list[str]:
    claims = [nodeclaim for nodeclaim in inventory.nodeclaims if is_stuck(nodeclaim, durations, now_ns)]
    if not claims:
        return []
    oldest_ns = min(joined_since(claim) for claim in claims)
    names = first_of(sorted(claim.node_name or claim.name for claim in claims), _MOST_NAMES)
    stays = f"{verb(len(claims), 'is', 'are')} not initialized"
    since = f"{'' if len(claims) == 1 else 'up to '}{duration_text((now_ns - oldest_ns) // NS_PER_SECOND)}"
    joined = verb(len(claims), "it joined", "they joined")
    return [f"{names} {stays} {since} after {joined}, and assumed to stay so: Karpenter does not delete such nodes"]


def _late_nodes(inventory: Inventory, durations: Durations, now_ns: int) -> Iterator[str]:
    """Yield the nodes that count as ready now, although their start takes longer than usual."""
    late = [(began_ns, claim) for claim in inventory.nodeclaims if (began_ns := late_since(claim, durations, now_ns))]
    for usual_ns, starts in group_by(late, lambda start: durations.start_of(start[1].labels.get(NODEPOOL, ""))).items():
        names = first_of(sorted(claim.node_name or claim.name for _, claim in starts), _MOST_NAMES)
        count, they = verb(len(starts), "counts", "count"), verb(len(starts), "it has", "they have")
        taken = duration_text((now_ns - min(began_ns for began_ns, _ in starts)) // NS_PER_SECOND)
        slow = f"been starting for {'' if len(starts) == 1 else 'up to '}{taken}"
        yield f"{names} {count} as ready now, although {they} {slow} and {_seconds(usual_ns)} is usual"


def _failing_pods(inventory: Inventory, now_ns: int) -> Iterator[str]:
    """Yield the pods that are assumed never to start, and the nodes of several as those that start others."""
    pods = [pod for pod in inventory.pods if pod.is_active and pod.fails_to_start(now_ns)]
    if pods:
        names, are = first_of(sorted(pod.key for pod in pods), _MOST_NAMES), verb(len(pods), "is", "are")
        yield f"{names}, which cannot start now, {are} assumed never to start"
    counts = Counter(pod.node_name for pod in pods)
    if nodes := sorted(name for name, count in counts.items() if count > 1):
        start, there = verb(len(nodes), "starts", "start"), verb(len(nodes), "it", "each")
        yield f"{first_of(nodes, _MOST_NAMES)} {start} other pods, although several pods on {there} cannot start now"


def _job_assumptions(inventory: Inventory) -> list[str]:
    usual = job_times(inventory.pods).usual
    running = sorted({kind_of(pod) for pod in inventory.pods if pod.is_active} & usual.keys())
    if not running:
        return []
    medians = ", ".join(f"{kind} {_seconds(usual[kind])}" for kind in running)
    usually = f"pods of Jobs run as long as the median of earlier pods of their kind ({medians})"
    return [f"{usually}, or as the longest if they already run longer"]


def _not_modelled(inventory: Inventory) -> list[str]:
    times = job_times(inventory.pods)
    kinds = Counter(kind for pod in inventory.pods if pod.is_active and (kind := kind_of(pod)))
    jobs = sum(count for kind, count in kinds.items() if kind not in times.usual)
    parts = [
        "spot interruptions, and offerings that become unavailable",
        "drift caused by later changes, such as new images",
        PREEMPTION,
    ]
    if jobs:
        others = "" if jobs == kinds.total() else "other "
        pods, go_on = counted(jobs, f"{others}pod"), verb(jobs, "runs", "run")
        parts.insert(0, f"{pods} of Jobs {go_on} to the end of the forecast: their durations are not known")
    return parts


def _seconds(duration_ns: int) -> str:
    return format_duration(duration_ns // NS_PER_SECOND * NS_PER_SECOND)
