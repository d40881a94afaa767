"""Objects that need a feature gate which is off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed, verb
from karptui.whatif.edits import ObjectRef, SetSetting


def _find(context: AdviceContext) -> Iterator[Finding]:
    inventory = context.inventory
    static = [ObjectRef("NodePool", pool.name) for pool in context.pools if pool.is_static]
    overlays = [ObjectRef("NodeOverlay", one.name) for one in inventory.overlays]
    buffers = [ObjectRef("CapacityBuffer", one.name, one.namespace) for one in inventory.capacity_buffers]
    for gate, kind, refs, effect in (
        ("StaticCapacity", "static NodePool", static, "their replicas are not kept up"),
        ("NodeOverlay", "NodeOverlay", overlays, "prices and extended resources stay as the provider has them"),
        ("CapacityBuffer", "CapacityBuffer", buffers, "no room is kept for them"),
    ):
        if refs and not context.settings.gate(gate):
            yield Finding(
                severity=Severity.INFO if context.is_assumed("FEATURE_GATES") else Severity.WARNING,
                objects=tuple(refs),
                fact=f"{counted(len(refs), kind)} ({listed(ref.key for ref in refs)}) "
                f"{verb(len(refs), 'needs', 'need')} the feature gate {gate}, which is off"
                f"{context.doubt('FEATURE_GATES')}: {effect}.",
                edits=(SetSetting(f"FEATURE_GATES.{gate}", "true"),),
            )


RULE: Final = Rule(
    id="setting-gate-off",
    title="a feature gate is off",
    what="There are static NodePools (spec.replicas), NodeOverlays or CapacityBuffers, and their gate is off.",
    why="StaticCapacity, NodeOverlay and CapacityBuffer are off by default. The API server accepts the objects all the "
    "same, and nothing acts on them.",
    source="pkg/operator/options/options.go",
    remedy="Turn the gate on in FEATURE_GATES, or delete the objects.",
    find=_find,
)
