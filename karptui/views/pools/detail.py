"""One NodePool at length, and the DaemonSets that a new node of it carries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.aws.evidence import SubnetRoom
from karptui.decode.kinds import Kind
from karptui.disruption.budgets import UNLIMITED
from karptui.kube.units import count_text, counted, cpu_text, first_of, instant_text, memory_text, span_text
from karptui.provisioning.pool_types import Filter
from karptui.session.pools import NODE_KINDS, DaemonRow, PoolRow
from karptui.views.budgets.sentences import line_text
from karptui.views.column import (
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    amount_column,
    count_column,
    natural_key,
    text_column,
)
from karptui.views.pools.sentences import (
    absence_tone,
    budget_left,
    limit_sentence,
    named_amount,
    order_line,
    ordinal,
    pool_sentences,
)
from karptui.views.prices import total_words
from karptui.views.row import ZERO, Cell, Pieces, Tone, text_cell
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec
from karptui.views.types.pools import filter_lines, reason_lines

_VALUES_SHOWN: Final = 8
_NAME_WIDTH: Final = 20


def title_parts(row: PoolRow, *, has_prices: bool) -> Pieces:
    """Return the title: name, weight, place, nodes, cost."""
    weight = f"weight {row.pool.weight}" if row.pool.weight else "no weight"
    place = f"tried {ordinal(row.rank)}" if row.rank is not None else "excluded"
    nodes = counted(row.nodes - row.starting, "node") + (f" +{row.starting:,} starting" if row.starting else "")
    if row.hides(*NODE_KINDS):
        nodes = "number of nodes unknown"
    cost = f" · {total_words(row.total)}" if has_prices and row.nodes else ""
    return ((f" {clean(row.name)} ", Tone.STRONG), (f"─ {weight} · {place} · {nodes}{cost} ", Tone.NORMAL))


def detail_lines(row: PoolRow) -> tuple[Pieces, ...]:
    """Return everything about a NodePool but its DaemonSets, a line each."""
    return (
        order_line(row)[1:],
        *pool_sentences(row)[1:],
        *_section("What to do", tuple(((clean(finding.remedy), Tone.GOOD),) for finding in row.types.findings)),
        *_section("Requirements", _requirements(row)),
        *_section("Taints", _taints(row)),
        *_section("Limits", _limits(row)),
        *_section("Disruption", _disruption(row)),
        *_section("NodeClass", _nodeclass(row)),
        *_section("Counted", _counted(row)),
        *_section("Types", (*filter_lines(row.types), *reason_lines(row.types))),
    )


def _section(title: str, lines: tuple[Pieces, ...]) -> tuple[Pieces, ...]:
    if not lines:
        return ()
    return ((), ((title, Tone.STRONG),), *((("  ", Tone.NORMAL), *line) for line in lines))


def _requirements(row: PoolRow) -> tuple[Pieces, ...]:
    """Return each requirement with how many types it is the first to rule out."""
    pool = row.pool
    reasons = next((f.reasons for f in row.types.counts if f.filter is Filter.REQUIREMENTS), ())
    removed: dict[str, int] = {}
    for reason, count in reasons:
        key = reason.partition(" ")[0]
        removed[key] = removed.get(key, 0) + count
    lines: list[Pieces] = []
    for requirement in pool.requirements:
        listed = (
            f" [{first_of([clean(value) for value in requirement.values], _VALUES_SHOWN)}]"
            if requirement.values
            else ""
        )
        least = f", at least {requirement.min_values} of them offered" if requirement.min_values is not None else ""
        out = removed.get(requirement.key, 0)
        cost = f"  −{counted(out, 'type')}" if out else ""
        lines.append(
            (
                (f"{clean(requirement.key)} {clean(requirement.operator)}{listed}{least}", Tone.NORMAL),
                (cost, Tone.MUTED),
            )
        )
    lines += [((f"label {clean(key)}={clean(value)}", Tone.NORMAL),) for key, value in pool.template_labels.items()]
    return tuple(lines) or ((("none: every type of its NodeClass", Tone.WARNING),),)


def _taints(row: PoolRow) -> tuple[Pieces, ...]:
    lines: list[Pieces] = [((clean(str(taint)), Tone.NORMAL),) for taint in row.pool.taints]
    lines += [((clean(str(taint)), Tone.NORMAL), (" until started", Tone.MUTED)) for taint in row.pool.startup_taints]
    return tuple(lines) or ((("none: any pod may be scheduled", Tone.MUTED),),)


def _limits(row: PoolRow) -> tuple[Pieces, ...]:
    lines: list[Pieces] = []
    for use in row.limits:
        used, limit = named_amount(use.resource, use.used), named_amount(use.resource, use.limit)
        name = clean(use.resource).ljust(_NAME_WIDTH)
        lines.append(((name, Tone.MUTED), (f"{used} of {limit} · ", Tone.NORMAL), limit_sentence(use)))
    if row.deleting and lines:
        count = row.deleting
        text = "1 node being deleted does" if count == 1 else f"{count_text(count)} nodes being deleted do"
        lines.append(((f"{text} not count", Tone.MUTED),))
    return tuple(lines) or ((("none: only cloud quotas limit it", Tone.MUTED),),)


def _disruption(row: PoolRow) -> tuple[Pieces, ...]:
    pool = row.pool
    wait_ns = pool.consolidate_after_ns
    after = span_text(wait_ns) if wait_ns is not None else "Never: no node is consolidated"
    lines: list[Pieces] = [((f"{clean(pool.consolidation_policy)}, consolidateAfter {after}", Tone.NORMAL),)]
    lines += [((f"budget {i}: {clean(line_text(b))}", Tone.NORMAL),) for i, b in enumerate(pool.budgets or (), 1)]
    if not pool.budgets:
        lines.append((("no budgets: there is no limit", Tone.MUTED),))
    if left := budget_left(row):
        text = ", ".join(f"{reason} {'any' if n >= UNLIMITED else count_text(n)}" for reason, n in left.items())
        lines.append((("left now: ", Tone.MUTED), (text, Tone.NORMAL if any(left.values()) else Tone.WARNING)))
    if row.drifted:
        named = f"{count_text(row.drifted)} of {count_text(row.nodes)} nodes drifted"
        lines.append(((named, Tone.WARNING),))
    expires = span_text(pool.expire_after_ns) if pool.expire_after_ns is not None else "never"
    grace_ns = pool.termination_grace_period_ns
    grace = span_text(grace_ns) if grace_ns is not None else "none: a drain has no time limit"
    lines.append(((f"nodes expire after: {expires} · terminationGracePeriod: {grace}", Tone.NORMAL),))
    return tuple(lines)


def _counted(row: PoolRow) -> tuple[Pieces, ...]:
    """Return its NodeClaims and pods as Karpenter counts them, else its pods."""
    counts = row.counted
    if counts is None and row.hides(Kind.POD):
        return ()
    if counts is None:
        return (((f"{counted(row.pods, 'pod')} on its nodes, DaemonSets included", Tone.NORMAL),),)
    others = counts.created - counts.provisioned
    text = f"{count_text(counts.created)} NodeClaims created, by Karpenter's own counters"
    split = f": {count_text(counts.provisioned)} for pending pods, {count_text(others)} to replace others"
    lately = f" · {count_text(counts.created_since_look)} since karptui started" if counts.created_since_look else ""
    count = row.pods if counts.pods is None else counts.pods
    pods = f"{counted(count, 'pod')} on its nodes, DaemonSets included"
    return ((((text + split), Tone.NORMAL), (lately, Tone.ACTIVE)), ((pods, Tone.NORMAL),))


def _nodeclass(row: PoolRow) -> tuple[Pieces, ...]:
    ref = row.pool.node_class_ref
    head = f"{clean(ref.kind)} {clean(ref.name)}"
    if row.class_absence is not None:
        return (((f"{head} {row.class_absence}", absence_tone(row.class_absence)),),)
    lines: list[Pieces] = [((head, Tone.NORMAL),)]
    for condition in row.class_conditions or ():
        is_good = condition.status == "True"
        since = f" since {instant_text(condition.last_transition_ns)}" if condition.last_transition_ns else ""
        why = (
            f": {condition.message or condition.reason}"
            if not is_good and (condition.message or condition.reason)
            else ""
        )
        mark = ("✔ " if is_good else "✘ ", Tone.GOOD if is_good else Tone.FAULT)
        lines.append((mark, (clean(f"{condition.type}{since}{why}"), Tone.NORMAL if is_good else Tone.FAULT)))
    return (*lines, *_subnets(row))


def _subnets(row: PoolRow) -> Iterator[Pieces]:
    notable = [subnet for subnet in row.subnets if subnet.is_refused or subnet.free_addresses is not None]
    yield from map(_subnet, notable)
    if rest := [clean(subnet.id) for subnet in row.subnets if subnet not in notable]:
        text = f"{counted(len(rest), 'subnet')} ({first_of(rest, _VALUES_SHOWN)}): free addresses are unknown"
        yield ((text, Tone.MUTED),)


def _subnet(room: SubnetRoom) -> Pieces:
    """Return a subnet with its free addresses: by EC2, or by the events of refused launches."""
    named = f"subnet {clean(room.id)} {clean(room.zone)}: "
    if room.is_refused:
        return ((named, Tone.NORMAL), ("EC2 just refused a launch, no IPv4 address is free", Tone.FAULT))
    free = room.free_addresses or 0
    text = counted(free, "free IPv4 address", "free IPv4 addresses")
    return ((named, Tone.NORMAL), (text, Tone.NORMAL if free else Tone.FAULT))


_TYPES_NAMED: Final = 4


def _types(row: DaemonRow, _: int) -> Cell:
    if not row.is_carried:
        return Cell("no", Tone.MUTED)
    is_all = row.daemonset.types == row.offered
    return Cell(f"{count_text(row.daemonset.types)}/{count_text(row.offered)}", Tone.NORMAL if is_all else Tone.ACTIVE)


def daemon_note(row: DaemonRow) -> tuple[str, Tone]:
    """Return the reason why a new node does not run a DaemonSet, or which types would fit without it."""
    daemon_set = row.daemonset
    if not row.is_carried:
        return f"not running: {daemon_set.why_not}", Tone.MUTED
    if daemon_set.excluded:
        return f"without it, room on {first_of(daemon_set.excluded, _TYPES_NAMED)}", Tone.WARNING
    if daemon_set.one_too_many:
        return (
            f"with the DaemonSets before it, too large for {first_of(daemon_set.one_too_many, _TYPES_NAMED)}",
            Tone.WARNING,
        )
    return "", Tone.NORMAL


def daemon_sentence(row: DaemonRow) -> tuple[tuple[str, Tone], ...]:
    """Return a DaemonSet as text."""
    asks = f"requests {cpu_text(row.cpu_millis)}, {memory_text(row.memory_bytes)} and a pod slot"
    text, tone = daemon_note(row)
    if not row.is_carried:
        return ((clean(row.daemonset.key), Tone.STRONG), (f" {clean(text)}", Tone.NORMAL))
    on = f" on {count_text(row.daemonset.types)} of {count_text(row.offered)} types"
    sentence = f" · {clean(text)}" if text else " · without it no other type would fit"
    return (
        (clean(row.daemonset.key), Tone.STRONG),
        (f" {asks}{on}", Tone.NORMAL),
        (sentence, tone if text else Tone.MUTED),
    )


DAEMONSETS: Final[TableSpec[DaemonRow]] = TableSpec(
    noun="DaemonSets",
    columns=(
        text_column(
            Heading("name", "DAEMONSET", "Namespace and name.", 12, 48),
            lambda row: row.daemonset.key,
            tone=lambda row: Tone.DAEMON if row.is_carried else Tone.MUTED,
            sort=lambda row: (not row.is_carried, natural_key(row.daemonset.key)),
            json="name",
            filters={
                "name": Field(FieldKind.TEXT, lambda row, _: row.daemonset.key, "namespace/name"),
                "carried": Field(FieldKind.TEXT, lambda row, _: "yes" if row.is_carried else "no", "yes or no"),
            },
        ),
        amount_column(
            NumberHeading("cpu", "CPU", "Requests of its pod.", 5, 9),
            FieldKind.CPU,
            lambda row: row.cpu_millis,
            "cpu_millis",
        ),
        amount_column(
            NumberHeading("memory", "MEM", "Requests of its pod.", 6, 9),
            FieldKind.BYTES,
            lambda row: row.memory_bytes,
            "mem_bytes",
            filter_name="mem",
        ),
        Column(
            NumberHeading("types", "ON TYPES", "Number of allowed and available types that it runs on.", 8, 11),
            _types,
            lambda row: row.daemonset.types,
            values=(
                Value("on_types", lambda row, _: row.daemonset.types, int),
                Value("of_types", lambda row, _: row.offered, int),
            ),
        ),
        count_column(
            NumberHeading(
                "excludes",
                "EXCLUDES",
                "Types with room for the DaemonSets whose names sort before it, but not for it.",
                8,
                9,
                drop_order=1,
            ),
            lambda row: len(row.daemonset.one_too_many),
            tone=lambda _: Tone.WARNING,
            zero=ZERO,
            values=Value(
                "excludes",
                lambda row, _: list(row.daemonset.one_too_many),
                list[str],
                "Types that it alone rules out.",
            ),
        ),
        Column(
            Heading("note", "NOTE", "Why new nodes do not run it, or the types that would fit without it.", 16, 90),
            lambda row, _: text_cell(*daemon_note(row)),
            lambda row: daemon_note(row)[0],
            values=(
                Value("room_without_it_on", lambda row, _: list(row.daemonset.excluded), list[str]),
                Value("not_carried_because", lambda row, _: row.daemonset.why_not or None, str | None),
            ),
        ),
    ),
    text=lambda row: f"{row.daemonset.key} {daemon_note(row)[0]}".lower(),
    key=lambda row: row.daemonset.key,
    default_sort=Sort("name"),
    is_notable=lambda row, _: bool(row.daemonset.excluded or row.daemonset.one_too_many),
)
