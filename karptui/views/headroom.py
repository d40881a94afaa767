"""Headroom: how many more pods of a workload fit; as text and tables, for all workloads and by NodePool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from karptui.aws.money import node_price_text, per_hour_text
from karptui.kube.quantity import NANO, parse_quantity
from karptui.kube.units import amount_text, count_text, counted, first_of, verb
from karptui.session.pods import OWNER_WORDS
from karptui.studies.headroom import MOST, Headroom, LimitUse, PoolRoom, headrooms_of
from karptui.views.column import (
    Column,
    Heading,
    ItemT,
    Value,
    count_column,
    number_heading,
    record,
    records,
    text_column,
    texts,
)
from karptui.views.pools.sentences import named_amount
from karptui.views.prices import money_column
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.study import Study, answer_lines, answered, notes_of
from karptui.views.table import Sort, TableSpec
from karptui.whatif.scenario import Scenario, ref_of

_FEW: Final = 3
_LAUNCHED: Final = "nodes launched anyway for pending pods"


def headline(headroom: Headroom) -> str:
    """Return the number of pods that still fit, and the consequence of adding more."""
    name = f"like {headroom.sample.name}"
    if not headroom.total:
        return f"no more pods {name} fit: {headroom.reason}"
    if headroom.is_fits_at_least:
        return f"{_at_least(headroom.fits)} pods {name} fit on {_nodes_text(headroom)}"
    return f"{_fitting(headroom, name)}; {_beyond(headroom)}"


def _gives_up(headroom: Headroom) -> bool:
    """Return whether more pods start than Karpenter places, because kube-scheduler ignores their preferences."""
    return headroom.has_preferences and headroom.starts > headroom.fits and not headroom.buffered


def _fitting(room: Headroom, name: str) -> str:
    count = room.fits
    if _gives_up(room):
        return f"{counted(room.starts, 'more pod')} {name} {verb(room.starts, 'starts', 'start')} on ready nodes"
    if count:
        return f"{counted(count, 'more pod')} {name} {verb(count, 'fits', 'fit')} on {_nodes_text(room)}"
    return f"no more pods {name} fit on existing nodes"


def _nodes_text(headroom: Headroom) -> str:
    """Return the nodes on which pods fit before a node is launched for them."""
    return _LAUNCHED if headroom.fits and headroom.on_launched == headroom.fits else _all_nodes_text([headroom])


def _all_nodes_text(headrooms: Sequence[Headroom]) -> str:
    """Return the nodes on which pods of any of the workloads fit."""
    there = f"existing{' or starting' if any(headroom.on_starting for headroom in headrooms) else ''} nodes"
    return f"{there} and on {_LAUNCHED}" if any(headroom.on_launched for headroom in headrooms) else there


def _beyond(room: Headroom) -> str:
    price = f", {node_price_text(room.next_price_per_hour)}/h" if room.next_price_per_hour else ""
    node = f"the next needs a new node of {room.next_pool} ({room.next_type}{price})" if room.next_pool else ""
    if _gives_up(room) and node:
        node = (
            f"from pod {count_text(room.fits + 1)} on, Karpenter launches nodes to meet their preferences (a spread,"
            f" for example), first in {room.next_pool} ({room.next_type}{price})"
        )
    if room.total == room.fits:
        return f"the next is unschedulable: {room.reason}"
    new = f"on {counted(room.new_nodes, 'new node')} ({per_hour_text(room.price_per_hour)})"
    if room.is_total_at_least:
        return f"{node}; {_at_least(room.total)} in total {new}, without reaching a limit"
    return f"{node}; {count_text(room.total)} in total {new}, then {room.reason}"


def _at_least(count: int, *, is_at_least: bool = True) -> str:
    return f"{count_text(count)}{' or more' if is_at_least else ''}"


def more_lines(room: Headroom) -> Iterator[str]:
    """Yield details: pods that start at once, CapacityBuffers, and where the pods land."""
    if room.fits or room.starts:
        yield _starting(room)
    yield from _buffer_lines(room.buffered)
    if room.nodes:
        first = ", ".join(f"{count_text(count)} on {name}" for name, count in room.nodes[:_FEW])
        rest = f" and others on {counted(len(room.nodes) - _FEW, 'node')}" if len(room.nodes) > _FEW else ""
        anyway = f"; {count_text(room.on_launched)} on nodes that are launched anyway" if room.on_launched else ""
        yield f"nodes: {first}{rest}{anyway}"


def _starting(headroom: Headroom) -> str:
    starts, later_on = headroom.starts, headroom.on_starting
    by = f"{verb(starts, 'starts', 'start')} at once, placed by kube-scheduler"
    now = f"{count_text(starts)} {by}" if starts else "none starts at once"
    wait = f"{verb(later_on, 'waits', 'wait')} for nodes that are starting"
    later = f"{count_text(later_on)} {wait}" if later_on and not _gives_up(headroom) else ""
    into = headroom.starts - headroom.fits
    more = ""
    if into > 0 and headroom.buffered:
        more = f"Karpenter then launches nodes to replace the buffer space that {count_text(into)} of them use"
    elif _gives_up(headroom):
        more = f"Karpenter honours their preferences and fits {count_text(headroom.fits)} of them without a new node"
    return "; ".join(filter(None, (now, later, more)))


def requests_text(headroom: Headroom) -> str:
    """Return the requests of one of the pods."""
    parts = (f"{name} {amount_text(name, parse_quantity(amount).nano)}" for name, amount in headroom.requests)
    return ", ".join(parts) or "nothing"


def overview(rooms: Sequence[Headroom]) -> str:
    """Return the workloads with the least headroom."""
    if not rooms:
        return "no workload has pods that could run on other nodes"
    none = [headroom for headroom in rooms if not headroom.total]
    parts = []
    if none:
        names = first_of([headroom.sample.name for headroom in none], _FEW)
        parts.append(f"no more pods of {names} fit")
    tight = next((headroom for headroom in rooms if headroom.total and not headroom.is_total_at_least), None)
    if tight is not None:
        parts.append(f"least headroom: {count_text(tight.total)} more of {tight.sample.name}")
    least = min((room for room in rooms if room.total > room.fits), key=lambda headroom: headroom.fits, default=None)
    if least is not None:
        parts.append(
            f"the first new node is needed after {count_text(least.fits)} more of {least.sample.name}"
            if least.fits
            else f"the next pod of {least.sample.name} needs a new node"
        )
    if not parts:
        parts.append(f"{_at_least(rooms[0].tried)} pods of each workload fit on {_all_nodes_text(rooms)}")
    return "; ".join(parts)


def pool_overview(pool: str, headrooms: Sequence[Headroom]) -> str:
    """Return the number of pods that a NodePool's new nodes take, by workload."""
    none = [headroom for headroom in headrooms if not headroom.pools[0].pods and not headroom.pools[0].is_at_least]
    some = [headroom for headroom in headrooms if headroom.pools[0].pods and not headroom.pools[0].is_at_least]
    rest = len(headrooms) - len(none) - len(some)
    parts = []
    if some:
        least, most = some[0], some[-1]
        parts.append(f"new nodes of {pool} take {counted(_takes(least), 'more pod')} of {least.sample.name}")
        if most is not least:
            parts[0] += f", up to {count_text(_takes(most))} of {most.sample.name}"
    if none:
        names = first_of([headroom.sample.name for headroom in none], _FEW)
        parts.append(f"{'none' if some else f'no new node of {pool}'} for {names}: {none[0].pools[0].reason}")
    if rest:
        reach = verb(rest, "reaches", "reach")
        parts.append(f"{counted(rest, 'workload')} {reach} no limit with {count_text(MOST)} more pods")
    return "; ".join(parts) or f"no workload has pods that {pool} could take"


