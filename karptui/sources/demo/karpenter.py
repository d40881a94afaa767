"""The demo's Karpenter: its settings, prices, and unavailable offerings.

On-demand prices come from the built-in list. Spot prices are invented: a share of them that depends only on type and
zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import ClassVar, Final
from zlib import crc32

import msgspec

from karptui.aws.nodeclass import SubnetZone
from karptui.aws.prices import built_in_market
from karptui.aws.region import FactPhase, FactStatus
from karptui.clock import Clock
from karptui.karpenter.controller import ControllerInfo
from karptui.karpenter.labels import ON_DEMAND, SPOT
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName, PoolMetrics
from karptui.kube.timestamps import DAY_NS, NS_PER_SECOND
from karptui.sources.metrics.source import MetricsNews
from karptui.sources.periodic import REFRESH_SECONDS, PeriodicSource
from karptui.sources.source import SourceError

REGION: Final = "us-east-1"
ZONES: Final = (("us-east-1a", "use1-az4"), ("us-east-1b", "use1-az6"), ("us-east-1c", "use1-az1"))
VERSION: Final = "1.15.0"
SETTINGS: Final = MappingProxyType(
    {
        "VM_MEMORY_OVERHEAD_PERCENT": "0.075",
        "FEATURE_GATES": "SpotToSpotConsolidation=true",
        "CLUSTER_NAME": "demo",
    }
)
CONTROLLER: Final = ControllerInfo(
    title="Deployment kube-system/karpenter",
    version=VERSION,
    settings=SETTINGS,
)

SOLD_OUT: Final = frozenset({"g5.xlarge", "g5.2xlarge"})
"""Types that are unavailable in all zones."""
COMING_AND_GOING: Final = (
    ("c7a.xlarge", "us-east-1b", SPOT),
    ("m7i.2xlarge", "us-east-1c", SPOT),
    ("m6i.4xlarge", "us-east-1a", ON_DEMAND),
)
"""Offerings that EC2 refuses; the last two of them in turns."""
REFUSED_SECONDS: Final = 180
"""Time for which Karpenter treats an offering as unavailable after EC2 refused it."""
LEAST_SHARE: Final = 0.3
SHARES: Final = 0.35
"""Width of the range of spot prices, as a share of the on-demand price; it starts at ``LEAST_SHARE``."""
STARTED_NS: Final = 9 * DAY_NS
"""Uptime of the controller."""
NODES_CREATED: Final = MappingProxyType({"runners": 212, "general": 1_840, "edge": 31, "trino": 8, "gpu": 26})
NODES_ENDED: Final = MappingProxyType({"runners": 209, "general": 1_792, "edge": 27, "gpu": 24})


def spot_price(instance_type: str, zone: str, on_demand: float) -> float:
    """Return the demo's price of a spot instance, per hour."""
    share = LEAST_SHARE + SHARES * crc32(f"{instance_type} {zone}".encode()) / (1 << 32)
    return round(on_demand * share, 4)


def _is_available(name: OfferingName, turn: int) -> bool:
    if name.instance_type in SOLD_OUT:
        return False
    key = (name.instance_type, name.zone, name.capacity_type)
    return key not in (COMING_AND_GOING[0], COMING_AND_GOING[turn])


@cache
def _prices() -> Mapping[OfferingName, float]:
    """Return the price of every offering; prices never change in the demo."""
    market = built_in_market(REGION, [SubnetZone(name, zone_id) for name, zone_id in ZONES])
    prices = market.on_demand.price_per_hour
    return {
        OfferingName(name, zone, capacity_type): costs
        for name, zones in market.zones_by_type.items()
        if (price := prices.get(name)) is not None
        for zone in sorted(zones)
        for capacity_type, costs in ((ON_DEMAND, price), (SPOT, spot_price(name, zone, price)))
    }


@cache
def _offering(price_per_hour: float, *, is_available: bool) -> OfferingMetrics:
    return OfferingMetrics(price_per_hour, is_available)


@lru_cache(maxsize=2)
def _offerings(turn: int) -> Mapping[OfferingName, OfferingMetrics]:
    """Return the price and availability of every offering, cached per turn."""
    return {name: _offering(price, is_available=_is_available(name, turn)) for name, price in _prices().items()}


def metrics_at(now_ns: int) -> ControllerMetrics:
    """Return the controller's metrics at an instant."""
    return ControllerMetrics(
        read_at_ns=now_ns,
        endpoint="pod kube-system/karpenter",
        version=VERSION,
        started_at_ns=now_ns // NS_PER_SECOND * NS_PER_SECOND - STARTED_NS,
        offerings=_offerings(1 + now_ns // (REFUSED_SECONDS * NS_PER_SECOND) % 2),
        pools={
            name: PoolMetrics(nodeclaims_created={"provisioned": count}, nodeclaims_terminated=NODES_ENDED.get(name, 0))
            for name, count in NODES_CREATED.items()
        },
    )


class DemoMetrics(PeriodicSource[MetricsNews]):
    """Reads the demo's metrics at the interval of a real controller."""

    thread_name: ClassVar[str] = "demo-metrics"

    def __init__(self, clock: Clock, *, is_stepped: bool = False) -> None:
        super().__init__(MetricsNews(FactStatus(phase=FactPhase.WAITING)), clock=clock)
        self._is_stepped = is_stepped

    def start(self) -> None:
        """Begin to read."""
        if self._is_stepped:
            self.read()
        else:
            super().start()

    def read(self) -> float:
        """Read the current metrics."""
        metrics = metrics_at(self._clock.now_ns())
        status = FactStatus(phase=FactPhase.LIVE, as_of_ns=metrics.read_at_ns)
        first = self._news.first or msgspec.structs.replace(metrics, offerings={})
        self._news = MetricsNews(status, metrics, first)
        return REFRESH_SECONDS

    def failed(self, error: SourceError, seconds: float) -> None:
        """Do nothing: a reading cannot fail."""
