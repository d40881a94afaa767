"""Data about settings, instance types and prices from outside the cluster's objects, and the resulting prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from karptui.aws.launch_refusals import ALL_AVAILABLE, UnavailableOfferings
from karptui.aws.prices import (
    LIST_PRICES,
    NodePrices,
    PriceOrigin,
    PriceSettings,
    PriceSource,
    PriceTable,
    table_from_zonal,
)
from karptui.aws.region import NO_FACTS, FactKind, FactPhase, FactStatus, Place, RegionFacts
from karptui.karpenter.controller import DEFAULTS, ControllerInfo, Layer, layered, parse_version
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.labels import CAPACITY_TYPE, ON_DEMAND, SPOT, ZONE
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.karpenter.rules import rules_for, version_note
from karptui.karpenter.settings import Settings, SettingsError
from karptui.kube.units import first_of

if TYPE_CHECKING:
    from karptui.aws.cluster_types import MarketOf
    from karptui.aws.nodeclass import SubnetZone
    from karptui.aws.prices import Market
from karptui.aws.nodeclass import Subnet


class Evidence(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """All outside data at a given time; a new object whenever anything changed."""

    settings: Settings = Settings()
    settings_origin: str = DEFAULTS
    """Source of the settings that are not in ``setting_origins``."""
    setting_origins: Mapping[str, str] = MappingProxyType({})
    """Source by environment name."""
    stated_version: str = ""
    """Karpenter's version as given by the user, which overrides the detected one."""
    controller: ControllerInfo | None = None
    """Installed Karpenter controller: its version and settings."""
    controller_status: FactStatus | None = None
    """Status of reading the controller; None if it is not read."""
    others_labelled: tuple[str, ...] = ()
    """Other objects labelled as Karpenter, which are ignored: ``Deployment shop/web``."""
    instance_types: tuple[InstanceType, ...] | None = None
    """Types of a snapshot, the same for every NodePool; None if they are derived from NodeClasses."""
    taken_at_ns: int = 0
    """Time of ``instance_types``, in nanoseconds since the epoch."""
    facts: RegionFacts = NO_FACTS
    fact_statuses: Mapping[FactKind, FactStatus] = MappingProxyType({})
    """Status of the AWS APIs; empty if they are not queried."""
    metrics: ControllerMetrics | None = None
    metrics_before: ControllerMetrics | None = None
    """First reading of the same controller, for the change of counters since karptui started."""
    metrics_status: FactStatus | None = None
    """Status of Karpenter's metrics; None if they are not read."""
    price_settings: PriceSettings = LIST_PRICES
    refused: UnavailableOfferings = ALL_AVAILABLE
    """Offerings named in events of failed launches, until Karpenter tries them again."""

    @property
    def unavailable(self) -> UnavailableOfferings:
        """Offerings that Karpenter excludes after failed launches; none if its metrics report availability."""
        return ALL_AVAILABLE if _offerings(self) else self.refused

    @property
    def seconds_per_removal(self) -> float | None:
        """Mean duration of one simulated removal by Karpenter's metrics; None if unknown."""
        return self.metrics.seconds_per_removal if self.metrics is not None else None

    def lacks_text(self, types: Sequence[str]) -> str:
        """Return a note that the list of instance types lacks some types of nodes; empty without types."""
        if not types:
            return ""
        if self.instance_types is not None:
            source = "the list of types in the snapshot"
        elif self.facts.instance_types is not None:
            source = "EC2's list of types"
        else:
            from karptui.aws.catalogue import sources  # noqa: PLC0415 - reads a file, not needed at the start

            source = f"the built-in list of types of {sources()[0].date}"
        return f"{source} lacks {first_of(types, 3)}, which nodes have"

    @property
    def overhead_origin(self) -> str:
        """Source of VM_MEMORY_OVERHEAD_PERCENT."""
        return self.origin_of("VM_MEMORY_OVERHEAD_PERCENT")

    def origin_of(self, setting: str) -> str:
        """Return the source of a setting by environment name: ``Deployment kube-system/karpenter``."""
        if not self.setting_origins:
            return self.settings_origin
        return self.setting_origins.get(setting, DEFAULTS)

    def is_assumed(self, setting: str, settings: Settings) -> bool:
        """Return whether a setting was not read, and is not among those given: its default is assumed."""
        controller = self.controller
        if setting in settings.environment:
            return False
        is_read = controller is not None and bool(controller.settings)
        return not is_read or controller is None or setting in controller.unknown or bool(controller.from_elsewhere)

    @property
    def karpenter_version(self) -> str:
        """Karpenter's version from the user, its metrics or its Deployment; empty if unknown."""
        if self.stated_version:
            return self.stated_version
        running = parse_version(self.metrics.version) if self.metrics is not None else ""
        return running or (self.controller.version if self.controller is not None else "")

    @property
    def version_note(self) -> str:
        """Note on a version that is not modelled; empty until the version has been looked up."""
        return version_note(self.karpenter_version) if self.stated_version or self.controller is not None else ""


NO_EVIDENCE: Final = Evidence()


