"""What is known of instance types and prices besides the cluster's own objects, and the prices that follow from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from karptui.aws.launch_refusals import ALL_AVAILABLE, UnavailableOfferings
from karptui.aws.prices import LIST_PRICES, NodePrices, PriceOrigin, PriceSettings, PriceSource, PriceTable, currency_of
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
    from karptui.aws.market import Market
    from karptui.aws.nodeclass import SubnetZone


class Evidence(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Everything that somebody has said at a moment; compared by identity to see whether there is anything new."""

    settings: Settings = Settings()
    """Karpenter's controller settings."""
    settings_origin: str = DEFAULTS
    """Who says so, in words, where ``setting_origins`` does not name somebody else."""
    setting_origins: Mapping[str, str] = MappingProxyType({})
    """By environment name, where a setting comes from."""
    stated_version: str = ""
    """Karpenter's version as the user says it; it outweighs what was found."""
    controller: ControllerInfo | None = None
    """Karpenter's controller as it is installed: its version and what it was started with."""
    controller_status: FactStatus | None = None
    """How things stand with reading it; None where it is not asked for."""
    others_labelled: tuple[str, ...] = ()
    """What is labelled as Karpenter and is not believed: ``Deployment shop/web``."""
    instance_types: tuple[InstanceType, ...] | None = None
    """Types that came with a snapshot, the same for every NodePool; None where each NodeClass has to tell."""
    taken_at_ns: int = 0
    """When ``instance_types`` held: nanoseconds since the epoch."""
    facts: RegionFacts = NO_FACTS
    fact_statuses: Mapping[FactKind, FactStatus] = MappingProxyType({})
    """How things stand with the AWS APIs; empty where they are not asked."""
    account: str = ""
    """Whose AWS credentials answer; empty while none do."""
    metrics: ControllerMetrics | None = None
    metrics_before: ControllerMetrics | None = None
    """The first reading of the same controller: what its counters said when karptui began to look."""
    metrics_status: FactStatus | None = None
    """How things stand with Karpenter's metrics; None where they are not asked for."""
    price_settings: PriceSettings = LIST_PRICES
    refused: UnavailableOfferings = ALL_AVAILABLE
    """Offerings that events of failed launches name, until Karpenter tries them again."""

    @property
    def unavailable(self) -> UnavailableOfferings:
        """Offerings that Karpenter leaves out after failed launches; none if its metrics tell what is available."""
        return ALL_AVAILABLE if _offerings(self) else self.refused

    def lacks_text(self, types: Sequence[str]) -> str:
        """Return that the list of instance types does not know some that its nodes have; nothing without any."""
        if not types:
            return ""
        if self.instance_types is not None:
            known = "the list of types that came with the snapshot"
        elif self.facts.instance_types is not None:
            known = "EC2's list of types"
        else:
            from karptui.aws.catalogue import sources  # noqa: PLC0415 - only this needs it, and not at the start

            known = f"the built-in list of types of {sources()[0].date}"
        return f"{known} does not know {first_of(types, 3)}, which its nodes have"

    @property
    def overhead_origin(self) -> str:
        """Who has said VM_MEMORY_OVERHEAD_PERCENT."""
        return self.origin_of("VM_MEMORY_OVERHEAD_PERCENT")

    def origin_of(self, setting: str) -> str:
        """Return where a setting comes from, by its environment name: ``Deployment kube-system/karpenter``."""
        if not self.setting_origins:
            return self.settings_origin
        return self.setting_origins.get(setting, DEFAULTS)

    @property
    def karpenter_version(self) -> str:
        """Karpenter's version, empty where nobody tells: the user, what its metrics say runs, or its Deployment."""
        if self.stated_version:
            return self.stated_version
        running = parse_version(self.metrics.version) if self.metrics is not None else ""
        return running or (self.controller.version if self.controller is not None else "")

    @property
    def version_note(self) -> str:
        """What has to be said of the version that is modelled; empty while nobody has been asked for it."""
        return version_note(self.karpenter_version) if self.stated_version or self.controller is not None else ""


NO_EVIDENCE: Final = Evidence()


