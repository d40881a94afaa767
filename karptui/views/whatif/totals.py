"""Now, edited and the difference, in figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from karptui.aws.money import LEAST_CHANGE, node_price_text
from karptui.karpenter.inventory import NotCounted
from karptui.kube.units import count_text, first_of
from karptui.views.prices import cost_change_tone, known_sum_text
from karptui.views.row import Pieces, Tone
from karptui.views.whatif.placements import Detail, ResultLine, Target
from karptui.whatif.difference import Difference
from karptui.whatif.difference_lines import COUNTED, PoolChange, Totals
from karptui.whatif.scenario import Replay

LABEL_WIDTH: Final = 12
FIGURE_WIDTH: Final = 10
MOST_POOL_WIDTH: Final = 24
NODES_WIDTH: Final = 10
DOLLARS_WIDTH: Final = 16
SHARE_WIDTH: Final = 14
GAP: Final = 3
"""Columns between NodePools and figures."""
NODES: Final = "nodes"
MOST_SAME: Final = 4
"""NodePools without a change that are named."""


class Figure(NamedTuple):
    """One row of the table."""

    label: str
    before: str
    after: str
    delta: str
    tone: Tone
    note: str = ""


def totals_lines(difference: Difference, price_note: str = "") -> tuple[Pieces, ...]:
    """Return the table: a heading and a line per figure."""
    columns = f"{'':<{LABEL_WIDTH}}{'now':>{FIGURE_WIDTH}}{'edited':>{FIGURE_WIDTH}}{'Δ':>{FIGURE_WIDTH}}"
    lines: list[Pieces] = [((f"{columns}  {_short_not_counted(difference.not_counted) or COUNTED}", Tone.MUTED),)]
    for figure in figures(difference, price_note):
        text = f"{figure.before:>{FIGURE_WIDTH}}{figure.after:>{FIGURE_WIDTH}}"
        lines.append(
            (
                (f"{figure.label:<{LABEL_WIDTH}}", Tone.MUTED),
                (text, Tone.NORMAL),
                (f"{figure.delta:>{FIGURE_WIDTH}}", figure.tone),
                (f"  {figure.note}" if figure.note else "", Tone.MUTED),
            )
        )
    return tuple(lines)


def _short_not_counted(left_out: NotCounted) -> str:
    parts = (
        (left_out.unmanaged, "unmanaged"),
        (left_out.leaving, "being removed"),
        (left_out.unlaunched, "not launched"),
    )
    text = ", ".join(f"{count_text(count)} {word}" for count, word in parts if count)
    return f"without {text}" if text else ""


def figures(difference: Difference, price_note: str = "") -> tuple[Figure, ...]:
    """Return the rows of the table."""
    before, after = difference.before, difference.after
    share = difference.price_delta_share
    change = difference.price_delta_per_hour
    percent = f"{share * 100:+.1f}%" if share is not None and abs(change) >= LEAST_CHANGE else ""
    new = _new_nodes(difference)
    return (
        _counted(NODES, before.nodes, after.nodes, better=None, note=new),
        Figure(
            "$/h",
            f"{before.price_per_hour:,.2f}",
            f"{after.price_per_hour:,.2f}",
            f"{change:+,.2f}" if abs(change) >= LEAST_CHANGE else "0",
            cost_change_tone(change),
            " · ".join(note for note in (percent, price_note) if note),
        ),
        *_unpriced(before, after),
        _counted("pending", before.pending, after.pending, better=-1),
        _counted("drifted", before.drifted, after.drifted, better=-1),
    )


def _unpriced(before: Totals, after: Totals) -> tuple[Figure, ...]:
    """Return the number of unpriced nodes, and their maximum cost; empty if there are none."""
    if not before.unpriced and not after.unpriced:
        return ()
    most = _from_to(f"{before.unpriced_at_most_per_hour:,.2f}", f"{after.unpriced_at_most_per_hour:,.2f}")
    is_bounded = not (before.unbounded or after.unbounded)
    note = f"≤ {most} $/h more" if is_bounded else ""
    return (_counted("price n/a", before.unpriced, after.unpriced, better=-1, note=note),)


def _from_to(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"


def _new_nodes(difference: Difference) -> str:
    before, after = difference.before.launched, difference.after.launched
    if not before and not after:
        return ""
    return f"new: {count_text(before)} → {count_text(after)}" if before != after else f"new: {count_text(after)}"


def _counted(label: str, before: int, after: int, *, better: int | None, note: str = "") -> Figure:
    change = after - before
    if not change:
        tone = Tone.MUTED
    elif better is None:
        tone = Tone.STRONG
    else:
        tone = Tone.GOOD if (change > 0) == (better > 0) else Tone.WARNING
    return Figure(label, count_text(before), count_text(after), f"{change:+,}" if change else "0", tone, note)


def beside(lines: Sequence[ResultLine], totals: Sequence[Pieces], width: int) -> tuple[ResultLine, ...] | None:
    """Return the result lines with the figures to the right of the NodePools.

    Returns:
        None if there are no NodePools, or no room.
    """
    count = sum(1 for line in lines if line.key.partition("/")[0] in ("pool", "pools"))
    pools = lines[:count]
    left = max((_width(line.pieces) for line in pools), default=0) + GAP
    if not pools or left + max(map(_width, totals)) > width:
        return None
    rows: list[ResultLine] = []
    for at in range(max(count, len(totals))):
        line = pools[at] if at < count else ResultLine(f"pools/figures-{at}", ())
        right = totals[at] if at < len(totals) else ()
        blank = " " * (left - _width(line.pieces))
        rows.append(replace(line, pieces=(*line.pieces, (blank, Tone.NORMAL), *right)))
    return (*rows, *lines[count:])


def _width(pieces: Pieces) -> int:
    return sum(len(text) for text, _ in pieces)


def short_lines(difference: Difference, price_note: str = "") -> tuple[Pieces, ...]:
    """Return the figures that change in one line where a table has no room: ``kept nodes 58 → 61 · pending 6``.

    Kept are the nodes that the table says to count: Karpenter's, and staying.
    """
    pieces: list[tuple[str, Tone]] = []
    for figure in figures(difference, price_note):
        sum_ = f"{figure.before} → {figure.after}" if figure.before != figure.after else figure.after
        pieces += [
            (" · " if pieces else "", Tone.MUTED),
            (f"{'kept nodes' if figure.label == NODES else figure.label} ", Tone.MUTED),
            (sum_, Tone.NORMAL if figure.before != figure.after else Tone.MUTED),
        ]
        if figure.label in ("$/h", "price n/a") and figure.note:
            pieces.append((f" ({figure.note})", Tone.MUTED))
    return (tuple(pieces),)


def pool_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return a line for each changed NodePool, and one for unchanged ones."""
    changed = [pool for pool in difference.pools if pool.is_changed]
    if not changed:
        return ()
    width = min(MOST_POOL_WIDTH, max(len("NodePools") - 2, *(len(_pool_name(pool)) for pool in changed)))
    pods = sum(pool.pods_before for pool in difference.pools), sum(pool.pods_after for pool in difference.pools)
    share = f"{'share of pods':>{SHARE_WIDTH}}" if all(pods) else ""
    columns = f"{'nodes':>{NODES_WIDTH}}{'$/h':>{DOLLARS_WIDTH}}{share}"
    title = (f"{'NodePools':<{width + 2}}", Tone.STRONG)
    lines = [ResultLine("pools", (title, (columns, Tone.MUTED)), is_heading=True)]
    lines += [_pool_line(pool, width, pods if all(pods) else None) for pool in changed]
    same = [pool for pool in difference.pools if not pool.is_changed and (pool.nodes_after or pool.name)]
    if same:
        names = first_of([_pool_name(pool) for pool in same], MOST_SAME)
        details = tuple(
            Detail(_pool_line(pool, width + 4, pods if all(pods) else None).pieces, Target("NodePool", pool.name))
            for pool in same
        )
        lines.append(ResultLine("pools/same", ((f"  unchanged: {names}", Tone.MUTED),), details))
    return tuple(lines)


