"""What Karpenter would disrupt next, in lines."""

from __future__ import annotations

from karptui.aws.prices import PriceSettings, settings_of
from karptui.disruption.command import Command, Method
from karptui.disruption.next_pass import NextPass
from karptui.provisioning.state_node import StateNode
from karptui.whatif.lines import CommandLine, NextLines
from karptui.whatif.outcome import Outcome


def next_lines(outcome: Outcome) -> NextLines:
    """Return the next disruption of one side."""
    found = outcome.next_pass
    assert found is not None
    method = found.acting.method if found.acting is not None else None
    settings = settings_of(outcome.prices)
    commands = tuple(_command_line(method, one, settings) for one in found.commands) if method is not None else ()
    return NextLines(commands, because="" if commands else _because(found))


def _because(found: NextPass) -> str:
    if found.paused_by:
        names = ", ".join(found.paused_by[:3])
        return f"Karpenter disrupts nothing while NodeClaims have no provider ID: {names}"
    if found.error:
        return f"the pass ends early: {found.error}"
    candidates = max((len(result.candidates) for result in found.results), default=0)
    if not candidates:
        return "no node passes the gates: each is blocked, too young or not Karpenter's"
    return f"nothing to gain: {candidates} node{'s' if candidates > 1 else ''} considered"


def _command_line(method: Method, command: Command, settings: PriceSettings) -> CommandLine:
    made = [(node.pool_name, node.type_names[0] if node.type_names else "") for node in command.replacements]
    made += [(command.candidates[0].pool.name, "")] * command.from_template
    return CommandLine(
        method=str(method),
        decision=str(command.decision),
        nodes=tuple(sorted(_name(candidate.node) for candidate in command.candidates)),
        replacements=tuple(made),
        savings_per_hour=settings.saved(command.savings, len(command.candidates) - len(made)),
    )


def _name(node: StateNode) -> str:
    return node.node.name if node.node is not None else node.name
