"""NodeOverlays: their effect, and overlays that Karpenter does not apply."""

from __future__ import annotations

from collections.abc import Iterator

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import listed
from karptui.karpenter.instance_type import NodeOverlay
from karptui.kube.units import counted
from karptui.provisioning.instance_types import before_overlays
from karptui.provisioning.overlays import OverlayEffect, effects
from karptui.whatif.edits import ObjectRef


def _effects(context: AdviceContext) -> tuple[OverlayEffect, ...]:
    """Return the outcome of each NodeOverlay; nothing without the feature gate, which has its own rule."""
    if not context.inventory.overlays or not context.settings.gate("NodeOverlay"):
        return ()
    types = before_overlays(context.inventory, context.prepared.given_types)
    return effects(context.inventory, types)


def _ref(overlay: NodeOverlay) -> ObjectRef:
    return ObjectRef("NodeOverlay", overlay.name)


@rule(
    "overlay-rejected",
    title="a NodeOverlay is not applied",
    what="A NodeOverlay sets the same price or resource of a type as another one of the same weight, or is invalid. It "
    "is an error if pending pods request a resource that only this overlay adds.",
    why="If two overlays of equal weight set the same value, the one whose name sorts last applies. The other is "
    "dropped completely, for all its types, and only its status says so.",
    source="pkg/controllers/nodeoverlay/controller.go and store.go",
    remedy="Give the overlays different weights, or requirements that no type meets twice.",
)
def _rejected(context: AdviceContext) -> Iterator[Finding]:
    applied = {
        name
        for effect in _effects(context)
        if not effect.problems and not effect.conflicts_with
        for name in effect.overlay.capacity
    }
    requested = {name for pod in context.solution.failed for name in pod.requests}
    for effect in _effects(context):
        overlay, other = effect.overlay, effect.conflicts_with
        if not other and not effect.problems:
            continue
        because = f"it conflicts with {other}, of the same weight {overlay.weight}" if other else effect.problems[0]
        refs = [_ref(overlay), *(_ref(rival) for rival in context.inventory.overlays if rival.name == other)]
        missed = sorted(name for name in requested & (overlay.capacity.keys() - applied) if "/" in name)
        lacking = f" No other overlay adds {listed(missed)}, which pending pods request." if missed else ""
        yield Finding(
            severity=Severity.ERROR if missed else Severity.WARNING,
            objects=tuple(refs),
            fact=f"NodeOverlay {overlay.name} is not applied to any type: {because}.{lacking}",
            remedy="" if other else "Correct the overlay's requirements or capacity.",
        )


@rule(
    "overlay-effect",
    title="the effect of a NodeOverlay",
    what="A NodeOverlay changes prices or extended resources of types that NodePools may launch, or matches none of "
    "them.",
    why="Karpenter compares overlaid prices when it launches and consolidates, and places pods on overlaid resources. "
    "AWS bills the real price. An overlay without a matching type changes nothing, without an event.",
    source="pkg/controllers/nodeoverlay/controller.go and AdjustedPrice in pkg/cloudprovider/types.go",
    remedy="Check that the overlay matches the intended types; Types shows each one's price and where it comes from.",
)
def _effect(context: AdviceContext) -> Iterator[Finding]:
    for effect in _effects(context):
        overlay = effect.overlay
        if effect.problems or effect.conflicts_with:
            continue
        change = overlay.price if overlay.price is not None else overlay.price_adjustment
        sets = [f"price {change}"] if change is not None else []
        sets += [f"{name} {amount}" for name, amount in sorted(overlay.capacity.items())]
        usable = {(pool.name, name) for pool in context.pools for name in context.offered_types(pool)} & effect.types
        types, pools = ({key[at] for key in usable} for at in (1, 0))
        where = f"{counted(len(types), 'type')} ({listed(sorted(types))}) of {listed(sorted(pools))}"
        what = " and ".join(sets) or "nothing"
        yield Finding(
            severity=Severity.INFO if types and sets else Severity.WARNING,
            objects=(_ref(overlay), *(ObjectRef("NodePool", name) for name in sorted(pools))),
            fact=f"NodeOverlay {overlay.name} (weight {overlay.weight}) sets {what} for {where}; heavier overlays win."
            if types
            else f"NodeOverlay {overlay.name} sets {what}, and matches no type that a NodePool can launch.",
        )
