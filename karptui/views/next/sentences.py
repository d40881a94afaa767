"""Karpenter's next command in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karptui.aws.money import node_price_text
from karptui.kube.units import count_text, counted
from karptui.session.cluster_view import ClusterView
from karptui.views.names import short_name
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

if TYPE_CHECKING:
    from karptui.disruption.analysis import NextCommand, NextReport
    from karptui.disruption.verdict import Replacement

MOST_COMMANDS = 4
MOST_NODES = 8


def next_lines(view: ClusterView) -> tuple[Pieces, ...]:
    """Return what Karpenter would do next, or why nothing; computed on the generation that is named."""
    analysis = view.analysis
    report = analysis.next if analysis is not None else None
    if report is None:
        return ((("Karpenter's next command is being worked out: every method in its order", Tone.ACTIVE),),)
    behind = view.state.generation - report.generation
    late = f"  ({count_text(behind)} changes ago; being worked out again)" if behind > 0 else ""
    lines: list[Pieces] = []
    if report.paused_by:
        names = ", ".join(clean(name) for name in report.paused_by[:3])
        waits = f"Karpenter waits: NodeClaim {names} has no provider ID yet, and until then nothing is disrupted"
        lines.append(((waits, Tone.WARNING), (late, Tone.ACTIVE)))
    elif report.commands:
        lines += _command_lines(report, late, has_prices=not view.evidence.price_settings.is_disabled)
    else:
        lines.append((("Karpenter would do nothing now", Tone.GOOD), (late, Tone.ACTIVE)))
    if report.error:
        lines.append(((f"the pass ends early: {clean(report.error)}", Tone.FAULT),))
    if report.asked:
        lines.append(((f"asked: {_asked(report)}", Tone.MUTED),))
    return tuple(lines)


def _asked(report: NextReport) -> str:
    return " → ".join(f"{method} {counted(count, 'candidate')}" for method, count in report.asked)


def _command_lines(report: NextReport, late: str, *, has_prices: bool) -> list[Pieces]:
    total = sum(one.savings_per_hour for one in report.commands)
    many = f", {count_text(len(report.commands))} commands" if len(report.commands) > 1 else ""
    saves = f", saves {node_price_text(total)}/h" if has_prices else ""
    head = f"Next: {report.method} ({report.reason}){many}{saves}"
    lines: list[Pieces] = [((head, Tone.STRONG), (late, Tone.ACTIVE))]
    lines += [((f"  {_command_text(one)}", Tone.NORMAL),) for one in report.commands[:MOST_COMMANDS]]
    if len(report.commands) > MOST_COMMANDS:
        lines.append(((f"  and {count_text(len(report.commands) - MOST_COMMANDS)} more", Tone.MUTED),))
    return lines


def _command_text(command: NextCommand) -> str:
    names = [short_name(clean(name)) for name in command.node_names]
    more = f" and {count_text(len(names) - MOST_NODES)} more" if len(names) > MOST_NODES else ""
    text = f"{command.decision} {', '.join(names[:MOST_NODES])}{more}"
    if command.replacements:
        text += f" → {'; '.join(replacement_text(one) for one in command.replacements)}"
    return text


def replacement_text(one: Replacement) -> str:
    """Return a replacement in words."""
    if not one.type_names:
        return f"a new node of {clean(one.pool_name)}, from its template"
    as_it_stands = ", from its template" if one.is_from_template else ""
    others = f" or {count_text(len(one.type_names) - 1)} others" if len(one.type_names) > 1 else ""
    price = f" from {node_price_text(one.price_per_hour)}" if one.price_per_hour else ""
    pods = f" for {count_text(one.pods)} pods" if one.pods else ""
    return f"{clean(one.type_names[0])}{others} in {clean(one.pool_name)}{price}{pods}{as_it_stands}"