def _takes(headroom: Headroom) -> int:
    return headroom.pools[0].pods


def limits_text(pool: str, limits: Sequence[LimitUse]) -> str:
    """Return the usage of a NodePool's limits."""
    if not limits:
        return f"{pool} has no limits"
    used = ", ".join(
        f"{amount_text(limit.resource, limit.used)} of {named_amount(limit.resource, limit.limit)}" for limit in limits
    )
    return f"limits of {pool}: {used} in use"


def _buffer_lines(buffered: int) -> Iterator[str]:
    """Yield the number of pods that CapacityBuffers reserve room for; nothing if none."""
    if buffered:
        reserved = f"CapacityBuffers reserve room for {counted(buffered, 'pod')}"
        yield f"{reserved}: kube-scheduler uses it for these pods, and Karpenter launches nodes to restore it"


def pool_lines(pool: str, headrooms: Sequence[Headroom]) -> Iterator[str]:
    """Yield details of a NodePool: its limits, and CapacityBuffers."""
    if headrooms:
        yield limits_text(pool, headrooms[0].pools[0].limits)
        yield from _buffer_lines(headrooms[0].buffered)


def room_lines(headroom: Headroom) -> Iterator[str]:
    """Yield details of one workload on a NodePool."""
    room = headroom.pools[0]
    fits = _at_least(headroom.fits, is_at_least=headroom.is_fits_at_least)
    yield f"on {_nodes_text(headroom)}, of any NodePool: {fits} more"
    new = f"on new nodes of {room.pool_name}: {_at_least(room.pods, is_at_least=room.is_at_least)} more"
    on = f" on {counted(room.nodes, 'node')} ({per_hour_text(room.price_per_hour)})" if room.pods else ""
    yield f"{new}{on}{f', then {room.reason}' if room.reason else ', without reaching a limit'}"


