"""Karpenter's next command: table and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from karptui.aws.money import node_price_text, saved_text
from karptui.disruption.no_place import NO_POOLS
from karptui.kube.units import count_text, counted, first_of
from karptui.session.answers import Overview
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import share_saved
from karptui.session.nodes import NodeEntry
from karptui.views.column import (
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    count_column,
    plain,
    records,
    text_column,
    texts,
)
from karptui.views.pods import lost_text
from karptui.views.prices import money_cell, price_cell, sort_price
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Pieces, Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec
from karptui.views.why.labels import why_cell, why_sort, why_words
from karptui.views.why.lanes import short_method
from karptui.views.why.sentences import pause_text

if TYPE_CHECKING:
    from karptui.disruption.analysis import NextCommand, NextReport
    from karptui.disruption.node_verdict import Replacement, Verdict


MOST_COMMANDS = 4
MOST_NODES = 8


def next_lines(report: NextReport | None, overview: Overview) -> tuple[Pieces, ...]:
    """Return Karpenter's next command, or why there is none, with the generation it was computed for."""
    if report is None:
        return ((("Karpenter's next command is being computed: every method in order", Tone.ACTIVE),),)
    behind = overview.generation - report.generation
    late = f"  ({counted(behind, 'change')} ago; being recomputed)" if behind > 0 else ""
    lines: list[Pieces] = []
    if report.unhealthy:
        repaired = f"Node repair deletes {first_of([clean(name) for name in report.unhealthy], 3)} now: unhealthy"
        lines.append(((repaired, Tone.WARNING),))
    if report.expiring:
        expire = counted(len(report.expiring), "node expires", "nodes expire")
        names = first_of([short_name(clean(name)) for name in report.expiring], MOST_COMMANDS)
        lines.append(((f"{expire} now: {names}", Tone.WARNING),))
    if report.paused_by:
        waits = f"Disruption is {pause_text(report.paused_by)}"
        lines.append(((waits, Tone.WARNING), (late, Tone.ACTIVE)))
        if report.then is not None and report.then.commands:
            lines += _command_lines(report.then, "", has_prices=overview.has_prices, when="Next, once unblocked")
    elif report.commands:
        lines += _command_lines(report, late, has_prices=overview.has_prices)
    else:
        lines += _nothing_lines(report, late)
    if report.error:
        lines.append(((f"the pass ends early: {clean(report.error)}", Tone.FAULT),))
    if report.asked:
        methods = " → ".join(f"{method} {counted(count, 'candidate')}" for method, count in report.asked)
        lines.append(((f"asked: {methods}", Tone.MUTED),))
    return tuple(lines)


def _nothing_lines(report: NextReport, late: str) -> tuple[Pieces, ...]:
    what = (
        "Disruption would do nothing else" if report.unhealthy or report.expiring else "Karpenter would do nothing now"
    )
    if report.lacks_pools:
        return (((what, Tone.NORMAL), (f": {NO_POOLS}", Tone.WARNING), (late, Tone.ACTIVE)),)
    if not report.unknown:
        if report.closed:
            shut = f": disruption budgets allow none of {counted(report.closed, 'node')} to be removed"
            return (((what, Tone.NORMAL), (shut, Tone.WARNING), (late, Tone.ACTIVE)),)
        return (((what, Tone.GOOD), (late, Tone.ACTIVE)),)
    why = f"the provider's instance types and prices of {counted(report.unknown, 'node')} are unknown"
    return ((("No command is certain: ", Tone.WARNING), (why, Tone.WARNING), (late, Tone.ACTIVE)),)


def _command_lines(report: NextReport, late: str, *, has_prices: bool, when: str = "Next") -> list[Pieces]:
    many = f", {count_text(len(report.commands))} commands" if len(report.commands) > 1 else ""
    saved = report.savings_per_hour if has_prices else None
    saves = f", {saved_text(saved, is_whole=report.is_saving_whole)}" if saved is not None else ""
    head = f"{when}: {report.method} ({report.reason}){many}{saves}"
    lines: list[Pieces] = [((head, Tone.STRONG), (late, Tone.ACTIVE))]
    for command in report.commands[:MOST_COMMANDS]:
        lines.append(((f"  {_command_text(command)}", Tone.NORMAL),))
        if command.lost_pods:
            lines.append(((f"  ✘ {lost_text(command.lost_pods)}", Tone.FAULT),))
    alike, different = report.as_likely_by_outcome()
    names = [short_name(clean(name)) for command in alike for name in command.node_names]
    others = [first_of(names, MOST_COMMANDS)] if alike else []
    for command in different[:MOST_COMMANDS]:
        saved = command.savings_per_hour if has_prices else None
        others.append(_command_text(command) + (f", {saved_text(saved)}" if saved is not None else ""))
    why = ": Karpenter takes NodePools and equal nodes in a random order"
    lines += [((f"  or, as likely, {text}{'' if i else why}", Tone.MUTED),) for i, text in enumerate(others)]
    if len(report.commands) > MOST_COMMANDS:
        lines.append(((f"  and {count_text(len(report.commands) - MOST_COMMANDS)} more", Tone.MUTED),))
    return lines


