"""Recommended requests of a cluster: by its VerticalPodAutoscalers, or by the usage in its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from karptui.decode.errors import DecodeError
from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.karpenter.inventory import Inventory
from karptui.kube.pod import Pod
from karptui.kube.timestamps import HOUR_NS
from karptui.kube.usage import of_periods
from karptui.kube.vpa import Recommendations, VerticalPodAutoscaler, of_vpas
from karptui.sources.cluster.errors import ApiError
from karptui.sources.cluster.source import ClusterSource
from karptui.sources.history.store import History
from karptui.sources.source import Source, SourceError
from karptui.studies.rightsize import workloads_of

PERCENTILE: Final = 95
HOURS: Final = 7 * 24
_VPAS: Final = "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers"


def recommendations_of(
    inventory: Inventory,
    live: Sequence[VerticalPodAutoscaler] | SourceError,
    history: Path | None,
    now_ns: int,
) -> Recommendations:
    """Return the VerticalPodAutoscalers' recommendations; without any, those by recorded usage.

    Args:
        live: As `live_vpas` returns; a snapshot's are in the inventory.

    Raises:
        HistoryError: The history cannot be read.
        SourceError: VerticalPodAutoscalers may not be listed, and no usage is recorded.
    """
    recommendations = of_vpas((*inventory.vpas, *(() if isinstance(live, SourceError) else live)))
    if not recommendations.items and history is not None:
        recommendations = recorded_recommendations(history, workloads_of(inventory), now_ns)
    if not recommendations.items and isinstance(live, SourceError):
        raise live
    return recommendations


def recorded_recommendations(
    path: Path,
    workloads: Mapping[str, Sequence[Pod]],
    now_ns: int,
    *,
    percentile: float = PERCENTILE,
    hours: int = HOURS,
) -> Recommendations:
    """Return recommendations by the usage that a history has recorded until an instant.

    Raises:
        HistoryError: It cannot be read.
    """
    with closing(History(path)) as history:
        periods = history.usage(now_ns - hours * HOUR_NS, now_ns)
    return of_periods(periods, workloads, percentile=percentile, hours=hours)


def live_vpas(source: Source | None) -> list[VerticalPodAutoscaler] | SourceError:
    """Return the VerticalPodAutoscalers of a live cluster, or why they cannot be listed; nothing for a snapshot."""
    if not isinstance(source, ClusterSource):
        return []
    try:
        items = msgspec.json.decode(source.get(_VPAS), type=dict[str, msgspec.Raw]).get("items", msgspec.Raw(b"[]"))
        return [KindReader(Kind.VPA).decode(item) for item in msgspec.json.decode(items, type=list[msgspec.Raw])]
    except ApiError as error:
        # 404: the kind is not installed.
        return [] if error.status == 404 else SourceError(f"verticalpodautoscalers cannot be listed: {error}")
    except (DecodeError, msgspec.DecodeError) as error:
        return SourceError(f"verticalpodautoscalers cannot be read: {error}")
