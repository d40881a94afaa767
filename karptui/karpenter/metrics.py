"""Metrics of Karpenter's controller.

Names and labels: pkg/metrics/metrics.go, pkg/controllers/metrics/nodepool, pkg/controllers/disruption/metrics.go and
pkg/operator/operator.go of Karpenter; pkg/controllers/metrics and pkg/providers/instancetype/metrics.go of its AWS
provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.karpenter.labels import ON_DEMAND, SPOT

VALIDATION_SECONDS: Final = 15.0
"""Wait before an Emptiness or consolidation command is validated; pkg/controllers/disruption/consolidation.go."""
_FEWEST: Final = 10
"""Minimum number of simulations for a mean duration."""


class OfferingMetrics(msgspec.Struct, frozen=True, gc=False):
    """Price and availability of an offering in Karpenter's metrics."""

    price_per_hour: float | None = None
    """In the region's currency, after NodeOverlays of any NodePool; None if Karpenter has no price."""
    is_available: bool | None = None
    """Whether at least one NodePool could launch it now; None if not reported."""


class PoolMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A NodePool in Karpenter's metrics.

    Counters start with the controller process.
    """

    nodeclaims_created: Mapping[str, int] = MappingProxyType({})
    """By reason in lower case: ``provisioned``, or the disruption reason of a replacement."""
    nodeclaims_disrupted: Mapping[str, int] = MappingProxyType({})
    """By reason in lower case."""
    nodeclaims_terminated: int = 0


class OfferingName(msgspec.Struct, frozen=True):
    """Key of an offering in the metrics."""

    instance_type: str
    zone: str
    capacity_type: str


class ControllerMetrics(
    msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True, rename="camel", omit_defaults=True
):
    """One scrape of the metrics endpoint."""

    read_at_ns: int
    """Nanoseconds since the epoch."""
    endpoint: str
    """Source, for display: ``pod karpenter/karpenter-6f9-abcde``."""
    version: str = ""
    """Version the controller was built as; empty if not reported."""
    is_leader: bool = True
    """False for a standby replica, which reports neither prices nor pools."""
    started_at_ns: int = 0
    """Start of the counters in nanoseconds since the epoch; 0 if not reported."""
    offerings: Mapping[OfferingName, OfferingMetrics] = MappingProxyType({})
    cpu_cores: Mapping[str, int] = MappingProxyType({})
    """By instance type."""
    memory_bytes: Mapping[str, int] = MappingProxyType({})
    """By instance type, as advertised by EC2, before VM_MEMORY_OVERHEAD_PERCENT."""
    pools: Mapping[str, PoolMetrics] = MappingProxyType({})
    pods_by_pool: Mapping[str, int] = MappingProxyType({})
    """Active pods by the NodePool of their node; empty if not reported."""
    consolidation_timeouts: Mapping[str, int] = MappingProxyType({})
    """Consolidation passes that timed out, for ``single`` and ``multi``, since the controller started."""
    evaluation_seconds: Mapping[str, tuple[float, int]] = MappingProxyType({})
    """Total duration and number of passes, for ``single``, ``multi`` and ``empty``."""
    unwaited_evaluations: Mapping[str, int] = MappingProxyType({})
    """Number of passes of at most 15 s, which therefore did not include the validation wait."""
    simulated_removals: tuple[float, int] = (0.0, 0)
    """Total duration and number of scheduling runs in simulated removals."""

    @property
    def seconds_per_removal(self) -> float | None:
        """Mean duration of a simulated removal; None with too few samples.

        It is the duration of passes minus that of Emptiness passes, which simulate nothing, and minus the 15 s
        validation wait of passes that found a command. It is at least the duration of the scheduling itself.
        """
        scheduling, count = self.simulated_removals
        if count < _FEWEST:
            return None
        worked = {kind: self._work_seconds(kind) for kind in self.evaluation_seconds}
        seconds, passes = worked.pop("empty", (0.0, 0))
        idle = seconds / passes if passes else 0.0
        simulating = sum(seconds - passes * idle for seconds, passes in worked.values())
        return max(simulating, scheduling) / count

    def _work_seconds(self, kind: str) -> tuple[float, int]:
        """Return the total duration of a kind of pass without validation waits, and the number of passes."""
        seconds, passes = self.evaluation_seconds[kind]
        waited = passes - self.unwaited_evaluations.get(kind, passes)
        return seconds - waited * VALIDATION_SECONDS, passes

    @cached_property
    def has_spot_prices(self) -> bool:
        """Whether Karpenter has read spot prices.

        Until then it uses each type's on-demand price (pkg/providers/pricing/pricing.go), so prices count as read once
        any spot price differs from the on-demand price of the same type and zone.
        """
        return any(
            offering.price_per_hour != on_demand.price_per_hour
            for name, offering in self.offerings.items()
            if name.capacity_type == SPOT
            and offering.price_per_hour is not None
            and (on_demand := self.offerings.get(OfferingName(name.instance_type, name.zone, ON_DEMAND))) is not None
            and on_demand.price_per_hour is not None
        )

    def after(self, before: ControllerMetrics | None) -> ControllerMetrics:
        """Return this reading, sharing the previous offerings if they are equal.

        There are thousands, and values derived from them are cached by identity.
        """
        if before is None or before.offerings is self.offerings or before.offerings != self.offerings:
            return self
        return msgspec.structs.replace(self, offerings=before.offerings)
