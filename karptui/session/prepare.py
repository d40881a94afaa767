"""Converts a view of the cluster to the input of engines and what-ifs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from karptui.aws.evidence import Evidence, prices_of
from karptui.aws.prices import NodePrices
from karptui.aws.region import place_of
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.pdb_limits import refused_selectors
from karptui.karpenter.settings import Settings
from karptui.kube.volumes import unread_text
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import Pause, no_pause
from karptui.provisioning.volumes import unread_of_volumes
from karptui.session.cluster_view import ClusterView
from karptui.session.controller import idle_because
from karptui.session.nodeclasses import UnreadClasses, unread_classes, unread_ec2
from karptui.session.pool_types import OfferedTypes, offered_types, offered_types_of
from karptui.session.readiness import left_out
from karptui.state.cluster import inventory_of
from karptui.whatif.situation import TypesResult, WhatIfBase

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeFindings
    from karptui.studies.forecasts import RemovalForecasts


def prepare_view(view: ClusterView, now_ns: int, pause: Pause = no_pause) -> tuple[Prepared, tuple[str, ...]]:
    """Return a cluster prepared for the engines, and the assumptions about its instance types.

    Takes a good part of a second for a large cluster, so it belongs in a thread.
    """
    base = base_of(view, now_ns, pause)
    idle, version, inventory = idle_because(view, now_ns), view.evidence.version_note, base.inventory
    notes = (
        *filter(None, (idle, version, *left_out(view), unread_text(unread_of_volumes(inventory)))),
        *refused_selectors(inventory.pdbs),
        *base.types.notes,
    )
    return base.prepared, notes


def base_of(view: ClusterView, now_ns: int, pause: Pause = no_pause) -> WhatIfBase:
    """Return the current cluster; edits of NodeClasses and settings change its instance types."""
    types = _types_result(offered_types_of(view), view.evidence)
    return open_cluster(
        inventory_of(view.state),
        view.evidence,
        now_ns,
        unread=unread_classes(view),
        types=types,
        prices=view.prices,
        pause=pause,
    )


def removal_forecasts(
    view: ClusterView, findings: Mapping[str, NodeFindings], now_ns: int, pause: Pause = no_pause
) -> RemovalForecasts:
    """Return the forecasts of removals of blocked nodes.

    Args:
        pause: Called now and then during computation; an exception from it ends the work.
    """
    from karptui.studies.forecasts import RemovalForecasts  # noqa: PLC0415 - only for forecasts: slow to import

    return RemovalForecasts(base_of(view, now_ns, pause), findings, view.evidence.seconds_per_removal)


def open_cluster(
    inventory: Inventory,
    evidence: Evidence,
    now_ns: int,
    *,
    unread: UnreadClasses | None = None,
    types: TypesResult | None = None,
    prices: NodePrices | None = None,
    pause: Pause = no_pause,
) -> WhatIfBase:
    """Return a cluster as the engines take it: the only way there, for the app and for every command.

    Args:
        unread: NodeClasses that were not read; None to use all that NodePools refer to.
        types: Its instance types if they are known already.
        prices: Prices of nodes, if they are computed already.
        pause: Called now and then while it is made ready, now and later.
    """
    if unread is None:
        unread = UnreadClasses(unread_ec2(inventory.nodepools, inventory.nodeclasses))
    settings = evidence.settings
    if evidence.is_assumed("FEATURE_GATES", settings):
        settings = replace(settings, are_gates_assumed=True)
    return WhatIfBase(
        inventory,
        types_for(evidence, unread),
        settings,
        now_ns,
        karpenter_version=evidence.karpenter_version,
        prices=prices or prices_of(evidence, place_of(inventory.nodes, inventory.nodeclasses)),
        types=types,
        pause=pause,
    )


def types_for(evidence: Evidence, unread: UnreadClasses) -> Callable[[Inventory, Settings], TypesResult]:
    """Return the function that resolves the instance types of an edited cluster."""
    return partial(_resolved, evidence, unread)


def _resolved(evidence: Evidence, unread: UnreadClasses, inventory: Inventory, settings: Settings) -> TypesResult:
    there = {nodeclass.key for nodeclass in inventory.nodeclasses}
    still = tuple(ref for ref in unread.refs if ref.key not in there)
    return _types_result(offered_types(inventory, settings, evidence, unread._replace(refs=still)), evidence)


def _types_result(offered: OfferedTypes, evidence: Evidence) -> TypesResult:
    return TypesResult(
        offered.types,
        offered.notes,
        is_fixed=evidence.instance_types is not None,
        refused_until_ns=evidence.unavailable.until_ns,
    )