def _short_name(name: str) -> str:
    """Return a workload with its kind as kubectl shortens it: ``rs/web/front``."""
    kind, _, key = name.partition("/")
    return f"{OWNER_WORDS.get(kind, kind.lower())}/{key}" if key else name


def _tone(headroom: Headroom) -> Tone:
    return Tone.FAULT if not headroom.total else Tone.WARNING if not headroom.fits else Tone.NORMAL


def _pod_columns(ask_width: int, short: Callable[[Headroom], str] = lambda _: "") -> tuple[Column[Headroom], ...]:
    return (
        text_column(
            Heading("pod", "ONE MORE OF", "The workload whose pod is added.", 18, 48, is_name=True),
            lambda row: row.sample.name,
            short=short,
            json="pod",
        ),
        text_column(
            Heading("requests", "REQUESTS", "Requests of one pod.", ask_width, 32, drop_order=3),
            requests_text,
            values=Value("requests", lambda row, _: dict(row.requests), dict[str, str], "As quantities."),
        ),
    )


def _room_columns(room: Callable[[ItemT], PoolRoom], widest: int) -> tuple[Column[ItemT], ...]:
    """Return the columns about the new nodes of one NodePool.

    Args:
        widest: Maximum width of the reason why the next pod is unschedulable.
    """
    return (
        count_column(
            number_heading("pods", "TAKES", "More pods that the NodePool's new nodes take."),
            lambda row: room(row).pods,
            tone=lambda row: Tone.NORMAL if room(row).pods else Tone.MUTED,
            is_at_least=lambda row: room(row).is_at_least,
        ),
        count_column(number_heading("nodes", "NEW NODES", "New nodes.", drop_order=2), lambda row: room(row).nodes),
        money_column(
            number_heading("price", "$/H", "Price of the new nodes.", drop_order=2),
            lambda row: room(row).price_per_hour,
        ),
        text_column(
            Heading("stopped", "THEN", "Why the next one is unschedulable.", 14, widest, drop_order=1),
            lambda row: room(row).reason,
        ),
    )


