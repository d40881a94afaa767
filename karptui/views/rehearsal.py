"""Migration of node groups to Karpenter as text and rows: new nodes, unschedulable pods, costs, the drain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from karptui.aws.money import per_hour_change_text
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import counted, first_of, span_text, verb
from karptui.studies.rehearsal import TOGETHER, GroupDrain, Rehearsal
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
from karptui.views.drill import LAUNCH, UNPLACED, landing_columns, launch_text, places_text, reasons_text
from karptui.views.prices import known_sum_text, money_column
from karptui.views.row import Tone
from karptui.views.study import section_lines
from karptui.views.table import Sort, TableSpec

NO_GROUP: Final = "(no group)"
_FEW: Final = 3


def name_of(rehearsal: Rehearsal) -> str:
    """Return the name of the migrated node group."""
    return rehearsal.group or NO_GROUP


def headline(rehearsal: Rehearsal) -> str:
    """Return the result of migrating a node group."""
    what = f"without node group {name_of(rehearsal)} ({counted(len(rehearsal.nodes), 'node')})"
    if rehearsal.group == TOGETHER:
        what = f"without any node group ({counted(len(rehearsal.nodes), 'node')})"
    waiting = f"{verb(len(rehearsal.pending), 'is', 'are')} unschedulable"
    dollars = f"; {_dollars(rehearsal)}" if rehearsal.drain.has_prices else ""
    return f"{what} {places_text(rehearsal, waiting)}{dollars}"


def _dollars(rehearsal: Rehearsal) -> str:
    before = known_sum_text(rehearsal.price_before, rehearsal.unpriced)
    after = known_sum_text(rehearsal.price_after, rehearsal.unpriced_after)
    if rehearsal.unpriced == len(rehearsal.nodes):
        return f"{after} after; the group's cost is unknown"
    change = per_hour_change_text(rehearsal.price_after - rehearsal.price_before)
    missing = [f"{rehearsal.unpriced:,} without a price"] if rehearsal.unpriced else []
    missing += [f"{rehearsal.unpriced_after:,} new without a price"] if rehearsal.unpriced_after else []
    return f"{before} → {after} ({', '.join(missing or [change])})"


def overview(rehearsals: Sequence[Rehearsal]) -> str:
    """Return the result of migrating all node groups."""
    if not rehearsals:
        return "Karpenter launched every node: there is no node group to migrate"
    return f"{headline(rehearsals[-1])}; {drain_text(rehearsals[-1].drain)}"


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
    stuck = [pod for pod in drain.held if pod.until_ns is None]
    budgets = sorted({name for pod in stuck for name in pod.budgets})
    word = "PodDisruptionBudget" if len(budgets) == 1 else "PodDisruptionBudgets"
    names = first_of(budgets, _FEW)
    held = stuck[0].pod if len(stuck) == 1 else f"{len(stuck):,} pods"
    why = f": {word} {names} {verb(len(budgets), 'blocks', 'block')} {held}" if budgets else ""
    after = span_text(drain.until_ns - drain.from_ns)
    return f"draining {how} stalls, {len(left)} of {counted(len(drain.nodes), 'node')} left after {after}{why}; {peak}"


def drain_lines(drain: GroupDrain) -> Iterator[str]:
    """Yield details of the drain: blocked pods, pods without a node, and do-not-disrupt, which kubectl ignores."""
    for pod in drain.held[:_FEW]:
        held = f"{pod.pod} on {pod.node} is blocked {span_text(drain.waited_ns(pod))} by {', '.join(pod.budgets)}"
        yield held if pod.until_ns is not None else f"{held}, to the end"
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
        yield f"{counted(drain.waiting - drain.waiting_before, 'more pod')} without a node at the end"
    if drain.do_not_disrupt:
        names = first_of(drain.do_not_disrupt, _FEW)
        has = verb(len(drain.do_not_disrupt), "has", "have")
        count = counted(len(drain.do_not_disrupt), "pod")
        yield f"{count} {has} do-not-disrupt, which kubectl drain ignores: {names}"


def detail_lines(rehearsal: Rehearsal) -> Iterator[str]:
    """Yield the details of a migration, by section."""
    yield from section_lines("Over time", [drain_text(rehearsal.drain), *drain_lines(rehearsal.drain)])
    yield from section_lines("Unschedulable", reasons_text(rehearsal.pending))
    yield from section_lines("New nodes", [launch_text(launch) for launch in rehearsal.launches])
    yield from section_lines("Blocked by PodDisruptionBudgets today: their drain waits", rehearsal.held)
    yield from section_lines("Lost: no owner recreates them", rehearsal.lost)
    yield from section_lines(
        "DaemonSets that end with these nodes", [f"{name}: {count}" for name, count in rehearsal.daemons]
    )
    absent = [f"{name}: not in {', '.join(pools)}" for name, pools in rehearsal.absent_daemons]
    yield from section_lines("DaemonSets that would not run on new nodes", absent)
    yield from section_lines("Manifests", rehearsal.notes)


def _took(rehearsal: Rehearsal) -> str:
    took_ns = rehearsal.drain.took_ns
    return "stalls" if took_ns is None else span_text(took_ns)


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
            values=Value("nodeGroup", lambda row, _: row.group, str, "Its name, or the requested label."),
        ),
        count_column(
            number_heading("gone", "NODES", "Its nodes."),
            lambda row: len(row.nodes),
            values=texts("nodes", lambda row: row.nodes),
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
            values=records("pending", lambda row: row.pending, UNPLACED),
        ),
        *landing_columns("pricePerHourAfter"),
        text_column(
            number_heading("took", "TAKES", "Duration of the drain, or that it stalls."),
            _took,
            tone=lambda row: Tone.WARNING if row.drain.took_ns is None else Tone.NORMAL,
            values=record("drain", lambda row: row.drain, _DRAIN, "The simulated drain."),
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
            values=texts("heldByBudgets", lambda row: row.held, "Pods that a PodDisruptionBudget protects today."),
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
