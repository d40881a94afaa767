"""Drills: the effect of losing a zone, capacity type or NodePool; as text, and one row per loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from karptui.aws.money import per_hour_text
from karptui.kube.units import counted, first_of, verb
from karptui.studies.drill import Drill, DrillLaunch, LossKind, Placements, drills
from karptui.views.column import Column, Heading, Value, count_column, number_heading, records, text_column, texts
from karptui.views.prices import money_column
from karptui.views.row import Tone
from karptui.views.study import Study, answer_lines, answered, notes_of, section_lines
from karptui.views.table import Sort, TableSpec
from karptui.whatif.difference_lines import Unplaced
from karptui.whatif.scenario import Scenario

_FEW: Final = 3
"""Maximum number of node kinds or workloads named in a line."""
_WORDS: Final = {LossKind.ZONE: "zone", LossKind.CAPACITY_TYPE: "capacity type", LossKind.NODEPOOL: "NodePool"}


def headline(drill: Drill) -> str:
    """Return the effect of a loss."""
    return f"without {_WORDS[drill.loss.kind]} {drill.loss.name} {'; '.join(_outcome_parts(drill))}"


def _outcome_parts(drill: Drill) -> Iterator[str]:
    waiting = f"{verb(len(drill.pending), 'stays', 'stay')} pending"
    yield places_text(drill, waiting, f" ({_dollars(drill.launches)})")
    if drill.also_pending:
        also = len(drill.also_pending)
        yield f"{counted(also, 'pod')} pending today {verb(also, 'is', 'are')} unschedulable too"
    if drill.lost:
        yield f"{counted(len(drill.lost), 'pod')} without an owner {verb(len(drill.lost), 'is', 'are')} lost"
    gone = len(drill.nodes)
    starting = f" ({drill.starting:,} starting)" if drill.starting else ""
    yield f"{gone:,} of {counted(drill.nodes_before, 'node')}{starting} {verb(gone, 'is', 'are')} gone"


def places_text(placements: Placements, waiting: str, dollars: str = "") -> str:
    """Return the destinations of displaced pods."""
    pods, count = counted(placements.pods, "pod"), len(placements.pending)
    placed = [f"{placements.on_nodes:,} fit on other nodes"] if placements.on_nodes else []
    pending, moved = placements.for_pending, placements.launched - placements.for_pending
    needs = [f"{placements.on_new:,} need {counted(moved, 'new node')}"] if placements.on_new else []
    needs += [f"pods pending today need {counted(pending, 'new node')}"] if pending else []
    if needs:
        placed.append(f"{', '.join(needs)}{dollars}")
    if not placements.pods:
        return "no pod has to move"
    if count:
        return ", ".join((f"{count:,} of {pods} {waiting}", *placed))
    return f"{pods} {verb(placements.pods, 'fits', 'fit')} elsewhere: {', '.join(placed)}"


def _dollars(launches: Sequence[DrillLaunch]) -> str:
    total = sum(launch.price_per_hour for launch in launches)
    unpriced = sum(launch.unpriced for launch in launches)
    if not total:
        return "price unknown"
    text = f"{'at most ' if any(launch.is_at_most for launch in launches) else ''}{per_hour_text(total)}"
    return f"{text}, {unpriced:,} without a price" if unpriced else text


def overview(drills: Sequence[Drill]) -> str:
    """Return the effects of losing any one zone, capacity type or NodePool, worst first."""
    kinds = [(kind, [drill for drill in drills if drill.loss.kind is kind]) for kind in _WORDS]
    kinds.sort(key=lambda pair: -max((drill.waiting for drill in pair[1]), default=0))
    of_kinds = [_of_kind(kind, of) for kind, of in kinds if of]
    return "; ".join(of_kinds) or "no node has a zone, a capacity type or a NodePool"


def _of_kind(kind: LossKind, drills: Sequence[Drill]) -> str:
    word = _WORDS[kind]
    bad = sorted((drill for drill in drills if drill.waiting), key=lambda drill: -drill.waiting)
    if not bad:
        return f"losing any one {word} leaves none of its pods pending"
    worst, others = bad[0], len(bad) - 1
    stay = verb(worst.waiting, "stays", "stay")
    text = f"without {word} {worst.loss.name} {counted(worst.waiting, 'pod')} {stay} pending"
    return f"{text} ({counted(others, f'other {word}')} would leave pods pending too)" if others else text


def detail_lines(drill: Drill) -> Iterator[str]:
    """Yield the details of a drill."""
    yield from section_lines("Stay pending", reasons_text(drill.pending))
    yield from section_lines("Pending today, unschedulable after the loss", reasons_text(drill.also_pending))
    yield from section_lines("NodePools with nothing left to launch", [", ".join(drill.closed)] if drill.closed else [])
    yield from section_lines("New nodes", [launch_text(launch) for launch in drill.launches])
    yield from section_lines("Lost: no owner recreates them", drill.lost)
    yield from section_lines("Assumed", drill.assumed)
    yield from section_lines("Not modelled", drill.not_modelled)


def story_lines(drill: Drill) -> Iterator[str]:
    """Yield the reasons of pending pods, and the launched nodes."""
    if drill.pending:
        yield f"stay pending: {'; '.join(reasons_text(drill.pending)[:_FEW])}"
    if drill.also_pending:
        yield f"pending today, unschedulable then: {'; '.join(reasons_text(drill.also_pending)[:_FEW])}"
    if drill.closed:
        yield f"nothing left to launch: {', '.join(drill.closed)}"
    if drill.launches:
        yield f"new nodes: {'; '.join(launch_text(launch) for launch in drill.launches)}"


def launch_text(launch: DrillLaunch) -> str:
    """Return the new nodes of one NodePool as text."""
    return f"{launch.pool_name}: {launch.nodes:,}, {_dollars((launch,))}: {_counted(launch.types)}"


def reasons_text(pods: Sequence[Unplaced]) -> list[str]:
    """Return the reasons why pods stay pending, with the pods; most pods first."""
    alike: dict[str, Counter[str]] = {}
    for pod in pods:
        alike.setdefault(pod.reason, Counter())[pod.owner or f"Pod/{pod.pod_key}"] += 1
    worst = sorted(alike.items(), key=lambda pair: -pair[1].total())
    return [f"{counted(of.total(), 'pod')}, {reason}: {_counted(of.most_common())}" for reason, of in worst]


def _counted(things: Sequence[tuple[str, int]]) -> str:
    return first_of([f"{count:,} {words}" for words, count in things], _FEW)


LAUNCH: Final[tuple[Value[DrillLaunch], ...]] = (
    Value("nodePool", lambda launch, _: launch.pool_name, str),
    Value("nodes", lambda launch, _: launch.nodes, int),
    Value("pricePerHour", lambda launch, _: launch.price_per_hour, float),
    Value("isAtMost", lambda launch, _: launch.is_at_most, bool, "Whether it prices spot nodes as on-demand."),
    Value("unpriced", lambda launch, _: launch.unpriced, int, "Nodes without a known price."),
    records(
        "types",
        lambda launch: launch.types,
        (Value("type", lambda pair, _: pair[0], str), Value("nodes", lambda pair, _: pair[1], int)),
        "Cheapest type, capacity type and zone.",
    ),
)
UNPLACED: Final[tuple[Value[Unplaced], ...]] = (
    Value("pod", lambda pod, _: pod.pod_key, str, "namespace/name"),
    Value("owner", lambda pod, _: pod.owner, str, "Kind/namespace/name of its workload; empty if it has none."),
    Value("reason", lambda pod, _: pod.reason, str, "In plain words."),
    Value("karpenterSays", lambda pod, _: pod.karpenter_says, str, "Karpenter's message."),
)


def landing_columns(json: str) -> tuple[Column[Any], ...]:
    """Return the columns of `Placements`; of the price with this name in JSON."""
    return (
        count_column(
            number_heading("fit", "FIT", "Pods that fit on other nodes.", drop_order=2),
            lambda row: row.on_nodes,
            json="onNodes",
        ),
        count_column(
            number_heading("new", "ON NEW", "Pods that get a new node.", drop_order=2),
            lambda row: row.on_new,
            json="onNewNodes",
        ),
        count_column(
            number_heading("nodes", "NEW NODES", "Nodes that Karpenter launches then, also for pods pending today."),
            lambda row: row.launched,
            json="newNodes",
        ),
        money_column(
            number_heading("price", "$/H NEW", "Price of the new nodes."),
            lambda row: row.price_after,
            lambda row: row.unpriced_after,
            json=json,
        ),
    )


TABLE: Final[TableSpec[Drill]] = TableSpec(
    "losses",
    (
        text_column(
            Heading("without", "WITHOUT", "The loss: zone=, capacity-type= or nodepool=NAME.", 20, 48, is_name=True),
            lambda row: str(row.loss),
            json="without",
        ),
        count_column(
            number_heading(
                "pending",
                "PENDING",
                "Displaced pods that are unschedulable. Pods that are pending today do not count.",
            ),
            lambda row: row.waiting,
            tone=lambda _: Tone.FAULT,
            values=(
                records("pending", lambda row: row.pending, UNPLACED, "Displaced pods that are unschedulable."),
                records(
                    "alsoPending",
                    lambda row: row.also_pending,
                    UNPLACED,
                    "Pods that are pending today, fit by simulation, and do not after the loss.",
                ),
            ),
        ),
        count_column(number_heading("pods", "PODS", "Displaced pods."), lambda row: row.pods, json="pods"),
        *landing_columns("newPricePerHour"),
        count_column(
            number_heading("gone", "NODES GONE", "Lost nodes.", drop_order=1),
            lambda row: len(row.nodes),
            values=texts("nodesGone", lambda row: row.nodes),
        ),
    ),
    more_values=(
        Value("nodesBefore", lambda row, _: row.nodes_before, int, "Nodes, and NodeClaims without a node yet."),
        records("launches", lambda row: row.launches, LAUNCH),
        texts("lost", lambda row: row.lost, "Pods without an owner: nothing recreates them."),
        texts("closedNodePools", lambda row: row.closed, "NodePools that can launch today and not after the loss."),
        texts("assumed", lambda row: row.assumed),
        texts("notModelled", lambda row: row.not_modelled),
    ),
    csv=(
        *("without", "pending", "alsoPending", "pods", "onNodes", "onNewNodes", "newNodes", "newPricePerHour"),
        *("nodesBefore", "nodesGone", "lost"),
    ),
    key=lambda row: str(row.loss),
    default_sort=Sort("pending", is_descending=True),
    text=lambda row: " ".join((str(row.loss), *(unplaced.pod_key for unplaced in row.pending))).lower(),
)


def drill_study() -> Study[tuple[Drill, ...], Drill]:
    """Return the study of losing each zone, capacity type or NodePool."""
    return Study(
        title="Drill ─ effect of losing a zone, capacity type or NodePool at once",
        rows_title="Losses",
        table=TABLE,
        ask=answered(drills),
        rows=lambda drills: drills,
        lines=lambda drills: answer_lines(overview(drills)),
        name_of=lambda row: str(row.loss),
        story=lambda row: answer_lines(headline(row), story_lines(row)),
        notes=lambda drills: notes_of(drills[0].assumed, drills[0].not_modelled) if drills else (),
        scenario=lambda row: Scenario(name=f"without {row.loss}", edits=row.edits),
    )
