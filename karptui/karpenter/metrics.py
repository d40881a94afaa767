"""What Karpenter's controller says of itself on its metrics endpoint.

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

_NO_NUMBERS: Mapping[str, float] = MappingProxyType({})

VALIDATION_SECONDS: Final = 15.0
"""How long Emptiness and consolidation wait before they look again; pkg/controllers/disruption/consolidation.go."""
_FEWEST: Final = 10
"""Simulations that tell how long one takes."""


class OfferingMetrics(msgspec.Struct, frozen=True, gc=False):
    """One way to buy an instance type, as Karpenter reckons with it."""

    price_per_hour: float | None = None
    """In the region's currency, NodeOverlays of one of the NodePools included; None where Karpenter knows no price."""
    is_available: bool | None = None
    """Whether at least one NodePool could launch it now; None where it was not said."""


class PoolMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A NodePool in Karpenter's metrics.

    Resource names are in the metrics' spelling: lower case, underscores for dashes; cpu in cores, memory in bytes.
    Counters count from the start of the controller that answered.
    """

    usage: Mapping[str, float] = _NO_NUMBERS
    limit: Mapping[str, float] = _NO_NUMBERS
    allowed_disruptions: Mapping[str, int] = MappingProxyType({})
    """Nodes that may be disrupted now, by reason in the API's spelling: ``Underutilized``."""
    nodes_consuming_budgets: Mapping[str, int] = MappingProxyType({})
    """Nodes that use the budget up, by reason."""
    nodeclaims_created: Mapping[str, int] = MappingProxyType({})
    """By reason in lower case: ``provisioned``, or that of the disruption that needed a replacement."""
    nodeclaims_disrupted: Mapping[str, int] = MappingProxyType({})
    """By reason in lower case."""
    nodeclaims_terminated: int = 0
    nodes_created: int = 0
    cost_per_hour: float | None = None
    """What Karpenter reckons the pool costs; None where the version does not say."""


class OfferingName(msgspec.Struct, frozen=True):
    """What an offering is called in the metrics."""

    instance_type: str
    zone: str
    capacity_type: str


class ControllerMetrics(
    msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True, rename="camel", omit_defaults=True
):
    """One reading of the metrics endpoint."""

    read_at_ns: int
    """Nanoseconds since the epoch."""
    endpoint: str
    """Who answered, for people: ``pod karpenter/karpenter-6f9-abcde``."""
    version: str = ""
    """As the controller was built; empty where it does not say."""
    is_leader: bool = True
    """False for a replica that stands by: it has neither prices nor pools to report."""
    started_at_ns: int = 0
    """When counters began at zero: nanoseconds since the epoch, 0 where it is not said."""
    offerings: Mapping[OfferingName, OfferingMetrics] = MappingProxyType({})
    cpu_cores: Mapping[str, int] = MappingProxyType({})
    """By instance type."""
    memory_bytes: Mapping[str, int] = MappingProxyType({})
    """By instance type, as advertised: before VM_MEMORY_OVERHEAD_PERCENT."""
    pools: Mapping[str, PoolMetrics] = MappingProxyType({})
    pods_by_pool: Mapping[str, int] = MappingProxyType({})
    """Pods that have not ended on nodes of each NodePool; empty where Karpenter does not say."""
    consolidation_timeouts: Mapping[str, int] = MappingProxyType({})
    """Passes that were given up for lack of time, by ``single`` and ``multi``, from the start of the controller."""
    evaluation_seconds: Mapping[str, tuple[float, int]] = MappingProxyType({})
    """What passes lasted in all, and how many there were, by ``single``, ``multi`` and ``empty``."""
    unwaited_evaluations: Mapping[str, int] = MappingProxyType({})
    """How many of these passes lasted 15 s at most, so that they did not wait to look again."""
    simulated_removals: tuple[float, int] = (0.0, 0)
    """What the scheduling in simulated removals lasted in all, and how many there were."""
    unreadable_lines: int = 0
    """Lines of wanted families that could not be understood."""

    @property
    def seconds_per_removal(self) -> float | None:
        """What a simulated removal takes, on the mean; None where too few tell.

        Of what passes last it is what Emptiness, which simulates none, does not take as well. A pass that finds
        something waits 15 s before it looks again, which takes no work. It is never less than the scheduling in it.
        """
        scheduling, count = self.simulated_removals
        if count < _FEWEST:
            return None
        worked = {kind: self._worked(kind) for kind in self.evaluation_seconds}
        seconds, passes = worked.pop("empty", (0.0, 0))
        idle = seconds / passes if passes else 0.0
        simulating = sum(seconds - passes * idle for seconds, passes in worked.values())
        return max(simulating, scheduling) / count

    def _worked(self, kind: str) -> tuple[float, int]:
        """Return what passes of a kind lasted without their waits, and how many there were."""
        seconds, passes = self.evaluation_seconds[kind]
        waited = passes - self.unwaited_evaluations.get(kind, passes)
        return seconds - waited * VALIDATION_SECONDS, passes

    @cached_property
    def has_spot_prices(self) -> bool:
        """Whether Karpenter has read spot prices.

        Until it has, it takes every type's on-demand price for its spot price (pkg/providers/pricing/pricing.go): as
        long as no spot price differs from the on-demand one beside it, none is taken for real.
        """
        return any(
            offering.price_per_hour != beside.price_per_hour
            for name, offering in self.offerings.items()
            if name.capacity_type == SPOT
            and offering.price_per_hour is not None
            and (beside := self.offerings.get(OfferingName(name.instance_type, name.zone, ON_DEMAND))) is not None
            and beside.price_per_hour is not None
        )

    def after(self, before: ControllerMetrics | None) -> ControllerMetrics:
        """Return this reading with the very offerings of the one before where they are equal.

        They are thousands, and what follows from them is kept by them: prices, and what is sold out.
        """
        if before is None or before.offerings is self.offerings or before.offerings != self.offerings:
            return self
        return msgspec.structs.replace(self, offerings=before.offerings)