def _pool_name(pool: PoolChange) -> str:
    return pool.name or "not Karpenter's"


def _pool_line(pool: PoolChange, width: int, pods: tuple[int, int] | None) -> ResultLine:
    change = pool.nodes_after - pool.nodes_before
    word = "  new" if pool.is_new else "  gone" if pool.is_gone else ""
    nodes = _from_to(count_text(pool.nodes_before), count_text(pool.nodes_after))
    dollars = _from_to(
        known_sum_text(pool.price_before, pool.unpriced_before, is_bare=True),
        known_sum_text(pool.price_after, pool.unpriced_after, is_bare=True),
    )
    shares = (
        _from_to(*(_share(*counts) for counts in zip((pool.pods_before, pool.pods_after), pods, strict=True)))
        if pods
        else ""
    )
    return ResultLine(
        f"pool/{pool.name}",
        (
            (f"  {_pool_name(pool):<{width}}", Tone.STRONG),
            (f"{nodes:>{NODES_WIDTH}}", Tone.NORMAL if change else Tone.MUTED),
            (f"{dollars:>{DOLLARS_WIDTH}}", cost_change_tone(pool.price_after - pool.price_before)),
            (f"{shares:>{SHARE_WIDTH}}" if pods else "", Tone.NORMAL if "→" in shares else Tone.MUTED),
            (word, Tone.ACTIVE if pool.is_new else Tone.WARNING),
        ),
        details=(
            _figure_detail("launches", count_text(pool.launched_before), count_text(pool.launched_after)),
            _figure_detail("$/h", node_price_text(pool.price_before), node_price_text(pool.price_after)),
            _figure_detail("pods of workloads", count_text(pool.pods_before), count_text(pool.pods_after)),
        ),
        target=Target("NodePool", pool.name) if pool.name else None,
    )


def _figure_detail(label: str, before: str, after: str) -> Detail:
    return Detail(((f"    {label} ", Tone.MUTED), (_from_to(before, after), Tone.NORMAL)))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def mode_text(mode: Replay) -> str:
    """Return the name of a replay mode on screen."""
    return {
        Replay.PENDING: "pending now",
        Replay.SCRATCH: "from scratch",
        Replay.REMOVE: "remove nodes",
        Replay.NEXT: "next disruption",
    }[mode]


def mode_sentence(mode: Replay) -> str:
    """Return the question of a replay mode."""
    return {
        Replay.PENDING: "what the provisioner does next with the pending pods",
        Replay.SCRATCH: "where every workload pod would land if Karpenter had no nodes yet",
        Replay.REMOVE: "where the pods of the removed nodes land",
        Replay.NEXT: "which nodes Karpenter would disrupt next",
    }[mode]
