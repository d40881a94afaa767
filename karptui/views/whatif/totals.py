"""Now, edited and the difference, in figures."""

from __future__ import annotations

from typing import Final, NamedTuple

from karptui.aws.money import change_text, node_price_text
from karptui.kube.units import count_text
from karptui.views.row import Pieces, Tone
from karptui.views.whatif.placements import ResultLine, heading
from karptui.whatif.difference import Difference
from karptui.whatif.lines import PoolChange, Totals
from karptui.whatif.scenario import Replay

LABEL_WIDTH: Final = 12
FIGURE_WIDTH: Final = 10
MOST_POOL_WIDTH: Final = 24


class Figure(NamedTuple):
    """One row of the table."""

    label: str
    before: str
    after: str
    delta: str
    tone: Tone
    note: str = ""


def totals_lines(difference: Difference, price_note: str = "") -> tuple[Pieces, ...]:
    """Return the table: a heading and a line for each figure.

    Args:
        difference: What differs.
        price_note: What is to be said of prices.
    """
    columns = f"{'':<{LABEL_WIDTH}}{'now':>{FIGURE_WIDTH}}{'edited':>{FIGURE_WIDTH}}{'Δ':>{FIGURE_WIDTH}}"
    lines: list[Pieces] = [((columns, Tone.MUTED),)]
    for one in figures(difference, price_note):
        text = f"{one.before:>{FIGURE_WIDTH}}{one.after:>{FIGURE_WIDTH}}"
        lines.append(
            (
                (f"{one.label:<{LABEL_WIDTH}}", Tone.MUTED),
                (text, Tone.NORMAL),
                (f"{one.delta:>{FIGURE_WIDTH}}", one.tone),
                (f"  {one.note}" if one.note else "", Tone.MUTED),
            )
        )
    return tuple(lines)


def figures(difference: Difference, price_note: str = "") -> tuple[Figure, ...]:
    """Return the rows of the table."""
    before, after = difference.before, difference.after
    share = difference.price_delta_share
    change = difference.price_delta_per_hour
    percent = f"{share * 100:+.1f}%" if share is not None and abs(change) >= 0.005 else ""
    unpriced = unpriced_text(before, after)
    new = _new_nodes(difference)
    return (
        _counted("nodes", before.nodes, after.nodes, better=None, note=new),
        Figure(
            "$/h",
            f"{before.price_per_hour:,.2f}",
            f"{after.price_per_hour:,.2f}",
            f"{change:+,.2f}" if abs(change) >= 0.005 else "0",
            Tone.MUTED if abs(change) < 0.005 else Tone.WARNING if change > 0 else Tone.GOOD,
            " · ".join(note for note in (percent, unpriced, price_note) if note),
        ),
        _counted("pending", before.pending, after.pending, better=-1),
        _counted("drifted", before.drifted, after.drifted, better=-1),
    )


def unpriced_text(before: Totals, after: Totals) -> str:
    """Return how many nodes the dollars leave out, and what those would cost at most."""
    if not before.unpriced and not after.unpriced:
        return ""
    count = _from_to(count_text(before.unpriced), count_text(after.unpriced))
    most = _from_to(f"{before.unpriced_at_most_per_hour:,.2f}", f"{after.unpriced_at_most_per_hour:,.2f}")
    is_bounded = before.unpriced_at_most_per_hour or after.unpriced_at_most_per_hour
    return f"+ {count} n/a{f' (at most {most})' if is_bounded else ''}"


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


def pool_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return a line for each NodePool whose figures change, and one for how many stay as they are."""
    changed = [pool for pool in difference.pools if pool.is_changed]
    same = len(difference.pools) - len(changed)
    width = min(MOST_POOL_WIDTH, max((len(_pool_name(pool)) for pool in changed), default=0))
    lines = [heading("pools", "NodePools", f"{count_text(same)} unchanged" if same else "")]
    lines += [_pool_line(pool, width) for pool in changed]
    return tuple(lines) if changed else ()


def _pool_name(pool: PoolChange) -> str:
    return pool.name or "not Karpenter's"


def _pool_line(pool: PoolChange, width: int) -> ResultLine:
    change = pool.nodes_after - pool.nodes_before
    price = pool.price_after - pool.price_before
    word = "  new NodePool" if pool.is_new else "  NodePool is gone" if pool.is_gone else ""
    nodes = f"{count_text(pool.nodes_before)} → {count_text(pool.nodes_after)} nodes"
    return ResultLine(
        f"pool/{pool.name}",
        (
            (f"  {_pool_name(pool):<{width}}  ", Tone.STRONG),
            (f"{nodes:<18}", Tone.NORMAL if change else Tone.MUTED),
            (f" {change_text(price)}" if abs(price) >= 0.005 else "", Tone.WARNING if price > 0 else Tone.GOOD),
            (word, Tone.ACTIVE if pool.is_new else Tone.WARNING),
        ),
        details=(
            ((f"    launches {count_text(pool.launched_before)} → {count_text(pool.launched_after)}", Tone.NORMAL),),
            ((f"    {node_price_text(pool.price_before)}/h → {node_price_text(pool.price_after)}/h", Tone.NORMAL),),
        ),
        object=("NodePool", pool.name) if pool.name and not pool.is_new else None,
    )


def mode_text(mode: Replay) -> str:
    """Return a replay mode as it is called on the screen."""
    return {
        Replay.PENDING: "pending now",
        Replay.SCRATCH: "from scratch",
        Replay.REMOVE: "remove nodes",
        Replay.NEXT: "next disruption",
    }[mode]


def mode_sentence(mode: Replay) -> str:
    """Return what a replay mode asks."""
    return {
        Replay.PENDING: "what the provisioner does next with the pods that wait",
        Replay.SCRATCH: "where every workload pod would land if Karpenter had no node yet",
        Replay.REMOVE: "what becomes of the pods of the nodes that are removed here",
        Replay.NEXT: "which nodes Karpenter would disrupt next",
    }[mode]
