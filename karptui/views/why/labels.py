"""The WHY column: the label of each code, its meaning, its tone, and the code that scripts read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from karptui.disruption.codes import RANKS, WhyCode
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import NA, age_text, duration_text
from karptui.session.nodes import NodeEntry
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, NOT_AVAILABLE, WAITING, Cell, Tone

if TYPE_CHECKING:
    from karptui.disruption.lanes import Why

UNLIMITED_FROM: Final = 1_000_000
"""Budgets that allow this many disruptions or more are shown without numbers."""


class Label(NamedTuple):
    """How one code is shown; ``{}`` is replaced by the code's number."""

    text: str
    short: str
    """Text for a narrow column."""
    meaning: str
    tone: Tone = Tone.NORMAL
    is_blocker: bool = False
    """Whether a user has to lift it: it does not end automatically, and the node's pods are not the reason."""


LABELS: Final[Mapping[WhyCode, Label]] = {
    WhyCode.DRAIN: Label("draining {}", "drain {}", "Karpenter has been evicting its pods for this long", Tone.LEAVING),
    WhyCode.DELETING: Label(
        "deleting", "deleting", "its NodeClaim is being deleted, and its drain has not begun or is over", Tone.LEAVING
    ),
    WhyCode.COMMAND: Label(
        "being disrupted",
        "disrupted",
        "a disruption command has chosen it and is waiting for replacements",
        Tone.LEAVING,
    ),
    WhyCode.DND: Label(
        "do-not-disrupt ×{}", "DND ×{}", "pods with karpenter.sh/do-not-disrupt", Tone.WARNING, is_blocker=True
    ),
    WhyCode.NODE_DND: Label(
        "node do-not-disrupt",
        "node DND",
        "the node has the annotation karpenter.sh/do-not-disrupt",
        Tone.WARNING,
        is_blocker=True,
    ),
    WhyCode.PDB: Label(
        "PDB ×{}", "PDB ×{}", "pods whose PodDisruptionBudgets allow no eviction", Tone.WARNING, is_blocker=True
    ),
    WhyCode.NOMINATED: Label("pod expected", "pod due", "a pod is expected on it", Tone.ACTIVE),
    WhyCode.INIT: Label("not initialized", "not init", "the node is not registered or not initialized", Tone.ACTIVE),
    WhyCode.NO_POOL: Label(
        "no NodePool",
        "no pool",
        "its NodePool is deleted, or belongs to another Karpenter",
        Tone.WARNING,
        is_blocker=True,
    ),
    WhyCode.NO_TYPES: Label(
        "pool without types",
        "no types",
        "its NodePool's instance types are unknown; Pools (2) shows why",
        Tone.WARNING,
        is_blocker=True,
    ),
    WhyCode.AFTER: Label(
        "idle{}",
        "idle{}",
        "time until consolidateAfter ends; due: it has ended, and Karpenter has not marked the node yet",
        Tone.ACTIVE,
    ),
    WhyCode.NEVER: Label("consolidate: Never", "Never", "consolidateAfter is Never"),
    WhyCode.POLICY: Label("WhenEmpty policy", "WhenEmpty", "consolidationPolicy is WhenEmpty, and it has pods"),
    WhyCode.BUDGET: Label(
        "budget {}", "budget {}", "disruptions left now / allowed by the NodePool", Tone.WARNING, is_blocker=True
    ),
    WhyCode.NO_TYPE: Label(
        "type not in pool", "no type", "its NodePool does not allow its instance type", Tone.WARNING, is_blocker=True
    ),
    WhyCode.NO_LABEL: Label(
        "label missing", "no label", "it lacks the label of its zone or capacity type", Tone.WARNING, is_blocker=True
    ),
    WhyCode.BUFFER: Label("CapacityBuffer", "buffer", "it reserves capacity for a CapacityBuffer"),
    WhyCode.NOFIT: Label("pods don't fit", "no fit", "its pods fit nowhere else (simulated)"),
    WhyCode.NODES: Label(
        "needs {} new nodes", "{} new nodes", "its pods need this many new nodes; Karpenter allows one (simulated)"
    ),
    WhyCode.MIN_VALUES: Label(
        "minValues", "minValues", "too few cheaper types for the minValues of its NodePool (simulated)"
    ),
    WhyCode.PRICE: Label("no cheaper type", "no cheaper", "no replacement is cheaper (simulated)"),
    WhyCode.UNKNOWN: Label("prices unknown", "unknown", "instance types or prices are unknown, and so is the outcome"),
    WhyCode.SPOT: Label(
        "spot: {} types", "spot {}", "cheaper types found / needed to replace spot with spot (simulated)"
    ),
    WhyCode.GATE_OFF: Label(
        "spot-to-spot off{}",
        "spot off{}",
        "the feature gate SpotToSpotConsolidation is off; ?: not read, and off by default",
    ),
    WhyCode.SCORE: Label("score {}", "score {}", "its score; the Balanced policy requires 0.50 (simulated)"),
    WhyCode.STATIC: Label("static pool", "static", "its NodePool is static: only drift replaces it", Tone.MUTED),
    WhyCode.REPAIR: Label(
        "repair blocked", "repair", "unhealthy, and its repair is blocked; Blockers (6) shows why", Tone.WARNING, True
    ),
    WhyCode.WAITS: Label(
        "blocked (cluster)",
        "blocked",
        "removable, but disruption is blocked cluster-wide; see the top of Blockers (6)",
        Tone.ACTIVE,
    ),
    WhyCode.OK: Label("{}", "{}", "nothing blocks it (simulated)", Tone.GOOD),
    WhyCode.PENDING: Label("…", "…", "its removal is being simulated", Tone.ACTIVE),
    WhyCode.UNMANAGED: Label(NA, NA, "Karpenter does not manage it", Tone.MUTED),
}
_OUTCOMES: Final = {"delete": "removable", "replace": "replaceable", "reboot": "rebootable"}
_EXAMPLES: Final = {
    WhyCode.DRAIN: "12m",
    WhyCode.DND: "2",
    WhyCode.PDB: "2",
    WhyCode.AFTER: " 3m left",
    WhyCode.BUDGET: "0/2",
    WhyCode.NODES: "2",
    WhyCode.SPOT: "6/15",
    WhyCode.SCORE: "0.31",
}