def with_controller(
    base: Evidence, info: ControllerInfo | None, status: FactStatus, others: tuple[str, ...] = ()
) -> Evidence:
    """Return what is known with what the controller was started with, under what the user has said.

    Args:
        base: What is known already; the environment of its settings counts first.
        info: The controller, None where it could not be read.
        status: How things stand with reading it.
        others: What is labelled as Karpenter and is not believed.
    """
    known = msgspec.structs.replace(base, controller=info, controller_status=status, others_labelled=others)
    if info is None:
        return known
    said = Layer(base.settings_origin, base.settings.environment)
    try:
        found = layered((said, Layer(info.title, info.settings)), known.karpenter_version)
    except SettingsError as error:
        sentence = f"{info.title}: {error}; Karpenter would not start with it, defaults are assumed"
        refused = msgspec.structs.replace(status, phase=FactPhase.UNAVAILABLE, sentence=sentence)
        return msgspec.structs.replace(known, controller_status=refused)
    origins = {**{name: f"default: {where} is not read" for name, where in info.unknown.items()}, **found.origins}
    return msgspec.structs.replace(known, settings=found.settings, setting_origins=origins)


def with_rules(known: Evidence) -> Evidence:
    """Return what is known with the rules of the version that runs, whoever tells it."""
    rules = rules_for(known.karpenter_version)
    if rules is known.settings.rules:
        return known
    return msgspec.structs.replace(known, settings=msgspec.structs.replace(known.settings, rules=rules))


def decides_alike(one: Evidence, other: Evidence) -> bool:
    """Return whether two pieces of evidence let Karpenter decide the same: readings of a minute apart mostly do."""
    return one is other or (
        (one.settings, one.price_settings, one.stated_version)
        == (other.settings, other.price_settings, other.stated_version)
        and one.instance_types is other.instance_types
        and one.facts is other.facts
        and _offerings(one) == _offerings(other)
        and _left_out(one) == _left_out(other)
    )


def _left_out(evidence: Evidence) -> UnavailableOfferings:
    return msgspec.structs.replace(evidence.unavailable, until_ns=0)


def _offerings(evidence: Evidence) -> Mapping[OfferingName, OfferingMetrics]:
    return evidence.metrics.offerings if evidence.metrics is not None else {}


def prices_of(evidence: Evidence, place: Place) -> NodePrices:
    """Return the prices to show for a cluster at a place, most trusted source first."""
    from karptui.aws.live import live_prices  # noqa: PLC0415 - the first screen has no prices yet

    book = live_prices(
        place.region,
        place.zones,
        facts=evidence.facts,
        metrics=evidence.metrics,
        settings=evidence.price_settings,
    )
    if evidence.instance_types is None:
        return msgspec.structs.replace(book, is_auto_mode=place.is_auto_mode)
    own = table_from_types(evidence.instance_types, place.region, evidence.taken_at_ns)
    return NodePrices((own, *book.tables), book.settings, is_auto_mode=place.is_auto_mode)


def markets_of(evidence: Evidence, *, has_overlays: bool = False) -> MarketOf:
    """Return what tells the market of a region."""
    from karptui.aws.live import live_market  # noqa: PLC0415 - as above

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
    """Return the prices that a snapshot's own instance types state; reservations have no price of their own."""
    zonal: dict[tuple[str, str, str], float] = {}
    by_type: dict[str, set[float]] = {}
    for instance_type in instance_types:
        for offering in instance_type.offerings:
            zone, capacity_type = offering_value(offering, ZONE), offering_value(offering, CAPACITY_TYPE)
            if capacity_type not in (ON_DEMAND, SPOT) or not offering.price_per_hour:
                continue
            zonal[instance_type.name, zone, capacity_type] = offering.price_per_hour
            if capacity_type == ON_DEMAND:
                by_type.setdefault(instance_type.name, set()).add(offering.price_per_hour)
    return PriceTable(
        origin=PriceOrigin(PriceSource.SNAPSHOT, as_of_ns),
        currency=currency_of(region),
        on_demand={name: next(iter(prices)) for name, prices in by_type.items() if len(prices) == 1},
        zonal=zonal,
    )


def offering_value(offering: Offering, key: str) -> str:
    """Return the value that an offering has for a label; empty where it has none or several."""
    for requirement in offering.requirements:
        if requirement.key == key and len(requirement.values) == 1:
            return requirement.values[0]
    return ""
