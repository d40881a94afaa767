"""Why one pod waits, place by place, as lines and as values."""

from __future__ import annotations

from typing import Any

from karptui.kube.units import age_text, count_text
from karptui.pending.causes import FAULTY
from karptui.pending.groups import MOST_DESTINATIONS, PendingGroup
from karptui.provisioning.explain import PodExplanation, PoolExplanation
from karptui.session.pending_report import PendingEntry, PodDetail, PodSurroundings
from karptui.views.pending.columns import TABLE as PENDING
from karptui.views.pending.disagreements import disagreement_lines
from karptui.views.pending.gates import COLUMNS, GateRow, gate_lines, gate_rows
from karptui.views.pending.rejections import reason_text, refusal_word, refusals_text
from karptui.views.pending.remedies import remedy_values
from karptui.views.pending.sentences import (
    destination_text,
    has_no_zone,
    problem_lines,
    quote_lines,
    requests_words,
    waiting_sentence,
    zone_lines,
)
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean


def title_text(group: PendingGroup, now_ns: int) -> str:
    """Return the heading: ``3 pods · trino/worker-{0,1,2} · 28 cpu 240Gi · pending 14m``."""
    count = len(group.pods)
    many = f"{count_text(count)} pods · " if count > 1 else ""
    age = f" · pending {age_text(group.since_ns, now_ns)}" if group.since_ns else ""
    return f"{many}{clean(group.name)} · {requests_words(group.first)}{age}"


def explained_lines(
    group: PendingGroup,
    detail: PodDetail | None,
    around: PodSurroundings,
    *,
    now_ns: int,
    width: int,
    may_list_events: bool = True,
) -> tuple[Pieces, ...]:
    """Return the reason why pods are pending."""
    tone = Tone.FAULT if group.cause in FAULTY else Tone.NORMAL
    lines: list[Pieces] = [((waiting_sentence(group), tone),)]
    lines += [
        (("→ ", Tone.GOOD), (destination_text(destination), Tone.NORMAL))
        for destination in group.destinations[:MOST_DESTINATIONS]
    ]
    lines += disagreement_lines(group)
    lines += problem_lines(group)
    zones, has_none = zone_lines(group.first, around.zones), has_no_zone(group.first, around.zones)
    lines += zones if has_none else ()
    lines.append(())
    explanation = detail.explanation if detail is not None else group.explanation
    if explanation is not None:
        lines += gate_lines(explanation, width)
        lines += () if has_none else zones
        lines.append((("nodes  ", Tone.STRONG), (refusals_text(explanation), Tone.NORMAL)))
        if explanation.given_up:
            given_up = "; ".join(map(clean, explanation.given_up))
            lines.append((("relaxed without success: ", Tone.MUTED), (given_up, Tone.NORMAL)))
        lines += _findings(explanation, around)
        lines.append(())
    lines += quote_lines(group, now_ns, may_list_events=may_list_events)
    return tuple(lines)


def _findings(explanation: PodExplanation, around: PodSurroundings) -> tuple[Pieces, ...]:
    """Return faulty requirements of excluded NodePools."""
    idle = {pool.nodepool for pool in explanation.pools if pool.takes_no_part}
    return tuple(
        (("! ", Tone.WARNING), (f"{clean(finding.object)}: {clean(finding.fact)}", Tone.NORMAL))
        for pool, finding in around.findings
        if pool in idle
    )


def explained_values(entry: PendingEntry, detail: PodDetail | None, now_ns: int) -> dict[str, Any]:
    """Return all values of a pending pod."""
    explanation = detail.explanation if detail is not None else None
    remedies = detail.remedies if detail is not None else None
    if explanation is not None:
        entry = PendingEntry(entry.group.explained(explanation), entry.may_list_events)
    return {
        **PENDING.values(entry, now_ns),
        "waits_for": waiting_sentence(entry.group),
        "pools": _pool_values(explanation) if explanation is not None else [],
        "existing_nodes": [
            {"name": node.node, "by": refusal_word(node), "reason": reason_text(node)} for node in explanation.nodes
        ]
        if explanation is not None
        else [],
        "given_up": list(explanation.given_up) if explanation is not None else [],
        "changes_tried": remedies.tried if remedies is not None else 0,
        "remedies": [remedy_values(remedy) for remedy in remedies.remedies] if remedies is not None else [],
        "not_tried": list(remedies.left_out) if remedies is not None else [],
    }


def _pool_values(explanation: PodExplanation) -> list[dict[str, Any]]:
    """Return every NodePool with its gates, in Karpenter's order."""
    rows = gate_rows(explanation)
    return [_pool(pool, row) for pool, row in zip(explanation.pools, rows, strict=True)]


def _pool(pool: PoolExplanation, row: GateRow) -> dict[str, Any]:
    nearest = pool.nearest
    return {
        "name": pool.nodepool,
        "weight": pool.weight,
        "rank": pool.position + 1 if pool.position >= 0 else None,
        "gates": {title.lower(): str(mark) for title, mark in zip(COLUMNS, row.marks, strict=True)},
        "failed": COLUMNS[row.failed].lower() if row.failed >= 0 else None,
        "reason": row.reason or None,
        "karpenter_says": str(pool.rejection) if pool.rejection is not None else None,
        "types_left": {left.after.replace(" ", "_"): left.count for left in pool.types_left},
        "nearest_type": nearest.instance_type if nearest is not None else None,
        "short": [{"resource": s.resource, "need": str(s.need), "room": str(s.room)} for s in nearest.shortages]
        if nearest is not None
        else [],
    }
