"""A cluster as edits make it, to go on from: what-ifs, plays and searches of it are as of any other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.whatif.drift.drift import with_drift
from karptui.whatif.edits import AnyEdit, TakeOut
from karptui.whatif.edits.apply import apply, without_offerings
from karptui.whatif.situation import TypesFor, TypesResult, WhatIfBase
from karptui.whatif.vacate import without_nodes


def edited_base(base: WhatIfBase, edits: Sequence[AnyEdit]) -> WhatIfBase:
    """Return the cluster as edits make it: with what they drift, and without the nodes that they remove.

    Raises:
        EditError: for the first edit that cannot be made.
    """
    if not edits:
        return base
    edited = apply(base, edits)
    return WhatIfBase(
        without_nodes(with_drift(edited.inventory, base, edited), edited.removed),
        partial(_types, base.types_for, edited.outages),
        edited.settings,
        base.now_ns,
        karpenter_version=base.karpenter_version,
        prices=base.prices,
        pause=base.pause,
    )


def _types(types_for: TypesFor, outages: tuple[TakeOut, ...], inventory: Inventory, settings: Settings) -> TypesResult:
    found = types_for(inventory, settings)
    return replace(found, types=without_offerings(found.types, outages)[0]) if outages else found