_LIMIT: Final[tuple[Value[LimitUse], ...]] = (
    Value("resource", lambda use, _: use.resource, str),
    Value("used", lambda use, _: use.used / NANO, float),
    Value("limit", lambda use, _: use.limit / NANO, float),
)
_ROOM: Final[tuple[Value[PoolRoom], ...]] = (
    Value("nodePool", lambda room, _: room.pool_name, str),
    Value("pods", lambda room, _: room.pods, int, "Pods that its new nodes take."),
    Value("isAtLeast", lambda room, _: room.is_at_least, bool),
    Value("nodes", lambda room, _: room.nodes, int),
    Value("pricePerHour", lambda room, _: room.price_per_hour, float),
    Value("stoppedBy", lambda room, _: room.reason, str),
    records("limits", lambda room: room.limits, _LIMIT, "Its limits, and the use of them today."),
)
_NEXT_NODE: Final[tuple[Value[Headroom], ...]] = (
    Value("nodePool", lambda row, _: row.next_pool, str),
    Value("type", lambda row, _: row.next_type, str, "The cheapest type, capacity type and zone."),
    Value("pricePerHour", lambda row, _: row.next_price_per_hour, float | None),
)
_MORE: Final[tuple[Value[Headroom], ...]] = (
    Value("onStartingNodes", lambda row, _: row.on_starting, int, "Pods of beforeNode on nodes that are starting."),
    Value(
        "onLaunchedNodes",
        lambda row, _: row.on_launched,
        int,
        "Pods of beforeNode on nodes launched anyway for pods that are pending today.",
    ),
    records(
        "nodes",
        lambda row: row.nodes,
        (Value("node", lambda pair, _: pair[0], str), Value("pods", lambda pair, _: pair[1], int)),
        "Nodes that take the pods of beforeNode.",
    ),
    record(
        "nextNode",
        lambda row: row if row.next_pool else None,
        _NEXT_NODE,
        "The new node for the next pod; null if it gets none.",
        may_be_null=True,
    ),
    records(
        "nodePools",
        lambda row: row.pools,
        _ROOM,
        "Each NodePool, if no other could launch nodes; only for a single pod or NodePool.",
    ),
    Value("bufferPods", lambda row, _: row.buffered, int, "Pods whose room CapacityBuffers reserve."),
    Value("tried", lambda row, _: row.tried, int, "Pods that were tried."),
    texts("assumed", lambda row: row.assumed),
)


TABLE: Final[TableSpec[Headroom]] = TableSpec(
    "workloads",
    (
        *_pod_columns(26, lambda row: _short_name(row.sample.name)),
        count_column(
            number_heading("pods", "PODS", "Pods of the workload today.", drop_order=4),
            lambda row: row.pods,
            json="pods",
        ),
        count_column(
            number_heading("now", "START NOW", "More pods that kube-scheduler binds now.", drop_order=2),
            lambda row: row.starts,
            is_at_least=lambda row: row.starts == row.tried,
            json="startAtOnce",
        ),
        count_column(
            number_heading("fit", "NO NODE", "More pods that fit before Karpenter launches a node."),
            lambda row: row.fits,
            tone=_tone,
            is_at_least=lambda row: row.is_fits_at_least,
            values=(
                Value("beforeNode", lambda row, _: row.fits, int, "More pods before Karpenter launches a node."),
                Value(
                    "beforeNodeIsAtLeast", lambda row, _: row.is_fits_at_least, bool, "Whether more may fit than tried."
                ),
            ),
        ),
        count_column(
            number_heading("limit", "TOTAL", "More pods that fit, including new nodes, until a limit is reached."),
            lambda row: row.total,
            tone=_tone,
            is_at_least=lambda row: row.is_total_at_least,
            values=(
                Value("beforeLimits", lambda row, _: row.total, int, "More pods that fit, including new nodes."),
                Value(
                    "beforeLimitsIsAtLeast",
                    lambda row, _: row.is_total_at_least,
                    bool,
                    "Whether more may fit than tried.",
                ),
            ),
        ),
        count_column(
            number_heading("nodes", "NEW NODES", "New nodes for all of them.", drop_order=2),
            lambda row: row.new_nodes,
            json="newNodes",
        ),
        money_column(
            number_heading("price", "$/H", "Price of the new nodes.", drop_order=2),
            lambda row: row.price_per_hour,
            json="newPricePerHour",
        ),
        text_column(
            Heading(
                "stopped", "THEN", "Why the next pod is unschedulable; empty if not reached.", 24, 60, drop_order=5
            ),
            lambda row: row.reason,
            json="stoppedBy",
        ),
    ),
    more_values=_MORE,
    csv=(
        *("pod", "requests", "pods", "startAtOnce", "beforeNode", "beforeNodeIsAtLeast", "nodes", "nextNode"),
        *("beforeLimits", "beforeLimitsIsAtLeast", "newNodes", "newPricePerHour", "stoppedBy", "bufferPods", "tried"),
    ),
    key=lambda row: row.sample.name,
    default_sort=Sort("limit"),
    text=lambda row: f"{row.sample.name} {row.reason}".lower(),
)