def with_controller(
    base: Evidence, info: ControllerInfo | None, status: FactStatus, others: tuple[str, ...] = ()
) -> Evidence:
    """Return the evidence with the controller's settings, which the user's settings override.

    Args:
        base: Existing evidence; the environment of its settings has precedence.
        info: The controller, None if it could not be read.
        others: Other objects labelled as Karpenter, which are ignored.
    """
    evidence = msgspec.structs.replace(base, controller=info, controller_status=status, others_labelled=others)
    if info is None:
        return evidence
    user_layer = Layer(base.settings_origin, base.settings.environment)
    try:
        merged = layered((user_layer, Layer(info.title, info.settings)), evidence.karpenter_version)
    except SettingsError as error:
        sentence = f"{info.title}: {error}; Karpenter would not start with it, defaults are assumed"
        refused = msgspec.structs.replace(status, phase=FactPhase.UNAVAILABLE, sentence=sentence)
        return msgspec.structs.replace(evidence, controller_status=refused)
    origins = {**{name: f"default: {where} is not read" for name, where in info.unknown.items()}, **merged.origins}
    return msgspec.structs.replace(evidence, settings=merged.settings, setting_origins=origins)


def with_rules(evidence: Evidence) -> Evidence:
    """Return the evidence with the rules of the running Karpenter version."""
    rules = rules_for(evidence.karpenter_version)
    if rules is evidence.settings.rules:
        return evidence
    return msgspec.structs.replace(evidence, settings=msgspec.structs.replace(evidence.settings, rules=rules))


def decides_alike(left: Evidence, right: Evidence) -> bool:
    """Return whether Karpenter decides the same with both; readings a minute apart usually do."""
    return left is right or (
        (left.settings, left.price_settings, left.stated_version)
        == (right.settings, right.price_settings, right.stated_version)
        and left.instance_types is right.instance_types
        and left.facts is right.facts
        and _offerings(left) == _offerings(right)
        and _without_expiry(left) == _without_expiry(right)
    )


def _without_expiry(evidence: Evidence) -> UnavailableOfferings:
    return msgspec.structs.replace(evidence.unavailable, until_ns=0)


def _offerings(evidence: Evidence) -> Mapping[OfferingName, OfferingMetrics]:
    return evidence.metrics.offerings if evidence.metrics is not None else {}


def prices_of(evidence: Evidence, place: Place) -> NodePrices:
    """Return the prices to show for a cluster's region and zones, most trusted source first."""
    from karptui.aws.market import live_prices  # noqa: PLC0415 - not needed for the first screen

    book = live_prices(
        place.region,
        place.zones,
        facts=evidence.facts,
        metrics=evidence.metrics,
        settings=evidence.price_settings,
    )
    if evidence.instance_types is None:
        return msgspec.structs.replace(book, is_auto_mode=place.is_auto_mode)
    snapshot_table = table_from_types(evidence.instance_types, place.region, evidence.taken_at_ns)
    return NodePrices((snapshot_table, *book.tables), book.settings, is_auto_mode=place.is_auto_mode)


def markets_of(evidence: Evidence, *, has_overlays: bool = False) -> MarketOf:
    """Return a function that returns a region's market."""
    from karptui.aws.market import live_market  # noqa: PLC0415 - as above

    def market_of(region: str, zones: Iterable[SubnetZone]) -> Market:
        return live_market(
            region,
            zones,
            facts=evidence.facts,
            metrics=evidence.metrics,
            refused=evidence.unavailable,
            has_overlays=has_overlays,
        )

    return market_of


def table_from_types(instance_types: Iterable[InstanceType], region: str, as_of_ns: int) -> PriceTable:
    """Return the prices in a snapshot's instance types; reservations have no price."""
    zonal = {
        (instance_type.name, offering_value(offering, ZONE), capacity_type): offering.price_per_hour
        for instance_type in instance_types
        for offering in instance_type.offerings
        if (capacity_type := offering_value(offering, CAPACITY_TYPE)) in (ON_DEMAND, SPOT) and offering.price_per_hour
    }
    return table_from_zonal(PriceOrigin(PriceSource.SNAPSHOT, as_of_ns), region, zonal)


def offering_value(offering: Offering, key: str) -> str:
    """Return an offering's value for a label; empty if it has none or several."""
    for requirement in offering.requirements:
        if requirement.key == key and len(requirement.values) == 1:
            return requirement.values[0]
    return ""


class SubnetRoom(msgspec.Struct, frozen=True):
    """A subnet and its free addresses."""

    id: str
    zone: str
    free_addresses: int | None = None
    """From EC2's DescribeSubnets; None if EC2 was not queried, or does not have the subnet."""
    is_refused: bool = False
    """Whether EC2 refused a launch in the last three minutes because the subnet had no free address."""


def subnet_rooms(subnets: Iterable[Subnet], evidence: Evidence) -> tuple[SubnetRoom, ...]:
    """Return the subnets in an EC2NodeClass's status, which does not include the number of free addresses."""
    described = evidence.facts.subnets
    free = {subnet.id: subnet.free_addresses for subnet in described.value} if described is not None else {}
    return tuple(
        SubnetRoom(subnet.id, subnet.zone, free.get(subnet.id), subnet.id in evidence.refused.subnets)
        for subnet in subnets
    )
