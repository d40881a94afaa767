"""From a view of the cluster to what scenarios are replayed on."""

from __future__ import annotations

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.provisioning.reporter import Pause, no_pause
from karptui.session.cluster_view import ClusterView
from karptui.session.prepare import pool_instance_types
from karptui.state.inventory import inventory_of
from karptui.whatif.situation import TypesResult, WhatIfBase


def base_of(view: ClusterView, now_ns: int, pause: Pause = no_pause) -> WhatIfBase:
    """Return the cluster as it is; instance types follow from NodeClasses and settings as edits change them.

    Args:
        view: The cluster.
        now_ns: The instant to look at it from: nanoseconds since the epoch.
        pause: Called now and then while it is made ready, now and later.
    """
    evidence = view.evidence

    def types_for(inventory: Inventory, settings: Settings) -> TypesResult:
        types, notes = pool_instance_types(inventory, settings, evidence)
        return TypesResult(types, notes, is_fixed=evidence.instance_types is not None)

    return WhatIfBase(
        inventory_of(view.state),
        types_for,
        evidence.settings,
        now_ns,
        karpenter_version=evidence.karpenter_version,
        prices=view.prices,
        pause=pause,
    )