POOL_TABLE: Final[TableSpec[Headroom]] = TableSpec(
    "workloads",
    (
        *_pod_columns(18),
        count_column(
            number_heading("fit", "NO NODE", "More pods that fit before Karpenter launches a node of any NodePool."),
            lambda row: row.fits,
            is_at_least=lambda row: row.is_fits_at_least,
        ),
        *_room_columns(lambda row: row.pools[0], 60),
    ),
    key=lambda row: row.sample.name,
    default_sort=Sort("pods"),
    text=lambda row: f"{row.sample.name} {row.pools[0].reason}".lower(),
)

POOLS_TABLE: Final[TableSpec[PoolRoom]] = TableSpec(
    "NodePools",
    (
        text_column(
            Heading("pool", "NODEPOOL", "The NodePool, if no other could launch anything.", 12, 40, is_name=True),
            lambda row: row.pool_name,
        ),
        *_room_columns(lambda row: row, 90),
    ),
    key=lambda row: row.pool_name,
    default_sort=Sort("pods", is_descending=True),
    text=lambda row: f"{row.pool_name} {row.reason}".lower(),
)


_SCALED = 10
"""Pods that a what-if adds if not even one more fits."""


def headroom_study(
    kind: str, key: str
) -> Study[tuple[Headroom, ...], Headroom] | Study[tuple[Headroom, ...], PoolRoom]:
    """Return the headroom study of one pod, of every workload, or of a NodePool's new nodes.

    Args:
        kind: API kind; empty for every workload.
        key: ``namespace/name``.
    """
    if kind == "NodePool":
        return _headroom_of_pool(key)
    return _headroom_of(kind, key) if kind else _headroom_of_all()


def _headroom_of_pool(name: str) -> Study[tuple[Headroom, ...], Headroom]:
    return replace(
        _headroom_of_all(),
        title=f"Headroom ─ NodePool {clean(name)}, if no other launched anything",
        rows_title=f"Workloads with pods on {clean(name)}",
        table=POOL_TABLE,
        ask=answered(partial(headrooms_of, ref=ref_of("NodePool", name))),
        lines=lambda headrooms: answer_lines(pool_overview(name, headrooms), pool_lines(name, headrooms)),
        story=lambda row: answer_lines(f"{row.sample.name}: {requests_text(row)}", room_lines(row)),
    )


def _headroom_of_all() -> Study[tuple[Headroom, ...], Headroom]:
    return Study(
        title="Headroom ─ how many more pods fit",
        rows_title="Workloads",
        table=TABLE,
        ask=answered(headrooms_of),
        rows=lambda headrooms: headrooms,
        lines=lambda headrooms: answer_lines(overview(headrooms)),
        name_of=lambda row: row.sample.name,
        story=lambda row: answer_lines(headline(row), more_lines(row)),
        notes=lambda headrooms: notes_of(headrooms[0].assumed) if headrooms else (),
        scenario=_scaled,
        opens=_headroom_of_row,
    )


def _headroom_of(kind: str, key: str) -> Study[tuple[Headroom, ...], PoolRoom]:
    def lines(headrooms: tuple[Headroom, ...]) -> Sequence[Pieces]:
        (room,) = headrooms
        return answer_lines(headline(room), (f"each requests {requests_text(room)}", *more_lines(room)))

    return Study(
        title=f"Headroom ─ {clean(kind)} {clean(key)}",
        rows_title="Each NodePool, if no other launched anything",
        table=POOLS_TABLE,
        ask=answered(partial(headrooms_of, ref=ref_of(kind, key))),
        rows=lambda headrooms: headrooms[0].pools,
        lines=lines,
        name_of=lambda row: row.pool_name,
        story=lambda row: answer_lines(f"{row.pool_name}: {row.reason}") if row.reason else (),
        notes=lambda headrooms: notes_of(headrooms[0].assumed) if headrooms else (),
    )


def _headroom_of_row(row: Headroom) -> Study[tuple[Headroom, ...], PoolRoom]:
    kind, _, key = row.sample.name.partition("/")
    return _headroom_of(kind, key)


def _scaled(row: Headroom) -> Scenario:
    """Return the scenario that adds pods up to the first one that does not fit."""
    count = row.fits + 1 if row.fits < MOST else _SCALED
    return Scenario(name=f"{count} more of {row.sample.name}", edits=row.sample.edits(count))
