"""Cells of the Pools screen."""

from __future__ import annotations

from collections.abc import Mapping

from karptui.decode.kinds import Kind
from karptui.disruption.budgets import UNLIMITED
from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, NODES
from karptui.kube.units import count_text
from karptui.provisioning.pool_types import Filter
from karptui.session.pools import NODE_KINDS, PoolLimit, PoolRow
from karptui.state.usage import Share
from karptui.views.pools.sentences import budget_left, budget_text, policy_text, short_reason
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, NOT_AVAILABLE, WAITING, ZERO, Bar, Cell, Span, Tone
from karptui.views.sanitize import clean
from karptui.views.types.pools import carries
from karptui.views.usage import CPU_TEXTS, MEMORY_TEXTS, Texts, share_cell


def weight_cell(row: PoolRow, _: int) -> Cell:
    """Return the weight, with a mark where another pool has the same or nearly the same."""
    weight = count_text(row.pool.weight) if row.pool.weight else "-"
    mark = " =" if row.ties else " ≈" if row.near else ""
    tone = Tone.NORMAL if row.pool.weight else Tone.MUTED
    return Cell(weight + mark, tone, spans=(Span(len(weight), len(weight) + len(mark), Tone.WARNING),) if mark else ())


def nodes_cell(row: PoolRow, _: int) -> Cell:
    """Return the number of nodes (existing and starting), the node limit, and the share of all nodes."""
    if row.hides(*NODE_KINDS):
        return FORBIDDEN
    starting = f"+{count_text(row.starting)}" if row.starting else ""
    count = f"{count_text(row.nodes - row.starting)}{starting}"
    limit = (row.pool.limits or {}).get(NODES)
    text = f"{count}/{limit}" if limit is not None else count
    share = row.share_percent
    if share is None:
        return Cell(text, Tone.MUTED)
    part = f" {share:.0f}%"
    use = row.limit(NODES)
    full = use is not None and use.is_closed
    tone = Tone.FAULT if full else Tone.NORMAL if row.nodes else Tone.MUTED
    return Cell(text + part, tone, text, spans=(Span(len(text), len(text + part), Tone.MUTED),))


def requested_cell(row: PoolRow, share: Share, texts: Texts) -> Cell:
    """Return the requests on the pool's nodes, of their allocatable."""
    return FORBIDDEN if row.hides(*NODE_KINDS) else share_cell(share, texts, row.access)


