"""Migration of node groups to Karpenter as text and rows: new nodes, unschedulable pods, costs, the drain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from karptui.aws.money import per_hour_change_text
from karptui.forward.draining import HeldPod
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import counted, first_of, span_text, verb
from karptui.plan.rehearsal import TOGETHER, GroupDrain, Rehearsal
from karptui.views.column import (
    Heading,
    Value,
    count_column,
    lifted,
    number_heading,
    record,
    records,
    text_column,
    texts,
)
from karptui.views.drill import LAUNCH, UNPLACED, landing_columns, launch_text, part, places_text, reasons_text
from karptui.views.prices import known_sum_text, money_column
from karptui.views.row import Tone
from karptui.views.table import Sort, TableSpec

NO_GROUP: Final = "(no group)"
_FEW: Final = 3


def name_of(found: Rehearsal) -> str:
    """Return the name of the migrated node group."""
    return found.group or NO_GROUP


def headline(found: Rehearsal) -> str:
    """Return the result of migrating a node group."""
    what = f"without node group {name_of(found)} ({counted(len(found.nodes), 'node')})"
    if found.group == TOGETHER:
        what = f"without any node group ({counted(len(found.nodes), 'node')})"
    waiting = f"{verb(len(found.pending), 'is', 'are')} unschedulable"
    dollars = f"; {_dollars(found)}" if found.drain.has_prices else ""
    return f"{what} {places_text(found, waiting)}{dollars}"


def _dollars(found: Rehearsal) -> str:
    before = known_sum_text(found.price_before, found.unpriced)
    after = known_sum_text(found.price_after, found.unpriced_after)
    if found.unpriced == len(found.nodes):
        return f"{after} after; the group's cost is unknown"
    change = per_hour_change_text(found.price_after - found.price_before)
    missing = [f"{found.unpriced:,} without a price"] if found.unpriced else []
    missing += [f"{found.unpriced_after:,} new without a price"] if found.unpriced_after else []
    return f"{before} → {after} ({', '.join(missing or [change])})"


def overview(found: Sequence[Rehearsal]) -> str:
    """Return the result of migrating all node groups."""
    if not found:
        return "Karpenter launched every node: there is no node group to migrate"
    return f"{headline(found[-1])}; {drain_text(found[-1].drain)}"


def drain_text(drain: GroupDrain) -> str:
    """Return the duration of the drain or its blockers, and its peak."""
    how = "one node at a time" if drain.at_once == 1 else f"{drain.at_once} nodes at a time"
    most, now = (
        f" and {known_sum_text(price, drain.unpriced)}" if drain.has_prices else ""
        for price in (drain.most_price, drain.price_before)
    )
    peak = f"peak {counted(drain.most_nodes, 'node')}{most} (now {drain.nodes_before:,}{now})"
    if drain.took_ns is not None:
        return f"draining {how} takes {span_text(drain.took_ns)}, {peak}"
    left = drain.left
    stuck = [one for one in drain.held if one.until_ns is None]
    budgets = sorted({name for one in stuck for name in one.budgets})
    word = "PodDisruptionBudget" if len(budgets) == 1 else "PodDisruptionBudgets"
    names = first_of(budgets, _FEW)
    why = f": {word} {names} {verb(len(budgets), 'blocks', 'block')} {_these(stuck)}" if budgets else ""
    after = span_text(drain.until_ns - drain.from_ns)
    return f"draining {how} stalls, {len(left)} of {counted(len(drain.nodes), 'node')} left after {after}{why}; {peak}"


def _these(stuck: Sequence[HeldPod]) -> str:
    return stuck[0].pod if len(stuck) == 1 else f"{len(stuck):,} pods"


def drain_lines(drain: GroupDrain) -> Iterator[str]:
    """Yield details of the drain: blocked pods, pods without a node, and do-not-disrupt, which kubectl ignores."""
    for one in drain.held[:_FEW]:
        held = f"{one.pod} on {one.node} is blocked {span_text(drain.waited_ns(one))} by {', '.join(one.budgets)}"
        yield held if one.until_ns is not None else f"{held}, to the end"
    if len(drain.held) > _FEW:
        yield f"{counted(len(drain.held) - _FEW, 'other pod')} blocked for less time, or as long"
    if drain.longest_wait_ns:
        come = (
            f"; {counted(drain.launched, 'node')} {verb(drain.launched, 'is', 'are')} launched"
            if drain.launched
            else ""
        )
        yield f"a pod is without a node for up to {span_text(drain.longest_wait_ns)}{come}"
    if drain.waiting > drain.waiting_before:
        yield f"{counted(drain.waiting - drain.waiting_before, 'pod')} more without a node at the end"
    if drain.do_not_disrupt:
        names = first_of(drain.do_not_disrupt, _FEW)
        has = verb(len(drain.do_not_disrupt), "has", "have")
        count = counted(len(drain.do_not_disrupt), "pod")
        yield f"{count} {has} do-not-disrupt, which kubectl drain ignores: {names}"


def detail_lines(found: Rehearsal) -> Iterator[str]:
    """Yield the details of a migration, by section."""
    yield from part("Over time", [drain_text(found.drain), *drain_lines(found.drain)])
    yield from part("Unschedulable", reasons_text(found.pending))
    yield from part("New nodes", [launch_text(one) for one in found.launches])
    yield from part("Blocked by PodDisruptionBudgets today: their drain waits", found.held)
    yield from part("Lost: no owner recreates them", found.lost)
    yield from part("DaemonSets that end with these nodes", [f"{name}: {count}" for name, count in found.daemons])
    yield from part("DaemonSets that would not run on new nodes", list(_absent(found)))
    yield from part("Manifests", found.notes)


def story_lines(found: Rehearsal) -> Iterator[str]:
    """Yield the details of a migration in short lines."""
    yield drain_text(found.drain)
    yield from drain_lines(found.drain)
    if found.pending:
        yield f"unschedulable: {'; '.join(reasons_text(found.pending)[:_FEW])}"
    if found.launches:
        yield f"new nodes: {'; '.join(launch_text(one) for one in found.launches)}"
    if found.held:
        yield f"blocked by PodDisruptionBudgets today: {first_of(found.held, _FEW)}"
    if found.lost:
        yield f"lost (no owner recreates them): {first_of(found.lost, _FEW)}"
    if found.absent_daemons:
        absent = list(_absent(found))
        yield f"DaemonSets that would not run on new nodes: {first_of(absent, _FEW, '; ')}"


def _absent(found: Rehearsal) -> Iterator[str]:
    for name, pools in found.absent_daemons:
        yield f"{name}: not in {', '.join(pools)}"


def _took(found: Rehearsal) -> str:
    took_ns = found.drain.took_ns
    return "stalls" if took_ns is None else span_text(took_ns)


def _price_after(found: Rehearsal) -> float:
    return found.price_after


def _unpriced_after(found: Rehearsal) -> int:
    return found.unpriced_after


def _seconds_after(drain: GroupDrain, at_ns: int | None) -> int | None:
    return None if at_ns is None else (at_ns - drain.from_ns) // NS_PER_SECOND


_DRAIN: Final[tuple[Value[GroupDrain], ...]] = (
    Value("atOnce", lambda drain, _: drain.at_once, int, "Nodes drained at a time."),
    Value(
        "seconds",
        lambda drain, _: None if drain.took_ns is None else drain.took_ns // NS_PER_SECOND,
        int | None,
        "Until the last node is removed; null if some are left.",
    ),
    Value("playedSeconds", lambda drain, _: _seconds_after(drain, drain.until_ns), int, "Simulated time."),
    texts("nodesLeft", lambda drain: drain.left, "Nodes that are not empty at the end."),
    records(
        "heldPods",
        lambda drain: [(drain, held) for held in drain.held],
        (
            Value("pod", lambda pair, _: pair[1].pod, str),
            Value("node", lambda pair, _: pair[1].node, str),
            texts("budgets", lambda pair: pair[1].budgets),
            Value("seconds", lambda pair, _: pair[0].waited_ns(pair[1]) // NS_PER_SECOND, int),
            Value("isEvicted", lambda pair, _: pair[1].until_ns is not None, bool),
        ),
        "Pods whose eviction PodDisruptionBudgets refused: never evicted pods first, then by duration.",
    ),
    texts("doNotDisrupt", lambda drain: drain.do_not_disrupt, "Pods with do-not-disrupt, which kubectl drain ignores."),
    Value("newNodes", lambda drain, _: drain.launched, int, "Nodes that Karpenter launches during the drain."),
    Value("nodesBefore", lambda drain, _: drain.nodes_before, int),
    Value("mostNodes", lambda drain, _: drain.most_nodes, int, "Most nodes of the cluster at once."),
    Value("pricePerHourBefore", lambda drain, _: drain.price_before, float, "Karpenter's nodes and the group's."),
    Value("mostPricePerHour", lambda drain, _: drain.most_price, float, "The same at its highest."),
    Value("unpriced", lambda drain, _: drain.unpriced, int, "Most nodes at once without a known price."),
    Value(
        "longestWaitSeconds",
        lambda drain, _: drain.longest_wait_ns // NS_PER_SECOND,
        int,
        "Longest time that a pod is without a node.",
    ),
    Value("withoutNodeBefore", lambda drain, _: drain.waiting_before, int),
    Value("withoutNode", lambda drain, _: drain.waiting, int, "Pods without a node at the end."),
    records(
        "nodes",
        lambda drain: [(drain, node) for node in drain.nodes],
        (
            Value("node", lambda pair, _: pair[1].node, str),
            Value("begins", lambda pair, _: _seconds_after(pair[0], pair[1].from_ns), int | None),
            Value("empty", lambda pair, _: _seconds_after(pair[0], pair[1].empty_ns), int | None),
            Value("gone", lambda pair, _: _seconds_after(pair[0], pair[1].gone_ns), int | None),
        ),
        "In drain order; seconds from the beginning, null if that is not reached.",
    ),
)


_OF_DRAIN: Final[tuple[Value[Rehearsal], ...]] = lifted(_DRAIN, lambda row: row.drain)
_DRAIN_CSV: Final = tuple(
    msgspec.structs.replace(value, name=f"drain{value.name[0].upper()}{value.name[1:]}", is_csv_only=True)
    for value in _OF_DRAIN
    if value.name in ("seconds", "mostNodes", "mostPricePerHour")
)
TABLE: Final[TableSpec[Rehearsal]] = TableSpec(
    "node groups",
    (
        text_column(
            Heading("group", "NODE GROUP", "The node group that is drained.", 14, 44, is_name=True),
            name_of,
            values=(Value("nodeGroup", lambda row, _: row.group, str, "Its name, or the requested label."),),
        ),
        count_column(
            number_heading("gone", "NODES", "Its nodes."),
            lambda row: len(row.nodes),
            values=(texts("nodes", lambda row: row.nodes),),
        ),
        money_column(
            number_heading("before", "$/H NOW", "Price of its nodes."),
            lambda row: row.price_before,
            lambda row: row.unpriced,
            json="pricePerHourBefore",
        ),
        count_column(number_heading("pods", "PODS", "Displaced pods."), lambda row: row.pods, json="pods"),
        count_column(
            number_heading("pending", "PENDING", "Displaced pods that are unschedulable."),
            lambda row: len(row.pending),
            tone=lambda _: Tone.FAULT,
            values=(records("pending", lambda row: row.pending, UNPLACED),),
        ),
        *landing_columns(_price_after, _unpriced_after, "pricePerHourAfter"),
        text_column(
            number_heading("took", "TAKES", "Duration of the drain, or that it stalls."),
            _took,
            tone=lambda row: Tone.WARNING if row.drain.took_ns is None else Tone.NORMAL,
            values=(record("drain", lambda row: row.drain, _DRAIN, "The simulated drain."),),
        ),
        count_column(
            number_heading("most", "PEAK", "Most nodes of the cluster at once.", drop_order=2),
            lambda row: row.drain.most_nodes,
        ),
        count_column(
            number_heading(
                "held", "PDB", "Pods that a PodDisruptionBudget protects from eviction today.", drop_order=1
            ),
            lambda row: len(row.held),
            tone=lambda _: Tone.WARNING,
            values=(texts("heldByBudgets", lambda row: row.held, "Pods that a PodDisruptionBudget protects today."),),
        ),
    ),
    more_values=(
        Value("nodesWithoutPrice", lambda row, _: row.unpriced, int),
        records("launches", lambda row: row.launches, LAUNCH),
        texts("lost", lambda row: row.lost, "Pods without an owner: nothing recreates them."),
        records(
            "daemonSets",
            lambda row: row.daemons,
            (Value("name", lambda pair, _: pair[0], str), Value("pods", lambda pair, _: pair[1], int)),
            "DaemonSets with pods on these nodes.",
        ),
        records(
            "daemonSetsNotOnNewNodes",
            lambda row: row.absent_daemons,
            (Value("name", lambda pair, _: pair[0], str), texts("nodePools", lambda pair: pair[1])),
            "DaemonSets that would not run on the new nodes of some NodePools.",
        ),
        texts("notes", lambda row: row.notes),
        texts("assumed", lambda row: row.assumed),
        texts("notModelled", lambda row: row.drain.not_modelled, "Rules that the simulated drain ignores."),
        *_DRAIN_CSV,
    ),
    csv=(
        *("nodeGroup", "nodes", "pricePerHourBefore", "nodesWithoutPrice", "pricePerHourAfter", "pods", "onNodes"),
        *("onNewNodes", "newNodes", "pending", "lost", "heldByBudgets"),
        *("drainSeconds", "drainMostNodes", "drainMostPricePerHour"),
    ),
    key=name_of,
    default_sort=Sort("gone", is_descending=True),
    text=lambda row: name_of(row).lower(),
)
