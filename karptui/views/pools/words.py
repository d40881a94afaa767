"""Columns of the Pools screen in words: policy, budget, DaemonSets."""

from __future__ import annotations

from typing import Final

from karptui.disruption.budgets import UNLIMITED, Reason
from karptui.karpenter.nodepool import BALANCED, WHEN_EMPTY, WHEN_EMPTY_OR_UNDERUTILIZED
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import count_text, duration_text
from karptui.provisioning.type_verdict import Filter
from karptui.session.pools import PoolRow
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.types.pools import carries
from karptui.views.types.words import requests_text, shortages_text

_POLICIES: Final = {
    WHEN_EMPTY: ("Empty", "Empty"),
    WHEN_EMPTY_OR_UNDERUTILIZED: ("Underutilized", "Underutil"),
    BALANCED: ("Balanced", "Balanced"),
}
_NAMED: Final = 3


def policy_text(row: PoolRow, *, is_short: bool = False) -> str:
    """Return the consolidation policy and how long it waits: ``Underutilized 30s``; ``never`` where it is off."""
    wait_ns = row.pool.consolidate_after_ns
    if wait_ns is None:
        return "never"
    policy = row.pool.consolidation_policy
    name = _POLICIES.get(policy, (clean(policy), clean(policy)))[is_short]
    return f"{name} {duration_text(wait_ns // NS_PER_SECOND)}"


def budget_left(row: PoolRow) -> dict[Reason, int]:
    """Return how many nodes may still be disrupted now, by reason; nothing where that is not known."""
    if row.budgets is None:
        return {}
    return {one.reason: UNLIMITED if one.allowed >= UNLIMITED else one.left for one in row.budgets.states}


def budget_text(row: PoolRow) -> str:
    """Return the same in a few characters: ``3 left``, ``0–2 left``, ``any``."""
    left = sorted(set(budget_left(row).values()))
    if not left:
        return ""
    texts = ["any" if one >= UNLIMITED else count_text(one) for one in (left[0], left[-1])]
    if texts == ["any", "any"]:
        return "any"
    return f"{texts[0]} left" if texts[0] == texts[1] else f"{texts[0]}–{texts[1]} left"


def carries_line(row: PoolRow) -> Pieces:
    """Return what a new node carries, and the types that this rules out."""
    if not carries(row.types) or row.types.problem:
        return ()
    pods = {one.verdict.daemon_pods for one in row.types.left} or {
        one.verdict.daemon_pods for one in row.types.types if one.verdict.daemon_pods
    }
    first = next(
        (one for one in (*row.types.left, *row.types.types) if one.verdict.daemon_pods == max(pods, default=0)), None
    )
    if first is None or not first.verdict.daemon_pods:
        return (("a new node carries no DaemonSets", Tone.MUTED),)
    count = first.verdict.daemon_pods
    noun = f"DaemonSet pod{'s' * (count != 1)}"
    amounts = requests_text(first.verdict.daemons).replace(" ", " / ")
    most = "up to " if len(pods) > 1 else ""
    said = f"a new node carries {most}{count} {noun} = {amounts} / {count} slot{'s' * (count != 1)}"
    return ((said, Tone.DAEMON), *_excluded(row))


def _excluded(row: PoolRow) -> Pieces:
    out = [one for one in row.types.types if one.verdict.removed_by is Filter.DAEMONSETS]
    full = [
        one
        for one in row.types.types
        if one.verdict.removed_by is Filter.POD and any(short.resource == "pods" for short in one.verdict.shortages)
    ]
    pieces: list[tuple[str, Tone]] = []
    if out:
        named = ", ".join(f"{clean(one.name)} ({shortages_text(one.verdict.shortages[:1])})" for one in out[:_NAMED])
        more = f" and {count_text(len(out) - _NAMED)} more" if len(out) > _NAMED else ""
        pieces.append((f" · they rule out {count_text(len(out))} types: {named}{more}", Tone.WARNING))
    if full:
        pieces.append((f" · {count_text(len(full))} types have no slot left for a pod beside them", Tone.WARNING))
    return tuple(pieces)