def limit_cell(row: PoolRow, resource: str) -> Cell:
    """Return the cpu or memory of the nodes, of the limit."""
    if row.hides(*NODE_KINDS):
        return FORBIDDEN
    texts, unit = (CPU_TEXTS, NANO_PER_MILLI) if resource == CPU else (MEMORY_TEXTS, NANO)
    used = row.used.get(resource, 0)
    use = row.limit(resource)
    if use is None:
        return Cell(f"{texts.single(used // unit)}/-", Tone.MUTED)
    tone = Tone.FAULT if use.is_closed else Tone.WARNING if use.is_nearly_used else Tone.NORMAL
    share = f"{100 * used // use.limit}%" if use.limit else "full"
    return Cell(texts.pair(used // unit, use.limit // unit), tone, share, bar=Bar(0, used // unit, use.limit // unit))


def limit_place(row: PoolRow, resource: str) -> float | None:
    """Return the part of a limit that is used, to sort by."""
    use = row.limit(resource)
    return use.used / use.limit if use is not None and use.limit else None


def cost_cell(row: PoolRow, _: int) -> Cell:
    """Return the cost of the nodes per hour."""
    if row.hides(*NODE_KINDS):
        return FORBIDDEN
    total = row.total
    if not total.priced:
        return NOT_AVAILABLE if total.unpriced else ZERO
    text = f"{total.per_hour:,.2f}"
    return Cell(f"{text}+" if total.unpriced else text, Tone.NORMAL)


def carries_cell(row: PoolRow, _: int) -> Cell:
    """Return the DaemonSet requests of a new node, and the number of types they exclude."""
    if row.hides(Kind.DAEMONSET):
        return FORBIDDEN
    text = carries(row.types)
    if not text:
        return NOT_APPLICABLE
    more = f" ✘{count_text(row.excluded)}" if row.excluded else ""
    spans = (Span(len(text), len(text + more), Tone.WARNING),) if more else ()
    fewest = min(carried.daemon_pods for carried in row.types.carries)
    return Cell(text + more, Tone.DAEMON, f"{fewest} ds{more}" if fewest else "none", spans=spans)


def types_cell(row: PoolRow, _: int) -> Cell:
    """Return the number of allowed types, and of those with an offering."""
    if row.types.problem:
        return Cell("? unknown", Tone.WARNING, "?") if row.types.is_unknown else Cell("✘ none", Tone.FAULT)
    if row.types.is_guessed:
        type_count = count_text(row.types.types)
        seen = "known" if row.types.named else "seen"
        return Cell(f"? {type_count} {seen}", Tone.WARNING, f"?{type_count}")
    allowed, offered = row.types.left_after[Filter.REQUIREMENTS], row.types.left_after[Filter.OFFERINGS]
    text = f"{count_text(allowed)}/{count_text(offered)}"
    if not row.usable:
        if not allowed and row.types.unlisted:
            return Cell(f"? {text}", Tone.WARNING)
        return Cell(f"✘ {text}", Tone.FAULT)
    return Cell(text) if row.types.left else Cell(f"▲ {text}", Tone.WARNING)


def ready_cell(row: PoolRow, _: int) -> Cell:
    """Return the readiness, or the failing condition."""
    if reason := short_reason(row):
        return Cell(f"✘ {clean(reason)}", Tone.FAULT, "✘")
    if row.pool.is_static:
        return Cell(f"✔ static {row.pool.replicas}", Tone.NORMAL, "static")
    if row.rank is None:
        return Cell("passed over", Tone.WARNING, "✘ other")
    return Cell("✔", Tone.GOOD)


def budget_cell(row: PoolRow, _: int) -> Cell:
    """Return the number of nodes that may be disrupted now."""
    if row.hides(Kind.POD, *NODE_KINDS):
        return FORBIDDEN
    if row.is_passed_over:
        return NOT_APPLICABLE
    left = budget_left(row)
    if not left:
        return WAITING
    tone = Tone.WARNING if not max(left.values()) else Tone.MUTED if min(left.values()) >= UNLIMITED else Tone.NORMAL
    return Cell(budget_text(row), tone, budget_text(row, is_short=True))


def policy_cell(row: PoolRow, _: int) -> Cell:
    """Return the consolidation policy."""
    tone = Tone.MUTED if row.pool.consolidate_after_ns is None else Tone.NORMAL
    return Cell(policy_text(row), tone, policy_text(row, is_short=True))


def drifted_cell(row: PoolRow, _: int) -> Cell:
    """Return the number of drifted nodes, of all nodes."""
    if row.hides(*NODE_KINDS):
        return FORBIDDEN
    drifted = row.drifted
    return Cell(f"{count_text(drifted)}/{count_text(row.nodes)}", Tone.WARNING if drifted else Tone.MUTED)


def created_cell(row: PoolRow, now_ns: int) -> Cell:
    """Return the number of created NodeClaims."""
    if row.counted is None and row.hides(Kind.NODECLAIM):
        return FORBIDDEN
    created = row.created(now_ns)
    return Cell(count_text(created), Tone.NORMAL if created else Tone.MUTED)


def shared_cell(row: PoolRow, _: int) -> Cell:
    """Return the number of matching pods that other NodePools match too."""
    if row.hides(Kind.POD):
        return FORBIDDEN
    if row.overlap is None:
        return WAITING
    overlap = row.overlap
    return Cell(
        f"{count_text(overlap.shared)}/{count_text(overlap.matching)}", Tone.NORMAL if overlap.shared else Tone.MUTED
    )


def budget_words(left: Mapping[str, int | None]) -> dict[str, int | str]:
    """Return a word where a budget has no limit, as an empty cell would be none known."""
    return {reason: "any" if count is None else count for reason, count in left.items()}


def limit_of(use: PoolLimit | None, unit: int) -> int | None:
    """Return a limit in whole units."""
    return use.limit // unit if use is not None else None


def in_units(nano: int) -> int | float:
    """Return an amount in larger units, without decimals if whole."""
    return nano / NANO if nano % NANO else nano // NANO


def in_seconds(duration_ns: int | None) -> float | None:
    """Return a duration in seconds."""
    return duration_ns / NANO if duration_ns is not None else None
