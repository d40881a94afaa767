"""What follows beside placements: drift, budgets, the next disruption."""

from __future__ import annotations

from collections.abc import Sequence

from karptui.aws.money import node_price_text
from karptui.kube.units import count_text, counted
from karptui.views.names import short_name
from karptui.views.row import Pieces, Tone
from karptui.views.whatif.line import ResultLine, heading, listed, names_text
from karptui.whatif.difference import Difference
from karptui.whatif.disruption_difference import BlockerLine
from karptui.whatif.lines import BudgetLine, CommandLine, DriftLine, NextLines


def drift_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return the NodeClaims that would drift, or would no longer, by cause."""
    lines: list[ResultLine] = []
    if difference.drift_gained:
        count = counted(len(difference.drift_gained), "NodeClaim")
        lines.append(
            heading("drift", f"Would drift: {count}", "Karpenter replaces them as budgets allow", Tone.WARNING)
        )
        lines += [_drift_line(alike, "gained") for alike in _by_cause(difference.drift_gained)]
    if difference.drift_lost:
        count = counted(len(difference.drift_lost), "NodeClaim")
        lines.append(heading("drift-lost", f"No longer drifted: {count}", tone=Tone.GOOD))
        lines += [_drift_line(alike, "lost") for alike in _by_cause(difference.drift_lost)]
    return tuple(lines)


def _by_cause(drifted: Sequence[DriftLine]) -> list[list[DriftLine]]:
    groups: dict[tuple[str, str, str], list[DriftLine]] = {}
    for one in drifted:
        groups.setdefault((one.pool_name, one.reason, one.because), []).append(one)
    return list(groups.values())


def _drift_line(alike: Sequence[DriftLine], section: str) -> ResultLine:
    one = alike[0]
    return ResultLine(
        f"drift-{section}/{one.pool_name}/{one.reason}/{one.because}",
        (
            ("  ⟳ ", Tone.WARNING if section == "gained" else Tone.GOOD),
            (f"{count_text(len(alike))} of {one.pool_name}", Tone.STRONG),
            (f"  {one.because}", Tone.NORMAL),
            (f"  {one.reason}", Tone.MUTED),
        ),
        details=listed((f"{claim.claim_name}  {claim.node_name}" for claim in alike), "      "),
        object=("NodePool", one.pool_name),
    )


def blocker_lines(gained: Sequence[BlockerLine], lost: Sequence[BlockerLine]) -> tuple[ResultLine, ...]:
    """Return the blockers that come and that go, by kind and what stands behind them."""
    lines: list[ResultLine] = []
    if gained:
        lines.append(heading("blockers", f"Blockers gained: {count_text(len(gained))}", tone=Tone.WARNING))
        lines += [_blocker_line(alike, "gained") for alike in _alike(gained)]
    if lost:
        lines.append(heading("blockers-lost", f"Blockers lost: {count_text(len(lost))}", tone=Tone.GOOD))
        lines += [_blocker_line(alike, "lost") for alike in _alike(lost)]
    return tuple(lines)


def _alike(blockers: Sequence[BlockerLine]) -> list[list[BlockerLine]]:
    groups: dict[tuple[str, str, str], list[BlockerLine]] = {}
    for one in blockers:
        groups.setdefault((one.code, one.pool_name, one.owner), []).append(one)
    return list(groups.values())


def _blocker_line(alike: Sequence[BlockerLine], section: str) -> ResultLine:
    one = alike[0]
    nodes = sorted({blocker.node_name for blocker in alike if blocker.node_name})
    where = f" on {counted(len(nodes), 'node')}" if nodes else ""
    behind = f"  {one.owner or one.message}"
    return ResultLine(
        f"blockers-{section}/{one.code}/{one.pool_name}/{one.owner}",
        (
            ("  + " if section == "gained" else "  − ", Tone.WARNING if section == "gained" else Tone.GOOD),
            (one.code, Tone.STRONG),
            (f"{where} of {one.pool_name}" if one.pool_name else where, Tone.NORMAL),
            (behind, Tone.MUTED),
        ),
        details=tuple(((f"      {short_name(b.node_name)}  {b.message}", Tone.NORMAL),) for b in alike),
        object=("Node", one.node_name) if one.node_name else None,
    )


def budget_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return the budgets that allow another number of nodes."""
    if not difference.budgets:
        return ()
    return (heading("budgets", "Disruption budgets"), *(_budget_line(one) for one in difference.budgets))


def _budget_line(one: BudgetLine) -> ResultLine:
    return ResultLine(
        f"budget/{one.pool_name}/{one.reason}",
        (
            (f"    {one.pool_name} {one.reason}", Tone.STRONG),
            (f"  {_limit(one.allowed_before)} → {_limit(one.allowed_after)} nodes", Tone.NORMAL),
            (f"  left now {_limit(one.left_before)} → {_limit(one.left_after)}", Tone.MUTED),
        ),
        object=("NodePool", one.pool_name),
    )


def _limit(count: int | None) -> str:
    return "no limit" if count is None else count_text(count)


def next_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return the next disruption of both sides."""
    if difference.next_before is None or difference.next_after is None:
        return ()
    return (
        *_side_lines("next-after", "Karpenter's next command, edited", difference.next_after),
        *_side_lines("next-before", "As things are now", difference.next_before),
    )


def _side_lines(key: str, title: str, side: NextLines) -> tuple[ResultLine, ...]:
    total = sum(one.savings_per_hour for one in side.commands)
    note = f"saves {node_price_text(total)}/h" if side.commands else side.because or "nothing to do"
    return (heading(key, title, note), *(_command_line(key, one) for one in side.commands))


def _command_line(key: str, one: CommandLine) -> ResultLine:
    made = f" → {', '.join(f'{kind} in {pool}' for pool, kind in one.replacements)}" if one.replacements else ""
    details: tuple[Pieces, ...] = listed(one.nodes, "      ")
    return ResultLine(
        f"{key}/{one.method}/{one.nodes[0] if one.nodes else ''}",
        (
            (f"    {one.method}: ", Tone.MUTED),
            (f"{one.decision} {names_text(one.nodes)}{made}", Tone.NORMAL),
            (
                f"  saves {node_price_text(one.savings_per_hour)}/h",
                Tone.GOOD if one.savings_per_hour > 0 else Tone.MUTED,
            ),
        ),
        details=details,
        object=("Node", one.nodes[0]) if one.nodes else None,
    )