def _command_text(command: NextCommand) -> str:
    names = [short_name(clean(name)) for name in command.node_names]
    text = f"{command.decision} {first_of(names, MOST_NODES)}"
    if command.replacements:
        text += f" → {'; '.join(replacement_text(replacement) for replacement in command.replacements)}"
    return text


def replacement_text(replacement: Replacement) -> str:
    """Return a replacement as text."""
    if not replacement.type_names:
        return f"a new node of {clean(replacement.pool_name)}, from its template"
    as_it_stands = ", from its template" if replacement.is_from_template else ""
    others = f" or {counted(len(replacement.type_names) - 1, 'other')}" if len(replacement.type_names) > 1 else ""
    price = f" from {node_price_text(replacement.price_per_hour)}" if replacement.price_per_hour else ""
    pods = f" for {counted(replacement.pods, 'pod')}" if replacement.pods else ""
    return f"{clean(replacement.type_names[0])}{others} in {clean(replacement.pool_name)}{price}{pods}{as_it_stands}"


def saved_per_hour(entry: NodeEntry) -> float | None:
    """Return the savings per hour if a node is removed; None if unknown.

    If nodes are replaced together, only their joint savings are known.
    """
    freed = _freed(entry)
    if freed is not None and freed.goes:
        return share_saved(entry, freed)
    is_deleted = entry.findings is not None and entry.findings.why.outcome == "delete"
    return entry.price.per_hour if is_deleted and entry.price is not None else None


def _saves(entry: NodeEntry, _: int) -> Cell:
    saved = saved_per_hour(entry)
    if saved is None or entry.price is None:
        return NOT_AVAILABLE
    return money_cell(saved, entry.price.currency, Tone.STRONG if saved > 0 else Tone.MUTED)


def _how(entry: NodeEntry, _: int) -> Cell:
    findings = entry.findings
    if findings is None or findings.outlook is None:
        return NOT_APPLICABLE
    freed = _freed(entry)
    if freed is None or not freed.goes:
        return Cell(f"{findings.why.outcome} with others", Tone.GOOD, str(findings.why.outcome))
    if freed.is_first:
        return Cell(f"{freed.outcome}, terminate-first", Tone.GOOD, str(freed.outcome))
    if freed.outcome == "delete":
        return Cell("delete", Tone.GOOD)
    replaced_by = "; ".join(replacement_text(replacement) for replacement in freed.replacements)
    return Cell(
        f"{freed.outcome} with {replaced_by}" if replaced_by else str(freed.outcome), Tone.GOOD, str(freed.outcome)
    )


def _lost_pods(entry: NodeEntry) -> Sequence[str]:
    return entry.findings.lost_pods if entry.findings is not None else ()


def _method_name(entry: NodeEntry) -> str:
    findings, freed = entry.findings, _freed(entry)
    if freed is not None and freed.goes:
        return freed.method
    return findings.why.method if findings is not None else ""


REPLACEMENT: Final[tuple[Value[Replacement], ...]] = (
    Value("pool", lambda node, _: node.pool_name, str),
    texts("types", lambda node: node.type_names, "Allowed instance types, cheapest first."),
    Value(
        "price_per_hour",
        lambda node, _: node.price_per_hour or None,
        float | None,
        "By the prices that Karpenter compares.",
    ),
    Value("pods", lambda node, _: node.pods, int, "Pods that it is launched for."),
)


def _freed(entry: NodeEntry) -> Verdict | None:
    """Return the outcome for a node alone, now or without its blockers; None if it is removed with others."""
    findings = entry.findings
    if findings is None or (findings.why.outcome is not None and findings.why.method == "MultiNodeConsolidation"):
        return None
    return findings.outlook.now if findings.outlook is not None and findings.outlook.now.goes else findings.freed


def _outcome(entry: NodeEntry) -> str | None:
    findings, freed = entry.findings, _freed(entry)
    if freed is not None and freed.goes:
        return str(freed.outcome)
    return str(findings.why.outcome) if findings is not None and findings.why.outcome is not None else None


