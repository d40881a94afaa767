"""Blockers, budgets and the next disruption before and after, in lines."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from karptui.aws.prices import PriceSettings, settings_of
from karptui.disruption.blocker import Blocker
from karptui.disruption.blockers import BlockerSurvey
from karptui.disruption.budgets import UNLIMITED, VOLUNTARY, budget_state
from karptui.disruption.command import Command, Method
from karptui.disruption.methods import NextPass, observed_fleet
from karptui.provisioning.order import served_pools
from karptui.provisioning.reporter import Reporter, silent
from karptui.provisioning.state_node import StateNode
from karptui.whatif.drift.drift import with_drift
from karptui.whatif.lines import BudgetChange, CommandLine, NextLines
from karptui.whatif.outcome import ReplayOutcome
from karptui.whatif.situation import Edited, Situation
from karptui.whatif.vacate import without_nodes

_Allowance = dict[tuple[str, str], tuple[int | None, int | None]]


def budget_changes(before: Situation, after: Situation) -> tuple[BudgetChange, ...]:
    """Return the NodePools and reasons for which budgets allow or leave another number of nodes."""
    if before is after:
        return ()
    old, new = _allowances(before), _allowances(after)
    nothing = (0, 0)
    return tuple(
        BudgetChange(pool, reason, *_crossed(old.get((pool, reason), nothing), new.get((pool, reason), nothing)))
        for pool, reason in dict.fromkeys((*new, *old))
        if old.get((pool, reason), nothing) != new.get((pool, reason), nothing)
    )


def _crossed(
    old: tuple[int | None, int | None], new: tuple[int | None, int | None]
) -> tuple[int | None, int | None, int | None, int | None]:
    return old[0], new[0], old[1], new[1]


def _allowances(situation: Situation) -> _Allowance:
    use = situation.budget_use
    found: _Allowance = {}
    for pool in served_pools(situation.inventory.nodepools):
        for reason in VOLUNTARY:
            state = budget_state(pool, reason, use.get(pool.name), situation.now_ns)
            is_unlimited = state.allowed >= UNLIMITED
            found[pool.name, str(reason)] = (None, None) if is_unlimited else (state.allowed, state.left)
    return found


def next_lines(outcome: ReplayOutcome) -> NextLines:
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


_REPORT_EVERY = 64


class BlockerLine(msgspec.Struct, frozen=True):
    """One blocker of one node."""

    code: str
    """Of `karptui.disruption.codes.Code`."""
    node_name: str
    """Empty for what holds the whole cluster."""
    pool_name: str
    object: str
    """``Kind/namespace/name`` of what blocks."""
    owner: str
    """``Kind/namespace/name`` behind it, empty where there is none."""
    value: str
    """What is written there."""
    message: str
    price_per_hour: float | None
    """Dollars that the node costs."""


def blocker_changes(
    base: Situation, edited: Edited, reporter: Reporter = silent
) -> tuple[tuple[BlockerLine, ...], tuple[BlockerLine, ...]]:
    """Return the blockers that the edits bring, and those that they take away, by node.

    Takes longer than a replay on a large cluster, so it is asked after that. NodeClaims that the edits drift count as
    drifted; nodes that the edits remove are gone with their blockers.

    Args:
        base: The cluster as it is.
        edited: The cluster as the edits make it.
        reporter: Told of progress in nodes; may raise `Cancelled`.

    Raises:
        Cancelled: when the reporter does.
    """
    inventory = with_drift(edited.inventory, base, edited)
    if edited.removed:
        inventory = without_nodes(inventory, edited.removed)
    after = edited if inventory is edited.inventory else edited.derive(inventory)
    old, new = _survey(base, reporter), _survey(after, reporter)
    gained = [new[key] for key in new if key not in old]
    lost = [old[key] for key in old if key not in new]
    settings = settings_of(base.prices)
    return _lines(gained, settings), _lines(lost, settings)


def _survey(situation: Situation, reporter: Reporter) -> dict[tuple[str, ...], Blocker]:
    fleet = observed_fleet(situation.prepared)
    survey = BlockerSurvey(fleet)
    found = {_key(blocker): blocker for blocker in survey.cluster}
    for index, node in enumerate(fleet.nodes):
        if not index % _REPORT_EVERY:
            reporter(index, len(fleet.nodes))
        found.update((_key(blocker), blocker) for blocker in survey.of(node))
    return found


def _key(blocker: Blocker) -> tuple[str, ...]:
    return str(blocker.code), blocker.node_name, blocker.object_ref, blocker.pod_uid


def _lines(blockers: Iterable[Blocker], settings: PriceSettings) -> tuple[BlockerLine, ...]:
    lines = [
        BlockerLine(
            code=str(one.code),
            node_name=one.node_name,
            pool_name=one.pool_name,
            object=one.object_ref,
            owner=one.owner,
            value=one.value,
            message=one.message,
            price_per_hour=settings.paid(one.price_per_hour),
        )
        for one in blockers
    ]
    return tuple(sorted(lines, key=lambda line: (line.node_name, line.code, line.object)))
