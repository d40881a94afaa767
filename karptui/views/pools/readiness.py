"""Whether a NodePool and its NodeClass are ready, and the condition that says they are not."""

from __future__ import annotations

from collections.abc import Iterable

from karptui.kube.objects import Condition
from karptui.session.pools import PoolRow
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean


def failing(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return the conditions that are not True, the sum of them (``Ready``) last."""
    return tuple(sorted((one for one in conditions if one.status != "True"), key=lambda one: one.type == "Ready"))


def is_ready(row: PoolRow) -> bool:
    """Whether both are ready, as far as is known."""
    return row.pool.is_ready and (row.nodeclass is None or row.nodeclass.is_ready)


def short_reason(row: PoolRow) -> str:
    """Return what is not ready in a few words; empty where all is."""
    if row.pool.is_deleting:
        return "deleting"
    if not row.pool.is_ready:
        bad = failing(_own(row))
        return bad[0].type if bad else "no condition"
    if row.nodeclass is not None and not row.nodeclass.is_ready:
        bad = failing(row.nodeclass.conditions)
        return f"class {bad[0].type}" if bad else "class"
    return ""


def _own(row: PoolRow) -> tuple[Condition, ...]:
    return tuple(one for one in row.pool.conditions if one.type in ("Ready", "NodeClassReady", "ValidationSucceeded"))


def ready_lines(row: PoolRow) -> tuple[Pieces, ...]:
    """Return a line for each condition that fails, of the NodePool and of its NodeClass."""
    lines: list[Pieces] = []
    ref = row.pool.node_class_ref
    if not row.pool.is_ready:
        bad = failing(_own(row))
        lines += [_line("NodePool", one) for one in bad if one.type != "Ready" or len(bad) == 1]
        if not bad:
            lines.append(((f"✘ NodePool {clean(row.name)} reports no Ready condition: it takes no pods", Tone.FAULT),))
    if row.nodeclass is not None and not row.nodeclass.is_ready:
        bad = failing(row.nodeclass.conditions)
        lines += [_line(f"{ref.kind} {ref.name}", one) for one in bad if one.type != "Ready" or len(bad) == 1]
    if row.nodeclass is None:
        lines.append(
            ((f"▲ {clean(ref.kind)} {clean(ref.name)} is not among the NodeClasses that were read", Tone.WARNING),)
        )
    return tuple(lines)


def _line(what: str, condition: Condition) -> Pieces:
    reason = f": {condition.reason}" if condition.reason and condition.reason != condition.type else ""
    message = f": {condition.message}" if condition.message else ""
    said = clean(f"{what}: {condition.type} is {condition.status}{reason}")
    return (("✘ ", Tone.FAULT), (said, Tone.FAULT), (clean(message), Tone.NORMAL))