COLUMNS: Final[tuple[Column[NodeEntry], ...]] = (
    text_column(
        Heading("name", "NODE", "The node to be removed.", 14, 44, is_name=True),
        lambda entry: entry.name,
        tone=lambda _: Tone.STRONG,
        short=lambda entry: short_name(entry.name),
        json="name",
    ),
    text_column(
        Heading("pool", "POOL", "Its NodePool.", 6, 24, drop_order=3), lambda entry: entry.pool, or_null="pool"
    ),
    text_column(
        Heading("type", "TYPE", "Its instance type.", 10, 20, drop_order=4),
        lambda entry: entry.instance_type,
        or_null="type",
    ),
    Column(
        NumberHeading("price", "$/H", "Its cost.", 6, 10, drop_order=2),
        lambda entry, _: price_cell(entry),
        sort_price,
        values=Value("price_per_hour", lambda entry, _: sort_price(entry), float | None),
    ),
    Column(
        NumberHeading("saves", "SAVES", "Savings per hour.", 6, 10),
        _saves,
        saved_per_hour,
        values=Value("saves_per_hour", lambda entry, _: saved_per_hour(entry), float | None),
        filters=Field(FieldKind.MONEY, lambda entry, _: saved_per_hour(entry), "dollars per hour"),
    ),
    Column(
        Heading(
            "why", "WHY", "Its blocker; removable, replaceable or blocked (cluster) if the node itself has none.", 9, 20
        ),
        why_cell,
        why_sort,
        values=Value(
            "held_by",
            lambda entry, _: (
                [str(code) for code in findings.why.codes]
                if (findings := entry.findings) is not None and findings.is_held
                else []
            ),
            list[str],
            "Codes of its blockers, worst first; empty if it has none.",
        ),
        filters=Field(FieldKind.TEXT, why_words, "its blocker: DND, PDB, OK*…"),
    ),
    Column(
        Heading("how", "OUTCOME", "Deleted, or its replacement (simulated).", 7, 70),
        _how,
        lambda entry: _how(entry, 0).text,
        values=(
            Value("would_be", lambda entry, _: _outcome(entry), {"enum": ["delete", "replace", "reboot", None]}),
            records(
                "replaced_by",
                lambda entry: freed.replacements if (freed := _freed(entry)) is not None else (),
                REPLACEMENT,
                "Nodes that would be launched.",
                lambda replaced_by: [
                    f"{replacement['pool']}:{replacement['types'][0] if replacement['types'] else '-'}"
                    for replacement in replaced_by
                ],
            ),
        ),
    ),
    count_column(
        Heading(
            "lost", "LOST", "Pods that nothing recreates after their eviction: they have no owner.", 4, 6, drop_order=6
        ),
        lambda entry: len(_lost_pods(entry)),
        tone=lambda _: Tone.FAULT,
        values=Value(
            "lost_pods",
            lambda entry, _: list(_lost_pods(entry)),
            list[str],
            "Pods that nothing recreates after their eviction.",
        ),
    ),
    text_column(
        Heading("method", "METHOD", "Karpenter's method that would remove it.", 6, 24, drop_order=5),
        _method_name,
        short=lambda entry: short_method(_method_name(entry)),
        or_null="method",
    ),
)
TABLE: Final[TableSpec[NodeEntry]] = TableSpec(
    noun="nodes to be removed",
    columns=COLUMNS,
    text=lambda entry: f"{entry.name} {entry.pool} {entry.instance_type}".lower(),
    labels=lambda entry: entry.labels,
    key=lambda entry: entry.key,
    default_sort=Sort("saves", is_descending=True),
    is_notable=lambda entry, _: entry.findings is not None and entry.findings.is_held,
)


def report_values(view: ClusterView) -> dict[str, Any] | None:
    """Return the next command; None until it is computed."""
    report = view.analysis.next if view.analysis is not None else None
    if report is None:
        return None
    has_prices = not view.evidence.price_settings.is_disabled
    return {
        **_pass_values(report, has_prices=has_prices),
        "waits_for": list(report.paused_by),
        "then": None if report.then is None else _pass_values(report.then, has_prices=has_prices),
        "unhealthy": list(report.unhealthy),
        "expiring": list(report.expiring),
        "error": report.error or None,
    }


def _pass_values(report: NextReport, *, has_prices: bool) -> dict[str, Any]:
    return {
        "method": report.method or None,
        "reason": report.reason or None,
        "savings_per_hour": report.savings_per_hour if has_prices else None,
        "commands": [
            {
                "decision": command.decision,
                "nodes": list(command.node_names),
                "savings_per_hour": command.savings_per_hour if has_prices else None,
                "replacements": [plain(REPLACEMENT, node) for node in command.replacements],
                "lost_pods": list(command.lost_pods),
            }
            for command in report.commands
        ],
        "asked": [{"method": method, "candidates": count} for method, count in report.asked],
    }