def legend() -> tuple[tuple[str, str], ...]:
    """Return (example label, meaning) of every label, worst first."""
    rows = []
    for code, label in LABELS.items():
        if code is WhyCode.OK:
            rows += [
                ("removable", "nothing blocks it: Karpenter would delete it (simulated)"),
                ("replaceable", "nothing blocks it: Karpenter would replace it with a cheaper node (simulated)"),
            ]
        else:
            rows.append((label.text.format(_EXAMPLES.get(code, "")), label.meaning))
    return (*rows, (FORBIDDEN.text, "unknown, because a permission is missing"))


def why_label(why: Why, now_ns: int) -> str:
    """Return the label with its numbers, such as ``do-not-disrupt ×2``, ``idle 3m left``, ``removable``."""
    return LABELS[why.code].text.format(_number(why, now_ns)).rstrip()


def why_code(why: Why, now_ns: int) -> str:
    """Return the code that scripts read, with its numbers: ``DND×2``, ``AFTER 3m``, ``OK→delete``."""
    number = _number(why, now_ns)
    match why.code:
        case WhyCode.DND | WhyCode.PDB:
            return f"{why.code}×{number}"
        case WhyCode.GATE_OFF:
            return str(why.code)
        case WhyCode.OK:
            return f"{why.code}→{why.outcome}"
        case WhyCode.AFTER:
            return f"AFTER {_idle_text(why, now_ns) or 'due'}"
        case _:
            return f"{why.code} {number}".rstrip()


def bare_label(code: WhyCode) -> str:
    """Return the short label of a code without its number."""
    return LABELS[code].short.replace("×{}", "").replace("{}", "").strip(" :")


def _idle_text(why: Why, now_ns: int) -> str:
    """Return the remaining time of consolidateAfter; empty if it has passed."""
    left = (why.until_ns - now_ns) // NS_PER_SECOND
    return duration_text(left) if left > 0 else ""


def _number(why: Why, now_ns: int, *, is_short: bool = False) -> str:
    match why.code:
        case WhyCode.DND | WhyCode.PDB | WhyCode.NODES:
            return str(why.count)
        case WhyCode.OK:
            return _OUTCOMES.get(str(why.outcome), str(why.outcome))
        case WhyCode.BUDGET:
            return f"{why.count}/{why.of}" if why.of < UNLIMITED_FROM else ""
        case WhyCode.DRAIN:
            return age_text(why.since_ns, now_ns) if why.since_ns else ""
        case WhyCode.AFTER:
            left = _idle_text(why, now_ns)
            return f" {left}{'' if is_short else ' left'}" if left else ", due"
        case WhyCode.SPOT:
            return f"{why.count}/{why.of}"
        case WhyCode.SCORE:
            return f"{why.score:.2f}"
        case WhyCode.GATE_OFF:
            return "?" if why.is_assumed else ""
        case _:
            return ""


def why_cell(entry: NodeEntry, now_ns: int) -> Cell:
    """Return the WHY of a node; behind the label of a drain, what blocks it if the column is wide."""
    findings = entry.findings
    if findings is None:
        if entry.node is None:
            return NOT_APPLICABLE
        if entry.is_out_of_reach:
            return FORBIDDEN
        return WAITING if entry.is_managed else NOT_AVAILABLE
    why, label = findings.why, LABELS[findings.why.code]
    text = why_label(why, now_ns)
    short = label.short.format(_number(why, now_ns, is_short=True)).rstrip()
    if why.code is WhyCode.DRAIN and len(why.codes) > 1:
        more = ", ".join(bare_label(code) for code in why.codes[1:])
        return Cell(f"{text} {more}", label.tone, short)
    return Cell(text, label.tone, short if len(short) < len(text) else "")


def why_sort(entry: NodeEntry) -> tuple[float | str, ...] | None:
    """Return the sort key of a node by its WHY: worst code first, then the higher number."""
    findings = entry.findings
    return None if findings is None else (float(RANKS[findings.why.code]), -float(findings.why.count))


def why_words(entry: NodeEntry, now_ns: int) -> tuple[str, ...]:
    """Return the values that a filter on WHY matches: every code, the code with its numbers, and the label."""
    findings = entry.findings
    if findings is None:
        return ("" if entry.is_managed else NA,)
    why = findings.why
    return tuple(dict.fromkeys((*(str(code) for code in why.codes), why_code(why, now_ns), why_label(why, now_ns))))


def is_held(entry: NodeEntry) -> bool:
    """Return whether something that a user has to lift blocks the node."""
    return entry.findings is not None and any(LABELS[code].is_blocker for code in entry.findings.why.codes)
